-- IPv4 only, by board, interface and channel.
SELECT erf.flags.cap AS board, erf.mchdlc.cn >> 5 AS interface, erf.mchdlc.cn & 31 AS channel,
       count(*), sum(frame.len)
FROM 'frame-relay.erf'
WHERE fr.control = 3 AND ip.version = 4
GROUP BY board, interface, channel
