// Tables of what packets carry, each with a few questions above its list: DNS, TLS, HTTP, media, H.248, WebSocket.

import * as api from "../api.js";
import { draw } from "../chart.js";
import { dialog, h } from "../dom.js";
import { bytes, count } from "../format.js";
import { List, detailHead, pairs, panel } from "../parts.js";
import { address, integer, text } from "../sql.js";

const contains = (column) => (value) => `${column} ILIKE ${text(`%${value.replace(/[%_\\]/g, "\\$&")}%`)}`;
const equals = (column) => (value) => `${column} = ${text(value)}`;
const numbered = (column) => (value) => (integer(value) === null ? "false" : `${column} = ${integer(value)}`);
const connection = { name: "flow", label: "Connection", where: numbered("flow.id") };
const bars = (x, y, options = {}) => (body, found) => draw(body, found.columns, found.rows, { kind: "bars", x, ys: [y] }, { plain: true, rows: 12, ...options });

/** A view of a table: panels of questions, and its rows. */
function view(name, title, { columns, table, filters, order, panels = [], studies = [], noun = "rows", empty }) {
  return (main, parameters, app) => {
    const { file } = app;
    let left = false;
    const source = `${table}(${text(file ?? "")})`;
    const asked = panels.map(([heading, sql, render]) => panel(heading, sql(source), app, render, { gone: () => left, empty: "None." }));
    // What else the messages could cost is computed by the server, once for all figures of it.
    const studied = studies.length > 0 && file ? api.study(name, file) : null;
    asked.push(...studies.map(([heading, command, names, chosen, render]) => panel(heading, `-- weir ${command} ${file}`, app, render, {
      gone: () => left, empty: "None.", answered: studied.then((found) => ({
        columns: names.map((name, index) => ({ name, type: index === 0 ? "text" : "float" })), rows: chosen(found.rows),
      })),
    })));
    if (asked.length > 0) main.append(h("div", { class: "cards" }, asked));
    const list = new List({
      main, app, parameters, dialog, name, title, label: title, noun, empty,
      filters: [...filters, connection],
      sql: (conditions) => `SELECT ${columns}\nFROM ${source}${conditions.length ? `\nWHERE ${conditions.join("\n  AND ")}` : ""}${order ? `\nORDER BY ${order}` : ""}`,
      onopen: (row, detail, { close }) => {
        const to = (target, more) => () => app.go(target, { file, ...more });
        detail.replaceChildren(detailHead(title, [
          row["frame.number"] != null ? h("button", { type: "button", class: "small", onclick: to("packets", { number: row["frame.number"] }) }, `Packet ${row["frame.number"]}`) : "",
          row["flow.id"] != null ? h("button", { type: "button", class: "small", onclick: to("connections", { flow: row["flow.id"] }) }, `Connection ${row["flow.id"]}`) : "",
          row["sip.call_id"] != null ? h("button", { type: "button", class: "small", onclick: to("calls", { call: row["sip.call_id"] }) }, "Call") : "",
        ], close), h("div", { class: "body", tabindex: "0", role: "region", "aria-label": "Values of the row" }, pairs(row, list.answer.columns)));
      },
    });
    // The heading of the page comes first, also where panels stand above the list.
    main.prepend(main.querySelector(".title"));
    list.run();
    return () => { left = true; asked.forEach((one) => one.leave()); list.destroy(); };
  };
}

export const dns = view("dns", "DNS", {
  table: "lookups", noun: "lookups", order: "frame.number", empty: "No DNS in this capture, or nothing that passes these filters.",
  columns: "frame.number, frame.time, addr.src, addr.dst, lookup.query, lookup.qtype_name, lookup.rcode_name, lookup.rtt,\n       lookup.answers, lookup.ttls, lookup.aa, lookup.tc, flow.id",
  filters: [
    { name: "name", label: "Name", where: contains("lookup.query") },
    { name: "rcode", label: "Answer", kind: "select", options: ["NOERROR", "NXDOMAIN", "SERVFAIL", "REFUSED", "FORMERR"], where: equals("lookup.rcode_name") },
    { name: "address", label: "Address", where: address },
  ],
  panels: [
    ["Answers", (source) => `SELECT coalesce(lookup.rcode_name, 'no answer') AS status, count(*) AS lookups\nFROM ${source} GROUP BY status ORDER BY lookups DESC`, bars([0], 1, { tone: (row) => (row[0] === "NOERROR" ? "good" : "bad") })],
    ["Types", (source) => `SELECT coalesce(lookup.qtype_name, 'none') AS type, count(*) AS lookups\nFROM ${source} GROUP BY type ORDER BY lookups DESC LIMIT 12`, bars([0], 1)],
    ["Slowest servers", (source) => `SELECT addr.dst AS server, round(1000 * avg(lookup.rtt), 2) AS milliseconds, count(*) AS lookups\nFROM ${source} WHERE lookup.rtt IS NOT NULL\nGROUP BY server ORDER BY milliseconds DESC LIMIT 12`, bars([0], 1, { value: (value) => `${value} ms` })],
  ],
});

