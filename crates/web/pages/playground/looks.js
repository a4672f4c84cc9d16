// How the editor looks: as the page does, in light and dark.
import { Compartment, EditorView } from "./codemirror.js";

const theme = EditorView.theme({
  "&": { backgroundColor: "var(--ground)", color: "var(--text)", fontSize: "var(--code-size)" },
  "&.cm-focused": { outline: "3px solid var(--mark)", outlineOffset: "2px" },
  ".cm-scroller": {
    fontFamily: "ui-monospace, monospace",
    lineHeight: "1.5",
    minHeight: "20rem",
    maxHeight: "70vh",
  },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor, .cm-dropCursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground":
    { backgroundColor: "var(--selected)" },
  ".cm-activeLine": { backgroundColor: "transparent" },
  "&.cm-focused .cm-activeLine": { backgroundColor: "var(--active)" },
  ".cm-selectionMatch, .cm-searchMatch": { backgroundColor: "var(--selected)" },
  ".cm-searchMatch.cm-searchMatch-selected": { outline: "2px solid var(--mark)" },
  "&.cm-focused .cm-matchingBracket": {
    backgroundColor: "transparent",
    outline: "1px solid var(--quiet)",
  },
  ".cm-gutters": {
    backgroundColor: "var(--raised)",
    color: "var(--quiet)",
    borderRight: "1px solid var(--line)",
  },
  ".cm-lineNumbers .cm-gutterElement": { padding: "0 0.3rem", minWidth: "1.6rem" },
  ".cm-costs": { minWidth: "2.6rem" },
  ".cm-costs .cm-gutterElement": { padding: "0 0.4rem 0 0.2rem", textAlign: "right" },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--text)", zIndex: "3" },
  ".cm-panels.cm-panels-top": { borderBottom: "1px solid var(--line)" },
  ".cm-panels.cm-panels-bottom": { borderTop: "1px solid var(--line)" },
  ".cm-panel.cm-search, .cm-panel.cm-dialog": { padding: "0.5rem 2.5rem 0.5rem 0.5rem" },
  ".cm-panel.cm-search label, .cm-panel.cm-dialog label": { fontSize: "0.9rem" },
  ".cm-panel.cm-search [name=close], .cm-panel.cm-dialog .cm-dialog-close": {
    color: "inherit",
    font: "inherit",
    fontSize: "1.4rem",
    padding: "0 0.5rem",
  },
  ".cm-textfield": {
    backgroundColor: "var(--ground)",
    color: "inherit",
    border: "1px solid var(--quiet)",
    font: "inherit",
    fontSize: "1rem",
  },
  ".cm-button": {
    backgroundImage: "none",
    backgroundColor: "var(--ground)",
    color: "var(--mark)",
    border: "1px solid var(--mark)",
    borderRadius: "0.3rem",
    font: "inherit",
    fontSize: "0.9rem",
  },
  ".cm-tooltip": {
    backgroundColor: "var(--raised)",
    color: "var(--text)",
    border: "1px solid var(--quiet)",
    maxWidth: "min(32rem, 90vw)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--mark)",
    color: "var(--on-mark)",
  },
  ".cm-hover": { padding: "0.3rem 0.6rem", fontSize: "0.9rem" },
  ".cm-hover p": { margin: "0.2rem 0" },
  ".cm-hover code": { fontFamily: "ui-monospace, monospace" },
  ".cm-diagnosticText": { whiteSpace: "pre-wrap" },
  // A line of code longer than a phone is wide is broken.
  "@media (max-width: 40rem)": {
    ".cm-lineNumbers": { display: "none !important" },
  },
});

const [dark, narrow] = ["(prefers-color-scheme: dark)", "(max-width: 40rem)"];

/** A part of the editor that is there where a media query holds, also if that changes. */
function where(query, part) {
  const place = new Compartment();
  const found = matchMedia(query);
  const now = () => (found.matches ? part : []);
  const follow = (view) => {
    found.addEventListener("change", () => view.dispatch({ effects: place.reconfigure(now()) }));
  };
  return { extension: place.of(now()), follow };
}

/** Everything about looks, and what makes it follow the page once there is a view. */
export function looks() {
  const parts = [
    where(dark, EditorView.darkTheme.of(true)),
    where(narrow, EditorView.lineWrapping),
  ];
  return {
    extension: [theme, ...parts.map(({ extension }) => extension)],
    follow: (view) => parts.forEach(({ follow }) => follow(view)),
  };
}
