// The playground: check as you type, evaluate in the clear, run with the other party. What a
// program means is Tacit's to say: the page shows what it is told.
import { $, element, number, show, started, styled, table } from "../page.js";
import { comparesBy, showVersion } from "./compare.js";
import { showCost } from "./cost.js";
import {
  askOf,
  begin as beginText,
  forgetText,
  onEdit,
  renameHere,
  replace,
  showCosts,
  showProblems,
  showRight,
  text,
} from "./editor.js";
import { fields, values } from "./forms.js";
import { forgetPerson, invitesBy, showInvitation, withPerson } from "./person.js";
import { begin, chosen, current, isEdited, keep, keepCurrent, withText } from "./programs.js";
import { knowNames } from "./services.js";
import { fragment, linked } from "./share.js";
import { hasTests, showVerdicts } from "./tests.js";

const CHECK_AFTER_MS = 250;
/** For a check, and for an evaluation: a program may describe any amount of work. */
const CHECK_MS = 10_000;
const EVALUATE_MS = 60_000;
/** After this time a person is told that a check runs. */
const SAY_AFTER_MS = 600;

// One for what is typed, which answers at once, and one for runs, which may wait for a person.
const { Tacit } = await started();
const [editing, running] = [new Tacit(), new Tacit()];
let described = null;

function complain(place, error) {
  show(place, styled("p", "wrong", error.message));
}

/** The program, with what both parties agree on. */
function program() {
  return { text: text(), params: values($("params")), public: values($("public")) };
}

