// The friend finder: one square of a map that two servers hold garbled.
import { forget, get, getIdentity, put } from "../tacit/keep.js";
import { $, element, show, started, styled } from "../page.js";
import { Damaged, KEPT, KEY, LOCK, invitationIn, takeInvitation } from "./invitation.js";
import { drawMap, mark, markChosen, nameOfCell, unmark, unmarkAll } from "./map.js";
import { CUT, DAMAGED, capital, failure, initials, rateInWords, stageInWords } from "./words.js";

/** A second press within this time is a double press, and cancels nothing. */
const DOUBLE_MS = 600;

let setting;
let chosen = null;
let me = null;
/** Where this person is, as far as this page knows; null if it does not, or off the map. */
let place = null;
/** When the move began that runs; null if none does. */
let begun = null;
const { Tacit } = await started();
const tacit = new Tacit();

const line = (kind, sentence) => styled("p", kind, sentence);

function say(kind, ...sentences) {
  show($("answer"), ...sentences.map((sentence) => line(kind, sentence)));
}

const nameOf = (id) => setting.people[id] ?? `number ${id}`;

/** A button that cannot be used keeps the keyboard's focus, which would fall to the page's start. */
const setUsable = (id, isUsable) => $(id).setAttribute("aria-disabled", String(!isUsable));

function onPress(id, work) {
  $(id).onclick = () => $(id).getAttribute("aria-disabled") !== "true" && work();
}

function showControls() {
  const isBusy = begun !== null;
  $("controls").hidden = me === null;
  $("progress").hidden = !isBusy;
  $("chosen").hidden = isBusy;
  $("chosen").textContent =
    chosen === null ? "Choose a square on the map." : `${nameOfCell(chosen)} is chosen.`;
  const again = chosen !== null && chosen === place ? "Set my place again" : "Set my place";
  $("set").textContent = isBusy ? "Cancel" : again;
  $("set").classList.toggle("main", !isBusy);
  setUsable("set", isBusy || (me !== null && chosen !== null));
  setUsable("leave", !isBusy && me !== null);
  setUsable("forget", !isBusy && me !== null);
  $("agrees").disabled = isBusy;
}

function choose(cell) {
  chosen = cell;
  markChosen(cell);
  showControls();
  // The move itself reports errors.
  if (me && begun === null) tacit.meetServers(...addresses(), parties()).catch(() => {});
}

/** Where both servers are. */
const addresses = () => [setting.generator, setting.cloud].map(({ url }) => ({ url }));

/** Who meets. */
const parties = () => ({
  identity: me.identity,
  generator: setting.generator.fingerprint,
  cloud: setting.cloud.fingerprint,
});

/** Marks where this person is; null for nowhere that this page knows. */
function setMyPlace(cell) {
  unmarkAll(({ kind }) => kind === "me");
  for (const one of $("grid").children) one.removeAttribute("aria-current");
  place = cell;
  if (cell === null) return;
  mark(cell, "me", "Me", "you are here");
  $("grid").children[cell].setAttribute("aria-current", "location");
}

/** A friend's mark: as of now, since the friend may leave at any time. */
function markFriend(cell, id) {
  const name = nameOf(id);
  unmarkAll(({ label }) => label.startsWith(`${name} was here`));
  const style = { hour: "2-digit", minute: "2-digit", hour12: false };
  const time = new Date().toLocaleTimeString("en", style);
  mark(cell, "friend", initials(name), `${name} was here at ${time}`);
}

async function whoAmI() {
  const [identity, kept] = await Promise.all([getIdentity(KEY), get(KEPT)]);
  me = identity && kept ? { identity, id: kept.id } : null;
  $("who").textContent = me ? `You are ${nameOf(me.id)}.` : "";
  $("uninvited").hidden = me !== null;
  $("agrees").checked = kept?.agrees ?? false;
  showControls();
  return kept;
}

/** The error's own words, for the people who run the servers. */
function details(message) {
  return element("details", "", element("summary", "Details"), styled("p", "quiet", message));
}

function sayFailure(error) {
  if (error.started !== false) setMyPlace(null);
  say("wrong", ...failure(error, setting.rate));
  if (error.message) $("answer").append(details(error.message));
}

/** Does work that changes what this browser keeps, unless another tab does. */
async function alone(work) {
  begun = performance.now();
  say("");
  atStage({ stage: "connecting" });
  showControls();
  try {
    await navigator.locks.request(LOCK, { ifAvailable: true }, (lock) =>
      lock ? work() : say("wrong", "Another tab of this browser is busy. Wait for it."),
    );
  } catch (error) {
    sayFailure(error);
  }
  begun = null;
  showControls();
}

/** The largest number of earlier moves that was reported during this wait. */
let queue = 0;

/** Shows the stage of a run, and how much of its wait is over. */
function atStage(at) {
  $("stage").textContent = stageInWords(at);
  if (at.stage === "connecting") queue = 0;
  if (at.stage !== "waiting") return $("bar").removeAttribute("value");
  queue = Math.max(queue, at.before);
  $("bar").max = queue + 1;
  $("bar").value = queue + 1 - at.before;
}

/**
 * Moves, once it has read again who this person is: another tab may have changed that, or have seen
 * a later map.
 */
