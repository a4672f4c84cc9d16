// The editor: a text with what is wrong underlined and what each line costs at its side.
import { $, element, show, styled } from "../page.js";

/** What Tacit calls the text of the editor. */
const OWN_FILE = "program.tacit";
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export const text = $("text");

/** The place between two letters at or before this one: a letter may take two units. */
function before(source, place) {
  const unit = source.charCodeAt(place);
  return unit >= 0xdc00 && unit < 0xe000 ? place - 1 : place;
}

/** Where two texts differ: how far both are alike from the start, and from the end. */
function difference(old, source) {
  const most = Math.min(old.length, source.length);
  let start = 0;
  while (start < most && old[start] === source[start]) start++;
  start = Math.min(before(old, start), before(source, start));
  let end = 0;
  while (end < most - start && old.at(-1 - end) === source.at(-1 - end)) end++;
  if (before(old, old.length - end) !== old.length - end) end--;
  return { start, end };
}

/** Replaces the text as typing would, so that undo brings back what was there. */
export function replace(source) {
  const old = text.value;
  if (old === source) return;
  const { start, end } = difference(old, source);
  const piece = source.slice(start, source.length - end);
  const focused = document.activeElement;
  text.focus({ preventScroll: true });
  text.setSelectionRange(start, old.length - end);
  // The one way to change a text and keep its undo; browsers that drop it lose the undo alone.
  const [command, given] = piece ? ["insertText", piece] : ["delete", undefined];
  document.execCommand?.(command, false, given);
  if (text.value !== source) text.value = source;
  text.setSelectionRange(start, start);
  if (focused !== text) focused?.focus?.({ preventScroll: true });
}

/** Underlines the places of errors. */
function mark(errors) {
  const source = text.value;
  const own = errors.map(({ at }) => at).filter(({ file }) => file === OWN_FILE);
  own.sort((a, b) => a.from - b.from);
  const parts = [];
  let done = 0;
  for (const { from, to } of own) {
    if (from < done) continue;
    const end = Math.max(to, from + 1);
    parts.push(source.slice(done, from), element("mark", source.slice(from, end)));
    done = end;
  }
  show($("marks"), ...parts, source.slice(done) + "\n");
}

/** Shows what is wrong, each with a button that leads there. */
export function showProblems(errors) {
  mark(errors);
  if (errors.length === 0) {
    return show($("problems"), styled("p", "right", "None."));
  }
  const items = errors.map(({ at, message, label, help }) => {
    const said = [`${message}.`, label && `Here: ${label}.`, help && `Help: ${help}.`];
    const words = ` ${said.filter(Boolean).join(" ")}`;
    if (at.file !== OWN_FILE) return element("li", `${at.file}, line ${at.line}: ${words}`);
    const go = element("button", `line ${at.line}`);
    go.type = "button";
    go.onclick = () => {
      text.focus();
      text.setSelectionRange(at.from, at.to);
    };
    return element("li", "", go, words);
  });
  const list = element("ul", "", ...items);
  list.className = "plain";
  show($("problems"), element("p", `${errors.length} found`), list);
}

/** Shows what the lines cost, those of other files left out. */
export function showCosts(lines) {
  const own = lines.filter(({ file }) => file === OWN_FILE);
  const costs = new Map(own.map((one) => [one.line, one]));
  const count = text.value.split("\n").length;
  const shown = Array.from({ length: count }, (_, line) => {
    const cost = costs.get(line + 1);
    return cost ? short.format(cost.and_gates) : "";
  });
  $("costs").textContent = `${shown.join("\n")}\n`;
  follow();
}

/** Shows nothing that was said of another text. */
export function forgetText() {
  mark([]);
  showCosts([]);
}

/** What the editor shows at its sides stands where the text does. */
function follow() {
  $("marks").scrollTo(text.scrollLeft, text.scrollTop);
  $("costs").scrollTo(0, text.scrollTop);
}

text.addEventListener("scroll", follow);
