// The editor of SQL: CodeMirror with weir's words, and completion of columns, functions, tables and files.
// It stands in a shadow root, where its styles are adopted sheets: a strict content security policy allows those.

import {
  EditorState, EditorView, keymap, highlightSpecialChars, drawSelection, highlightActiveLine, placeholder,
  lineNumbers, defaultKeymap, history, historyKeymap, toggleComment, syntaxHighlighting, HighlightStyle, bracketMatching,
  SQLDialect, sql, PostgreSQL, autocompletion, completionKeymap, closeBrackets, closeBracketsKeymap, searchKeymap,
  setDiagnostics, lintKeymap, tags, Prec, completionStatus, closeCompletion,
} from "./vendor/codemirror.js";
import * as api from "./api.js";
import { h } from "./dom.js";

const dialect = SQLDialect.define({
  ...PostgreSQL.spec,
  keywords: `${PostgreSQL.spec.keywords} aggregate extend pivot qualify tablesample exclude ilike describe explain filter`,
  doubleDollarQuotedStrings: false,
});

const WORDS = ["SELECT", "FROM", "WHERE", "GROUP BY", "GROUP BY ALL", "ORDER BY", "HAVING", "LIMIT", "JOIN", "LEFT JOIN", "ON", "AS",
  "AND", "OR", "NOT", "IN", "IS NULL", "IS NOT NULL", "BETWEEN", "LIKE", "ILIKE", "DISTINCT", "UNION ALL", "WITH", "CASE", "WHEN", "THEN",
  "ELSE", "END", "DESC", "ASC", "INTERVAL", "OVER", "PARTITION BY", "FILTER (WHERE ", "EXPLAIN", "DESCRIBE", "|> WHERE", "|> AGGREGATE",
  "|> ORDER BY", "|> LIMIT", "|> EXTEND", "|> SELECT", "TABLESAMPLE"];

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: "var(--code-word)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-text)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)" },
  { tag: [tags.lineComment, tags.blockComment], color: "var(--dim)", fontStyle: "italic" },
  { tag: [tags.typeName, tags.standard(tags.name)], color: "var(--code-type)" },
]);