async function move(cell, done) {
  const earlier = me.id;
  const agrees = $("agrees").checked;
  const kept = await whoAmI();
  if (me?.id !== earlier) {
    setMyPlace(null);
    return say("wrong", "Another tab changed who you are here. Nothing was moved.");
  }
  $("agrees").checked = agrees;
  const order = {
    ...parties(),
    function: "friend-finder-set",
    params: { cells: setting.cells, ids: setting.ids },
    inputs: { cell, agrees: Number(agrees) },
    copies: setting.copies,
    security_bits: setting.security_bits,
    pin: kept.pin ?? null,
  };
  // Before anything is sent: a page that is loaded again learns from this that the move was cut off.
  await put(KEPT, { ...kept, agrees, cut: true });
  const run = tacit.runClient(...addresses(), order, { onProgress: atStage });
  const found = await run.catch(async (error) => {
    if (!error.started) await put(KEPT, kept);
    throw error;
  });
  await put(KEPT, { id: kept.id, agrees, pin: found.chain });
  const result = (named) => Number(found.results.find(({ name }) => name === named).value);
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  const finder = result("finder");
  const before = place;
  const [occupant, isTold] = [result("occupant"), result("is_told") === 1];
  done({ occupant, isTold, time: `It took ${seconds} s.` });
  if (finder !== 0) sayFound(finder, before);
}

/** Somebody found this person before this move, and both had agreed. */
function sayFound(finder, before) {
  const where = before === null ? "before this move" : `in ${nameOfCell(before)}`;
  $("answer").prepend(line("right", `${capital(nameOf(finder))} found you ${where}.`));
}

/** Where this person is after a move that somebody else's place ended. */
function still() {
  if (place === null) return "You did not move there.";
  return `You did not move there: you are still in ${nameOfCell(place)}.`;
}

function told(friend, isTold) {
  if (isTold) return `${capital(friend)} will be told that you found them.`;
  return $("agrees").checked
    ? `${capital(friend)} did not agree to be told, and learns nothing.`
    : `${capital(friend)} is not told.`;
}

onPress("set", () => {
  if (begun !== null) {
    if (performance.now() - begun > DOUBLE_MS) tacit.cancel();
    return;
  }
  const cell = chosen;
  const answer = ({ occupant, isTold, time }) => {
    if (occupant === 0 || occupant === me.id) {
      unmark(cell);
      setMyPlace(cell);
      return say("right", `You are in ${nameOfCell(cell)} now, and nobody else is. ${time}`);
    }
    const friend = nameOf(occupant);
    markFriend(cell, occupant);
    say("right", `${capital(friend)} is in ${nameOfCell(cell)}! ${still()}`);
    $("answer").append(line("quiet", `${told(friend, isTold)} ${time}`));
  };
  alone(() => move(cell, answer));
});

onPress("leave", () => {
  const left = ({ time }) => {
    setMyPlace(null);
    say("right", `You left the map. ${time}`);
  };
  alone(() => move(setting.cells, left));
});

onPress("forget", () => $("sure").showModal());
$("keep").onclick = () => $("sure").close();
$("really").onclick = () => {
  $("sure").close();
  alone(async () => {
    await forget(KEY);
    await forget(KEPT);
    setMyPlace(null);
    unmarkAll(() => true);
    await whoAmI();
    say("", "This device has forgotten you. The servers know your key until they drop it.");
  });
};

async function read(name) {
  const answer = await fetch(name);
  if (!answer.ok) throw new Error(`this site has no map yet: ${name} is not there`);
  return answer.json();
}

/** Takes an invitation if there is one; a damaged one leaves everything as it was. */
async function beInvited(invitation) {
  if (invitation === null) return;
  $("who").textContent = "";
  $("uninvited").hidden = true;
  $("controls").hidden = true;
  try {
    await takeInvitation(tacit, invitation, nameOf);
    say("");
  } catch (error) {
    if (!(error instanceof Damaged)) throw error;
    say("wrong", DAMAGED);
  }
}

/** The invitation in the address, in the part that no server is told; it is taken out of it. */
function invitationOfAddress() {
  const invitation = new URLSearchParams(location.hash.slice(1)).get("invitation");
  if (invitation !== null) history.replaceState(null, "", location.pathname);
  return invitation;
}

$("paste").onsubmit = async (event) => {
  event.preventDefault();
  const pasted = $("link").value;
  $("link").value = "";
  await beInvited(invitationIn(pasted));
  await whoAmI();
  if (me) $("set").focus();
};

window.onhashchange = async () => {
  // During a move the invitation stays in the address, from which loading the page again takes it.
  if (begun !== null) return;
  const invitation = invitationOfAddress();
  if (invitation === null) return;
  await beInvited(invitation);
  await whoAmI();
};

try {
  setting = await read("config.json");
  drawMap(setting.cells, await read(setting.plan ?? "town.json"), choose);
  $("rate").textContent = rateInWords(setting);
  await beInvited(invitationOfAddress());
  const kept = await whoAmI();
  // If another tab has the lock, the move still runs there.
  await navigator.locks.request(LOCK, { ifAvailable: true }, (lock) => {
    if (lock && kept?.cut) say("wrong", CUT);
  });
  // Without it the page works as well, but not without a network.
  navigator.serviceWorker?.register("../service-worker.js").catch(() => {});
} catch (error) {
  $("who").textContent = `The page could not start: ${error.message}`;
}
