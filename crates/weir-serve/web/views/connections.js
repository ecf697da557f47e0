// Connections as a list with filters; one of them followed as text and as octets.

import * as api from "../api.js";
import { dialog, h, save, tabs } from "../dom.js";
import { bytes, count, hexdump, seconds } from "../format.js";
import { List, detailHead, failure, pairs } from "../parts.js";
import { address, integer, text } from "../sql.js";

const STATES = ["SF", "S0", "S1", "S2", "S3", "REJ", "RSTO", "RSTR", "RSTOS0", "RSTRH", "SH", "SHR", "OTH"];
/** Pieces of a conversation that are put into the page at once. */
const PIECES = 200;

export function show(main, parameters, app) {
  const from = () => `flows(${text(app.file ?? "")})`;
  const list = new List({
    main, app, parameters, dialog, name: "connections", title: "Connections", label: "Connections", noun: "connections", down: true,
    detailLabel: "The connection",
    filters: [
      { name: "address", label: "Address", placeholder: "10.0.0.1 or 10.0.0.0/8", where: address },
      { name: "port", label: "Port", where: (value) => (integer(value) === null ? "false" : `${integer(value)} IN (port.src, port.dst)`) },
      { name: "proto", label: "Protocol", kind: "select", options: ["tcp", "udp", "sctp", "icmp", "icmpv6", "igmp", "gre"], where: (value) => `proto = ${text(value)}` },
      { name: "state", label: "State", kind: "select", options: STATES, where: (value) => `flow.state = ${text(value)}` },
      { name: "service", label: "Service", where: (value) => `flow.service = ${text(value)}` },
    ],
    sql: (conditions) => `SELECT flow.id, proto, addr.src, port.src, addr.dst, port.dst, flow.service, flow.state, flow.history,
       flow.start, flow.duration, flow.rtt, flow.packets_src, flow.packets_dst, flow.bytes_src, flow.bytes_dst,
       flow.retransmissions_src, flow.retransmissions_dst, flow.missed_bytes
FROM ${from()}${conditions.length ? `\nWHERE ${conditions.join("\n  AND ")}` : ""}
ORDER BY flow.id`,
    keep: () => ({ flow: null }),
    onanswer: (answer, grid) => {
      const wanted = parameters.flow;
      if (!wanted) return;
      parameters.flow = null;
      const at = answer.columns.findIndex((column) => column.name === "flow.id");
      const row = answer.rows.findIndex((one) => String(one[at]) === String(wanted));
      if (row >= 0) grid.choose(row); else list.open({ "flow.id": wanted });
    },
    onopen: (row, detail, { note, close }) => {
      note({ flow: row["flow.id"] });
      follow(row, detail, app, close);
    },
  });
  list.run();
  return () => list.destroy();
}

let turn = 0;

/** Fills the part below the list with what both ends of a connection said. */
export function follow(row, detail, app, close) {
  const mine = ++turn;
  const flow = row["flow.id"];
  const body = h("div", { class: "body", tabindex: "0", role: "region", "aria-label": "Conversation" }, h("p", { class: "waits" }, "Reading …"));
  const ends = row["addr.src"] ? `${row["addr.src"]}:${row["port.src"] ?? ""} → ${row["addr.dst"]}:${row["port.dst"] ?? ""}` : "";
  let stream = null;
  let form = sessionStorage.getItem("weir.follow") ?? "text";
  const which = tabs("Form", [["text", "Text"], ["hex", "Hex"], ["facts", "Facts"]], form, (key) => { form = key; sessionStorage.setItem("weir.follow", key); fill(); });
  for (const tab of which.children) tab.setAttribute("aria-controls", "follow-body");
  body.id = "follow-body";
  detail.replaceChildren(detailHead(`Connection ${flow}  ${ends}`, [which,
    h("button", { type: "button", class: "small", onclick: () => app.go("packets", { file: app.file, flow }) }, "Packets"),
    h("button", { type: "button", class: "small", onclick: () => { if (stream) save(new Blob([stream.pieces.map((piece) => `${piece.from === "client" ? ">" : "<"} ${piece.text}`).join("\n")], { type: "text/plain" }), `connection-${flow}.txt`); } }, "Save text")], close), body);

  function fill(pieces = PIECES) {
    if (form === "facts") {
      body.replaceChildren(pairs(row), row["flow.duration"] != null ? h("p", { class: "dim" }, `${seconds(row["flow.duration"])}, ${bytes(row["flow.bytes_src"])} there and ${bytes(row["flow.bytes_dst"])} back.`) : "");
      return;
    }
    if (!stream) return;
    if (stream.error) { body.replaceChildren(failure(stream.error)); return; }
    if (stream.pieces.length === 0) { body.replaceChildren(h("p", { class: "empty" }, "Neither end sent data.")); return; }
    let offset = { client: 0, server: 0 };
    body.replaceChildren(h("div", { class: "stream" }, stream.pieces.slice(0, pieces).map((piece) => {
      const octets = (piece.hex ?? "").length / 2;
      const at = offset[piece.from];
      offset = { ...offset, [piece.from]: at + octets };
      return h("div", { class: `piece ${piece.from} ${form}` },
        h("small", {}, `${piece.from}${piece.time ? ` · ${String(piece.time).replace("T", " ").replace(/Z$/, "")}` : ""} · ${count(octets)} octets from ${count(at)}`),
        h("pre", {}, form === "text" ? visible(piece.text ?? "") : hexdump(piece.hex ?? "")));
    })));
    if (stream.pieces.length > pieces) body.append(h("button", { type: "button", onclick: () => fill(pieces * 4) }, `Show more of the ${count(stream.pieces.length)} pieces`));
    if (stream.truncated) body.append(h("p", { class: "notice" }, "The server gives the beginning of this connection only."));
  }

  // Whoever walks down the list does not ask for every connection on the way.
  setTimeout(async () => {
    if (mine !== turn) return;
    try {
      stream = await api.stream(app.file, flow);
    } catch (error) {
      stream = { error };
    }
    if (mine === turn) fill();
  }, 120);
}

/** Text with its control characters shown, so that what is in a packet cannot pass for something else. */
export function visible(value) {
  return value.replaceAll("\r\n", "\n").replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\ufffd]/g, "·");
}
