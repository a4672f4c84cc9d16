// The playground: check as you type, evaluate in the clear, run between two tabs. What a program
// means is Tacit's to say: the page shows what it is told.
import { Tacit } from "../tacit/tacit.js";
import { $, element, number, show, styled, table } from "../page.js";
import { showCosts, showProblems, text } from "./editor.js";
import { example, names } from "./examples.js";

const CHECK_AFTER_MS = 250;
const KEPT = "tacit playground";

// One for what is typed, which answers at once, and one for runs, which may wait for a person.
const editing = new Tacit();
const running = new Tacit();
let described = null;

function complain(place, error) {
  show(place, styled("p", "wrong", error.message));
}

/** Fields for inputs. Those that were there keep what was typed, and the cursor. */
function fields(place, inputs) {
  const now = JSON.stringify(inputs.map(({ name, said }) => [name, said]));
  if (place.dataset.fields === now) return;
  place.dataset.fields = now;
  const before = new Map([...place.querySelectorAll("input")].map((one) => [one.name, one.value]));
  const made = inputs.map(({ name, said, value = "" }) => {
    const field = element("input");
    field.name = name;
    field.value = before.get(name) ?? value;
    field.autocomplete = "off";
    field.spellcheck = false;
    return element("label", "", `${name} `, element("small", said), field);
  });
  show(place, ...made);
}

function values(place) {
  const given = [...place.querySelectorAll("input")].map(({ name, value }) => [name, value.trim()]);
  return Object.fromEntries(given.filter(([, value]) => value !== ""));
}

/** The program, with what both parties agree on. */
function program() {
  return { text: text.value, params: values($("params")), public: values($("public")) };
}

const inputField = ({ name, type, owner, sorted, strictly }) => ({
  name,
  said: `${type}${sorted ? `, ${strictly ? "strictly " : ""}sorted` : ""}, ${owner}`,
});

function showAgreed({ params, inputs }) {
  const known = params.map(({ name, least, greatest, value }) => ({
    name,
    said: `from ${number(BigInt(least))} to ${number(BigInt(greatest))}`,
    value,
  }));
  fields($("params"), known);
  fields($("public"), inputs.filter(({ owner }) => owner === "public").map(inputField));
  const none = params.length === 0 && inputs.every(({ owner }) => owner !== "public");
  $("agreed").hidden = none;
}

/** What the lines cost, as a table, for those who do not see the editor's side. */
function costTable(lines) {
  const source = text.value.split("\n");
  const rows = lines.map(({ file, line, and_gates }) => {
    const own = file === "program.tacit";
    const shown = own ? (source[line - 1] ?? "").trim() : file;
    return [String(line), shown, number(and_gates)];
  });
  return element(
    "details",
    "",
    element("summary", "What each line costs"),
    table(["Line", "Text", "AND gates"], rows),
  );
}

function describe(found) {
  described = found;
  const ready = found !== null && found.wanted === undefined;
  $("start").disabled = !ready;
  if (!found) return;
  showAgreed(found);
  const ports = [
    ...found.inputs.map(({ name, type, owner }) => [
      name,
      type,
      owner === "public" ? "public" : `secret of ${owner}`,
    ]),
    ...found.results.map(({ name, type, to }) => [name, type, `result to ${to}`]),
  ];
  const said = found.documentation ? [element("p", found.documentation)] : [];
  const types = found.types.map((declared) => element("pre", declared));
  show($("ports"), ...said, table(["Port", "Type", "Whose"], ports), ...types);
  if (ready) {
    showCosts(found.lines);
    const cost =
      `${number(found.and_gates)} AND gates, which cost work and bytes; ` +
      `${number(found.xor_gates)} XOR gates, which are free on the wire.`;
    $("ports").append(element("p", cost), costTable(found.lines));
  } else {
    showCosts([]);
    $("ports").append(styled("p", "quiet", `To see its cost, ${found.wanted}.`));
  }
  const secret = found.inputs.filter(({ owner }) => owner !== "public");
  fields($("clear-inputs"), secret.map(inputField));
  showParties();
}

function showParties() {
  const choice = $("party");
  const names = described.parties.map(({ name }) => name);
  const asked = [choice.value, new URLSearchParams(location.search).get("party")];
  show(choice, ...names.map((name) => element("option", name)));
  choice.value = asked.find((name) => names.includes(name)) ?? names[0];
  showOwnFields();
}

function showOwnFields() {
  const party = $("party").value;
  const own = described?.inputs.filter(({ owner }) => owner === party) ?? [];
  fields($("run-inputs"), own.map(inputField));
}

let latest = 0;

/** What is wrong with the program. A param that the text no longer has is not held against it. */
async function problemsOf(given, textChanged) {
  const errors = await editing.check(given);
  if (errors.length === 0 || !textChanged || Object.keys(given.params).length === 0) return errors;
  const others = await editing.check({ ...given, params: {} });
  if (others.length === 0) given.params = {};
  return others;
}

async function check(textChanged) {
  const turn = ++latest;
  const given = program();
  try {
    const errors = await problemsOf(given, textChanged);
    if (turn !== latest) return;
    localStorage.setItem(KEPT, JSON.stringify(given));
    showProblems(errors);
    if (errors.length > 0) {
      describe(null);
      return show($("ports"), styled("p", "quiet", "Solve the problems to see it."));
    }
    const found = await editing.describe(given);
    if (turn !== latest) return;
    describe(found);
    // Values of public inputs that the text no longer has went with their fields.
    const agreed = JSON.stringify(values($("public"))) === JSON.stringify(given.public);
    if (found.wanted !== undefined && !agreed) check(false);
  } catch (error) {
    if (turn !== latest) return;
    describe(null);
    complain($("ports"), error);
  }
}

