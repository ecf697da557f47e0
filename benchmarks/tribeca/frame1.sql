-- All records: how many, and how long together.
SELECT count(*), sum(frame.len) FROM 'frame-relay.erf'
