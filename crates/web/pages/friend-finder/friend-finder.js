// The friend finder: one square of a map that two servers hold garbled.
import { Tacit } from "../tacit/tacit.js";
import { forget, get, getIdentity, put, putIdentity } from "../tacit/keep.js";
import { $, element, show, styled } from "../page.js";

const KEY = "friend finder identity";
const KEPT = "friend finder";
/** What a tab holds while it changes what this browser keeps. */
const LOCK = "friend finder";

let setting;
let columns;
let chosen = null;
let me = null;
let busy = false;
const tacit = new Tacit();

function say(kind, ...sentences) {
  show($("answer"), ...sentences.map((sentence) => styled("p", kind, sentence)));
}

/** A square's name: a letter or two for its column, and its row. */
function nameOfCell(cell) {
  const column = cell % columns;
  const letter = (place) => String.fromCharCode(65 + place);
  const before = column < 26 ? "" : letter(Math.floor(column / 26) - 1);
  return `${before}${letter(column % 26)}${Math.floor(cell / columns) + 1}`;
}

const nameOf = (id) => setting.people[id] ?? `number ${id}`;

function showButtons() {
  $("set").disabled = busy || me === null || chosen === null;
  $("leave").disabled = busy || me === null;
  $("cancel").disabled = !busy;
  $("forget").disabled = busy || me === null;
}

function choose(cell) {
  const cells = $("grid").children;
  for (const one of cells) {
    one.tabIndex = -1;
    one.setAttribute("aria-checked", "false");
  }
  chosen = cell;
  cells[cell].setAttribute("aria-checked", "true");
  cells[cell].tabIndex = 0;
  cells[cell].focus();
  $("chosen").textContent = `Square ${nameOfCell(cell)} is chosen.`;
  showButtons();
  // What goes wrong is told when it matters.
  if (me && !busy) tacit.meetServers(...addresses(), parties()).catch(() => {});
}

/** Where both servers are. */
const addresses = () => [setting.generator, setting.cloud].map(({ url }) => ({ url }));

/** Who meets. */
const parties = () => ({
  identity: me.identity,
  generator: setting.generator.fingerprint,
  cloud: setting.cloud.fingerprint,
});

/** The square that an arrow key leads to, if there is one. */
function neighbour(cell, key) {
  const column = cell % columns;
  const next = {
    ArrowLeft: column > 0 ? cell - 1 : -1,
    ArrowRight: column < columns - 1 ? cell + 1 : -1,
    ArrowUp: cell - columns,
    ArrowDown: cell + columns,
    Home: cell - column,
    End: cell - column + columns - 1,
  }[key];
  return next >= 0 && next < setting.cells ? next : null;
}

function drawGrid() {
  columns = 2 ** Math.ceil(Math.log2(setting.cells) / 2);
  $("grid").style.setProperty("--columns", columns);
  const cells = Array.from({ length: setting.cells }, (_, cell) => {
    const button = element("button");
    button.type = "button";
    button.setAttribute("role", "radio");
    button.setAttribute("aria-checked", "false");
    button.setAttribute("aria-label", nameOfCell(cell));
    button.tabIndex = cell === 0 ? 0 : -1;
    button.onclick = () => choose(cell);
    button.onkeydown = (event) => {
      const next = neighbour(cell, event.key);
      if (next === null) return;
      event.preventDefault();
      choose(next);
    };
    return button;
  });
  show($("grid"), ...cells);
}

/** Marks the square where this person is, for as long as the page is open; null for none. */
function markPlace(place) {
  for (const one of $("grid").children) one.removeAttribute("aria-current");
  if (place !== null) $("grid").children[place].setAttribute("aria-current", "location");
}

const FIRST =
  "whose key the sender of the link has, too, and can move with. Go on only if you expected this " +
  "invitation.";

const ANOTHER =
  "whose key the sender of the link has. Your own key and your place on the map cannot be had " +
  "back. Go on only if you asked for a new invitation.";

/**
 * An invitation is in the part of the address that no server is told, and is taken out of it.
 * Anybody can send one. It is taken only if this person agrees, and never a second time: that
 * would forget which version of the map was seen last, and servers could go back behind it.
 */
