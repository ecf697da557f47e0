// The files below the server's roots, and where captures are dropped.

import * as api from "../api.js";
import { h, quiet, say, toast } from "../dom.js";
import { bytes, count } from "../format.js";
import { text } from "../sql.js";

export async function show(main, parameters, app) {
  const table = h("div", { class: "panel" });
  const filter = h("input", { type: "search", placeholder: "Find a file", "aria-label": "Find a file", "data-filter": "", oninput: quiet(120, () => fill()) });
  const picker = h("input", { type: "file", multiple: true, class: "heard", tabindex: "-1", "aria-hidden": "true", onchange: () => send([...picker.files], app, fill) });
  const drop = h("div", { class: "drop" }, h("p", {}, "Drop captures anywhere on this page, or "),
    h("button", { type: "button", onclick: () => picker.click() }, "choose files"), picker,
    h("p", { class: "note" }, "They are kept by the server until it ends, and go nowhere else."));
  main.append(h("div", { class: "title" }, h("h1", {}, "Files"), filter), drop, table);

  function fill() {
    const word = filter.value.toLowerCase();
    const files = app.files.filter((file) => file.path.toLowerCase().includes(word));
    const order = { capture: 0, log: 1, table: 2, other: 3 };
    files.sort((one, other) => order[one.kind] - order[other.kind] || one.path.localeCompare(other.path));
    const shown = files.slice(0, 500);
    if (files.length === 0) {
      table.replaceChildren(h("p", { class: "empty body" }, word ? "No file of that name." : "No files below the roots of this server."));
      return;
    }
    table.replaceChildren(h("table", { class: "plain" }, h("caption", { class: "heard" }, "Files of the server"),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Name"), h("th", { scope: "col" }, "Kind"), h("th", { scope: "col", class: "number" }, "Size"), h("th", { scope: "col", class: "date" }, "Changed"))),
      h("tbody", {}, shown.map((file) => h("tr", {},
        h("td", {}, h("a", { href: `#/${file.kind === "capture" ? `overview?${new URLSearchParams({ file: file.path })}` : `query?${new URLSearchParams({ sql: `SELECT * FROM ${text(file.path)} LIMIT 1000` })}`}` }, file.path)),
        h("td", { class: "dim" }, file.kind), h("td", { class: "number" }, bytes(file.size)), h("td", { class: "dim date" }, String(file.modified ?? "").slice(0, 16).replace("T", " ")))))));
    if (files.length > shown.length) table.append(h("p", { class: "dim body" }, `and ${count(files.length - shown.length)} more: find them by name.`));
  }

  await app.refresh();
  fill();
  const refill = () => fill();
  addEventListener("weir-files", refill);
  return () => removeEventListener("weir-files", refill);
}

/** Sends files to the server, and shows the overview of the last. */
export async function send(files, app) {
  let last = null;
  for (const file of files) {
    const bar = h("progress", { max: 1, value: 0, "aria-label": `Sending ${file.name}` });
    const line = h("div", { class: "toast" }, `Sending ${file.name} `, bar);
    document.getElementById("toasts").append(line);
    say(`Sending ${file.name}`);
    try {
      const kept = await api.upload(file, (sent, size) => { bar.max = size; bar.value = sent; });
      last = kept.path;
      toast(`${file.name}: ${bytes(kept.size)} received`);
    } catch (error) {
      toast(`${file.name}: ${error.message}${error.hint ? ` (${error.hint})` : ""}`, "bad");
    } finally {
      line.remove();
    }
  }
  await app.refresh();
  dispatchEvent(new Event("weir-files"));
  if (!last) return;
  app.choose(last);
  const kind = app.files.find((file) => file.path === last)?.kind ?? "capture";
  if (kind === "capture") app.go("overview", { file: last });
  else app.edit(`SELECT * FROM ${text(last)} LIMIT 1000`);
}
