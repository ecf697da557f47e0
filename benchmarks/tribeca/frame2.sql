-- Of one message type: the high four bits of a byte of the record's header.
SELECT count(*), sum(frame.len) FROM 'frame-relay.erf'
WHERE erf.flags >> 4 = 0
