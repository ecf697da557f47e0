-- Cells of one virtual channel identifier.
SELECT count(*) FROM records('atm.bin', 'atm.toml') WHERE vci = 40
