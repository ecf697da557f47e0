// The questions that the views ask. Each is plain SQL, which the page shows and opens in the editor.

/** A text as SQL writes it. */
export const text = (value) => `'${String(value).replaceAll("'", "''")}'`;

/** A number that a person typed, or nothing. */
export const integer = (value) => (/^\d+$/.test(String(value).trim()) ? String(value).trim() : null);

/** The condition that an address, or a network with its length, is at an end. */
export function address(value) {
  const wanted = value.trim();
  if (wanted.includes("/")) return `(cidr_match(addr.src, ${text(wanted)}) OR cidr_match(addr.dst, ${text(wanted)}))`;
  return `${text(wanted)} IN (addr.src, addr.dst)`;
}

/** A length of time for slots, so that about sixty of them cover so many seconds. */
export function slot(span) {
  const steps = [[0.001, "1 millisecond"], [0.01, "10 milliseconds"], [0.1, "100 milliseconds"], [0.5, "500 milliseconds"], [1, "1 second"],
    [2, "2 seconds"], [5, "5 seconds"], [10, "10 seconds"], [30, "30 seconds"], [60, "1 minute"], [300, "5 minutes"], [600, "10 minutes"],
    [1800, "30 minutes"], [3600, "1 hour"], [21_600, "6 hours"], [86_400, "1 day"]];
  const [length, words] = steps.find(([length]) => span / length <= 100) ?? steps.at(-1);
  return { length, words };
}

/** The overview's questions of a capture; `span` is its length in seconds. */
export function overview(file, span) {
  const from = text(file);
  const bin = slot(span).words;
  return {
    time: `SELECT date_bin(INTERVAL '${bin}', frame.time) AS time,
       count(*) AS packets, sum(frame.len) AS bytes
FROM ${from} GROUP BY time ORDER BY time`,
    heat: `SELECT date_bin(INTERVAL '${bin}', frame.time) AS time,
       frame.len // 100 * 100 AS length, count(*) AS packets
FROM ${from} GROUP BY time, length ORDER BY time, length`,
    protocols: `SELECT coalesce(proto, 'other') AS protocol, count(*) AS packets, sum(frame.len) AS bytes
FROM ${from} GROUP BY protocol ORDER BY bytes DESC LIMIT 12`,
    talkers: `SELECT addr.src, addr.dst, count(*) AS packets, sum(frame.len) AS bytes
FROM ${from} WHERE addr.src IS NOT NULL
GROUP BY addr.src, addr.dst ORDER BY bytes DESC LIMIT 12`,
    ports: `SELECT proto, port.dst AS port, count(*) AS packets, sum(frame.len) AS bytes
FROM ${from} WHERE port.dst IS NOT NULL AND port.dst < 32768
GROUP BY proto, port ORDER BY packets DESC LIMIT 12`,
    states: `SELECT flow.state, count(*) AS connections, sum(flow.ip_bytes_src + flow.ip_bytes_dst) AS bytes
FROM flows(${from}) GROUP BY flow.state ORDER BY connections DESC`,
    services: `SELECT coalesce(flow.service, 'not known') AS service, count(*) AS connections,
       sum(flow.ip_bytes_src + flow.ip_bytes_dst) AS bytes
FROM flows(${from}) GROUP BY service ORDER BY bytes DESC LIMIT 12`,
    dns: `SELECT coalesce(lookup.rcode_name, 'no answer') AS status, count(*) AS lookups,
       round(1000 * avg(lookup.rtt), 1) AS milliseconds
FROM lookups(${from}) GROUP BY status ORDER BY lookups DESC`,
    names: `SELECT lookup.query AS name, count(*) AS lookups
FROM lookups(${from}) GROUP BY name ORDER BY lookups DESC LIMIT 12`,
    tls: `SELECT coalesce(tls.version, 'none agreed on') AS version, count(*) AS handshakes,
       count(*) FILTER (WHERE tls.established) AS established
FROM tls(${from}) GROUP BY version ORDER BY handshakes DESC`,
    servers: `SELECT tls.handshake.extensions_server_name AS server, count(*) AS handshakes
FROM tls(${from}) WHERE tls.handshake.extensions_server_name IS NOT NULL
GROUP BY server ORDER BY handshakes DESC LIMIT 12`,
    calls: `SELECT call.state AS state, count(*) AS calls, round(avg(call.setup_delay), 3) AS setup_seconds
FROM calls(${from}) GROUP BY state ORDER BY calls DESC`,
    damage: `SELECT frame.stopped AS reason, count(*) AS packets, min(frame.number) AS first
FROM ${from} WHERE frame.stopped IS NOT NULL GROUP BY reason ORDER BY packets DESC LIMIT 12`,
  };
}

