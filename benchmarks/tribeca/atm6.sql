-- Cells of one virtual channel.
SELECT count(*) FROM records('atm.bin', 'atm.toml') WHERE vpi = 1 AND vci = 40
