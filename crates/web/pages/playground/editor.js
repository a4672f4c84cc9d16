// The editor: a text with what is wrong underlined and what each line costs at its side.
import { $, element, show, styled } from "../page.js";
import {
  Annotation,
  EditorState,
  EditorView,
  GutterMarker,
  StateEffect,
  StateField,
  Transaction,
  acceptCompletion,
  bracketMatching,
  classHighlighter,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
  defaultKeymap,
  drawSelection,
  gutter,
  highlightActiveLine,
  highlightSelectionMatches,
  history,
  historyKeymap,
  indentOnInput,
  indentUnit,
  indentWithTab,
  isolateHistory,
  keymap,
  lineNumbers,
  lintGutter,
  nextDiagnostic,
  previousDiagnostic,
  search,
  searchKeymap,
  setDiagnostics,
  syntaxHighlighting,
  tacitLanguage,
} from "./codemirror.js";
import { looks } from "./looks.js";
import { renameAtCursor, services } from "./services.js";

/** What Tacit calls the text of the editor. */
const OWN_FILE = "program.tacit";
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** Marks what this page changes, and not the visitor. */
const byPage = Annotation.define();
let edited = () => {};
/** What answers questions about the program, and where errors are shown. */
let tacit = { explain: async () => null };

/** What the lines cost, by their numbers. */
const setCosts = StateEffect.define();
const costs = StateField.define({
  create: () => new Map(),
  update(now, { docChanged, effects }) {
    const told = effects.find((effect) => effect.is(setCosts));
    if (told) return told.value;
    return docChanged && now.size > 0 ? new Map() : now;
  },
});

class Cost extends GutterMarker {
  constructor(said) {
    super();
    this.said = said;
  }
  eq({ said }) {
    return said === this.said;
  }
  toDOM() {
    return document.createTextNode(this.said);
  }
}

const costGutter = gutter({
  class: "cm-costs",
  lineMarker(view, { from }) {
    const said = view.state.field(costs).get(view.state.doc.lineAt(from).number);
    return said === undefined ? null : new Cost(short.format(said));
  },
  lineMarkerChange: (update) => update.startState.field(costs) !== update.state.field(costs),
});

const look = looks();
const keys = [
  { key: "Tab", run: acceptCompletion },
  { key: "F2", run: () => renameHere() ?? true },
  { key: "F8", run: nextDiagnostic, shift: previousDiagnostic },
  ...closeBracketsKeymap,
  ...completionKeymap,
  ...searchKeymap,
  ...historyKeymap,
  ...defaultKeymap,
  // Escape and then Tab leaves the editor.
  indentWithTab,
];

// The Content-Security-Policy allows no style that a script writes into the document; those of a
// shadow root are objects.
const root = $("editor").attachShadow({ mode: "open" });
const colors = element("link");
Object.assign(colors, { rel: "stylesheet", href: new URL("../code.css", import.meta.url).href });
root.append(colors);

const view = new EditorView({
  root,
  parent: root,
  extensions: [
    look.extension,
    lintGutter(),
    lineNumbers(),
    costs,
    costGutter,
    history(),
    drawSelection(),
    highlightActiveLine(),
    highlightSelectionMatches(),
    bracketMatching(),
    closeBrackets(),
    indentUnit.of("    "),
    indentOnInput(),
    EditorState.tabSize.of(4),
    tacitLanguage,
    syntaxHighlighting(classHighlighter),
    services({
      explain: (at) => tacit.explain(at),
      cost: (line) => view.state.field(costs).get(line)?.toLocaleString("en"),
    }),
    search({ top: true }),
    keymap.of(keys),
    EditorView.contentAttributes.of({ "aria-label": "Text of the program", tabindex: "0" }),
    EditorView.updateListener.of(({ docChanged, transactions }) => {
      if (docChanged && !transactions.some((one) => one.annotation(byPage))) edited();
    }),
  ],
});
look.follow(view);

/** The text. */
export const text = () => view.state.doc.toString();

/** Calls this after each change by the visitor; an undo is one. */
export function onEdit(tell) {
  edited = tell;
}

/** Who answers questions about the program: Tacit's calls, and where errors are shown. */
export function askOf(given) {
  tacit = given;
}

/** Asks for a new name of what is at the cursor. */
export function renameHere() {
  renameAtCursor(view, tacit);
}

/** Shows the first text, behind which no undo goes. */
export function begin(source) {
  const changes = { from: 0, to: view.state.doc.length, insert: source };
  view.dispatch({ changes, annotations: [byPage.of(true), Transaction.addToHistory.of(false)] });
}

/** Where two texts differ: how far both are alike from the start, and from the end. */
function difference(old, source) {
  const most = Math.min(old.length, source.length);
  let start = 0;
  while (start < most && old[start] === source[start]) start++;
  let end = 0;
  while (end < most - start && old.at(-1 - end) === source.at(-1 - end)) end++;
  return { from: start, to: old.length - end, insert: source.slice(start, source.length - end) };
}

/** Replaces the text as typing would, so that undo brings back what was there. */
export function replace(source) {
  const old = text();
  if (old === source) return;
  const changes = difference(old, source);
  view.dispatch({
    changes,
    selection: { anchor: changes.from },
    annotations: [byPage.of(true), isolateHistory.of("full")],
  });
}

/** An error's sentences. */
function said({ message, label, help }) {
  return [`${message}.`, label && `Here: ${label}.`, help && `Help: ${help}.`].filter(Boolean);
}

/** Underlines the places of errors. */
function mark(errors, severity = "error") {
  const { length } = view.state.doc;
  const own = errors.filter(({ at }) => at.file === OWN_FILE);
  const marks = own.map((error) => {
    const from = Math.min(error.at.from, length);
    const to = Math.min(Math.max(error.at.to, from), length);
    return { from, to, severity, message: said(error).join("\n") };
  });
  view.dispatch(setDiagnostics(view.state, marks));
}

/** Underlines where tests failed. */
export const showFailures = (errors) => mark(errors);

function leadTo({ from, to }) {
  view.focus();
  view.dispatch({ selection: { anchor: from, head: to }, scrollIntoView: true });
}

/** An error's words, behind a button that leads to its place. */
export function placed(error) {
  const { at } = error;
  const words = ` ${said(error).join(" ")}`;
  if (at.file !== OWN_FILE) return [`${at.file}, line ${at.line}: ${words}`];
  const go = element("button", `line ${at.line}`);
  go.type = "button";
  go.onclick = () => leadTo(at);
  return [go, words];
}

function problemList(errors) {
  const list = element("ul", "", ...errors.map((error) => element("li", "", ...placed(error))));
  list.className = "plain";
  return list;
}

/** Shows what is wrong. */
export function showProblems(errors) {
  mark(errors);
  show($("problems"), element("p", `${errors.length} found`), problemList(errors));
}

/** Says that a program is right, with warnings. */
export function showRight(warnings) {
  mark(warnings, "warning");
  const warned = warnings.length > 0 ? [element("p", "Warnings:"), problemList(warnings)] : [];
  show($("problems"), styled("p", "right", "None."), ...warned);
}

/** Shows what the lines cost, those of other files left out. */
export function showCosts(lines) {
  const own = lines.filter(({ file }) => file === OWN_FILE);
  const told = own.map(({ line, and_gates }) => [line, and_gates]);
  view.dispatch({ effects: setCosts.of(new Map(told)) });
}

/** Shows nothing that was said of another text. */
export function forgetText() {
  mark([]);
  showCosts([]);
}
