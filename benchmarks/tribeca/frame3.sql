-- Of one message type, frame relay control field and NLPID.
SELECT count(*), sum(frame.len) FROM 'frame-relay.erf'
WHERE erf.flags >> 4 = 0 AND fr.control = 3 AND fr.nlpid = 204
