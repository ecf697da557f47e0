// The frame of the page: which view is shown, which capture it shows, colours, shortcuts.

import * as api from "./api.js";
import { dialog, h, say, toast } from "./dom.js";
import { failure } from "./parts.js";
import * as query from "./views/query.js";
import * as files from "./views/files.js";
import * as overview from "./views/overview.js";
import * as packets from "./views/packets.js";
import * as connections from "./views/connections.js";
import * as calls from "./views/calls.js";
import * as live from "./views/live.js";
import * as messages from "./views/messages.js";

/** The views: their name in the address, the key behind `g`, what shows them, and which show no capture. */
const VIEWS = [
  { name: "files", key: "f", title: "Files", show: files.show, apart: true },
  { name: "query", key: "q", title: "Query", show: query.show, apart: true },
  { name: "live", key: "l", title: "Live", show: live.show, apart: true },
  { name: "overview", key: "o", title: "Overview", show: overview.show, group: "Capture" },
  { name: "packets", key: "p", title: "Packets", show: packets.show },
  { name: "connections", key: "c", title: "Connections", show: connections.show },
  { name: "calls", key: "a", title: "Calls", show: calls.show },
  { name: "media", key: "m", title: "Media", show: messages.media },
  { name: "dns", key: "d", title: "DNS", show: messages.dns, group: "Messages" },
  { name: "tls", key: "t", title: "TLS", show: messages.tls },
  { name: "http", key: "h", title: "HTTP", show: messages.http },
  { name: "h248", key: "8", title: "H.248", show: messages.h248 },
  { name: "websocket", key: "w", title: "WebSocket", show: messages.websocket },
];

const app = {
  file: localStorage.getItem("weir.file"),
  files: [],
  /** Shows a view; parameters that are null are left out of the address. */
  go(name, parameters = {}) {
    const wanted = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== ""));
    location.hash = `#/${name}${wanted.size ? `?${wanted}` : ""}`;
  },
  /** Writes parameters into the address without showing the view anew. */
  note(name, parameters) {
    const wanted = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== ""));
    history.replaceState(null, "", `#/${name}${wanted.size ? `?${wanted}` : ""}`);
  },
  /** Opens a question in the editor, and runs it. */
  edit(sql) {
    query.runNext();
    app.go("query", { sql });
  },
  /** Makes a capture the one that views show. */
  choose(path) {
    app.file = path;
    localStorage.setItem("weir.file", path);
    fillFiles();
  },
  async refresh() {
    app.files = await api.files();
    fillFiles();
    return app.files;
  },
};

const main = document.getElementById("main");
const select = document.getElementById("file");
let leave = null;
let shown = 0;

function fillFiles() {
  const captures = app.files.filter((file) => file.kind === "capture");
  // A glob, or a file that has gone since, stays chosen: the server says what is wrong with it.
  const paths = captures.map((file) => file.path);
  // What was dropped here lies in a folder that is nobody's concern.
  const names = new Map(captures.map((file) => [file.path, file.name]));
  if (!app.file && paths.length > 0) app.file = paths.find((path) => path.includes("voip")) ?? paths[0];
  if (app.file && !paths.includes(app.file)) paths.unshift(app.file);
  select.replaceChildren(...paths.map((path) => h("option", { value: path, selected: path === app.file }, names.get(path) ?? path)));
  select.disabled = paths.length === 0;
}

select.addEventListener("change", () => {
  app.choose(select.value);
  const { name, parameters } = where();
  // What a view shows of one capture has no meaning in another one.
  if (VIEWS.find((view) => view.name === name)?.apart) return;
  void parameters;
  app.go(name, { file: select.value });
});