export const tls = view("tls", "TLS", {
  table: "tls", noun: "handshakes", order: "tls.start", empty: "No TLS in this capture, or nothing that passes these filters.",
  columns: "frame.number, tls.start, addr.src, addr.dst, port.dst, tls.carrier, tls.handshake.extensions_server_name AS server_name,\n       tls.version, tls.cipher, tls.curve, tls.next_protocol, tls.established, tls.resumed, tls.last_alert, tls.time,\n       tls.handshake.ja4 AS ja4, x509.subject, x509.issuer, x509.not_valid_after, flow.id",
  filters: [
    { name: "server", label: "Server", where: contains("tls.handshake.extensions_server_name") },
    { name: "version", label: "Version", kind: "select", options: ["TLSv13", "TLSv12", "TLSv11", "TLSv10", "SSLv3", "DTLSv13", "DTLSv12", "DTLSv10"], where: equals("tls.version") },
    { name: "address", label: "Address", where: address },
  ],
  panels: [
    ["Versions", (source) => `SELECT coalesce(tls.version, 'none agreed on') AS version, count(*) AS handshakes\nFROM ${source} GROUP BY version ORDER BY handshakes DESC`, bars([0], 1, { tone: (row) => (/SSL|v10|v11|none/.test(row[0]) ? "bad" : "good") })],
    ["Ciphers", (source) => `SELECT coalesce(tls.cipher, 'none') AS cipher, count(*) AS handshakes\nFROM ${source} GROUP BY cipher ORDER BY handshakes DESC LIMIT 12`, bars([0], 1)],
    ["Alerts", (source) => `SELECT tls.last_alert AS alert, count(*) AS handshakes\nFROM ${source} WHERE tls.last_alert IS NOT NULL GROUP BY alert ORDER BY handshakes DESC`, bars([0], 1, { tone: () => "bad" })],
  ],
});

export const http = view("http", "HTTP", {
  table: "http", noun: "requests", order: "http.start", empty: "No HTTP in this capture, or nothing that passes these filters.",
  columns: "frame.number, http.start, addr.src, addr.dst, http.request.method AS method, http.host, http.request.uri AS uri,\n       http.response.code AS code, http.response.phrase AS phrase, http.time, http.content_type, http.response.body_len AS body,\n       http.user_agent, http.server, flow.id",
  filters: [
    { name: "host", label: "Host", where: contains("http.host") },
    { name: "uri", label: "URI", where: contains("http.request.uri") },
    { name: "code", label: "Code", where: (value) => (/^\dxx$/i.test(value) ? `http.response.code BETWEEN ${value[0]}00 AND ${value[0]}99` : numbered("http.response.code")(value)) },
  ],
  panels: [
    ["Codes", (source) => `SELECT http.response.code AS code, count(*) AS requests\nFROM ${source} GROUP BY code ORDER BY requests DESC`, bars([0], 1, { tone: (row) => (row[0] === null || row[0] >= 400 ? "bad" : "") })],
    ["Hosts", (source) => `SELECT coalesce(http.host, 'none') AS host, count(*) AS requests\nFROM ${source} GROUP BY host ORDER BY requests DESC LIMIT 12`, bars([0], 1)],
    ["Slowest", (source) => `SELECT http.request.uri AS uri, round(1000 * http.time, 1) AS milliseconds\nFROM ${source} WHERE http.time IS NOT NULL ORDER BY http.time DESC LIMIT 8`, bars([0], 1, { value: (value) => `${value} ms` })],
  ],
});

