// A run with another person: a link invites one, and both pages connect to a relay.
import { $, element, show, styled } from "../page.js";
import { fragment } from "./share.js";

/** The relay that the visitor gave last. */
const RELAY = "tacit playground relay";
const MINUTES = 15;
/** For the other person to run as well. */
const PATIENCE_MS = 10 * 60_000;

/** This page as others know it, from the first invitation on. */
let identity;
/** The other person, once both have met. */
let met = null;
let stopping = new AbortController();

/** The relay to begin with: on this machine there may be one for trials. */
function firstRelay() {
  const isHere = ["127.0.0.1", "localhost", "[::1]"].includes(location.hostname);
  return localStorage.getItem(RELAY) ?? (isHere ? "ws://127.0.0.1:7400" : "");
}

/** What is said of the person; a choice that a link has made stays as it is. */
function say(isSettled, ...said) {
  show($("invited"), ...said);
  for (const id of ["party", "protocol"]) $(id).disabled = isSettled;
}

function button(name, press, className = "") {
  return Object.assign(element("button", name), { type: "button", onclick: press, className });
}

const row = (...children) => Object.assign(element("div", "", ...children), { className: "row" });

function complain({ message }) {
  met = null;
  say(false, styled("p", "wrong", message));
}

const isThere = (found) => {
  met = found;
  say(true, element("p", "The other person is there. Each gives an input and presses Run."));
};

/** Ends what waits, and forgets whom it was for. */
export function forgetPerson() {
  stopping.abort();
  stopping = new AbortController();
  met = null;
  say(false);
}

/** A link for the guest, and what anybody who sees it can do. */
function showLink(link, guest) {
  const shown = Object.assign(element("input"), { value: link, readOnly: true });
  const until = new Date(Date.now() + MINUTES * 60_000);
  const time = until.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  const copied = styled("span", "quiet");
  copied.setAttribute("role", "status");
  const copy = async () => {
    shown.select();
    await navigator.clipboard?.writeText(link).then(
      () => show(copied, "The link is copied."),
      () => show(copied, "Copy the link from its field."),
    );
  };
  say(
    true,
    element("p", `Send this link to the person who will be ${guest}, and keep this page open.`),
    element("label", "The link, for one person", shown),
    row(button("Copy the link", copy, "main"), button("Withdraw it", forgetPerson), copied),
    styled("p", "waits", `Waiting for the other person, until ${time}…`),
    element(
      "p",
      `The first person to open the link is ${guest}. So send it where only that person reads it. ` +
        `Somebody else who sees it in time can come instead, once, and gets the results of ` +
        `${guest}; then the person whom you meant is told that the link was used. Nobody learns ` +
        `your input from the link, or can play you with it. Somebody who can change the link on ` +
        `its way could come between the two of you. The relay sees both addresses and how many ` +
        `bytes pass, and nothing else.`,
    ),
  );
}

/** Does `work` with another page, unless that is ended before. */
async function meet(work) {
  forgetPerson();
  const { signal } = stopping;
  try {
    const found = await work(signal);
    if (!signal.aborted) isThere(found);
  } catch (error) {
    if (!signal.aborted) complain(error);
  }
}

/** Lets the visitor invite somebody to the program, as a party that `other` names. */
export function invitesBy({ running, program, other }) {
  $("relay").value = firstRelay();
  $("invite").onclick = () =>
    meet(async (signal) => {
      const relay = $("relay").value.trim();
      if (relay === "") throw new Error("Give the address of a relay.");
      localStorage.setItem(RELAY, relay);
      const [given, party, protocol] = [program(), other(), $("protocol").value];
      say(true, element("p", "Making the link…"));
      identity ??= await running.generateIdentity();
      const onInvitation = async (invitation) => {
        const meeting = { invitation, party, protocol };
        try {
          const made = await fragment({ ...given, meeting });
          if (!signal.aborted) showLink(location.origin + location.pathname + made, party);
        } catch (error) {
          forgetPerson();
          complain(error);
        }
      };
      return running.invite({ relay, identity, minutes: MINUTES }, { signal, onInvitation });
    });
}

/** Asks the visitor whether to accept the invitation of a link. */
export async function showInvitation(running, { invitation, party, protocol }) {
  forgetPerson();
  $("with").value = "person";
  $("with").onchange();
  show($("party"), element("option", party));
  $("protocol").value = protocol;
  const accept = () =>
    meet(async (signal) => {
      say(true, element("p", "Meeting the other person…"));
      identity ??= await running.generateIdentity();
      return running.accept(invitation, { identity }, { signal });
    });
  try {
    const { relay } = await running.readInvitation(invitation);
    say(
      true,
      element("p", `The person who sent this link invites you to run this program as ${party}.`),
      element("p", `You meet at ${relay}, which sees your address. Look at the program first.`),
      row(button("Accept", accept, "main"), button("Decline", forgetPerson)),
    );
    $("invited").scrollIntoView({ block: "center" });
  } catch (error) {
    complain(error);
  }
}

/** Where the other person is, and what an order says of both. */
export function withPerson() {
  if (!met) throw new Error("Nobody is there yet: make a link, or open one that was sent to you.");
  const { relay, peer } = met;
  return [{ relay }, { identity, peer, patience_ms: PATIENCE_MS }];
}
