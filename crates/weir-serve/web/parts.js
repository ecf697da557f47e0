// What several views are made of: a question with its answer, a list with filters, an error.

import * as api from "./api.js";
import { copy, h, menu, quiet, save, say, toast } from "./dom.js";
import { bytes, cell, count, counted, csv, seconds } from "./format.js";
import { Grid } from "./grid.js";

/** An error: what was wrong, where, and what to try. */
export function failure(error) {
  if (error.kind === undefined) console.error(error);
  return h("div", { class: "notice error", role: "alert" },
    h("b", {}, error.line ? `Line ${error.line}, column ${error.column}: ` : ""), error.message,
    error.hint ? h("div", { class: "hint" }, error.hint) : null);
}

/** What an answer says of itself: that it was cut, notes, damage. */
export function remarks(answer, onmore) {
  const parts = [];
  if (answer.truncated) {
    parts.push(h("div", { class: "notice" }, `The first ${counted(answer.row_count, "rows")}; there are more. `,
      onmore ? h("button", { type: "button", class: "link", onclick: onmore }, "Ask for more rows") : null, onmore ? ", or download all of them." : null));
  }
  const damage = answer.damage ?? [];
  if (damage.length > 0) {
    parts.push(h("details", { class: "notice" }, h("summary", {}, `Damage: ${damage.length} ${damage.length === 1 ? "place" : "places"}`), damage.slice(0, 100).map((line) => h("p", { class: "mono" }, line))));
  }
  for (const note of (answer.notes ?? []).slice(0, 4)) parts.push(h("p", { class: "dim note" }, note.replace(/^note: /, "")));
  return parts;
}

/** A question shown as it is, with a way into the editor. */
export function source(sql, app) {
  return h("div", { class: "sql" }, h("pre", {}, sql),
    h("div", { class: "toolbar" }, h("button", { type: "button", class: "small", onclick: () => app.edit(sql) }, "Open in the editor"),
      h("button", { type: "button", class: "small", onclick: () => copy(sql, "SQL") }, "Copy")));
}

// Questions of one page are asked a few at a time, in the order of the page.
let running = 0;
const waiting = [];
function turn() {
  return new Promise((go) => {
    waiting.push(go);
    next();
  });
}
function next() {
  while (running < 3 && waiting.length > 0) {
    running += 1;
    waiting.shift()();
  }
}

/** Asks a question when it is its turn; `gone` tells that nobody waits for it any more, `began` is given the query. */
export async function ask(sql, { limit = 2_000, gone = () => false, began = () => {} } = {}) {
  await turn();
  try {
    if (gone()) return null;
    const query = new api.Query(sql, { limit });
    began(query);
    return await query.answer;
  } finally {
    running -= 1;
    next();
  }
}

/** A panel with a question: its answer is drawn once it is there, its SQL shown on demand. */
export function panel(title, sql, app, render, { wide = false, gone = () => false, empty = "Nothing of this kind in the capture.", answered = null } = {}) {
  const body = h("div", { class: "body", "aria-busy": "true" }, h("p", { class: "waits" }, "Reading …"));
  const shownSql = source(sql, app);
  shownSql.hidden = true;
  const toggle = h("button", {
    type: "button", class: "small plain", "aria-expanded": "false", "aria-label": `SQL of ${title}`,
    onclick: () => { shownSql.hidden = !shownSql.hidden; toggle.setAttribute("aria-expanded", String(!shownSql.hidden)); },
  }, "SQL");
  const element = h("section", { class: `panel ${wide ? "wide" : ""}`, "aria-label": title }, h("header", {}, h("h2", { class: "grow" }, title), toggle), shownSql, body);
  const undo = [];
  const began = (query) => undo.push(() => query.cancel());
  (answered ?? ask(sql, { gone, began })).then((answer) => {
    if (!answer || gone()) return;
    body.replaceChildren();
    body.removeAttribute("aria-busy");
    if (answer.rows.length === 0) body.append(h("p", { class: "empty" }, empty));
    else undo.push(render(body, answer) ?? (() => {}));
  }, (error) => {
    if (gone()) return;
    body.removeAttribute("aria-busy");
    body.replaceChildren(failure(error));
  });
  element.leave = () => undo.forEach((act) => act());
  return element;
}

/** An object's values as pairs, without those that are NULL. */
export function pairs(row, columns) {
  const types = new Map((columns ?? []).map((column) => [column.name, column.type]));
  return h("dl", { class: "pairs" }, Object.entries(row).filter(([, value]) => value !== null && value !== undefined)
    .flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, cell(value, types.get(name)))]));
}

