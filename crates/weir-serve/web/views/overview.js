// A capture at one click: how much, when, who, what, and what is wrong. Each panel shows its question.

import { draw } from "../chart.js";
import { h } from "../dom.js";
import { bytes, cell, count, instant, seconds } from "../format.js";
import { ask, failure, panel, remarks, source } from "../parts.js";
import { facts, overview } from "../sql.js";

export async function show(main, parameters, app) {
  const { file } = app;
  if (!file) { main.append(h("p", { class: "empty" }, "There is no capture yet: put one below the server's root, or drop one here.")); return null; }
  let left = false;
  const gone = () => left;
  const undo = [];
  const sql = facts(file);
  const head = h("section", { class: "panel", "aria-label": "Facts" });
  const cards = h("div", { class: "cards" });
  const title = h("div", { class: "title" }, h("h1", {}, file), h("span", { class: "grow" }),
    h("button", { type: "button", onclick: () => app.edit(`SELECT * FROM '${file.replaceAll("'", "''")}' LIMIT 1000`) }, "Query it"));
  main.append(title, head, cards);
  head.append(h("p", { class: "waits body" }, "Reading …"));
  const began = (query) => undo.push(() => query.cancel());
  let answer;
  try {
    answer = await ask(sql, { gone, began });
  } catch (error) {
    head.replaceChildren(h("div", { class: "body" }, failure(error)));
    return () => { left = true; };
  }
  if (!answer) return null;
  const [packets, octets, first, last, mean, cut, damaged] = answer.rows[0];
  const span = first === null ? 0 : instant(last) - instant(first);
  const fact = (name, value, small) => h("div", {}, h("dt", {}, name), h("dd", { class: small ? "small" : null }, value));
  const shown = source(sql, app);
  shown.hidden = true;
  const toggle = h("button", { type: "button", class: "small plain", "aria-label": "SQL of Facts", "aria-expanded": "false", onclick: () => { shown.hidden = !shown.hidden; toggle.setAttribute("aria-expanded", String(!shown.hidden)); } }, "SQL");
  head.replaceChildren(h("header", {}, h("dl", { class: "facts grow" },
    fact("packets", count(packets)), fact("bytes", bytes(octets)), fact("duration", seconds(span)),
    fact("on average", span > 0 ? `${bytes(Number(octets) / span)}/s` : "–"), fact("mean length", mean === null ? "–" : `${Math.round(mean)} B`),
    fact("from", cell(first, "time").slice(0, 23), true), fact("to", cell(last, "time").slice(0, 23), true),
    fact("cut short", count(cut)), fact("damaged", count(damaged))), toggle), shown,
  remarks(answer).length > 0 ? h("div", { class: "body" }, remarks(answer)) : "");

  const questions = overview(file, span);
  const add = (name, question, render, options = {}) => {
    const one = panel(name, question, app, render, { gone, ...options });
    undo.push(() => one.leave());
    cards.append(one);
  };
  const line = (index, name) => (body, found) => draw(body, found.columns.map((column, at) => (at === index ? { ...column, name } : column)), found.rows, { kind: "line", x: 0, ys: [index], split: null }, { height: 170, plain: true });
  const bars = (x, y, options = {}) => (body, found) => draw(body, found.columns, found.rows, { kind: "bars", x, ys: [y] }, { plain: true, rows: 12, ...options });
  const to = (view, make) => (row) => app.go(view, { file, ...make(row) });

  const half = h("div", { class: "cards wide" });
  half.style.gridTemplateColumns = "repeat(auto-fit, minmax(min(100%, 420px), 1fr))";
  cards.append(half);
  // Both curves are of one question; it is asked once.
  const curves = ask(questions.time, { gone, began });
  for (const [name, index] of [["Bytes over time", 2], ["Packets over time", 1]]) {
    const one = panel(name, questions.time, app, line(index, index === 2 ? "bytes" : "packets"), { gone, answered: curves });
    undo.push(() => one.leave());
    half.append(one);
  }
  add("Protocols", questions.protocols, bars([0], 2, { value: (value, row) => `${bytes(value)} · ${count(row[1])}`, onpick: to("packets", (row) => ({ filter: row[0] === "other" ? "" : row[0] })) }));
  add("Talkers", questions.talkers, bars([0, 1], 3, { join: " → ", value: (value) => bytes(value), onpick: to("connections", (row) => ({ address: row[0] })) }));
  add("Ports", questions.ports, bars([0, 1], 2, { onpick: to("connections", (row) => ({ port: row[1] })) }));
  add("Connections by state", questions.states, bars([0], 1, { tone: (row) => stateTone(row[0]), onpick: to("connections", (row) => ({ state: row[0] })) }), { empty: "No connections." });
  add("Services", questions.services, bars([0], 2, { value: (value, row) => `${bytes(value)} · ${count(row[1])}`, onpick: to("connections", (row) => (row[0] === "not known" ? {} : { service: row[0] })) }), { empty: "No connections." });
  add("Lengths over time", questions.heat, (body, found) => draw(body, found.columns, found.rows, { kind: "heat", x: 0, y: 1, value: 2 }, { height: 230 }));
  add("DNS: answers", questions.dns, bars([0], 1, { tone: (row) => (row[0] === "NOERROR" ? "" : "bad"), value: (value, row) => `${count(value)}${row[2] === null ? "" : ` · ${row[2]} ms`}`, onpick: to("dns", (row) => ({ rcode: row[0] === "no answer" ? "" : row[0] })) }), { empty: "No DNS." });
  add("DNS: names", questions.names, bars([0], 1, { onpick: to("dns", (row) => ({ name: row[0] })) }), { empty: "No DNS." });
  add("TLS: versions", questions.tls, bars([0], 1, { value: (value, row) => `${count(value)} · ${count(row[2])} established`, tone: (row) => (/SSL|v10|v11|none/.test(row[0]) ? "bad" : ""), onpick: to("tls", () => ({})) }), { empty: "No TLS." });
  add("TLS: servers", questions.servers, bars([0], 1, { onpick: to("tls", (row) => ({ server: row[0] })) }), { empty: "No TLS." });
  add("Calls", questions.calls, bars([0], 1, { tone: (row) => (["completed", "in_call"].includes(row[0]) ? "good" : ["trying", "ringing", "superseded"].includes(row[0]) ? "" : "bad"), value: (value, row) => `${count(value)}${row[2] === null ? "" : ` · setup ${seconds(row[2])}`}`, onpick: to("calls", (row) => ({ state: row[0] })) }), { empty: "No calls." });
  add("Damage", questions.damage, (body, found) => {
    body.append(h("table", { class: "plain" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Where decoding stopped"), h("th", { scope: "col", class: "number" }, "Packets"), h("th", { scope: "col", class: "number" }, "First"))),
      h("tbody", {}, found.rows.map((row) => h("tr", {}, h("td", {}, row[0]), h("td", { class: "number" }, count(row[1])), h("td", { class: "number" }, h("a", { href: `#/packets?${new URLSearchParams({ file, number: row[2] })}` }, row[2])))))));
  }, { empty: "None: every packet was decoded to its end." });
  return () => { left = true; undo.forEach((act) => act()); };
}

/** How a state of a connection is drawn: ended well, failed, or neither. */
export function stateTone(state) {
  if (state === "SF") return "good";
  return /^(S0|REJ|RST|SH)/.test(state ?? "") ? "bad" : "";
}