const inputField = ({ name, type, owner, sorted, strictly, shape }) => ({
  name,
  shape,
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

function describe(found) {
  described = found;
  const ready = found !== null && found.wanted === undefined;
  $("start").disabled = !ready;
  if (!ready) showVersion(null);
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
    showCost($("cost"), found, text());
    showVersion({ ...program(), found });
  } else {
    showCosts([]);
    show($("cost"), styled("p", "quiet", `To see its cost, ${found.wanted}.`));
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

/** What ends the check that runs, since the program has changed. */
let newer = new AbortController();
let timer;

/** What is wrong with the program. A param that the text no longer has is not held against it. */
async function problemsOf(given, textChanged, limit) {
  const errors = await editing.check(given, limit);
  if (errors.length === 0 || !textChanged || Object.keys(given.params).length === 0) return errors;
  const others = await editing.check({ ...given, params: {} }, limit);
  if (others.length === 0) given.params = {};
  return others;
}

/** Shows nothing any more that was said of another program, and ends what is computed of one. */
function changed() {
  newer.abort();
  newer = new AbortController();
  clearTimeout(timer);
  forgetText();
  $("start").disabled = true;
  show($("cost"));
  showVersion(null);
  show($("clear-results"));
  show($("verdicts"));
  $("tests").hidden = !hasTests(text());
  if ($("problems").querySelector(".right")) show($("problems"));
}

/** A limit of this time, which a newer program ends before. */
function within(time) {
  const limit = AbortSignal.timeout(time);
  return { signal: AbortSignal.any([newer.signal, limit]) };
}

/** Says that a check runs, if it still does after a while. */
function sayChecking({ signal }) {
  const say = () => {
    if (!signal.aborted) show($("problems"), styled("p", "quiet", "Checking…"));
  };
  return setTimeout(say, SAY_AFTER_MS);
}

const TOO_LONG =
  `The check was stopped after ${CHECK_MS / 1000} seconds: the program is too large to count in ` +
  "a page. Make its loops or arrays smaller, or run `tacit check`, which takes its time.";

async function check(textChanged) {
  const [{ signal }, limit] = [newer, within(CHECK_MS)];
  const saying = sayChecking(newer);
  const given = program();
  keepCurrent({ ...given, choice: $("example").value });
  try {
    const errors = await problemsOf(given, textChanged, limit);
    if (signal.aborted) return;
    if (errors.length > 0) {
      showProblems(errors);
      describe(null);
      return show($("ports"), styled("p", "quiet", "Solve the problems to see it."));
    }
    const found = await editing.describe(given, limit);
    if (signal.aborted) return;
    showRight(found.warnings);
    describe(found);
    knowNames(await editing.names(given, limit));
    if (signal.aborted) return;
    // Values of public inputs that the text no longer has went with their fields.
    const agreed = JSON.stringify(values($("public"))) === JSON.stringify(given.public);
    if (found.wanted !== undefined && !agreed) check(false);
  } catch (error) {
    if (signal.aborted) return;
    describe(null);
    show($("ports"), styled("p", "quiet", "Solve the problems to see it."));
    complain($("problems"), error.reason === "late" ? { message: TOO_LONG } : error);
  } finally {
    clearTimeout(saying);
  }
}

function checkSoon(textChanged) {
  changed();
  timer = setTimeout(() => check(textChanged), CHECK_AFTER_MS);
}

/** Whether the text is one of the visitor's own. */
let isOwn = false;

function isChanged() {
  isOwn = true;
  isEdited($("example"));
  // An undo may bring back a program together with what was agreed on.
  const known = withText(text());
  if (known) agree(known);
  checkSoon(true);
}
onEdit(isChanged);
$("agreed").addEventListener("input", () => checkSoon(false));

$("format").onclick = async () => {
  const source = text();
  try {
    const formatted = await editing.format(source, within(CHECK_MS));
    if (text() !== source) return;
    replace(formatted);
    if (formatted !== source) isChanged();
  } catch (error) {
    if (error.reason === "late") complain($("problems"), { message: TOO_LONG });
    else if (error.kind !== "cancelled") complain($("problems"), error);
  }
};

askOf({
  explain: (at) => editing.explain(program(), at, within(CHECK_MS)),
  rename: (at, name) => editing.rename(program(), at, name, within(CHECK_MS)),
  complain: (error) => complain($("kept"), error),
});
$("rename").onclick = renameHere;

$("share").onclick = async () => {
  try {
    const link = new URL(await fragment(program()), location.origin + location.pathname).href;
    const shown = Object.assign(element("input"), { value: link, readOnly: true });
    const label = element("label", "A link that holds the program, without secret inputs", shown);
    show($("kept"), label);
    await navigator.clipboard?.writeText(link).then(
      () => show($("kept"), element("p", "The link is copied."), label),
      () => shown.select(),
    );
  } catch (error) {
    complain($("kept"), error);
  }
};

$("test").onclick = async () => {
  const { signal } = newer;
  show($("verdicts"), element("p", "Running…"));
  try {
    const reports = await editing.test(program(), within(EVALUATE_MS));
    if (!signal.aborted) showVerdicts($("verdicts"), reports);
  } catch (error) {
    if (!signal.aborted) complain($("verdicts"), error);
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
  const { signal } = newer;
  try {
    const seed = crypto.getRandomValues(new Uint32Array(1))[0];
    const given = values($("clear-inputs"));
    const results = await editing.evaluate(program(), given, seed, within(EVALUATE_MS));
    const shown = resultTable(results, ["Result", "Value", "For"], ({ to }) => [to]);
    show($("clear-results"), ...shown);
  } catch (error) {
    // A newer program has ended it.
    if (!signal.aborted) complain($("clear-results"), error);
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
  try {
    const isTab = $("with").value === "tab";
    const [at, known] = isTab ? [{ room: "playground", side: role }, {}] : withPerson();
    const other = isTab ? "the other tab" : "the other person to run, too";
    show($("run-results"), element("p", `Waiting for ${other}…`));
    const found = await running.runTwoParty(at, { ...order, ...known });
    show($("run-results"), ...outcome(found));
  } catch (error) {
    complain($("run-results"), error);
  }
  $("start").disabled = described === null || described.wanted !== undefined;
  $("cancel").disabled = true;
};

$("cancel").onclick = () => running.cancel();
$("party").onchange = showOwnFields;

const otherParty = () =>
  described?.parties.find(({ name }) => name !== $("party").value)?.name ?? "";

$("other").onclick = () => {
  window.open(`?party=${encodeURIComponent(otherParty())}`, "_blank", "noopener");
};

$("with").onchange = () => {
  const isTab = $("with").value === "tab";
  for (const [id, isShown] of [
    ["tab", isTab],
    ["other", isTab],
    ["person", !isTab],
  ]) {
    $(id).hidden = !isShown;
  }
  forgetPerson();
};
$("with").onchange();

invitesBy({ running, program, other: otherParty });
comparesBy((version) => {
  replace(version.text);
  agree(version);
  isChanged();
});

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

/** Takes up what a program's parties agree on; what was typed into fields of another one goes. */
function agree({ params = {}, public: agreed = {} }) {
  for (const [id, given] of [
    ["params", params],
    ["public", agreed],
  ]) {
    const kept = Object.entries(given).map(([name, value]) => ({ name, said: "", value }));
    fields($(id), []);
    fields($(id), kept);
  }
}

$("example").onchange = async () => {
  const was = isOwn ? program() : null;
  try {
    const found = await chosen($("example"), was);
    isOwn = false;
    replace(found.text);
    agree(found);
    const kept = "Your program is kept, under “Yours”. Undo in the editor brings it back as well.";
    show($("kept"), ...(was ? [element("p", kept)] : []));
    changed();
    check(true);
  } catch (error) {
    complain($("problems"), error);
  }
};

/** Opens the program of a link; what was in the editor is kept, if it is the visitor's own. */
function openLinked(found, was) {
  if (was) keep(was);
  isOwn = begin($("example"), "");
  agree(found);
  if (found.meeting) showInvitation(running, found.meeting);
  const said = "The program of the link is open.";
  show($("kept"), element("p", was ? `${said} Yours is kept, under “Yours”.` : said));
}

async function first() {
  const before = current();
  const found = await linked();
  if (found) {
    openLinked(found, before?.choice === "" ? before : null);
    beginText(found.text);
  } else {
    isOwn = begin($("example"), before ? (before.choice ?? "") : undefined);
    const chosenFirst = before ?? (await chosen($("example"), null));
    beginText(chosenFirst.text);
    agree(chosenFirst);
  }
  changed();
  check(true);
}

first().catch((error) => complain($("problems"), error));

window.addEventListener("hashchange", async () => {
  try {
    const found = await linked();
    if (!found) return;
    openLinked(found, isOwn ? program() : null);
    replace(found.text);
    changed();
    check(true);
  } catch (error) {
    complain($("kept"), error);
  }
});
