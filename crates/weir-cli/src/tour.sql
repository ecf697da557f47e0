-- What is in this capture? One row for each stack of protocols.
SELECT frame.layers, count(*) AS records, sum(frame.len) AS bytes
FROM '{demo}/office.pcapng' GROUP BY frame.layers ORDER BY records DESC, 1 LIMIT 12;

-- Who talks most? IPv4 and IPv6 in one column.
SELECT addr.src, addr.dst, proto, count(*) AS packets, sum(frame.len) AS bytes
FROM '{demo}/office.pcapng' WHERE addr.src IS NOT NULL
GROUP BY addr.src, addr.dst, proto ORDER BY bytes DESC, addr.src LIMIT 8;

-- Which hosts ask for names, a minute at a time? Addresses compare as addresses.
SELECT date_trunc('minute', frame.time) AS minute, count(*) AS queries, count(DISTINCT ip.src) AS hosts
FROM '{demo}/office.pcapng' WHERE udp.dstport = 53 AND cidr_match(ip.src, '192.168.0.0/16')
GROUP BY minute ORDER BY minute LIMIT 6;

-- The same as a pipe.
FROM '{demo}/office.pcapng' |> WHERE tcp.flags.syn AND NOT tcp.flags.ack
|> AGGREGATE count(*) AS attempts GROUP BY addr.dst, tcp.dstport |> ORDER BY attempts DESC, addr.dst |> LIMIT 5;

-- VLANs, and how much of each is IPv6.
SELECT vlan.id, count(*) AS records, count(ipv6.src) AS ipv6
FROM '{demo}/office.pcapng' WHERE vlan.id IS NOT NULL GROUP BY vlan.id ORDER BY vlan.id;

-- Which packets are cut or damaged, and where did decoding stop?
SELECT frame.number, frame.len, frame.cap_len, frame.stopped
FROM '{demo}/office.pcapng' WHERE frame.stopped IS NOT NULL LIMIT 6;

-- Frame relay: IP in two encapsulations, by DLCI.
SELECT fr.dlci, fr.nlpid, count(*) AS records, sum(ip.len) AS ip_bytes
FROM '{demo}/wan.erf' GROUP BY fr.dlci, fr.nlpid ORDER BY records DESC, fr.dlci LIMIT 8;

-- ATM cells by virtual path and channel.
SELECT atm.vpi, atm.vci, count(*) AS cells FROM '{demo}/atm.erf'
GROUP BY atm.vpi, atm.vci ORDER BY cells DESC, atm.vpi, atm.vci LIMIT 6;

-- A private recorder format, read by a layout that you write yourself.
SELECT message_type_name, board, interface, channel, count(*) AS records, count(ip.src) AS ip
FROM records('{demo}/recorder.bin', '{demo}/recorder.toml')
GROUP BY message_type_name, board, interface, channel ORDER BY records DESC, board LIMIT 6;

-- How did connections go? What they carry is found by content.
SELECT flow.service, flow.state, count(*) AS flows, sum(flow.packets_src + flow.packets_dst) AS packets
FROM flows('{demo}/voip.pcap') GROUP BY flow.service, flow.state ORDER BY packets DESC, flow.state;

-- Who called whom, and how did it end?
SELECT call.from.user, call.to.user, call.state, call.setup_delay, call.duration
FROM calls('{demo}/voip.pcap') ORDER BY call.number;

-- How good was its voice? Streams of RTP, with the calls that set them up.
SELECT sip.call_id, addr.src, media.codec, media.packets, media.lost, round(media.jitter_max, 1) AS jitter, media.mos
FROM media('{demo}/calls.pcap') ORDER BY addr.src;

-- What did a gateway and its controller say of a call? Megaco, a command a row.
SELECT h248.transaction_id, h248.command, h248.termination_ids, h248.reply_time
FROM h248('{demo}/megaco.pcap') WHERE h248.kind = 'request' LIMIT 4;

-- Which names were looked up, and which servers spoke TLS or QUIC?
SELECT lookup.query, lookup.rcode_name, lookup.answers FROM lookups('{demo}/services.pcap') LIMIT 3;
SELECT addr.dst, tls.version, tls.handshake.extensions_server_name, tls.handshake.ja4 FROM tls('{demo}/services.pcap');

-- Who tries many ports?
SELECT addr.src, count(DISTINCT port.dst) AS ports FROM flows('{demo}/voip.pcap')
WHERE flow.state IN ('S0', 'REJ') GROUP BY addr.src HAVING count(DISTINCT port.dst) > 3;

-- Two captures as one, in the order of time.
SELECT frame.file, frame.number, frame.time, frame.len
FROM packets('{demo}/framerelay.pcap', '{demo}/sunatm.pcap', merge => true)
WHERE frame.time >= '2026-01-01T00:00:20Z' LIMIT 6;

-- How would it run? What is decoded, and what is decided while decoding.
EXPLAIN SELECT ip.src, sum(frame.len) FROM '{demo}/office.pcapng' WHERE udp.dstport = 53 GROUP BY ip.src;
