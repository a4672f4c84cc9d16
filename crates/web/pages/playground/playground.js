// The playground: check as you type, evaluate in the clear, run between two tabs.
import { Tacit } from "../tacit/tacit.js";
import { examples } from "./examples.js";

const CHECK_AFTER_MS = 250;

const $ = (id) => document.getElementById(id);
const text = $("text");
// One for what is typed, which answers at once, and one for runs, which may wait for a person.
const editing = new Tacit();
let running = new Tacit();
let described = null;

/** An element with a text and children. */
function element(name, content = "", ...children) {
  const made = document.createElement(name);
  made.textContent = content;
  made.append(...children);
  return made;
}

function show(place, ...children) {
  place.replaceChildren(...children);
}

function complain(place, error) {
  const said = element("p", error.message);
  said.className = "wrong";
  show(place, said);
}

function table(heads, rows) {
  const head = element("tr");
  head.append(...heads.map((name) => Object.assign(element("th", name), { scope: "col" })));
  const body = rows.map((cells) => element("tr", "", ...cells.map((cell) => element("td", cell))));
  return element("table", "", element("thead", "", head), element("tbody", "", ...body));
}

/** Marks the places of errors under the text. */
function mark(errors) {
  const source = text.value;
  const own = errors.map(({ at }) => at).filter(({ file }) => file === "program.tacit");
  own.sort((a, b) => a.from - b.from);
  const parts = [];
  let done = 0;
  for (const { from, to } of own) {
    if (from < done) continue;
    parts.push(source.slice(done, from), element("mark", source.slice(from, Math.max(to, from + 1))));
    done = Math.max(to, from + 1);
  }
  show($("marks"), ...parts, source.slice(done) + "\n");
}

function problems(errors) {
  if (errors.length === 0) {
    const none = element("p", "None.");
    none.className = "right";
    return show($("problems"), none);
  }
  const items = errors.map(({ at, message, label, help }) => {
    const go = element("button", `line ${at.line}`);
    go.type = "button";
    go.onclick = () => {
      text.focus();
      text.setSelectionRange(at.from, at.to);
    };
    const said = [message, label && `Here: ${label}.`, help && `Help: ${help}.`];
    return element("li", "", go, ` ${said.filter(Boolean).join(" ")}`);
  });
  const list = element("ul", "", ...items);
  list.className = "plain";
  show($("problems"), element("p", `${errors.length} found`), list);
}

function fields(place, inputs) {
  const before = new Map([...place.querySelectorAll("input")].map((one) => [one.name, one.value]));
  const made = inputs.map(({ name, type, party }) => {
    const field = element("input");
    field.name = name;
    field.value = before.get(name) ?? "";
    field.autocomplete = "off";
    return element("label", "", `${name} `, element("small", `${type}, ${partyName(party)}`), field);
  });
  show(place, ...made);
}

function values(place) {
  const given = [...place.querySelectorAll("input")].map(({ name, value }) => [name, value.trim()]);
  return Object.fromEntries(given.filter(([, value]) => value !== ""));
}

/** The party's name in the program, of which the first garbles. */
function partyName(role) {
  const names = /parties\s+(\w+)\s*(?:garbles\s*)?,\s*(\w+)(\s+garbles)?/.exec(text.value);
  if (!names || role === "both") return role;
  const garbler = names[3] ? names[2] : names[1];
  const evaluator = names[3] ? names[1] : names[2];
  return role === "garbler" ? garbler : evaluator;
}

function roles() {
  const role = $("role");
  const chosen = role.value || new URLSearchParams(location.search).get("role") || "garbler";
  const options = ["garbler", "evaluator"].map((value) =>
    Object.assign(element("option", partyName(value)), { value }),
  );
  show(role, ...options);
  role.value = chosen;
}

function describe(found) {
  described = found;
  for (const id of ["start", "other"]) $(id).disabled = !found;
  if (!found) return;
  const ports = [
    ...found.inputs.map((port) => [port.name, port.type, `from ${partyName(port.party)}`]),
    ...found.outputs.map((port) => [port.name, port.type, `to ${partyName(port.party)}`]),
  ];
  const cost =
    `${found.and_gates.toLocaleString("en")} AND gates (each costs work and 32 bytes on the wire), ` +
    `${found.xor_gates.toLocaleString("en")} XOR gates (free on the wire).`;
  show($("ports"), table(["Port", "Type", "Whose"], ports), element("p", cost));
  fields($("clear-inputs"), found.inputs);
  roles();
  ownFields();
}

