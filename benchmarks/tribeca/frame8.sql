-- As frame7, by board and channel.
SELECT board, channel, count(*), sum(length) FROM (
    SELECT erf.flags.cap AS board, erf.mchdlc.cn & 31 AS channel, ip.proto, ip.len AS length
    FROM 'frame-relay.erf'
    WHERE erf.flags >> 4 = 0 AND fr.control = 3 AND fr.nlpid = 204 AND ip.version = 4
    UNION ALL
    SELECT erf.flags.cap, erf.mchdlc.cn & 31, ip.proto, ip.len
    FROM 'frame-relay.erf'
    WHERE erf.flags >> 4 = 0 AND fr.control = 3 AND fr.nlpid = 128 AND ip.version = 4)
GROUP BY board, channel