/** The button that writes an answer to a file: whole by the server, or as it is shown. */
export function downloads(sql, grid, name) {
  const whole = async (format, ending) => {
    toast(`Preparing ${name()}.${ending} …`);
    try {
      save(await api.download(sql(), format), `${name()}.${ending}`);
    } catch (error) {
      toast(error.message, "bad");
    }
  };
  return menu("Download", () => [
    ["CSV", () => whole("csv", "csv"), "all rows"],
    ["Parquet", () => whole("parquet", "parquet"), "all rows"],
    ["NDJSON", () => whole("ndjson", "ndjson"), "all rows"],
    ["Arrow", () => whole("arrow", "arrow"), "all rows"],
    ["CSV as shown", () => { const { columns, rows } = grid.shown(); save(new Blob([csv(columns, rows)], { type: "text/csv" }), `${name()}-shown.csv`); }, "filtered, sorted"],
  ]);
}

/** The button that chooses columns. */
export function columnChooser(grid, dialog) {
  const button = h("button", { type: "button", "aria-haspopup": "dialog", onclick: () => {
    const boxes = grid.columns.map((column, at) => h("input", { type: "checkbox", ".checked": !grid.hidden.has(at), onchange: apply }));
    function apply() {
      grid.hide(boxes.map((box, at) => (box.checked ? -1 : at)).filter((at) => at >= 0));
      label();
    }
    const labels = boxes.map((box, at) => h("label", {}, box, grid.columns[at].name));
    const all = (checked) => () => { boxes.forEach((box, at) => { if (!labels[at].hidden) box.checked = checked; }); apply(); };
    dialog("Columns", [
      h("div", { class: "toolbar" },
        h("input", { type: "search", placeholder: "Find a column", "aria-label": "Find a column", oninput: (event) => { const word = event.target.value.toLowerCase(); labels.forEach((one, at) => { one.hidden = !grid.columns[at].name.toLowerCase().includes(word); }); } }),
        h("button", { type: "button", onclick: all(true) }, "All"), h("button", { type: "button", onclick: all(false) }, "None")),
      h("div", { class: "columns" }, labels)], { wide: grid.columns.length > 20 });
  } });
  function label() {
    button.textContent = grid.hidden.size > 0 ? `Columns (${grid.columns.length - grid.hidden.size} of ${grid.columns.length})` : "Columns";
  }
  label();
  button.label = label;
  return button;
}

/** Filters, a list and what is chosen in it: the form of most views. */
export class List {
  #filters;
  #view;
  #grid;
  #query = null;
  #state = {};
  #held = new Set();

