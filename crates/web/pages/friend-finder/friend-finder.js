// The friend finder: one square of a map that two servers hold garbled.
import { forget, get, getIdentity, put, putIdentity } from "../tacit/keep.js";
import { $, element, show, started, styled } from "../page.js";

const KEY = "friend finder identity";
const KEPT = "friend finder";
/** What a tab holds while it changes what this browser keeps. */
const LOCK = "friend finder";

let setting;
let columns;
let chosen = null;
let me = null;
let busy = false;
const { Tacit } = await started();
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

/** A button that cannot be used keeps the keyboard's focus, which would fall to the page's start. */
const setUsable = (id, isUsable) => $(id).setAttribute("aria-disabled", String(!isUsable));

function onPress(id, work) {
  $(id).onclick = () => $(id).getAttribute("aria-disabled") !== "true" && work();
}

function showButtons() {
  setUsable("set", !busy && me !== null && chosen !== null);
  setUsable("leave", !busy && me !== null);
  setUsable("cancel", busy);
  setUsable("forget", !busy && me !== null);
}

const SECONDS = { s: 1, m: 60, h: 3600, d: 86_400 };
const UNITS = { s: "second", m: "minute", h: "hour", d: "day" };

/** A rate as servers have it, such as `20/1h`: in words, and in seconds for each time. */
function rateOf(text) {
  const [, count, units, unit] = /^(\d+)\/(\d+)([smhd])$/.exec(text) ?? [];
  if (!count) return { words: text, seconds: null };
  const per = units === "1" ? UNITS[unit] : `${units} ${UNITS[unit]}s`;
  return { words: `${count} times per ${per}`, seconds: (units * SECONDS[unit]) / count };
}

/** A time in whole minutes or hours. */
function timeInWords(seconds) {
  const [scale, name] = seconds < 2 * SECONDS.h ? [SECONDS.m, "minutes"] : [SECONDS.h, "hours"];
  return `${Math.max(1, Math.round(seconds / scale))} ${name}`;
}

/** What keeps a friend from trying all squares. */
function showRate() {
  if (!setting.rate) {
    $("rate").textContent =
      "The servers of this map set no limit: a friend can try one square after the other, and find " +
      "everybody within minutes.";
    return;
  }
  const { words, seconds } = rateOf(setting.rate);
  const search = seconds && `A friend who tries all ${setting.cells} squares to find you takes `;
  $("rate").textContent =
    `Each person may set a place or leave ${words}. ` +
    (search ? `${search}${timeInWords(seconds * setting.cells)}.` : "");
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

/** An invitation that is not whole. */
class Damaged extends Error {}

function damaged() {
  throw new Damaged();
}

/** What an invitation says: whose it is, and the key. */
function opened(invitation) {
  try {
    const { id, key } = JSON.parse(atob(invitation.replaceAll("-", "+").replaceAll("_", "/")));
    if (Number.isSafeInteger(id) && typeof key === "string") return { id, key };
  } catch {
    // What is wrong inside says nothing to a person.
  }
  return damaged();
}

/**
 * An invitation is in the part of the address that no server is told, and is taken out of it.
 * Anybody can send one. It is taken only if this person agrees, and never a second time: that
 * would forget which version of the map was seen last, and servers could go back behind it.
 */
async function takeInvitation() {
  const invitation = new URLSearchParams(location.hash.slice(1)).get("invitation");
  if (!invitation) return;
  history.replaceState(null, "", location.pathname);
  const { id, key } = opened(invitation);
  const given = await tacit.importIdentity(key).catch(damaged);
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
    if (error.started !== false) markPlace(null);
    say("wrong", ...failure(error));
    if (error.message) $("answer").append(details(error.message));
  }
  busy = false;
  showButtons();
}

/** The error's own words, for whoever runs the servers. */
function details(message) {
  return element("details", "", element("summary", "Details"), styled("p", "quiet", message));
}

const CUT =
  "Your last move was cut off. You learnt nothing from it, and this page cannot know whether the " +
  "servers made it. Set your place again to be sure.";

const UNCHANGED = "Your move did not begin, so nothing has changed.";

/** What to tell of an error, by its kind and its reason. */
function failure({ kind, reason, started = true }) {
  const after = started ? CUT : UNCHANGED;
  if (kind === "misbehaved") {
    return [
      "A server cheated or broke the protocol. You learnt nothing from it, and this page keeps " +
        "nothing of what it sent. Tell your friends before anybody uses this map again.",
    ];
  }
  if (kind === "identity") {
    return [
      "Stop: somebody else answers in place of a server. Its key is not the one that this map was " +
        "made with, so somebody may be trying to learn where you are. Do not try again before " +
        "whoever runs the map has told you why.",
      after,
    ];
  }
  const known = {
    unreached: "A server cannot be reached. Check your network, and try again later.",
    unknown:
      "A server does not know your key. Your invitation may have been withdrawn: ask whoever runs " +
      "the map for a new one.",
    "not-allowed": "A server does not let you move on this map. Ask whoever runs it.",
    "too-often":
      "You have moved as often as this map allows" +
      `${setting.rate ? ` (${rateOf(setting.rate).words})` : ""}. Try again later.`,
    busy: "A server is busy. Try again in a minute.",
    late: "A server did not answer in time.",
    left: "A server left while it worked for you.",
  }[reason];
  if (known) return [known, after];
  if (kind === "cancelled") return [after];
  if (kind === "network") return ["The connection to a server failed.", after];
  return ["A server refused, or could not do it.", after];
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
  const found = await tacit.runClient(...addresses(), order).catch(async (error) => {
    if (!error.started) await put(KEPT, kept);
    throw error;
  });
  await put(KEPT, { id: kept.id, pin: found.chain });
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  done(found.results.find(({ name }) => name === "occupant").value, `It took ${seconds} s.`);
}

onPress("set", () => {
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
});

onPress("leave", () => {
  const told = (_, time) => {
    markPlace(null);
    say("right", `You left the map. ${time}`);
  };
  alone(() => move(setting.cells, told));
});

onPress("cancel", () => tacit.cancel());

onPress("forget", () =>
  alone(async () => {
    await forget(KEY);
    await forget(KEPT);
    markPlace(null);
    await whoAmI();
    say("", "This device has forgotten you. The servers know your key until they drop it.");
  }),
);

async function read(name) {
  const answer = await fetch(name);
  if (!answer.ok) throw new Error(`this site has no map yet: ${name} is not there`);
  return answer.json();
}

/** Takes an invitation if there is one; a damaged one leaves everything as it was. */
async function beInvited() {
  try {
    await takeInvitation();
  } catch (error) {
    if (!(error instanceof Damaged)) throw error;
    say(
      "wrong",
      "This invitation is damaged: a part of its link is missing. Copy the whole link, to its " +
        "end, or ask for it again. Nothing has changed here.",
    );
  }
}

try {
  setting = await read("config.json");
  drawGrid();
  showRate();
  await beInvited();
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