const look = EditorView.theme({
  "&": { fontSize: "13px", backgroundColor: "var(--panel)", color: "var(--text)", height: "100%" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55", overflow: "auto" },
  ".cm-content": { padding: "8px 0", caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--panel)", color: "var(--dim)", border: "none", paddingLeft: "4px" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  ".cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": { backgroundColor: "var(--select) !important" },
  ".cm-matchingBracket": { backgroundColor: "var(--select) !important" },
  ".cm-placeholder": { color: "var(--dim)" },
  ".cm-tooltip": { backgroundColor: "var(--raised)", border: "1px solid var(--line)", borderRadius: "6px", boxShadow: "0 6px 24px var(--shadow)", overflow: "hidden" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: "12px", maxHeight: "18em", minWidth: "20em", maxWidth: "min(52em, 90vw)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "3px 8px", display: "flex", gap: "10px", alignItems: "baseline", color: "var(--text)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent) !important", color: "var(--on-accent) !important" },
  ".cm-completionLabel": { flex: "none" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "700" },
  ".cm-completionDetail": { fontStyle: "normal", fontFamily: "var(--sans)", color: "var(--dim)", overflow: "hidden", textOverflow: "ellipsis", whiteSpace: "nowrap", marginLeft: "auto" },
  "li[aria-selected] .cm-completionDetail": { color: "inherit" },
  ".cm-completionIcon": { display: "none" },
  ".cm-tooltip.cm-completionInfo": { padding: "8px 10px", maxWidth: "28em", fontFamily: "var(--sans)", fontSize: "12px", color: "var(--text)" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
  ".cm-diagnostic": { fontFamily: "var(--sans)", whiteSpace: "pre-wrap", maxWidth: "60ch" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad)", textUnderlineOffset: "3px" },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--text)", borderColor: "var(--line)" },
  ".cm-panel input, .cm-panel button": { fontFamily: "var(--sans)" },
});

export class Editor {
  /** The editor with a text; `onrun` is called for Ctrl+Enter, `onchange` as it is typed. */
  constructor({ text, onrun, onchange }) {
    this.element = h("div", { class: "editor" });
    const root = this.element.attachShadow({ mode: "open" });
    const run = { key: "Mod-Enter", run: (view) => { closeCompletion(view); onrun(); return true; }, preventDefault: true };
    const leave = { key: "Escape", run: (view) => { if (completionStatus(view.state)) return false; document.getElementById("run")?.focus(); return true; } };
    this.view = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: text,
        extensions: [
          Prec.highest(keymap.of([run])), lineNumbers(), highlightSpecialChars(), history(), drawSelection(), highlightActiveLine(),
          bracketMatching(), closeBrackets(), sql({ dialect, upperCaseKeywords: true }).language, syntaxHighlighting(colours), look,
          autocompletion({ override: [complete], maxRenderedOptions: 80, icons: false, activateOnTypingDelay: 60 }),
          keymap.of([...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...searchKeymap, ...lintKeymap,
            { key: "Mod-/", run: toggleComment }, leave, ...defaultKeymap]),
          placeholder("SELECT addr.src, count(*) FROM 'trace.pcap' GROUP BY addr.src"),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": "SQL. Control Enter runs it; Escape leaves the editor", spellcheck: "false", autocapitalize: "off" }),
          EditorView.updateListener.of((update) => {
            if (!update.docChanged) return;
            onchange(update.state.doc.toString());
            queueMicrotask(() => this.clear());
          }),
        ],
      }),
    });
  }

  get text() { return this.view.state.doc.toString(); }

  set text(text) {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text }, selection: { anchor: text.length } });
  }

  /** What is to be run: the selection, or all, and where it begins. */
  get wanted() {
    const { from, to } = this.view.state.selection.main;
    const text = this.view.state.sliceDoc(from, to);
    return text.trim() ? { sql: text, from } : { sql: this.text, from: 0 };
  }

  focus() { this.view.focus(); }

  /** Puts text where the cursor is. */
  insert(text) {
    this.view.dispatch(this.view.state.replaceSelection(text));
    this.focus();
  }

  /** Marks where an error is. */
  mark(failure, { sql: text, from }) {
    const { doc } = this.view.state;
    let at = null;
    let length = 0;
    if (failure.line) {
      const lines = text.split("\n");
      const before = lines.slice(0, failure.line - 1).reduce((sum, line) => sum + line.length + 1, 0);
      at = before + Math.max(0, (failure.column ?? 1) - 1);
      length = /^('[^']*'|[\w.]+|\S)/.exec(text.slice(at))?.[0].length ?? 1;
    } else {
      // A name that is not known is marked where it stands, when the server did not say where.
      const named = (failure.message.match(/[\w]+(?:\.[\w]+)+|\w{3,}/g) ?? []).sort((one, other) => other.length - one.length);
      for (const name of named) {
        const found = new RegExp(`(?<![\\w.])${name.replaceAll(".", "\\.")}(?![\\w.])`).exec(text);
        if (found && /no |unknown|not found/i.test(failure.message)) { at = found.index; length = name.length; break; }
      }
    }
    if (at === null) return;
    const start = Math.min(doc.length, from + at);
    const diagnostic = {
      from: start, to: Math.min(doc.length, start + Math.max(1, length)), severity: "error",
      message: failure.hint ? `${failure.message}\nHint: ${failure.hint}` : failure.message,
    };
    this.view.dispatch(setDiagnostics(this.view.state, [diagnostic]));
    this.view.dispatch({ effects: EditorView.scrollIntoView(start) });
    this.marked = true;
  }

  /** Takes the mark of an error away. */
  clear() {
    if (!this.marked) return;
    this.marked = false;
    this.view.dispatch(setDiagnostics(this.view.state, []));
  }

  destroy() { this.view.destroy(); }
}

let known = null;

