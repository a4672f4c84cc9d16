// Two versions of a program side by side: what each line costs in both, and the difference.
import { $, element, number, show, styled } from "../page.js";
import { LINKS, inBytes, inTime, leastSeconds } from "./cost.js";

/** The bytes that half-gates send for an AND gate. */
const GATE_BYTES = 32;
const SLOW = LINKS.at(-1);
/** Lines that are shown around one that differs. */
const AROUND = 2;
/** Beyond this many pairs of lines the middle of both texts counts as changed. */
const MOST_PAIRS = 4_000_000;

const measures = {
  gates: { of: (gates) => gates, say: (value) => number(value) },
  bytes: { of: (gates) => gates * GATE_BYTES, say: inBytes },
  time: { of: (gates) => (gates * GATE_BYTES * 8) / SLOW.bits, say: inTime },
};

/** The first version: its text, its params and what was found of it; null if nothing is compared. */
let first = null;
let last = null;

/** The costs of a version's own lines, by their numbers. */
const costsOf = ({ lines }) =>
  new Map(
    lines
      .filter(({ file }) => file === "program.tacit")
      .map(({ line, and_gates }) => [line, and_gates]),
  );

/** How many lines of both are alike in order, from each pair of places on. */
function alikeFrom(old, now, isAlike) {
  const counts = Array.from({ length: old.length + 1 }, () => new Uint32Array(now.length + 1));
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      const rest = Math.max(counts[i + 1][j], counts[i][j + 1]);
      counts[i][j] = isAlike(old[i], now[j]) ? counts[i + 1][j + 1] + 1 : rest;
    }
  }
  return counts;
}

/** Pairs of places of lines, in order; null where a version lacks the line. */
function aligned(old, now, isAlike) {
  if (old.length * now.length > MOST_PAIRS) {
    return [...old.map((_, i) => [i, null]), ...now.map((_, j) => [null, j])];
  }
  const counts = alikeFrom(old, now, isAlike);
  const pairs = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    const isBoth = i < old.length && j < now.length;
    if (isBoth && isAlike(old[i], now[j])) pairs.push([i++, j++]);
    else if (j === now.length || (isBoth && counts[i + 1][j] >= counts[i][j + 1])) {
      pairs.push([i++, null]);
    } else pairs.push([null, j++]);
  }
  return pairs;
}

const wordsOf = (line) => line.match(/\w+/g) ?? [];

/** Whether one line may have become the other: half of the words are still there. */
function isSimilar(one, other) {
  const [old, now] = [one, other].map(wordsOf);
  const shared = new Set(old.filter((word) => now.includes(word)));
  return shared.size > 0 && 2 * shared.size >= Math.max(new Set(old).size, new Set(now).size);
}

/** How many lines both have in common at their beginnings. */
function commonStart(one, other) {
  const most = Math.min(one.length, other.length);
  let count = 0;
  while (count < most && one[count] === other[count]) count++;
  return count;
}

/** Pairs of lines by their numbers from 1; null where a version lacks the line. */
function pairsOf(old, now) {
  const pairs = [];
  /** Lines that only one version has, in a row. */
  let [gone, come] = [[], []];
  const settle = () => {
    const texts = [gone.map((i) => old[i]), come.map((j) => now[j])];
    for (const [i, j] of aligned(...texts, isSimilar)) {
      pairs.push([i === null ? null : gone[i] + 1, j === null ? null : come[j] + 1]);
    }
    [gone, come] = [[], []];
  };
  const start = commonStart(old, now);
  const rest = [old, now].map((lines) => lines.slice(start));
  for (let at = 0; at < start; at++) pairs.push([at + 1, at + 1]);
  for (const [i, j] of aligned(...rest, (one, other) => one === other)) {
    if (i !== null && j !== null) settle();
    if (i !== null && j !== null) pairs.push([start + i + 1, start + j + 1]);
    else if (i !== null) gone.push(start + i);
    else come.push(start + j);
  }
  settle();
  return pairs;
}

const signed = (value, say) =>
  value === 0 ? "0" : `${value > 0 ? "+" : "−"}${say(Math.abs(value))}`;

/** A difference: more is worse. */
function change(value, say) {
  const kind = value > 0 ? "number wrong" : value < 0 ? "number right" : "number quiet";
  return styled("td", kind, signed(value, say));
}