let timer;
function checkSoon(textChanged) {
  clearTimeout(timer);
  timer = setTimeout(() => check(textChanged), CHECK_AFTER_MS);
}
text.addEventListener("input", () => {
  $("example").value = "";
  checkSoon(true);
});
$("agreed").addEventListener("input", () => checkSoon(false));

$("format").onclick = async () => {
  try {
    text.value = await editing.format(text.value);
    check(true);
  } catch (error) {
    complain($("problems"), error);
  }
};

/** Results, each with its text or its rows. */
function resultTable(results, heads, cells) {
  if (results.length === 0) return [element("p", "This party gets no result.")];
  const plain = results.map((result) => {
    const { name, text, table: rows } = result;
    return [name, rows ? `${number(rows.rows.length)} rows, below` : text, ...cells(result)];
  });
  const tables = results
    .filter(({ table: rows }) => rows)
    .flatMap(({ name, table: { columns, rows } }) => [element("h3", name), table(columns, rows)]);
  return [table(heads, plain), ...tables];
}

$("clear").onsubmit = async (event) => {
  event.preventDefault();
  try {
    const seed = crypto.getRandomValues(new Uint32Array(1))[0];
    const results = await editing.evaluate(program(), values($("clear-inputs")), seed);
    const shown = resultTable(results, ["Result", "Value", "For"], ({ to }) => [to]);
    show($("clear-results"), ...shown);
  } catch (error) {
    complain($("clear-results"), error);
  }
};

function outcome(found) {
  const sum = (part) => found.phases.reduce((sum, phase) => sum + phase[part], 0);
  const phases = found.phases.map((phase) => [
    phase.phase,
    `${phase.ms.toFixed(1)} ms`,
    number(phase.sent_bytes),
    number(phase.received_bytes),
  ]);
  const scope = found.of_this_run_alone ? " of this run alone" : "";
  const security = found.security_bits ? `, ${found.security_bits} bits${scope}` : "";
  return [
    ...resultTable(found.results, ["Result", "Value"], () => []),
    element(
      "p",
      `Secure in the model “${found.threat_model}”${security}. ` +
        `${(found.ms / 1000).toFixed(2)} s, ${number(sum("sent_bytes"))} bytes sent, ` +
        `${number(sum("received_bytes"))} received.`,
    ),
    table(["Phase", "Time", "Bytes sent", "Received"], phases),
  ];
}

$("run").onsubmit = async (event) => {
  event.preventDefault();
  const party = $("party").value;
  const order = {
    program: program(),
    party,
    protocol: $("protocol").value,
    inputs: values($("run-inputs")),
  };
  const { role } = described.parties.find(({ name }) => name === party);
  $("start").disabled = true;
  $("cancel").disabled = false;
  show($("run-results"), element("p", "Waiting for the other tab…"));
  try {
    const found = await running.runTwoParty({ room: "playground", side: role }, order);
    show($("run-results"), ...outcome(found));
  } catch (error) {
    complain($("run-results"), error);
  }
  $("start").disabled = described === null || described.wanted !== undefined;
  $("cancel").disabled = true;
};

$("cancel").onclick = () => running.cancel();
$("party").onchange = showOwnFields;

$("other").onclick = () => {
  const other = described?.parties.find(({ name }) => name !== $("party").value);
  window.open(`?party=${encodeURIComponent(other?.name ?? "")}`, "_blank", "noopener");
};

$("speed").onclick = async () => {
  show($("speed-result"), element("p", "Measuring…"));
  try {
    const found = await running.speed(500);
    const [garble, evaluate] = [found.garble_mands_per_s, found.evaluate_mands_per_s];
    const said =
      `${garble.toFixed(1)} million AND gates a second garbled, ` +
      `${evaluate.toFixed(1)} evaluated, in one worker (${found.backend}).`;
    show($("speed-result"), element("p", said));
  } catch (error) {
    complain($("speed-result"), error);
  }
};

/** Takes up a program; what was typed into fields of another one goes. */
function take({ text: source, params = {}, public: agreed = {} }) {
  text.value = source;
  for (const [id, given] of [["params", params], ["public", agreed]]) {
    const kept = Object.entries(given).map(([name, value]) => ({ name, said: "", value }));
    fields($(id), []);
    fields($(id), kept);
  }
  check(true);
}

function kept() {
  try {
    const found = JSON.parse(localStorage.getItem(KEPT));
    return typeof found?.text === "string" ? found : null;
  } catch {
    return null;
  }
}

const choice = $("example");
const own = Object.assign(element("option", "Your own"), { value: "" });
choice.append(
  ...names.map((name, value) => Object.assign(element("option", name), { value })),
  own,
);

async function takeExample() {
  if (choice.value === "") return;
  try {
    take(await example(choice.value));
  } catch (error) {
    complain($("problems"), error);
  }
}

choice.onchange = takeExample;
const before = kept();
if (before) {
  own.selected = true;
  take(before);
} else {
  takeExample();
}