/** What a capture is, in one row. */
export const facts = (file) => `SELECT count(*) AS packets, sum(frame.len) AS bytes,
       min(frame.time) AS first, max(frame.time) AS last,
       avg(frame.len) AS mean_length, count(*) FILTER (WHERE frame.cap_len < frame.len) AS cut,
       count(*) FILTER (WHERE frame.stopped IS NOT NULL) AS damaged
FROM ${text(file)}`;

const SECOND = "tumble(frame.time, INTERVAL '1 second') AS time";
const NOW = "FROM packets(live, lateness => INTERVAL '100 milliseconds')";

/** Questions to what passes an interface: each answers a window a second, as long as it is asked. */
export const passing = {
  protocols: `SELECT ${SECOND}, coalesce(proto, 'other') AS protocol,
       count(*) AS packets, sum(frame.len) AS bytes
${NOW} GROUP BY time, protocol`,
  talkers: `SELECT ${SECOND}, addr.src AS address, sum(frame.len) AS bytes
${NOW} WHERE addr.src IS NOT NULL GROUP BY time, address`,
  own: `SELECT ${SECOND}, port.dst AS port, count(*) AS packets
${NOW} WHERE tcp.flags.syn = 1 GROUP BY time, port`,
};

/** Questions to begin with, put to a capture. */
export const examples = (file) => [
  ["What is in this capture?", `SELECT frame.layers, count(*) AS packets, sum(frame.len) AS bytes
FROM ${text(file)} GROUP BY frame.layers ORDER BY packets DESC`],
  ["Who talks most, to whom?", `SELECT addr.src, addr.dst, proto, port.dst, count(*) AS packets, sum(frame.len) AS bytes
FROM ${text(file)} WHERE addr.src IS NOT NULL
GROUP BY ALL ORDER BY bytes DESC LIMIT 100`],
  ["How much, and when?", `SELECT date_bin(INTERVAL '1 second', frame.time) AS time, proto, sum(frame.len) AS bytes
FROM ${text(file)} GROUP BY time, proto ORDER BY time`],
  ["Which connections failed?", `SELECT flow.id, addr.src, addr.dst, port.dst, flow.state, flow.history
FROM flows(${text(file)}) WHERE flow.state IN ('S0', 'REJ', 'RSTO', 'RSTR', 'RSTOS0', 'RSTRH', 'SH')
ORDER BY flow.id`],
  ["Which servers are far away?", `SELECT addr.dst, port.dst, count(*) AS connections, round(1000 * avg(flow.rtt), 1) AS milliseconds
FROM flows(${text(file)}) WHERE flow.rtt IS NOT NULL
GROUP BY addr.dst, port.dst ORDER BY milliseconds DESC`],
  ["How long are packets?", `SELECT frame.len FROM ${text(file)}`],
  ["Which calls failed, and why?", `SELECT sip.call_id, call.from.user, call.to.user, call.state, call.status
FROM calls(${text(file)}) WHERE call.status >= 400`],
  ["Who asked for which name?", `SELECT frame.time, addr.src, lookup.query, lookup.qtype_name, lookup.rcode_name, lookup.answers
FROM lookups(${text(file)})`],
  ["Which pages were slow?", `SELECT http.host, http.request.uri, http.response.code, http.time
FROM http(${text(file)}) ORDER BY http.time DESC LIMIT 100`],
];

/** The capture that a statement reads, when it names one only. */
export function fileOf(sql) {
  const named = [...sql.matchAll(/(?:from|join)\s+(?:\w+\s*\(\s*)?'((?:[^']|'')+)'/gi)].map((match) => match[1].replaceAll("''", "'"));
  return new Set(named).size === 1 ? named[0] : null;
}
