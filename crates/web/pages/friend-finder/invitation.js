// Invitations: what a link says, and the card on which a person accepts or declines it.
import { get, getIdentity, put, putIdentity } from "../tacit/keep.js";
import { $ } from "../page.js";

export const KEY = "friend finder identity";
export const KEPT = "friend finder";
/** What a tab holds while it changes what this browser keeps. */
export const LOCK = "friend finder";

/** An invitation that is not whole. */
export class Damaged extends Error {}

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

/** The invitation in a link, or in the part of one that a person pasted. */
export function invitationIn(text) {
  const hash = text.trim().replace(/^[^#]*#/, "");
  return new URLSearchParams(hash).get("invitation") ?? (hash === text.trim() ? hash : "");
}

/** Shows who the invitation makes this person, and resolves to the answer. */
function asks(name, former) {
  $("invited-title").textContent = `You are invited as ${name}`;
  $("invited-what").textContent =
    "With it you set your place on this map, and learn whether a friend is in the same square. The " +
    "person who sent you the link has its key, too, and can move as you. Accept only if you expected " +
    "it.";
  const warns = former !== null;
  $("invited-warning").hidden = !warns;
  $("invited-warning").textContent = warns
    ? `It replaces ${former} here: that key and that place on the map cannot be had back.`
    : "";
  $("invited").hidden = false;
  $("invited-title").focus({ preventScroll: true });
  return new Promise((resolve) => {
    $("accept").onclick = () => resolve(true);
    $("decline").onclick = () => resolve(false);
  }).finally(() => ($("invited").hidden = true));
}

/**
 * Takes an invitation. Anybody can send one. It is taken only if this person accepts it, and never a
 * second time: that would forget which version of the map was seen last, and servers could go back
 * behind it.
 */
export async function takeInvitation(tacit, invitation, nameOf) {
  const { id, key } = opened(invitation);
  const given = await tacit.importIdentity(key).catch(damaged);
  await navigator.locks.request(LOCK, async () => {
    // One that cannot be opened gives way to the invitation.
    const known = await getIdentity(KEY).catch(() => undefined);
    if (known && (await tacit.fingerprint(known)) === (await tacit.fingerprint(given))) return;
    const kept = (await get(KEY)) && (await get(KEPT));
    if (!(await asks(nameOf(id), kept ? nameOf(kept.id) : null))) return;
    await putIdentity(KEY, given);
    await put(KEPT, { id });
  });
}
