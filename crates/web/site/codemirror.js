// What the playground takes from CodeMirror, and Tacit's grammar for it: one file, made by bundle.mjs.
export {
  acceptCompletion,
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
export {
  defaultKeymap,
  history,
  historyKeymap,
  indentWithTab,
  isolateHistory,
} from "@codemirror/commands";
export {
  bracketMatching,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
} from "@codemirror/language";
export { lintGutter, nextDiagnostic, previousDiagnostic, setDiagnostics } from "@codemirror/lint";
export { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
export {
  Annotation,
  Compartment,
  EditorState,
  StateEffect,
  StateField,
  Transaction,
} from "@codemirror/state";
export {
  EditorView,
  GutterMarker,
  drawSelection,
  gutter,
  highlightActiveLine,
  hoverTooltip,
  keymap,
  lineNumbers,
  showDialog,
} from "@codemirror/view";
export { classHighlighter } from "@lezer/highlight";
export { tacitLanguage, tacitWords } from "./grammar.js";
