// What passes an interface now: charts that are drawn anew each second, and a question of one's own.

import * as api from "../api.js";
import { Chart, draw } from "../chart.js";
import { h, say } from "../dom.js";
import { bytes, count, instant } from "../format.js";
import { failure, source } from "../parts.js";
import { passing } from "../sql.js";

/** Seconds that are kept and drawn. */
const KEPT = 120;
/** Rows of one's own question that are kept. */
const ROWS = 5_000;

const TIME = { name: "time", type: "time" };
const amount = (name) => ({ name, type: "float" });
const name = (text) => ({ name: text, type: "text" });

export async function show(main, parameters, app) {
  const { interface: interface_ } = await api.live();
  if (!interface_) {
    main.append(h("p", { class: "empty" }, "This server captures from no interface: weir serve --live eth0 does, where it may."));
    return null;
  }
  const streams = [];
  const undo = [];
  let left = false;

  const box = (title, sql) => {
    const body = h("div", { class: "body" }, h("p", { class: "waits" }, "Waiting for packets …"));
    const shown = source(sql, app);
    shown.hidden = true;
    const toggle = h("button", {
      type: "button", class: "small plain", "aria-expanded": "false", "aria-label": `SQL of ${title}`,
      onclick: () => { shown.hidden = !shown.hidden; toggle.setAttribute("aria-expanded", String(!shown.hidden)); },
    }, "SQL");
    const element = h("section", { class: "panel", "aria-label": title }, h("header", {}, h("h2", { class: "grow" }, title), toggle), shown, body);
    return { element, body };
  };
  const traffic = box("Bytes a second", passing.protocols);
  const packets = box("Packets a second", passing.protocols);
  const protocols = box("Protocols, bytes a second", passing.protocols);
  const talkers = box("Talkers, bytes in two minutes", passing.talkers);

  const facts = h("dl", { class: "facts grow" });
  const pause = h("button", { type: "button", id: "live-pause", "aria-pressed": "false", onclick: () => (streams.length > 0 ? stop() : start()) }, "Stop");
  const question = h("textarea", { id: "live-sql", class: "mono", rows: 4, spellcheck: "false", "aria-label": "A question to live packets" });
  question.value = parameters.sql ?? passing.own;
  const own = new Chart();
  const ownBox = h("div", { class: "body" }, h("p", { class: "empty" }, "A question to packets(live) is drawn here as it is answered."));
  const run = h("button", { type: "button", class: "main", id: "live-run", onclick: () => ask() }, "Run");
  const ownPanel = h("section", { class: "panel", "aria-label": "A question of your own" },
    h("header", {}, h("h2", { class: "grow" }, "A question of your own"), run), h("div", { class: "body" }, question), ownBox);

  const half = h("div", { class: "cards wide" }, traffic.element, packets.element, protocols.element, talkers.element);
  half.style.gridTemplateColumns = "repeat(auto-fit, minmax(min(100%, 420px), 1fr))";
  main.append(h("div", { class: "title" }, h("h1", {}, `Live: ${interface_}`), h("span", { class: "grow" }), pause),
    h("section", { class: "panel", "aria-label": "Facts" }, h("header", {}, facts)), half, ownPanel);

  // A window counts once it is over; what is older than is drawn goes.
  let seen = { packets: 0, bytes: 0 };
  let byProtocol = [];
  let byTalker = [];
  const fresh = (rows) => {
    const last = rows.reduce((most, row) => Math.max(most, instant(row[0])), 0);
    return rows.filter((row) => instant(row[0]) > last - KEPT);
  };
  const renew = (place, columns, rows, choice, options) => {
    place.undo?.();
    place.undo = draw(place.body, columns, rows, choice, { plain: true, height: 170, ...options });
  };
  const places = [traffic, packets, protocols, talkers];
  undo.push(() => places.forEach((place) => place.undo?.()));

  let due = false;
  const redraw = () => {
    if (due) return;
    due = true;
    setTimeout(() => {
      due = false;
      if (left) return;
      if (byProtocol.length > 0) {
        const sums = new Map();
        for (const [time, , number, size] of byProtocol) {
          const sum = sums.get(time) ?? [time, 0, 0];
          sums.set(time, [time, sum[1] + number, sum[2] + size]);
        }
        // A second in which nothing passed is a second of nothing, not a line between its neighbours.
        const rows = filled([...sums.values()]);
        const now = rows.at(-1);
        const fact = (label, value) => h("div", {}, h("dt", {}, label), h("dd", {}, value));
        facts.replaceChildren(fact("packets a second", count(now[1])), fact("bytes a second", `${bytes(now[2])}/s`),
          fact("packets seen", count(seen.packets)), fact("bytes seen", bytes(seen.bytes)), fact("last window", now[0].slice(11, 19)));
        renew(traffic, [TIME, amount("packets"), amount("bytes")], rows, { kind: "line", x: 0, ys: [2], split: null });
        renew(packets, [TIME, amount("packets"), amount("bytes")], rows, { kind: "line", x: 0, ys: [1], split: null });
        renew(protocols, [TIME, name("protocol"), amount("packets"), amount("bytes")], byProtocol, { kind: "line", x: 0, ys: [3], split: 1 }, { plain: false });
      }
      if (byTalker.length > 0) {
        const sums = new Map();
        for (const [, address, size] of byTalker) sums.set(address, (sums.get(address) ?? 0) + size);
        const rows = [...sums].sort((one, other) => other[1] - one[1]);
        renew(talkers, [name("address"), amount("bytes")], rows, { kind: "bars", x: [0], ys: [1] }, { rows: 12, value: (value) => bytes(value) });
      }
    }, 250);
  };

  const begin = (place, sql, take) => {
    const stream = new api.Stream(sql, take);
    stream.ended.catch((error) => { if (!left) place.body.replaceChildren(failure(error)); });
    streams.push(stream);
  };
  function start() {
    pause.textContent = "Stop";
    pause.setAttribute("aria-pressed", "false");
    begin(traffic, passing.protocols, (rows) => {
      for (const row of rows) { seen.packets += row.packets; seen.bytes += row.bytes; }
      byProtocol = fresh(byProtocol.concat(rows.map((row) => [row.time, row.protocol, row.packets, row.bytes])));
      redraw();
    });
    begin(talkers, passing.talkers, (rows) => {
      byTalker = fresh(byTalker.concat(rows.map((row) => [row.time, row.address, row.bytes])));
      redraw();
    });
    say(`Capturing on ${interface_}`);
  }
  function stop() {
    streams.splice(0).forEach((stream) => stream.cancel());
    pause.textContent = "Go on";
    pause.setAttribute("aria-pressed", "true");
    say("Stopped");
  }

  let asked = null;
  let rows = [];
  async function ask() {
    asked?.cancel();
    rows = [];
    const sql = question.value;
    app.note("live", { sql });
    ownBox.replaceChildren(h("p", { class: "waits" }, "Waiting for rows …"));
    let columns = null;
    let drawn = 0;
    const mine = asked = new api.Stream(sql, (more) => {
      if (more.length === 0 || mine !== asked || left) return;
      columns ??= Object.entries(more[0]).map(([column, value]) => kind(column, value));
      rows = rows.concat(more.map((row) => Object.values(row))).slice(-ROWS);
      if (performance.now() - drawn < 500) return;
      drawn = performance.now();
      if (!own.element.isConnected) ownBox.replaceChildren(own.element);
      own.set(columns, rows, own.kind);
    });
    try {
      await mine.ended;
      if (mine === asked && !left && rows.length === 0) ownBox.replaceChildren(h("p", { class: "empty" }, "No rows."));
    } catch (error) {
      if (mine === asked && !left) ownBox.replaceChildren(failure(error));
    }
  }

  start();
  if (parameters.sql) ask();
  return () => {
    left = true;
    streams.forEach((stream) => stream.cancel());
    asked?.cancel();
    undo.forEach((act) => act());
    own.destroy();
  };
}

/** Rows of [time, …] with zeros for the seconds that have none. */
function filled(rows) {
  const all = [];
  for (const row of rows) {
    const at = instant(row[0]);
    const before = all.length > 0 ? instant(all.at(-1)[0]) : at - 1;
    for (let second = before + 1; second < at - 0.5 && at - second < KEPT; second += 1) all.push([new Date(second * 1e3).toISOString(), 0, 0]);
    all.push(row);
  }
  return all;
}

/** A column of NDJSON, whose values alone say what they are. */
function kind(column, value) {
  if (typeof value === "number") return { name: column, type: "float" };
  if (typeof value === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(value)) return { name: column, type: "time" };
  return { name: column, type: "text" };
}
