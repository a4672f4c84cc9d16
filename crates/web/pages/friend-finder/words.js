// What the friend finder says: rates, times, and what went wrong.

const SECONDS = { s: 1, m: 60, h: 3600, d: 86_400 };
const UNITS = { s: "second", m: "minute", h: "hour", d: "day" };

export const capital = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);

/** At most two letters for a name, which may start or end with a space. */
export function initials(name) {
  const words = name.trim().split(/\s+/);
  return words
    .map((word) => word.slice(0, 1).toUpperCase())
    .join("")
    .slice(0, 2);
}

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
export function rateInWords({ rate, cells }) {
  if (!rate) {
    return (
      "The servers of this map set no limit: a friend can try one square after the other, and find " +
      "everybody within minutes."
    );
  }
  const { words, seconds } = rateOf(rate);
  const search = seconds && `A friend who tries all ${cells} squares to find you takes `;
  return (
    `Each person may set a place or leave ${words}. ` +
    (search ? `${search}${timeInWords(seconds * cells)}.` : "")
  );
}

/** What a run is doing. */
export function stageInWords({ stage, before }) {
  if (stage === "connecting") return "Asking both servers…";
  if (stage === "running") return "The servers compute and check…";
  return before === 1
    ? "Waiting for your turn: one move comes before yours."
    : `Waiting for your turn: ${before} moves come before yours.`;
}

export const CUT =
  "Your last move was cut off. You learnt nothing from it, and this page cannot know whether the " +
  "servers made it. Set your place again to be sure.";

const UNCHANGED = "Your move did not begin, so nothing has changed.";

export const DAMAGED =
  "This invitation is damaged: a part of its link is missing. Copy the whole link, to its end, or " +
  "ask for it again. Nothing has changed here.";

/** What to tell of an error, by its kind and its reason. */
export function failure({ kind, reason, started = true }, rate) {
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
        "made with, so somebody may be trying to learn where you are. Do not try again before the " +
        "person who runs the map has told you why.",
      after,
    ];
  }
  const known = {
    unreached: "A server cannot be reached. Check your network, and try again later.",
    unknown:
      "A server does not know your key. Your invitation may have been withdrawn: ask the person who " +
      "runs the map for a new one.",
    "not-allowed": "A server does not let you move on this map. Ask the person who runs it.",
    "too-often":
      "You have moved as often as this map allows" +
      `${rate ? ` (${rateOf(rate).words})` : ""}. Try again later.`,
    busy: "A server is busy. Try again in a minute.",
    late: "A server did not answer in time.",
    left: "A server left while it worked for you.",
  }[reason];
  if (known) return [known, after];
  if (kind === "cancelled") return [after];
  if (kind === "network") return ["The connection to a server failed.", after];
  return ["A server refused, or could not do it.", after];
}