export const media = view("media", "Media", {
  table: "media", noun: "streams", order: "media.start", empty: "No RTP in this capture, or nothing that passes these filters.",
  columns: "frame.number, media.start, addr.src, port.src, addr.dst, port.dst, media.codec, media.duration, media.packets, media.lost,\n       media.lost_percent, media.jitter_mean, media.jitter_max, media.delta_max, media.mos, media.r_factor, media.out_of_order,\n       media.duplicates, media.found_by, rtp.ssrc, sip.call_id, flow.id",
  filters: [
    { name: "codec", label: "Codec", where: contains("media.codec") },
    { name: "mos", label: "MOS below", where: (value) => (/^\d+(\.\d+)?$/.test(value) ? `media.mos < ${value}` : "false") },
    { name: "address", label: "Address", where: address },
  ],
  panels: [
    ["How they sound (MOS)", (source) => `SELECT media.mos FROM ${source} WHERE media.mos IS NOT NULL`, (body, found) => draw(body, found.columns, found.rows, { kind: "histogram", x: 0 }, { height: 190 })],
    ["Codecs", (source) => `SELECT coalesce(media.codec, 'not known') AS codec, count(*) AS streams, sum(media.packets) AS packets\nFROM ${source} GROUP BY codec ORDER BY streams DESC`, bars([0], 1)],
    ["Most lost", (source) => `SELECT addr.src, addr.dst, round(media.lost_percent, 2) AS percent\nFROM ${source} WHERE media.lost > 0 ORDER BY media.lost_percent DESC LIMIT 10`, bars([0, 1], 2, { join: " → ", value: (value) => `${value} %`, tone: () => "bad" })],
  ],
});

/** Seven digits are more than a comparison needs. */
const tenths = (value) => Math.round(value * 10) / 10;
const percent = (value) => `${tenths(100 * value)} %`;

export const h248 = view("h248", "H.248", {
  table: "h248", noun: "commands", order: "frame.number", empty: "No H.248 in this capture, or nothing that passes these filters.",
  columns: "frame.number, frame.time, addr.src, addr.dst, h248.encoding, h248.kind, h248.command, h248.transaction_id, h248.context_id,\n       h248.termination_ids, h248.descriptors, h248.events, h248.signals, h248.delay, h248.retransmissions, h248.reply_context_id,\n       h248.reply_termination_ids, h248.error_code, h248.error_text, h248.stopped, flow.id",
  filters: [
    { name: "command", label: "Command", kind: "select", options: ["Add", "Modify", "Subtract", "Move", "Notify", "ServiceChange", "AuditValue", "AuditCapability"], where: equals("h248.command") },
    { name: "termination", label: "Termination", where: contains("h248.termination_ids") },
    { name: "context", label: "Context", where: (value) => (integer(value) === null ? "false" : `${integer(value)} IN (h248.context_id, h248.reply_context_id)`) },
    { name: "kind", label: "Kind", kind: "select", options: ["request", "reply", "error", "damaged"], where: equals("h248.kind") },
    { name: "error", label: "Error", placeholder: "code, or any", where: (value) => (value === "any" ? "h248.error_code IS NOT NULL" : numbered("h248.error_code")(value)) },
  ],
  panels: [
    ["Commands", (source) => `SELECT h248.command AS command, count(*) AS commands, round(1000 * avg(h248.delay), 2) AS milliseconds,\n       sum(h248.retransmissions) AS repeated\nFROM ${source} WHERE h248.command IS NOT NULL GROUP BY command ORDER BY commands DESC`, bars([0], 1, { value: (value, row) => `${count(value)}${row[2] === null ? "" : ` · ${row[2]} ms`}${Number(row[3]) > 0 ? ` · ${row[3]} again` : ""}` })],
    ["Delay of replies", (source) => `SELECT 1000 * h248.delay AS milliseconds FROM ${source} WHERE h248.delay IS NOT NULL`, (body, found) => draw(body, found.columns, found.rows, { kind: "histogram", x: 0 }, { height: 190 })],
    ["Errors", (source) => `SELECT h248.error_code AS code, max(h248.error_text) AS text, count(*) AS commands\nFROM ${source} WHERE h248.error_code IS NOT NULL GROUP BY code ORDER BY commands DESC LIMIT 12`, bars([0, 1], 2, { tone: () => "bad" })],
    ["Commands over time", (source) => `SELECT date_bin(INTERVAL '1 second', frame.time) AS time, h248.command AS command, count(*) AS commands\nFROM ${source} WHERE h248.command IS NOT NULL GROUP BY time, command ORDER BY time`, (body, found) => draw(body, found.columns, found.rows, { kind: "heat", x: 0, y: 1, value: 2 }, { height: 190 })],
    ["What messages cost, as they are sent", (source) => `SELECT h248.encoding AS encoding, count(*) AS commands, round(avg(h248.length), 0) AS octets\nFROM ${source} GROUP BY encoding ORDER BY commands DESC`, bars([0], 2, { value: (value, row) => `${value} octets · ${count(row[1])}` })],
  ],
  studies: [
    ["Octets in other encodings", "h248 compare", ["encoding", "messages", "octets"], (rows) => rows.map((row) => row.slice(0, 3)), bars([0], 2, { value: (value, row) => `${tenths(value)} · ${count(row[1])}` })],
    ["Nanoseconds to encode and decode", "h248 compare", ["encoding", "nanoseconds", "encode", "decode"], (rows) => rows.map((row) => [row[0], row[3] + row[4], row[3], row[4]]), bars([0], 1, { value: (value, row) => `${Math.round(row[2])} + ${Math.round(row[3])}` })],
  ],
});

