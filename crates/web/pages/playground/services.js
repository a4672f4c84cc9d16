// What Tacit says about a program while it is written: names to complete, meanings, new names.
import { element } from "../page.js";
import { autocompletion, hoverTooltip, showDialog, tacitWords } from "./codemirror.js";

const WORD = /[A-Za-z_]\w*/g;

/** The names and words that Tacit told last. */
let known = { names: [], words: [] };

export function knowNames(names) {
  known = names;
}

function kind(declared) {
  if (/^(component )?fn /.test(declared)) return "function";
  return /^(struct|enum|type) /.test(declared) ? "type" : "variable";
}

/** A declaration and what is said above it. */
function words({ declared, documentation }) {
  return [
    ...(declared ? [element("p", "", element("code", declared))] : []),
    ...(documentation ? [element("p", documentation)] : []),
  ];
}

function complete(context) {
  const typed = context.matchBefore(/[A-Za-z_]\w*/);
  if (!typed && !context.explicit) return null;
  const from = typed?.from ?? context.pos;
  const { doc } = context.state;
  const others = doc.sliceString(0, from) + doc.sliceString(context.pos);
  const keywords = [...new Set([...tacitWords, ...known.words])];
  const told = new Set([...known.names.map(({ name }) => name), ...keywords]);
  const local = [...new Set(others.match(WORD))].filter((word) => !told.has(word));
  const options = [
    ...known.names.map((one) => ({
      label: one.name,
      type: kind(one.declared),
      info: one.declared ? () => element("div", "", ...words(one)) : undefined,
    })),
    ...keywords.map((label) => ({ label, type: "keyword", boost: -1 })),
    ...local.map((label) => ({ label, type: "variable", boost: 1 })),
  ];
  return { from, options, validFor: /^\w*$/ };
}

/** What the pointer rests on. `explain` asks Tacit, and `cost` says what a line costs. */
const hover = ({ explain, cost }) =>
  hoverTooltip(async (view, at) => {
    const word = view.state.wordAt(at);
    if (!word || !/^[A-Za-z_]/.test(view.state.sliceDoc(word.from, word.to))) return null;
    const found = await explain(word.from).catch(() => null);
    if (!found?.meaning && !found?.type) return null;
    const spent = cost(view.state.doc.lineAt(at).number);
    const said = [
      ...words(found.meaning ?? {}),
      ...(found.type ? [element("p", "Type: ", element("code", found.type))] : []),
      ...(spent === undefined ? [] : [element("p", `This line: ${spent} AND gates.`)]),
    ];
    const create = () => {
      const dom = element("div", "", ...said);
      dom.className = "cm-hover";
      return { dom };
    };
    return { pos: word.from, end: word.to, above: true, create };
  });

/** Asks for a new name of what is at the cursor, and puts it where it belongs. */
export async function renameAtCursor(view, { rename, complain }) {
  const { state } = view;
  const word = state.wordAt(state.selection.main.head);
  if (!word) return complain(new Error("Put the cursor on the name to change."));
  const old = state.sliceDoc(word.from, word.to);
  const { result } = showDialog(view, {
    label: `New name for ${old}`,
    input: { type: "text", name: "name", value: old, required: true },
    submitLabel: "Rename",
    focus: true,
    top: true,
  });
  const form = await result;
  const name = form?.elements.namedItem("name").value.trim();
  view.focus();
  if (!name || name === old) return;
  try {
    const places = await rename(word.from, name);
    if (view.state.doc !== state.doc) return;
    const changes = places.map(({ from, to }) => ({ from, to, insert: name }));
    view.dispatch({ changes, userEvent: "rename" });
  } catch (error) {
    complain(error);
  }
}

/** Completion and what the pointer rests on, for the editor. */
export const services = (asked) => [
  autocompletion({ override: [complete], icons: false }),
  hover(asked),
];