async function takeInvitation() {
  const invitation = new URLSearchParams(location.hash.slice(1)).get("invitation");
  if (!invitation) return;
  history.replaceState(null, "", location.pathname);
  const text = atob(invitation.replaceAll("-", "+").replaceAll("_", "/"));
  const { id, key } = JSON.parse(text);
  const given = await tacit.importIdentity(key);
  await navigator.locks.request(LOCK, async () => {
    const there = await get(KEY);
    // One that cannot be opened gives way to the invitation.
    const known = await getIdentity(KEY).catch(() => undefined);
    if (known && (await tacit.fingerprint(known)) === (await tacit.fingerprint(given))) return;
    if (!confirm(`This link makes you ${nameOf(id)} here, ${there ? ANOTHER : FIRST}`)) return;
    await putIdentity(KEY, given);
    await put(KEPT, { id });
  });
}

async function whoAmI() {
  const [identity, kept] = await Promise.all([getIdentity(KEY), get(KEPT)]);
  me = identity && kept ? { identity, id: kept.id } : null;
  $("who").textContent = me
    ? `You are ${nameOf(me.id)}.`
    : "You have no invitation yet. Open the link that you were sent.";
  showButtons();
  return kept;
}

/** Does work that changes what this browser keeps, unless another tab does. */
async function alone(work) {
  busy = true;
  showButtons();
  say("");
  try {
    await navigator.locks.request(LOCK, { ifAvailable: true }, (lock) =>
      lock ? work() : say("wrong", "Another tab of this browser is busy. Wait for it."),
    );
  } catch (error) {
    markPlace(null);
    say("wrong", ...failure(error));
  }
  busy = false;
  showButtons();
}

const CUT =
  "Your last move was cut off. You learnt nothing from it, and this page cannot know whether the " +
  "servers made it. Set your place again to be sure.";

/** What to tell of an error, by its kind. */
function failure({ kind, message }) {
  const told = `The reason given: ${message}.`;
  switch (kind) {
    case "misbehaved":
      return [
        "A server cheated or broke the protocol. You learnt nothing from it, and this page keeps " +
          "nothing of what it sent. Tell your friends before anybody uses this map again.",
        told,
      ];
    case "cancelled":
      return [CUT];
    case "network":
      return [`A server cannot be reached, or it left. ${CUT}`, told];
    default:
      return [`A server refused, or could not do it. ${CUT}`, told];
  }
}

/** Moves as whoever this is: another tab may have changed that, or have seen a later map. */
async function move(cell, done) {
  const begun = performance.now();
  const earlier = me.id;
  const kept = await whoAmI();
  if (me?.id !== earlier) {
    markPlace(null);
    return say("wrong", "Another tab changed who you are here. Nothing was moved.");
  }
  say("", "Asking both servers…");
  const order = {
    ...parties(),
    function: "friend-map-set",
    params: { cells: setting.cells, id_bits: setting.id_bits },
    inputs: { cell },
    copies: setting.copies,
    security_bits: setting.security_bits,
    pin: kept.pin ?? null,
  };
  // Before anything is sent: whoever reloads the page learns from this that the move was cut off.
  await put(KEPT, { ...kept, cut: true });
  const found = await tacit.runClient(...addresses(), order);
  await put(KEPT, { id: kept.id, pin: found.chain });
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  done(found.results.find(({ name }) => name === "occupant").value, `It took ${seconds} s.`);
}

$("set").onclick = () => {
  const place = chosen;
  const told = (occupant, time) => {
    const name = nameOfCell(place);
    if (occupant === 0 || occupant === me.id) {
      markPlace(place);
      say("right", `You are in ${name} now, and nobody else is. ${time}`);
    } else {
      say("right", `${nameOf(occupant)} is in ${name}! You did not move there. ${time}`);
    }
  };
  alone(() => move(place, told));
};

$("leave").onclick = () => {
  const told = (_, time) => {
    markPlace(null);
    say("right", `You left the map. ${time}`);
  };
  alone(() => move(setting.cells, told));
};

$("cancel").onclick = () => tacit.cancel();

$("forget").onclick = () =>
  alone(async () => {
    await forget(KEY);
    await forget(KEPT);
    markPlace(null);
    await whoAmI();
    say("", "This device has forgotten you. The servers know your key until they drop it.");
  });

try {
  setting = await (await fetch("config.json")).json();
  drawGrid();
  await takeInvitation();
  const kept = await whoAmI();
  // Where another tab has the lock, the move is not cut off but runs.
  await navigator.locks.request(LOCK, { ifAvailable: true }, (lock) => {
    if (lock && kept?.cut) say("wrong", CUT);
  });
  // Without it the page works as well, but not without a network.
  navigator.serviceWorker?.register("../service-worker.js").catch(() => {});
} catch (error) {
  $("who").textContent = `The page could not start: ${error.message}`;
}