/** What can be completed: columns with their meaning, functions, tables. */
async function vocabulary() {
  known ??= (async () => {
    const [fields, functions, tables] = await Promise.all([api.fields(), api.functions(), api.tables()]);
    const byName = new Map();
    for (const field of fields) {
      const entry = byName.get(field.name) ?? { ...field, tables: [] };
      entry.tables.push(field.table);
      byName.set(field.name, entry);
    }
    const columns = [...byName.values()].map((field) => ({
      label: field.name, type: "property", detail: field.meaning, tables: field.tables, boost: 2,
      info: () => described(field.name, `${field.type} · ${field.tables.slice(0, 6).join(", ")}${field.tables.length > 6 ? " …" : ""}`, field.meaning),
    }));
    const calls = functions.map((entry) => ({
      label: entry.name, type: "function", detail: entry.meaning, apply: applyCall, boost: 0,
      info: () => described(entry.signature ?? entry.name, "function", entry.meaning, entry.example),
    }));
    const sources = tables.map((entry) => ({
      label: entry.name, type: "class", detail: entry.meaning, apply: applyTable, boost: 1,
      info: () => described(entry.signature ?? entry.name, "table", entry.meaning, entry.example),
    }));
    const words = WORDS.map((label) => ({ label, type: "keyword", boost: -1 }));
    return { columns, all: [...sources, ...calls, ...words] };
  })();
  known.catch(() => { known = null; });
  return known;
}

function described(title, kind, meaning, example) {
  return h("div", {}, h("div", { class: "mono" }, h("b", {}, title)), h("div", { class: "dim" }, kind), h("p", {}, meaning),
    example ? h("code", {}, example) : null);
}

function applyCall(view, completion, from, to) {
  const text = `${completion.label}()`;
  const followed = view.state.sliceDoc(to, to + 1) === "(";
  view.dispatch({ changes: { from, to, insert: followed ? completion.label : text }, selection: { anchor: from + completion.label.length + 1 } });
}

function applyTable(view, completion, from, to) {
  view.dispatch({ changes: { from, to, insert: `${completion.label}('')` }, selection: { anchor: from + completion.label.length + 2 } });
}

async function complete(context) {
  const before = context.state.sliceDoc(0, context.pos);
  const quotes = before.replace(/--[^\n]*/g, "").split("'").length - 1;
  if (quotes % 2 === 1) return completeFile(context, before);
  const word = context.matchBefore(/[\w.]+/);
  if (!word && !context.explicit) return null;
  if (word && /^\d/.test(word.text)) return null;
  const { columns, all } = await vocabulary();
  const text = context.state.doc.toString().toLowerCase();
  // Columns of the tables that the statement reads come first.
  const read = [...text.matchAll(/\b(\w+)\s*\(\s*'/g)].map((match) => match[1]);
  const tables = new Set(read);
  if (read.length === 0 || /from\s+'/.test(text)) tables.add("packets");
  let options = columns.map((column) => ({ ...column, boost: column.tables.some((table) => tables.has(table)) ? 20 : -10 }));
  let from = word ? word.from : context.pos;
  // Behind the alias of a table comes a column of it.
  const alias = word?.text.match(/^([a-z_]\w*)\.(.*)$/i);
  if (alias && new RegExp(`(?:'|\\)|as)\\s+${alias[1]}\\b`, "i").test(text) && !columns.some((column) => column.label.startsWith(`${alias[1]}.`))) {
    from += alias[1].length + 1;
  } else if (!alias) {
    options = [...options, ...all];
  }
  return { from, options, validFor: /^[\w.]*$/ };
}

/** Puts a name between its quotes and the cursor behind them, whether or not the editor has closed them already. */
function applyFile(view, completion, from, to) {
  const end = view.state.sliceDoc(to, to + 1) === "'" ? to + 1 : to;
  const insert = `${completion.label.replaceAll("'", "''")}'`;
  view.dispatch({ changes: { from, to: end, insert }, selection: { anchor: from + insert.length } });
}

async function completeFile(context, before) {
  const from = before.lastIndexOf("'") + 1;
  const files = await api.files();
  return {
    from,
    options: files.map((file) => ({
      label: file.path, type: "text", detail: `${file.kind}`, boost: file.kind === "capture" ? 5 : 0,
      apply: applyFile,
    })),
    validFor: /^[^'\n]*$/,
  };
}
