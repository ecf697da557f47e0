-- IPv4 only, by source and destination port.
SELECT port.src, port.dst, count(*), sum(frame.len) FROM 'frame-relay.erf'
WHERE fr.control = 3 AND ip.version = 4 AND port.src IS NOT NULL
GROUP BY port.src, port.dst