function ownFields() {
  const own = described?.inputs.filter(({ party }) => party === $("role").value) ?? [];
  fields($("run-inputs"), own);
}

let latest = 0;

async function check() {
  const number = ++latest;
  localStorage.setItem("tacit program", text.value);
  const source = text.value;
  try {
    const errors = await editing.check(source);
    if (number !== latest) return;
    mark(errors);
    problems(errors);
    if (errors.length > 0) {
      describe(null);
      return show($("ports"), element("p", "Mend the problems to see it."));
    }
    const found = await editing.describe(source);
    if (number === latest) describe(found);
  } catch (error) {
    if (number !== latest) return;
    describe(null);
    complain($("ports"), error);
  }
}

let timer;
text.addEventListener("input", () => {
  clearTimeout(timer);
  mark([]);
  timer = setTimeout(check, CHECK_AFTER_MS);
});
text.addEventListener("scroll", () => {
  $("marks").scrollTo(text.scrollLeft, text.scrollTop);
});

$("format").onclick = async () => {
  try {
    text.value = await editing.format(text.value);
    check();
  } catch (error) {
    complain($("problems"), error);
  }
};

$("clear").onsubmit = async (event) => {
  event.preventDefault();
  try {
    const results = await editing.evaluate(text.value, values($("clear-inputs")));
    const rows = Object.entries(results).map(([name, { value, to }]) => [name, value, partyName(to)]);
    show($("clear-results"), table(["Result", "Value", "For"], rows));
  } catch (error) {
    complain($("clear-results"), error);
  }
};

function outcome(found) {
  const rows = Object.entries(found.outputs);
  const seconds = found.ms / 1000;
  const sent = found.phases.reduce((sum, phase) => sum + phase.sent_bytes, 0);
  const received = found.phases.reduce((sum, phase) => sum + phase.received_bytes, 0);
  const phases = found.phases.map((phase) => [
    phase.phase,
    `${phase.ms.toFixed(1)} ms`,
    phase.sent_bytes.toLocaleString("en"),
    phase.received_bytes.toLocaleString("en"),
  ]);
  const security = found.security_bits ? `, ${found.security_bits} bits` : "";
  return [
    rows.length > 0 ? table(["Result", "Value"], rows) : element("p", "This party gets no result."),
    element(
      "p",
      `Secure in the model “${found.threat_model}”${security}. ${seconds.toFixed(2)} s, ` +
        `${sent.toLocaleString("en")} bytes sent, ${received.toLocaleString("en")} received.`,
    ),
    table(["Phase", "Time", "Bytes sent", "Received"], phases),
  ];
}

$("run").onsubmit = async (event) => {
  event.preventDefault();
  const role = $("role").value;
  const order = {
    program: text.value,
    params: {},
    role,
    protocol: $("protocol").value,
    inputs: values($("run-inputs")),
  };
  $("start").disabled = true;
  $("cancel").disabled = false;
  show($("run-results"), element("p", "Waiting for the other tab…"));
  try {
    const at = { room: "playground", side: role };
    const found = await running.runTwoParty(at, order);
    show($("run-results"), ...outcome(found));
  } catch (error) {
    complain($("run-results"), error);
  }
  $("start").disabled = false;
  $("cancel").disabled = true;
};

$("cancel").onclick = () => running.cancel();
$("role").onchange = ownFields;

$("other").onclick = () => {
  const other = $("role").value === "garbler" ? "evaluator" : "garbler";
  window.open(`?role=${other}`, "_blank", "noopener");
};

$("speed").onclick = async () => {
  show($("speed-result"), element("p", "Measuring…"));
  try {
    const found = await running.speed(500);
    const [garble, evaluate] = [found.garble_mands_per_s, found.evaluate_mands_per_s];
    show(
      $("speed-result"),
      element(
        "p",
        `${garble.toFixed(1)} million AND gates a second garbled, ${evaluate.toFixed(1)} evaluated, ` +
          `in one worker (${found.backend}).`,
      ),
    );
  } catch (error) {
    complain($("speed-result"), error);
  }
};

const choice = $("example");
choice.append(
  ...examples.map(({ name }, value) => Object.assign(element("option", name), { value })),
);
choice.onchange = () => {
  text.value = examples[choice.value].text;
  check();
};
text.value = localStorage.getItem("tacit program") ?? examples[0].text;
check();