function where() {
  const [, name = "", search = ""] = location.hash.match(/^#\/(\w*)\??(.*)$/s) ?? [];
  return { name: name || "files", parameters: Object.fromEntries(new URLSearchParams(search)) };
}

async function show() {
  api.takeToken();
  const { name, parameters } = where();
  const view = VIEWS.find((one) => one.name === name) ?? VIEWS[0];
  const turn = ++shown;
  leave?.();
  leave = null;
  if (parameters.file) app.choose(parameters.file);
  document.title = `${view.title}${app.file && !view.apart ? ` · ${app.file.split("/").pop()}` : ""} · weir`;
  for (const link of document.querySelectorAll("#views a")) {
    if (link.dataset.view === view.name) { link.setAttribute("aria-current", "page"); link.scrollIntoView({ block: "nearest", inline: "center" }); } else link.removeAttribute("aria-current");
    const isApart = VIEWS.find((one) => one.name === link.dataset.view)?.apart;
    link.href = isApart || !app.file ? `#/${link.dataset.view}` : `#/${link.dataset.view}?${new URLSearchParams({ file: app.file })}`;
  }
  main.replaceChildren();
  try {
    const undo = await view.show(main, parameters, app);
    if (turn === shown) leave = undo ?? null; else undo?.();
  } catch (error) {
    if (turn === shown) main.append(failure(error));
  }
  if (turn === shown) say(view.title);
}

function colours() {
  const root = document.documentElement;
  const order = ["system", "light", "dark"];
  const next = order[(order.indexOf(root.dataset.theme ?? "system") + 1) % order.length];
  setTheme(next);
  say(`Colours: ${next}`);
}

function setTheme(theme) {
  const root = document.documentElement;
  if (theme === "system") delete root.dataset.theme; else root.dataset.theme = theme;
  localStorage.setItem("weir.theme", theme);
  document.getElementById("theme").setAttribute("aria-label", `Colours: ${theme}`);
  dispatchEvent(new Event("weir-theme"));
}

function shortcuts() {
  const line = (keys, what) => h("div", {}, h("dt", {}, keys.map((key) => [h("kbd", {}, key), " "])), h("dd", {}, what));
  dialog("Keyboard", [
    h("h3", {}, "Everywhere"),
    h("dl", { class: "pairs keys" }, [
      [["?"], "this list"], [["g", "…"], "go to a view (below)"], [["/"], "to the filter of the view"], [["["], "colours: system, light, dark"],
      [["Esc"], "leave the editor, a menu, a dialog"],
    ].map(([keys, what]) => line(keys, what).childNodes).flatMap((nodes) => [...nodes])),
    h("h3", {}, "Editor"),
    h("dl", { class: "pairs keys" }, [
      [["Ctrl", "Enter"], "run the query, or what is selected of it"], [["Ctrl", "Space"], "complete: columns, functions, files"],
      [["Ctrl", "/"], "comment"], [["Ctrl", "F"], "search"],
    ].map(([keys, what]) => line(keys, what).childNodes).flatMap((nodes) => [...nodes])),
    h("h3", {}, "Tables and ladders"),
    h("dl", { class: "pairs keys" }, [
      [["↑", "↓", "←", "→"], "move; from the first row up into the head"], [["Home", "End"], "first and last column; with Ctrl row"],
      [["Enter"], "open the row; in the head, sort"], [["Alt", "←", "→"], "narrower, wider"], [["Ctrl", "C"], "copy the cell"],
    ].map(([keys, what]) => line(keys, what).childNodes).flatMap((nodes) => [...nodes])),
    h("h3", {}, "Views"),
    h("dl", { class: "pairs keys" }, VIEWS.map((view) => line(["g", view.key], view.title)).flatMap((one) => [...one.childNodes])),
  ]);
}

let going = 0;
addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.composedPath()[0];
  if (target.closest?.("input, textarea, select, [contenteditable=true], dialog")) return;
  if (Date.now() - going < 1500) {
    const view = VIEWS.find((one) => one.key === event.key);
    going = 0;
    if (view) { event.preventDefault(); document.querySelector(`#views a[data-view=${view.name}]`).click(); main.focus(); return; }
  }
  if (event.key === "g") going = Date.now();
  else if (event.key === "?") { event.preventDefault(); shortcuts(); }
  else if (event.key === "[") colours();
  else if (event.key === "/") {
    const filter = main.querySelector("[data-filter]");
    if (filter) { event.preventDefault(); filter.focus(); filter.select?.(); }
  }
});

// A server that wants a token is asked again once it has been typed.
let asking = false;
addEventListener("weir-token", () => {
  if (asking) return;
  asking = true;
  const input = h("input", { type: "password", autocomplete: "off", "aria-label": "Token", ".required": true });
  const box = dialog("This server wants a token", h("form", {
    method: "dialog", class: "toolbar",
    onsubmit: () => { api.setToken(input.value.trim()); box.addEventListener("close", () => location.reload()); },
  }, input, h("button", { class: "main" }, "Go on"), h("p", { class: "dim" }, "weir serve has printed it, or its address with it, as it began.")));
  box.addEventListener("close", () => { asking = false; });
  input.focus();
});

// Captures may be dropped anywhere.
addEventListener("dragover", (event) => { if (event.dataTransfer?.types.includes("Files")) { event.preventDefault(); document.body.classList.add("over"); } });
addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("over"); });
addEventListener("drop", (event) => {
  document.body.classList.remove("over");
  if (!event.dataTransfer?.files.length) return;
  event.preventDefault();
  files.send([...event.dataTransfer.files], app);
});

document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
document.getElementById("theme").addEventListener("click", colours);
document.getElementById("keys").addEventListener("click", shortcuts);
document.getElementById("views").append(...VIEWS.flatMap((view) => [
  view.group ? h("h2", {}, view.group) : null,
  h("a", { href: `#/${view.name}`, "data-view": view.name, "aria-keyshortcuts": `g ${view.key}` }, view.title),
].filter(Boolean)));
setTheme(localStorage.getItem("weir.theme") ?? "system");
addEventListener("hashchange", show);
addEventListener("pageshow", (event) => { if (event.persisted) show(); });

api.takeToken();
const liveLink = document.querySelector("#views a[data-view=live]");
liveLink.hidden = true;
try {
  await app.refresh();
  liveLink.hidden = !(await api.live()).interface;
} catch (error) {
  toast(error.message, "bad");
}
await show();