  /**
   * `filters` are `{ name, label, kind, options, where }`, `sql(conditions)` makes the question of their conditions,
   * and `onopen(row, detail, open)` fills the part beside the list.
   */
  constructor(view) {
    this.#view = view;
    const { app, parameters } = view;
    this.#grid = new Grid({ label: view.label, onselect: (row, at) => this.#open(row, at), onopen: (row, at) => this.#open(row, at, true) });
    this.status = h("span", { class: "status", role: "status" });
    this.above = h("div", {});
    this.#filters = view.filters.map((filter) => {
      const id = `filter-${filter.name}`;
      const value = parameters[filter.name] ?? "";
      // SQL that came by a link waits until somebody here wants it, as in the editor.
      if (filter.raw && value) this.#held.add(filter.name);
      const change = () => { this.#held.delete(filter.name); this.run(); };
      const input = filter.kind === "select"
        ? h("select", { id, onchange: change }, h("option", { value: "" }, "any"), filter.options.map((option) => h("option", { value: option, selected: option === value }, option)))
        : h("input", { id, type: "text", ".value": value, placeholder: filter.placeholder ?? "", class: filter.long ? "long mono" : null, spellcheck: "false", autocomplete: "off", oninput: quiet(filter.long ? 900 : 500, change), onchange: change, onkeydown: (event) => { if (event.key === "Enter") change(); } });
      if (filter === view.filters[0]) input.dataset.filter = "";
      return { ...filter, input, element: h("label", { for: id }, filter.label, input) };
    });
    const shown = h("div", { hidden: true });
    const toggle = h("button", { type: "button", "aria-expanded": "false", onclick: () => { shown.hidden = !shown.hidden; toggle.setAttribute("aria-expanded", String(!shown.hidden)); } }, "SQL");
    this.shownSql = shown;
    this.detail = h("section", { class: "panel detail", "aria-label": view.detailLabel ?? "Details", hidden: true });
    this.split = h("div", { class: `split alone ${view.down ? "" : "beside"}` }, h("div", { class: "list" }, this.#grid.element), this.detail);
    this.columns = columnChooser(this.#grid, view.dialog);
    view.main.append(
      h("div", { class: "title" }, h("h1", {}, view.title), h("div", { class: "filters", role: "search", "aria-label": "Filters" }, this.#filters.map((filter) => filter.element)), h("div", { class: "toolbar end" }, this.status, toggle, this.columns, downloads(() => this.sql, this.#grid, () => view.name))),
      shown, this.above, this.split);
    this.app = app;
  }

  /** Asks with the filters as they stand. */
  async run() {
    const view = this.#view;
    const values = Object.fromEntries(this.#filters.map((filter) => [filter.name, filter.input.value.trim()]));
    const asked = JSON.stringify([values, [...this.#held]]);
    if (asked === this.asked) return;
    this.asked = asked;
    const conditions = this.#filters.map((filter) => (values[filter.name] === "" || this.#held.has(filter.name) ? null : filter.where(values[filter.name]))).filter(Boolean);
    this.sql = view.sql(conditions);
    this.shownSql.replaceChildren(source(this.sql, this.app));
    this.#state = { ...view.keep?.(), file: view.parameters.file ?? this.app.file, ...values };
    this.app.note(view.name, this.#state);
    this.#query?.cancel();
    const query = new api.Query(this.sql, { limit: view.limit ?? 20_000, onprogress: (state) => { this.status.textContent = progress(state); } });
    this.#query = query;
    this.status.textContent = "Reading …";
    try {
      const answer = await query.answer;
      if (this.#query !== query) return;
      this.answer = answer;
      this.above.replaceChildren(...remarks(answer));
      if (this.#held.size > 0) this.above.append(h("p", { class: "notice" }, "The SQL of this link is not applied yet: press Enter in its field."));
      this.#grid.set(answer.columns, answer.rows);
      this.columns.label();
      // A short list leaves its room to what is chosen in it.
      this.split.style.setProperty("--list", `${Math.min(answer.row_count, 400) * 25 + 46}px`);
      this.status.textContent = answer.truncated ? `${count(answer.row_count)} and more ${view.noun}` : counted(answer.row_count, view.noun);
      if (answer.row_count === 0) this.above.append(h("p", { class: "empty" }, view.empty ?? "Nothing passes these filters."));
      view.onanswer?.(answer, this.#grid);
    } catch (error) {
      if (this.#query !== query || error.kind === "cancelled") return;
      this.status.textContent = "";
      this.above.replaceChildren(failure(error));
      this.#grid.set([], []);
    }
  }

  get grid() { return this.#grid; }

  /** Shows the part beside the list. */
  #open(row, at, entered = false) {
    if (!row || !this.#view.onopen) return;
    this.detail.hidden = false;
    this.split.classList.remove("alone");
    this.split.classList.toggle("down", Boolean(this.#view.down));
    this.#view.onopen(row, this.detail, { entered, index: at, note: (more) => this.app.note(this.#view.name, { ...this.#state, ...more }), close: () => this.closeDetail() });
    if (entered) requestAnimationFrame(() => this.detail.querySelector("[tabindex='0'], button")?.focus());
  }

  /** Opens a row that is not among those listed. */
  open(row) { this.#open(row, -1); }

  closeDetail() {
    this.detail.hidden = true;
    this.split.classList.add("alone");
    this.split.classList.remove("down");
    this.#grid.element.focus();
    this.app.note(this.#view.name, this.#state);
  }

  destroy() {
    this.#query?.cancel();
    this.#grid.destroy();
  }
}

/** The head of the part beside a list. */
export function detailHead(title, actions, close) {
  return h("header", {}, h("h2", { class: "grow" }, title), actions, h("button", { type: "button", class: "plain", "aria-label": "Close the details", onclick: close }, "✕"));
}

/** How far a query is. */
export function progress(state) {
  const parts = [];
  if (state.total_bytes) parts.push(`${Math.min(100, Math.round((100 * state.bytes) / state.total_bytes))} %`);
  if (state.records) parts.push(counted(state.records, "records"));
  if (state.bytes) parts.push(bytes(state.bytes));
  parts.push(seconds(Math.round(state.seconds * 10) / 10));
  return parts.join(" · ");
}

/** What an answer cost. */
export function cost(answer, elapsed) {
  const stats = answer.stats ?? {};
  const parts = [counted(answer.row_count, "rows")];
  if (stats.records) parts.push(`${counted(stats.records, "records")} read`);
  if (stats.bytes) parts.push(bytes(stats.bytes));
  parts.push(seconds(stats.seconds ?? elapsed));
  return parts.join(" · ");
}

export { say };
