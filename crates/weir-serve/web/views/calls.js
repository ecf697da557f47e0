// Calls as a list with filters; the ladder of one, the message that is chosen in it, and its media.

import * as api from "../api.js";
import { dialog, h, save, toast } from "../dom.js";
import { count, seconds } from "../format.js";
import { Ladder, quality } from "../ladder.js";
import { List, detailHead, failure } from "../parts.js";
import { text } from "../sql.js";
import { visible } from "./connections.js";

const STATES = ["trying", "ringing", "in_call", "completed", "cancelled", "busy", "rejected", "redirected", "superseded"];

export function show(main, parameters, app) {
  const from = () => `calls(${text(app.file ?? "")})`;
  let ladder = null;
  const contains = (column, value) => `${column} ILIKE ${text(`%${value.replace(/[%_\\]/g, "\\$&")}%`)}`;
  const list = new List({
    main, app, parameters, dialog, name: "calls", title: "Calls", label: "Calls", noun: "calls", down: true, detailLabel: "The call",
    filters: [
      { name: "from", label: "From", where: (value) => contains(`call.from`, value) },
      { name: "to", label: "To", where: (value) => contains(`call.to`, value) },
      { name: "state", label: "State", kind: "select", options: [...new Set([parameters.state, ...STATES].filter(Boolean))], where: (value) => `call.state = ${text(value)}` },
      { name: "status", label: "Status", placeholder: "486 or 4xx", where: (value) => (/^\dxx$/i.test(value) ? `call.status BETWEEN ${value[0]}00 AND ${value[0]}99` : /^\d+$/.test(value) ? `call.status = ${value}` : "false") },
      { name: "id", label: "Call-ID", where: (value) => contains("sip.call_id", value) },
    ],
    sql: (conditions) => `SELECT call.number, call.from, call.to, call.state, call.status, call.start, call.setup_delay, call.duration,
       call.ended_by, call.messages, call.retransmissions, call.mos, call.lost, call.jitter, flow.id, sip.call_id
FROM ${from()}${conditions.length ? `\nWHERE ${conditions.join("\n  AND ")}` : ""}
ORDER BY call.number`,
    onanswer: (answer, grid) => {
      const wanted = parameters.call;
      if (!wanted) return;
      parameters.call = null;
      const at = answer.columns.findIndex((column) => column.name === "sip.call_id");
      const row = answer.rows.findIndex((one) => one[at] === wanted);
      if (row >= 0) grid.choose(row); else list.open({ "sip.call_id": wanted });
    },
    onopen: (row, detail, { note, close }) => {
      note({ call: row["sip.call_id"] });
      ladder?.destroy();
      ladder = open(row, detail, app, close);
    },
  });
  list.run();
  return () => { ladder?.destroy(); list.destroy(); };
}

let turn = 0;

function open(row, detail, app, close) {
  const mine = ++turn;
  const callId = row["sip.call_id"];
  const message = h("section", { class: "panel detail", "aria-label": "Message" }, h("p", { class: "empty body" }, "Choose an arrow to see its message."));
  const ladder = new Ladder({ onpick: (item) => show(item) });
  const media = h("div", {});
  const wait = h("p", { class: "waits" }, "Reading …");
  const name = `call-${String(callId).replace(/[^\w.-]+/g, "_").slice(0, 60)}`;
  const capture = async () => {
    try { save(await api.callCapture(app.file, callId), `${name}.pcap`); } catch (error) { toast(error.message, "bad"); }
  };
  const facts = [row["call.state"], row["call.status"], row["call.duration"] != null ? seconds(row["call.duration"]) : null, row["call.mos"] != null ? `MOS ${Number(row["call.mos"]).toFixed(2)}` : null].filter((value) => value !== null && value !== undefined).join(" · ");
  const split = h("div", { class: "split" }, ladder.element, message);
  split.hidden = true;
  detail.replaceChildren(detailHead(`${row["call.from"] ?? ""} → ${row["call.to"] ?? ""}`.replace(/^ → $/, callId), [
    h("span", { class: "dim" }, facts),
    h("button", { type: "button", class: "small", id: "save-svg", disabled: true, onclick: () => ladder.save(name) }, "Save SVG"),
    h("button", { type: "button", class: "small", id: "save-pcap", onclick: capture }, "Save capture"),
  ], close), h("div", { class: "body" }, wait, split, media));

  function show(item) {
    const facts = [item.seconds === null ? null : seconds(item.seconds), item.frame ? `packet ${item.frame}` : null].filter(Boolean).join(" · ");
    message.replaceChildren(
      h("header", {}, h("h2", { class: `grow ${item.failed ? "bad" : ""}` }, item.label), h("span", { class: "dim" }, facts),
        item.frame ? h("button", { type: "button", class: "small", onclick: () => app.go("packets", { file: app.file, number: item.frame }) }, "Packet") : ""),
      h("div", { class: "body", tabindex: "0", role: "region", "aria-label": "Text of the message" }, h("pre", {}, item.media ? quality(item) : visible(item.text ?? ""))));
  }

  setTimeout(async () => {
    if (mine !== turn) return;
    try {
      const drawn = await api.ladder(app.file, callId);
      if (mine !== turn) return;
      wait.remove();
      split.hidden = false;
      ladder.set(drawn);
      document.getElementById("save-svg").disabled = false;
      if (drawn.truncated) media.append(h("p", { class: "notice" }, `The first ${count(drawn.messages.length)} messages are drawn; there are more.`));
      if (drawn.media?.length) {
        media.append(h("h3", {}, `Media: ${count(drawn.media.length)} ${drawn.media.length === 1 ? "stream" : "streams"}`), h("ul", {}, drawn.media.slice(0, 50).map((stream) => h("li", {}, `${stream.from} → ${stream.to}: `, h("span", { class: stream.mos != null && stream.mos < 3.6 ? "bad" : "" }, quality(stream))))));
      }
    } catch (error) {
      if (mine === turn) wait.replaceWith(failure(error));
    }
  }, 120);
  return ladder;
}