export const websocket = view("websocket", "WebSocket", {
  table: "websocket", noun: "messages", order: "frame.number", empty: "No WebSocket in this capture, or nothing that passes these filters.",
  columns: "frame.number, frame.time, websocket.connection, websocket.direction, websocket.type, websocket.pmc, websocket.message_length,\n       websocket.payload_length, websocket.frame_length, websocket.fragment.count AS fragments, websocket.distance_max,\n       websocket.payload.text AS text, websocket.violations, websocket.host, websocket.target, websocket.extensions, websocket.whole, flow.id",
  filters: [
    { name: "connection", label: "WebSocket", where: numbered("websocket.connection") },
    { name: "direction", label: "Way", kind: "select", options: ["to_server", "to_client"], where: equals("websocket.direction") },
    { name: "type", label: "Type", kind: "select", options: ["text", "binary", "close", "ping", "pong"], where: equals("websocket.type") },
    { name: "text", label: "Text", where: contains("websocket.payload.text") },
  ],
  panels: [
    ["permessage-deflate: what is left of the bytes", (source) => `SELECT websocket.connection AS connection, websocket.direction AS direction,
       count(*) AS messages, count(*) FILTER (WHERE websocket.pmc) AS compressed,
       sum(websocket.message_length) AS message_bytes, sum(websocket.payload_length) AS sent_bytes,
       round(100.0 * sum(websocket.payload_length) / nullif(sum(websocket.message_length), 0), 1) AS percent
FROM ${source} WHERE websocket.type IN ('text', 'binary')
GROUP BY connection, direction ORDER BY message_bytes DESC LIMIT 12`, bars([0, 1], 6, { value: (value, row) => `${value} % of ${bytes(row[4])}` })],
    ["How far back messages refer", (source) => `SELECT websocket.distance_max AS octets FROM ${source} WHERE websocket.distance_max IS NOT NULL`, (body, found) => draw(body, found.columns, found.rows, { kind: "histogram", x: 0 }, { height: 190 })],
    ["Lengths of messages", (source) => `SELECT websocket.message_length AS octets FROM ${source} WHERE websocket.message_length IS NOT NULL`, (body, found) => draw(body, found.columns, found.rows, { kind: "histogram", x: 0 }, { height: 190 })],
    ["Negotiated extensions", (source) => `SELECT coalesce(websocket.extensions, 'no extension') AS extensions, count(DISTINCT websocket.connection) AS connections\nFROM ${source} GROUP BY extensions ORDER BY connections DESC`, bars([0], 1)],
    ["Types", (source) => `SELECT websocket.type AS type, count(*) AS messages, sum(websocket.message_length) AS bytes\nFROM ${source} GROUP BY type ORDER BY messages DESC`, bars([0], 1, { value: (value, row) => `${count(value)} · ${bytes(row[2] ?? 0)}` })],
    ["Violations", (source) => `SELECT websocket.violations AS violation, count(*) AS messages\nFROM ${source} WHERE websocket.violations IS NOT NULL AND websocket.violations <> ''\nGROUP BY violation ORDER BY messages DESC`, bars([0], 1, { tone: () => "bad" })],
  ],
  studies: [
    ["What settings would leave of the bytes", "ws study", ["setting", "ratio", "memory"], (rows) => rows.filter((row) => row[2] === 6 && row[3] === 8 && [9, 10, 12, 15].includes(row[1])).map((row) => [`${row[1]} bits, ${row[0] ? "takeover" : "no takeover"}`, row[5], row[6] + row[7]]).reverse(), bars([0], 1, { value: (value, row) => `${percent(value)} · ${bytes(row[2])}` })],
    ["By level, with takeover and 15 bits", "ws study", ["level", "ratio"], (rows) => rows.filter((row) => row[0] && row[1] === 15 && row[3] === 8).map((row) => [`level ${row[2]}`, row[5]]), bars([0], 1, { value: percent })],
    ["By memory level, with takeover and 15 bits", "ws study", ["memory level", "ratio", "memory"], (rows) => rows.filter((row) => row[0] && row[1] === 15 && row[2] === 6).map((row) => [`memLevel ${row[3]}`, row[5], row[6]]), bars([0], 1, { value: (value, row) => `${percent(value)} · ${bytes(row[2])}` })],
  ],
});
