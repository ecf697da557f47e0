-- As frame3, on one T1 interface and channel.
SELECT count(*), sum(frame.len) FROM 'frame-relay.erf'
WHERE erf.flags >> 4 = 0 AND fr.control = 3 AND fr.nlpid = 204
  AND erf.mchdlc.cn >> 5 = 2 AND (erf.mchdlc.cn & 31) = 5