function rowOf({ old, now, costs, differs }, { of, say }, texts) {
  const side = (text, line, gates, name) => {
    const code = element("td", "", styled("code", "", line === null ? "" : text[line - 1]));
    code.className = line === null ? "code lacking" : "code";
    code.dataset.version = name;
    const cost = styled("td", "number", gates === undefined ? "" : say(of(gates)));
    return [styled("td", "number quiet", line === null ? "" : String(line)), code, cost];
  };
  const row = element(
    "tr",
    "",
    ...side(texts[0], old, costs[0], "first"),
    ...side(texts[1], now, costs[1], "now"),
  );
  const isCosted = costs.some((gates) => gates !== undefined);
  const difference = of(costs[1] ?? 0) - of(costs[0] ?? 0);
  row.append(isCosted ? change(difference, say) : element("td"));
  if (differs) row.className = "differs";
  return row;
}

/** The rows to show: those that differ, with some lines around; of the rest how many there are. */
function folded(rows) {
  const isShown = rows.map((_, at) =>
    rows.slice(Math.max(0, at - AROUND), at + AROUND + 1).some(({ differs }) => differs),
  );
  const shown = [];
  rows.forEach((row, at) => {
    if (isShown[at]) shown.push(row);
    else if (typeof shown.at(-1) === "number") shown[shown.length - 1] += 1;
    else shown.push(1);
  });
  return shown;
}

function gap(count) {
  const said = count === 1 ? "1 line is alike" : `${number(count)} lines are alike`;
  const cell = styled("td", "quiet", said);
  cell.colSpan = 7;
  return element("tr", "", cell);
}

function lineTable() {
  const measure = measures[$("measure").value];
  const texts = [first.text, last.text].map((text) => text.split("\n"));
  const costs = [first, last].map(({ found }) => costsOf(found));
  const rows = pairsOf(...texts).map(([old, now]) => {
    const both = [costs[0].get(old), costs[1].get(now)];
    const isSame = old !== null && now !== null && texts[0][old - 1] === texts[1][now - 1];
    return { old, now, costs: both, differs: !isSame || both[0] !== both[1] };
  });
  if (!rows.some(({ differs }) => differs)) {
    return element("p", "Both are alike. Change the program in the editor.");
  }
  const heads = ["Line", "First version", "Cost", "Line", "Now", "Cost", "Difference"];
  const head = element("tr", "", ...heads.map((name) => element("th", name)));
  const body = folded(rows).map((row) =>
    typeof row === "number" ? gap(row) : rowOf(row, measure, texts),
  );
  const made = element("table", "", element("thead", "", head), element("tbody", "", ...body));
  made.className = "side-by-side";
  return made;
}

/** Gates, and bytes and least time by direct, of both as a whole, with the differences. */
function sumTable() {
  const direct = ({ found }) => found.traffic.find(({ protocol }) => protocol === "direct");
  const rows = [["AND gates", ({ found }) => found.and_gates, (value) => number(value)]];
  if (direct(first) && direct(last)) {
    const bytes = (one) => direct(one).garbler_bytes + direct(one).evaluator_bytes;
    rows.push(["bytes", bytes, inBytes]);
    for (const link of LINKS) {
      rows.push([`time at ${link.rate}`, (one) => leastSeconds(direct(one), link), inTime]);
    }
  }
  const heads = ["", "First version", "Now", "Difference"];
  const body = rows.map(([name, of, say]) => {
    const [before, now] = [of(first), of(last)];
    const cells = [before, now].map((value) => styled("td", "number", say(value)));
    return element("tr", "", element("td", name), ...cells, change(now - before, say));
  });
  const head = element("tr", "", ...heads.map((name) => element(name ? "th" : "td", name)));
  return element("table", "", element("thead", "", head), element("tbody", "", ...body));
}

const agreedOn = ({ params, public: agreed }) => JSON.stringify([params, agreed]);

function draw() {
  const isOn = first !== null;
  $("versions").hidden = !isOn;
  if (!isOn) return;
  const note =
    agreedOn(first) === agreedOn(last)
      ? []
      : [styled("p", "quiet", "What both agree on differs: so the costs may differ by that alone.")];
  show($("sums"), sumTable(), ...note);
  show($("lines"), lineTable());
}

/** Takes up what was found of the version in the editor, which is then the later one. */
export function showVersion(version) {
  last = version;
  $("compare").disabled = last === null;
  $("versions").setAttribute("aria-busy", String(last === null));
  if (last !== null) draw();
}

/** Lets the page compare versions; `restore` puts one back into the editor. */
export function comparesBy(restore) {
  $("compare").onclick = () => {
    first = last;
    draw();
    $("versions-title").focus();
  };
  $("measure").onchange = () => last && draw();
  $("revert").onclick = () => restore(first);
  $("uncompare").onclick = () => {
    first = null;
    draw();
    $("compare").focus();
  };
}
