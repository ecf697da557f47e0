// What crosses an interface now, redrawn as it comes.

import * as api from "../api.js";
import { draw } from "../chart.js";
import { h } from "../dom.js";
import { bytes, count } from "../format.js";
import { failure } from "../parts.js";

/** Seconds that the charts hold. */
const HELD = 300;

export async function show(main, parameters) {
  const name = h("input", { type: "text", ".value": parameters.interface ?? sessionStorage.getItem("weir.interface") ?? "", placeholder: "eth0", "aria-label": "Interface", "data-filter": "", autocomplete: "off" });
  const button = h("button", { type: "button", class: "main", onclick: () => (stop ? end() : begin()) }, "Watch");
  const status = h("span", { class: "status", role: "status" });
  const problem = h("div", {});
  const [bytesBox, packetsBox, protocolsBox, topBox] = ["Bytes a second", "Packets a second", "Protocols", "Talkers"].map((title) => {
    const body = h("div", { class: "body" }, h("p", { class: "empty" }, "Nothing yet."));
    return { body, element: h("section", { class: "panel", "aria-label": title }, h("header", {}, h("h2", {}, title)), body) };
  });
  const cards = h("div", { class: "cards" }, bytesBox.element, packetsBox.element, protocolsBox.element, topBox.element);
  topBox.element.hidden = true;
  main.append(h("div", { class: "title" }, h("h1", {}, "Live"), h("label", {}, "Interface", name), button, status), problem,
    h("p", { class: "dim note" }, "The server watches the interfaces that it was begun with: weir serve --live eth0."), cards);
  let stop = null;
  let points = [];
  let protocols = new Map();
  let undo = [];

  function begin() {
    end();
    sessionStorage.setItem("weir.interface", name.value);
    points = [];
    protocols = new Map();
    problem.replaceChildren();
    button.textContent = "Stop";
    status.textContent = "Waiting for packets …";
    stop = api.live({ interface: name.value.trim() || null }, (event) => { take(event); }, (error) => {
      end();
      if (error) problem.replaceChildren(failure(error));
      else status.textContent = "The server has ended it.";
    });
  }

  function end() {
    stop?.();
    stop = null;
    button.textContent = "Watch";
  }

  function take(event) {
    if (event.error) { problem.replaceChildren(failure(event.error)); return; }
    points.push([event.time, Number(event.packets ?? 0), Number(event.bytes ?? 0)]);
    if (points.length > HELD) points.shift();
    for (const entry of Object.entries(event.protocols ?? {})) {
      const [protocol, value] = entry;
      protocols.set(protocol, (protocols.get(protocol) ?? 0) + Number(value.packets ?? value));
    }
    const sum = points.reduce((total, point) => total + point[1], 0);
    status.textContent = `${count(sum)} packets in ${count(points.length)} s · ${bytes(event.bytes ?? 0)}/s${event.dropped ? ` · ${count(event.dropped)} dropped` : ""}`;
    // A page that nobody sees is not drawn.
    if (!document.hidden) redraw(event);
  }

  function redraw(event) {
    undo.forEach((act) => act());
    const columns = [{ name: "time", type: "time" }, { name: "packets", type: "uint" }, { name: "bytes", type: "uint" }];
    const line = (box, y) => draw(box.body, columns, points, { kind: "line", x: 0, ys: [y], split: null }, { height: 190, plain: true });
    const rows = [...protocols].sort((one, other) => other[1] - one[1]);
    undo = [line(bytesBox, 2), line(packetsBox, 1),
      draw(protocolsBox.body, [{ name: "protocol", type: "text" }, { name: "packets", type: "uint" }], rows, { kind: "bars", x: [0], ys: [1] }, { plain: true, rows: 12 })];
    if (event.talkers) {
      topBox.element.hidden = false;
      const talkers = Object.entries(event.talkers);
      undo.push(draw(topBox.body, [{ name: "address", type: "ip" }, { name: "bytes", type: "uint" }], talkers, { kind: "bars", x: [0], ys: [1] }, { plain: true, rows: 12, value: bytes }));
    }
  }

  if (parameters.interface) begin();
  return () => { end(); undo.forEach((act) => act()); };
}
