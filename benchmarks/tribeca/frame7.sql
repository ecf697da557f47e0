-- Two streams of IPv4 packets in different encapsulations; of each the protocol and the length; both
-- together counted and summed. The trace is read once.
SELECT count(*), sum(length) FROM (
    SELECT ip.proto, ip.len AS length FROM 'frame-relay.erf'
    WHERE erf.flags >> 4 = 0 AND fr.control = 3 AND fr.nlpid = 204 AND ip.version = 4
    UNION ALL
    SELECT ip.proto, ip.len FROM 'frame-relay.erf'
    WHERE erf.flags >> 4 = 0 AND fr.control = 3 AND fr.nlpid = 128 AND ip.version = 4)
