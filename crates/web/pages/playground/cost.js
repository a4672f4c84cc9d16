// What a program costs: gates, and the bytes and time of a run by each protocol.
import { element, number, show, styled, table } from "../page.js";

/** Links for which times are shown. */
export const LINKS = [
  { name: "1 Gbit/s, 0.25 ms away", rate: "1 Gbit/s", bits: 1e9, seconds: 0.00025 },
  { name: "50 Mbit/s, 33 ms away", rate: "50 Mbit/s", bits: 50e6, seconds: 0.033 },
];
const UNITS = ["bytes", "kB", "MB", "GB", "TB"];

/** A number of bytes in three digits. */
export function inBytes(count) {
  const step = Math.min(Math.floor(Math.log10(Math.max(count, 1)) / 3), UNITS.length - 1);
  return `${number(Number((count / 1000 ** step).toPrecision(3)))}\u00a0${UNITS[step]}`;
}

/** A time of so many seconds in two digits. */
export function inTime(seconds) {
  const [value, unit] = seconds < 1 ? [seconds * 1000, "ms"] : [seconds, "s"];
  return `${number(Number(value.toPrecision(2)))}\u00a0${unit}`;
}

/** The least seconds of a run: its bytes, one after another, and the waits for the other party. */
export const leastSeconds = ({ garbler_bytes, evaluator_bytes, trips }, { bits, seconds }) =>
  trips * seconds + ((garbler_bytes + evaluator_bytes) * 8) / bits;

const least = (one, link) => inTime(leastSeconds(one, link));

function trafficTable(traffic) {
  const row = (name, cell) => [name, ...traffic.map(cell)];
  return table(
    ["A run by", ...traffic.map(({ protocol }) => protocol)],
    [
      row("the garbler sends", (one) => inBytes(one.garbler_bytes)),
      row("the evaluator sends", (one) => inBytes(one.evaluator_bytes)),
      ...LINKS.map((link) => row(`time at ${link.name}`, (one) => least(one, link))),
    ],
  );
}

/** What the lines cost, as a table, for those who do not see the editor's side. */
function lineTable(lines, source) {
  const texts = source.split("\n");
  const rows = lines.map(({ file, line, and_gates }) => {
    const own = file === "program.tacit";
    const shown = own ? (texts[line - 1] ?? "").trim() : file;
    return [String(line), shown, number(and_gates)];
  });
  return element(
    "details",
    "",
    element("summary", "What each line costs"),
    table(["Line", "Text", "AND gates"], rows),
  );
}

/** Shows the cost of what was found of a program. */
export function showCost(place, { and_gates, xor_gates, lines, traffic }, source) {
  const gates =
    `${number(and_gates)} AND gates, which cost work and bytes; ` +
    `${number(xor_gates)} XOR gates, which are free on the wire.`;
  const note =
    "The times are those of the link alone: work on the gates comes on top, and the first run of " +
    "a session also makes its base OTs.";
  show(
    place,
    element("p", gates),
    ...(traffic.length > 0 ? [trafficTable(traffic), styled("p", "quiet", note)] : []),
    lineTable(lines, source),
  );
}
