-- Cells by virtual path and channel.
SELECT vpi, vci, count(*) FROM records('atm.bin', 'atm.toml') GROUP BY vpi, vci
