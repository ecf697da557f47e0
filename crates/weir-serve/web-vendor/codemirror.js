// The parts of CodeMirror 6 that the page uses, as one module: what is named here is what the bundle exports.
export { EditorState, Compartment, StateEffect, StateField, Prec } from "@codemirror/state";
export {
  EditorView, keymap, highlightSpecialChars, drawSelection, highlightActiveLine, placeholder, lineNumbers,
  Decoration, rectangularSelection,
} from "@codemirror/view";
export { defaultKeymap, history, historyKeymap, indentWithTab, toggleComment } from "@codemirror/commands";
export { syntaxHighlighting, HighlightStyle, bracketMatching, syntaxTree } from "@codemirror/language";
export { SQLDialect, sql, PostgreSQL } from "@codemirror/lang-sql";
export {
  autocompletion, completionKeymap, closeBrackets, closeBracketsKeymap, closeCompletion, completionStatus,
} from "@codemirror/autocomplete";
export { searchKeymap, highlightSelectionMatches } from "@codemirror/search";
export { setDiagnostics, lintKeymap, lintGutter } from "@codemirror/lint";
export { tags } from "@lezer/highlight";
