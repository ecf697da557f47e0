// The query editor, and its answer as a table and as a chart.

import * as api from "../api.js";
import { Chart } from "../chart.js";
import { copy, dialog, h, menu, quiet, say, tabs } from "../dom.js";
import { Editor } from "../editor.js";
import { count, counted, seconds } from "../format.js";
import { Grid } from "../grid.js";
import { columnChooser, cost, detailHead, downloads, failure, pairs, progress, remarks } from "../parts.js";
import { examples, fileOf } from "../sql.js";

const KEEP = 200;
let runs = false;

/** Says that what is shown next comes from this page, and may run. A link that somebody sent does not: it waits. */
export function runNext() { runs = true; }

const past = () => { try { return JSON.parse(localStorage.getItem("weir.history")) ?? []; } catch { return []; } };

function remember(entry) {
  const entries = [entry, ...past().filter((one) => one.sql !== entry.sql)].slice(0, KEEP);
  try { localStorage.setItem("weir.history", JSON.stringify(entries)); } catch { /* A full store forgets. */ }
}

export function show(main, parameters, app) {
  const began = parameters.sql ?? sessionStorage.getItem("weir.sql") ?? (app.file ? examples(app.file)[0][1] : "");
  let query = null;
  let answer = null;
  let ran = "";
  let kind = parameters.chart ?? null;
  let drawn = false;

  const editor = new Editor({
    text: began, onrun: () => run(),
    onchange: (text) => { sessionStorage.setItem("weir.sql", text); note(); },
  });
  const note = quiet(300, () => app.note("query", { sql: editor.text, view: chosen === "chart" ? "chart" : null, chart: chosen === "chart" ? chart.kind : null }));
  const status = h("span", { class: "status", role: "status" });
  const bar = h("progress", { hidden: true, "aria-label": "How much has been read" });
  const runButton = h("button", { type: "button", id: "run", class: "main", onclick: () => run(), "aria-keyshortcuts": "Control+Enter" }, "Run");
  const cancelButton = h("button", { type: "button", disabled: true, onclick: () => cancel() }, "Cancel");
  const limit = h("select", { "aria-label": "Rows at most" }, [1_000, 10_000, 100_000, 1_000_000].map((rows) => h("option", { value: rows, selected: rows === Number(localStorage.getItem("weir.limit") ?? 10_000) }, `${count(rows)} rows`)));
  limit.addEventListener("change", () => localStorage.setItem("weir.limit", limit.value));
  const tools = h("div", { class: "toolbar" }, runButton, cancelButton, limit,
    menu("Examples", () => examples(app.file ?? "trace.pcap").map(([title, sql]) => [title, () => { editor.text = sql; run(); }])),
    h("button", { type: "button", onclick: () => showHistory() }, "History"),
    h("button", { type: "button", onclick: () => link() }, "Copy link"), bar, status);
  const box = h("div", { class: "editor-box" }, editor.element);
  const said = h("div", {});
  const filter = h("input", { type: "search", placeholder: "Filter rows: word  column>5", "aria-label": "Filter rows", "data-filter": "", oninput: quiet(200, () => grid.filter(filter.value)) });
  const shown = h("span", { class: "status" });
  const grid = new Grid({ label: "Answer", onopen: (row) => open(row), onchange: () => { shown.textContent = grid.length < grid.total ? `${count(grid.length)} of ${count(grid.total)}` : ""; } });
  const chart = new Chart();
  const columns = columnChooser(grid, dialog);
  const detail = h("section", { class: "panel detail", "aria-label": "Row", hidden: true });
  const table = h("div", { role: "tabpanel", id: "panel-table", "aria-labelledby": "tab-table" }, grid.element, detail);
  const picture = h("div", { role: "tabpanel", id: "panel-chart", "aria-labelledby": "tab-chart", hidden: true }, chart.element);
  let chosen = parameters.view === "chart" ? "chart" : "table";
  const which = tabs("Answer", [["table", "Table"], ["chart", "Chart"]], chosen, (key) => {
    chosen = key;
    table.hidden = key !== "table";
    picture.hidden = key !== "chart";
    filter.hidden = columns.hidden = key !== "table";
    if (key === "chart") drawOnce();
    if (answer) note();
  });
  const below = h("section", { class: "answer", "aria-label": "Answer", hidden: true }, said,
    h("div", { class: "toolbar" }, which, filter, shown, h("span", { class: "grow" }), columns, downloads(() => ran, grid, () => "answer")), table, picture);
  const problem = h("div", {});
  main.append(h("h1", { class: "heard" }, "Query"), box, tools, problem, below);

  function drawOnce() {
    if (!answer || drawn) return;
    drawn = true;
    chart.set(answer.columns, answer.rows, kind);
    kind = null;
  }

  async function run() {
    const wanted = editor.wanted;
    if (!wanted.sql.trim()) return;
    query?.cancel();
    editor.clear();
    problem.replaceChildren();
    ran = wanted.sql;
    app.note("query", { sql: editor.text, view: chosen === "chart" ? "chart" : null, chart: kind });
    const mine = new api.Query(wanted.sql, {
      limit: Number(limit.value),
      onprogress: (state) => {
        status.textContent = progress(state);
        bar.hidden = false;
        if (state.total_bytes) { bar.max = state.total_bytes; bar.value = state.bytes; } else bar.removeAttribute("value");
      },
    });
    query = mine;
    cancelButton.disabled = false;
    status.textContent = "Running …";
    try {
      const found = await mine.answer;
      if (query !== mine) return;
      answer = found;
      drawn = false;
      detail.hidden = true;
      const elapsed = (performance.now() - mine.began) / 1000;
      status.textContent = cost(answer, elapsed);
      said.replaceChildren(...remarks(answer, Number(limit.value) < 1_000_000 ? more : null));
      below.hidden = false;
      filter.value = "";
      shown.textContent = "";
      grid.set(answer.columns, answer.rows);
      if (grid.hidden.size > 0) said.append(h("p", { class: "dim note" }, `${grid.hidden.size} columns that are NULL in every row are hidden.`));
      columns.label();
      if (chosen === "chart") drawOnce();
      remember({ sql: wanted.sql.trim(), at: Date.now(), rows: answer.row_count, seconds: answer.stats?.seconds ?? elapsed });
      say(status.textContent);
    } catch (error) {
      if (query !== mine) return;
      if (error.kind === "cancelled") { status.textContent = "Cancelled."; say("Cancelled"); return; }
      status.textContent = "";
      problem.replaceChildren(failure(error));
      editor.mark(error, wanted);
    } finally {
      if (query === mine) { query = null; cancelButton.disabled = true; bar.hidden = true; }
    }
  }

  function cancel() {
    const mine = query;
    mine?.cancel();
    if (mine) { query = null; cancelButton.disabled = true; bar.hidden = true; status.textContent = "Cancelled."; say("Cancelled"); runButton.focus(); }
  }

  function more() {
    const next = [...limit.options].find((option) => Number(option.value) > Number(limit.value));
    if (next) { limit.value = next.value; run(); }
  }

  function link() {
    const address = new URL(location.href);
    address.hash = `/query?${new URLSearchParams({ sql: editor.text, ...(chosen === "chart" ? { view: "chart", chart: chart.kind ?? "" } : {}) })}`;
    copy(address.href, "Link");
  }

  function open(row) {
    if (!row) return;
    const file = row["frame.file"] ?? fileOf(ran) ?? app.file;
    const to = (name, more) => () => app.go(name, { file, ...more });
    detail.hidden = false;
    const actions = [
      row["frame.number"] != null ? h("button", { type: "button", class: "small", onclick: to("packets", { number: row["frame.number"] }) }, `Packet ${row["frame.number"]}`) : null,
      row["flow.id"] != null ? h("button", { type: "button", class: "small", onclick: to("connections", { flow: row["flow.id"] }) }, `Connection ${row["flow.id"]}`) : null,
      row["sip.call_id"] != null ? h("button", { type: "button", class: "small", onclick: to("calls", { call: row["sip.call_id"] }) }, "Call") : null,
    ].filter(Boolean);
    detail.replaceChildren(detailHead("Row", actions, () => { detail.hidden = true; grid.element.focus(); }), h("div", { class: "body", tabindex: "0", role: "region", "aria-label": "Values of the row" }, pairs(row, answer.columns)));
    detail.scrollIntoView({ block: "nearest" });
    detail.querySelector("button")?.focus();
  }

  function showHistory() {
    const entries = past();
    const list = h("ul", { class: "choices" });
    const fill = (word) => list.replaceChildren(...entries.filter((entry) => entry.sql.toLowerCase().includes(word)).slice(0, 100).map((entry) => h("li", {}, h("button", {
      type: "button", onclick: () => { box.close(); editor.text = entry.sql; editor.focus(); },
    }, h("pre", {}, entry.sql), h("span", { class: "dim" }, `${new Date(entry.at).toLocaleString()} · ${counted(entry.rows, "rows")} · ${seconds(entry.seconds)}`)))));
    fill("");
    const box = dialog("History", entries.length === 0 ? h("p", { class: "empty" }, "Queries that ran stand here, kept by this browser only.") : [
      h("div", { class: "toolbar" }, h("input", { type: "search", "aria-label": "Find a query", placeholder: "Find", oninput: (event) => fill(event.target.value.toLowerCase()) }),
        h("button", { type: "button", onclick: () => { localStorage.removeItem("weir.history"); box.close(); } }, "Forget all")), list], { wide: true });
  }

  if (runs) run();
  else if (parameters.sql) status.textContent = "Press Ctrl+Enter to run it.";
  runs = false;
  if (!parameters.sql) editor.focus();
  return () => { query?.cancel(); editor.destroy(); grid.destroy(); chart.destroy(); };
}
