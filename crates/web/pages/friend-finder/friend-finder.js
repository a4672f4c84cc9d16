// The friend finder: one square of a map that two servers hold garbled.
import { Tacit } from "../tacit/tacit.js";
import { forget, get, getSecret, put, putSecret } from "../tacit/keep.js";

const COLUMNS = 16;
const $ = (id) => document.getElementById(id);
const say = (text, kind = "") => {
  const said = document.createElement("p");
  said.textContent = text;
  said.className = kind;
  $("answer").replaceChildren(said);
};

let setting;
let chosen = null;
let me = null;
let busy = false;
const tacit = new Tacit();

const nameOfCell = (cell) =>
  `${String.fromCharCode(65 + (cell % COLUMNS))}${Math.floor(cell / COLUMNS) + 1}`;
const nameOf = (id) => setting.people[id] ?? `number ${id}`;

function buttons() {
  $("set").disabled = busy || me === null || chosen === null;
  $("leave").disabled = busy || me === null;
  $("cancel").disabled = !busy;
  $("forget").disabled = busy || me === null;
}

function choose(cell) {
  const cells = $("grid").children;
  if (chosen !== null) {
    cells[chosen].setAttribute("aria-checked", "false");
  }
  for (const one of cells) one.tabIndex = -1;
  chosen = cell;
  cells[cell].setAttribute("aria-checked", "true");
  cells[cell].tabIndex = 0;
  cells[cell].focus();
  $("chosen").textContent = `Square ${nameOfCell(cell)} is chosen.`;
  buttons();
}

const STEPS = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -COLUMNS, ArrowDown: COLUMNS };

function drawGrid() {
  const cells = Array.from({ length: setting.cells }, (_, cell) => {
    const button = document.createElement("button");
    button.type = "button";
    button.setAttribute("role", "radio");
    button.setAttribute("aria-checked", "false");
    button.setAttribute("aria-label", nameOfCell(cell));
    button.tabIndex = cell === 0 ? 0 : -1;
    button.onclick = () => choose(cell);
    button.onkeydown = (event) => {
      const next = cell + (STEPS[event.key] ?? NaN);
      if (!(next >= 0 && next < setting.cells)) return;
      event.preventDefault();
      choose(next);
    };
    return button;
  });
  $("grid").replaceChildren(...cells);
}

/** An invitation is in the part of the address that no server is told; it is taken out of it. */
async function takeInvitation() {
  const invitation = new URLSearchParams(location.hash.slice(1)).get("invitation");
  if (!invitation) return;
  history.replaceState(null, "", location.pathname);
  const text = atob(invitation.replaceAll("-", "+").replaceAll("_", "/"));
  const { id, key } = JSON.parse(text);
  await tacit.fingerprint(key);
  await putSecret("friend finder identity", key);
  await put("friend finder", { id });
}

async function whoAmI() {
  const identity = await getSecret("friend finder identity");
  const kept = await get("friend finder");
  me = identity && kept ? { identity, id: kept.id } : null;
  $("who").textContent = me
    ? `You are ${nameOf(me.id)}.`
    : "You have no invitation yet. Open the link that you were sent.";
  buttons();
}

async function move(cell, done) {
  busy = true;
  buttons();
  const began = performance.now();
  say("Asking both servers…");
  try {
    const kept = await get("friend finder");
    const order = {
      function: "friend-map-set",
      params: { cells: setting.cells, id_bits: setting.id_bits },
      inputs: { cell },
      copies: setting.copies,
      security_bits: setting.security_bits,
      identity: me.identity,
      generator: setting.generator.fingerprint,
      cloud: setting.cloud.fingerprint,
      pin: kept.pin ?? null,
    };
    const [generator, cloud] = [setting.generator, setting.cloud].map(({ url }) => ({ url }));
    const found = await tacit.runClient(generator, cloud, order);
    await put("friend finder", { ...kept, pin: found.chain });
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    done(Number(found.outputs.occupant), seconds);
  } catch (error) {
    say(`Nothing was learnt, and nothing is kept of it: ${error.message}`, "wrong");
  }
  busy = false;
  buttons();
}

$("set").onclick = () =>
  move(chosen, (occupant, seconds) => {
    const place = nameOfCell(chosen);
    if (occupant === 0 || occupant === me.id) {
      say(`You are in ${place} now, and nobody else is. (${seconds} s)`, "right");
    } else {
      say(`${nameOf(occupant)} is in ${place}! You did not move there. (${seconds} s)`, "right");
    }
  });

$("leave").onclick = () =>
  move(setting.cells, (_, seconds) => say(`You left the map. (${seconds} s)`, "right"));

$("cancel").onclick = () => tacit.cancel();

$("forget").onclick = async () => {
  await forget("friend finder identity");
  await forget("friend finder");
  await whoAmI();
  say("This device has forgotten you. The servers know your key until they are told otherwise.");
};

try {
  setting = await (await fetch("config.json")).json();
  drawGrid();
  await takeInvitation();
  await whoAmI();
} catch (error) {
  $("who").textContent = `The page could not start: ${error.message}`;
}
