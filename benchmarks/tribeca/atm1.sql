-- Cells by virtual channel identifier.
SELECT vci, count(*) FROM records('atm.bin', 'atm.toml') GROUP BY vci
