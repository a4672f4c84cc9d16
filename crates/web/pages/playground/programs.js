// The list of programs: those of the project to begin with, and the visitor's own, which are kept
// in this browser. Choosing another one loses none.
import { element } from "../page.js";

/** The program in the editor, and the visitor's earlier ones, the latest first. */
const CURRENT = "tacit playground";
const EARLIER = "tacit playground earlier";
const MOST_EARLIER = 20;
const TITLE_LETTERS = 40;

/** Sizes that fit a page. */
const examples = [
  { name: "Sealed-bid auctions", file: "01_auction.tacit", params: { LOTS: "2" } },
  { name: "Pay of women and men", file: "02_salary_gap.tacit", params: { N: "6", FLOOR: "2" } },
  { name: "What two lists have in common", file: "03_psi_sum.tacit", params: { LOG: "2" } },
  {
    name: "A decision tree on hidden features",
    file: "07_decision_tree.tacit",
    params: { DEPTH: "2", FEATURES: "3" },
  },
];

/** The text and params of an example. */
async function example({ file, params }) {
  const answer = await fetch(`examples/${file}`);
  if (!answer.ok) throw new Error(`the example ${file} is not there`);
  return { text: await answer.text(), params };
}

function read(name, isRight) {
  try {
    const found = JSON.parse(localStorage.getItem(name));
    return isRight(found) ? found : null;
  } catch {
    return null;
  }
}

/** A browser that keeps nothing, or has no room left, is no reason to stop. */
function write(name, value) {
  try {
    localStorage.setItem(name, JSON.stringify(value));
  } catch {
    // The editor goes on, and its undo with it.
  }
}

const isProgram = (found) => typeof found?.text === "string";

/** The program that was in the editor last, if any was. */
export const current = () => read(CURRENT, isProgram);
export const keepCurrent = (program) => write(CURRENT, program);

const earlier = () => read(EARLIER, Array.isArray)?.filter(isProgram) ?? [];

/** Keeps one of the visitor's own programs. */
export function keep(program) {
  const others = earlier().filter(({ text }) => text !== program.text);
  write(EARLIER, [program, ...others].slice(0, MOST_EARLIER));
}

/** The visitor's program with this text, if there is one. */
export const withText = (source) => earlier().find(({ text }) => text === source);

/** What a program is called: its first words. */
function title({ text }) {
  const lines = text.split("\n").map((line) => line.replace(/^\/+/, "").trim());
  const first = lines.find((line) => line !== "") ?? "empty";
  return first.length > TITLE_LETTERS ? `${first.slice(0, TITLE_LETTERS)}…` : first;
}

const option = (name, value) => Object.assign(element("option", name), { value });

/** The values of a choice: an example, an earlier program by its place, the one in the editor. */
const [EXAMPLE, PLACE, EDITED] = ["example ", "earlier ", ""];

/** Fills a choice with all programs; `isOwn` says whether the editor has one of the visitor's. */
function fill(choice, isOwn) {
  const before = choice.value;
  const own = Object.assign(element("optgroup"), { label: "Yours" });
  const edited = option("In the editor", EDITED);
  edited.hidden = !isOwn;
  const kept = earlier().map((program, place) => option(title(program), `${PLACE}${place}`));
  own.append(edited, ...kept);
  const given = Object.assign(element("optgroup"), { label: "Examples" });
  given.append(...examples.map(({ name }, place) => option(name, `${EXAMPLE}${place}`)));
  choice.replaceChildren(given, own);
  choice.value = isOwn ? EDITED : before;
}

/** Says that the editor has a program of the visitor's. */
export function isEdited(choice) {
  if (choice.value === EDITED && choice.options.length > 0) return;
  fill(choice, true);
}

/** The program that is chosen; what `was` in the editor is kept, if it is the visitor's own. */
export async function chosen(choice, was) {
  const { value } = choice;
  const place = Number(value.replace(/^\D+/, ""));
  const found = value.startsWith(EXAMPLE) ? await example(examples[place]) : earlier()[place];
  if (was) keep(was);
  fill(choice, false);
  if (value.startsWith(EXAMPLE)) choice.value = value;
  else choice.value = `${PLACE}${earlier().findIndex(({ text }) => text === found.text)}`;
  return found;
}

/** The choice as it was last, if anything was in the editor; whether that was the visitor's own. */
export function begin(choice, last = `${EXAMPLE}0`) {
  const isOwn = !last.startsWith(EXAMPLE);
  fill(choice, isOwn);
  if (!isOwn) choice.value = last;
  return isOwn;
}
