// Packets under a display filter, with the layers and the bytes of one side by side.

import * as api from "../api.js";
import { dialog, h } from "../dom.js";
import { printable } from "../format.js";
import { List, detailHead, failure } from "../parts.js";
import { integer, text } from "../sql.js";

export function show(main, parameters, app) {
  const from = () => (list.flow ? `flow_packets(${text(app.file ?? "")})` : text(app.file ?? ""));
  const list = new List({
    main, app, parameters, dialog, name: "packets", title: "Packets", label: "Packets", noun: "packets", down: true, limit: 50_000, detailLabel: "The packet",
    filters: [
      { name: "filter", label: "Display filter", long: true, placeholder: "tcp.port == 443 && !icmp", where: (value) => `display_filter(${text(value)})` },
      { name: "flow", label: "Connection", where: (value) => (integer(value) === null ? "false" : `flow.id = ${integer(value)}`) },
      { name: "where", label: "SQL", raw: true, placeholder: "frame.len > 1000", where: (value) => `(${value})` },
    ],
    sql: (conditions) => {
      list.flow = conditions.some((condition) => condition.startsWith("flow.id"));
      return `SELECT frame.number, frame.time, addr.src, port.src, addr.dst, port.dst, proto, frame.len, frame.layers, frame.stopped
FROM ${from()}${conditions.length ? `\nWHERE ${conditions.join("\n  AND ")}` : ""}`;
    },
    onanswer: (answer, grid) => {
      const wanted = parameters.number;
      if (!wanted) return;
      parameters.number = null;
      const row = answer.rows.findIndex((one) => String(one[0]) === String(wanted));
      if (row >= 0) grid.choose(row); else list.open({ "frame.number": wanted });
    },
    onopen: (row, detail, { note, close }) => {
      note({ number: row["frame.number"] });
      open(row["frame.number"], detail, app, close);
    },
  });
  list.run();
  return () => list.destroy();
}

let turn = 0;

function open(number, detail, app, close) {
  const mine = ++turn;
  const body = h("div", { class: "body" }, h("p", { class: "waits" }, "Reading …"));
  detail.replaceChildren(detailHead(`Packet ${number}`, [], close), body);
  setTimeout(async () => {
    if (mine !== turn) return;
    try {
      const packet = await api.packet(app.file, number);
      if (mine === turn) body.replaceChildren(draw(packet));
    } catch (error) {
      if (mine === turn) body.replaceChildren(failure(error));
    }
  }, 90);
}

/** The layers as lists that open and close, and the bytes beside them. */
function draw(packet) {
  const octets = h("div", { class: "octets", tabindex: "0", role: "region", "aria-label": "Bytes" });
  const hex = packet.bytes ?? "";
  const paint = (from, length) => octets.replaceChildren(...dump(hex, from, length));
  if (hex) paint(-1, 0); else octets.append("This server does not give bytes.");
  const layers = h("div", { class: "layers", tabindex: "0", role: "region", "aria-label": "Layers" }, packet.layers.map((layer, index) => h("details", { open: index >= packet.layers.length - 2 },
    h("summary", {}, layer.name, layer.offset !== undefined ? h("span", { class: "dim" }, `  at ${layer.offset}`) : ""),
    h("dl", {}, layer.fields.map((field) => {
      const place = field.offset !== undefined && field.offset !== null && field.length > 0;
      return h("div", { title: field.meaning ?? "", onpointerenter: place ? () => paint(field.offset, field.length) : null, onpointerleave: place ? () => paint(-1, 0) : null },
        h("dt", {}, field.name), h("dd", {}, field.value === null ? "" : String(field.value)));
    })))));
  return h("div", { class: "sides" }, layers, octets);
}

/** The octets sixteen a line, those of a field marked. */
function dump(hex, from, length) {
  const parts = [];
  const marked = (at) => at >= from && at < from + length;
  for (let at = 0; at < hex.length / 2; at += 16) {
    const pairs = hex.slice(at * 2, at * 2 + 32).match(/../g) ?? [];
    parts.push(h("span", { class: "dim" }, `${at.toString(16).padStart(4, "0")}  `));
    pairs.forEach((pair, index) => parts.push(marked(at + index) ? h("mark", {}, pair) : pair, index === 7 ? "  " : " "));
    parts.push(" ".repeat((16 - pairs.length) * 3 + (pairs.length < 8 ? 1 : 0) + 1));
    parts.push(pairs.map((pair) => printable(parseInt(pair, 16))).join(""), "\n");
  }
  return parts;
}
