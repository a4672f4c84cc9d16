import encodeQR from "qr";
import { Tacit, TacitError, type Identity, type Met, type Result } from "tacit-web";
import text from "./auction.tacit?raw";
import { RELAY } from "./config";
import { words } from "./words";

type Party = "host" | "guest";
type Step = "start" | "link" | "invited" | "bid" | "none";

/** For the other person to bid as well. */
const PATIENCE_MS = 10 * 60_000;

const $ = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;
const bid = $<HTMLInputElement>("bid");
const copy = $<HTMLButtonElement>("copy");
const link = $<HTMLInputElement>("link");

/** Shows one step of the page, and what there is to say. */
function show(step: Step, said = "") {
  for (const part of document.querySelectorAll<HTMLElement>("[data-step]")) {
    part.hidden = part.dataset.step !== step;
  }
  $("status").textContent = said;
}

function tell(error: unknown, step: Step) {
  console.error(error);
  show(step, error instanceof TacitError ? words(error) : String(error));
}

/** Waits for the other person, unless Cancel ends that. After an error goes back to a step. */
async function wait<T>(said: string, back: Step, work: (signal: AbortSignal) => Promise<T>) {
  const controller = new AbortController();
  $("cancel").onclick = () => controller.abort();
  show("none", said);
  $("waiting").hidden = false;
  try {
    return await work(controller.signal);
  } catch (error) {
    tell(error, back);
  } finally {
    $("waiting").hidden = true;
  }
}

function showLink(invitation: string) {
  link.value = `${location.origin}${location.pathname}#${invitation}`;
  const code = encodeURIComponent(encodeQR(link.value, "svg", { ecc: "low", border: 4 }));
  $<HTMLImageElement>("code").src = `data:image/svg+xml,${code}`;
  copy.textContent = "Copy the link";
  show("link", "Waiting for the other person, for 15 minutes…");
}

function told(party: Party, results: Result[]) {
  const value = (name: string) => results.find((result) => result.name === name)?.value;
  const wins = value("host_wins") === (party === "host");
  return `${wins ? "You win, and pay" : "The other person wins, and pays"} ${value("price")}.`;
}

/** Lets the visitor bid against a person whom this page has met, as often as both want. */
function bidding(tacit: Tacit, identity: Identity, party: Party, { relay, peer }: Met) {
  $<HTMLFormElement>("bidding").onsubmit = async (event) => {
    event.preventDefault();
    const amount = bid.valueAsNumber;
    const inputs = { [`${party}_bid`]: amount };
    const how = { protocol: "authenticated", patience_ms: PATIENCE_MS } as const;
    const order = { program: { text }, party, inputs, identity, peer, ...how };
    const outcome = await wait(`You bid ${amount}. Waiting for the other bid…`, "bid", (signal) =>
      tacit.runTwoParty({ relay }, order, { signal }),
    );
    if (!outcome) return;
    bid.value = "";
    show("bid", told(party, outcome.results));
  };
  show("bid", "The other person is here.");
}

async function start() {
  const tacit = new Tacit();
  // Both are new to each other, so the page needs no identity that it keeps.
  const identity = await tacit.generateIdentity();
  const invitation = location.hash.slice(1);
  $("invite").onclick = async () => {
    const met = await wait("Making the link…", "start", (signal) =>
      tacit.invite({ relay: RELAY, identity }, { signal, onInvitation: showLink }),
    );
    if (met) bidding(tacit, identity, "host", met);
  };
  $("accept").onclick = async () => {
    const met = await wait("Meeting the other person…", "invited", (signal) =>
      tacit.accept(invitation, { identity }, { signal }),
    );
    if (met) bidding(tacit, identity, "guest", met);
  };
  copy.onclick = async () => {
    await navigator.clipboard.writeText(link.value);
    copy.textContent = "Copied";
  };
  // A link is secret and good once: it does not stay in the address.
  history.replaceState(null, "", location.pathname);
  addEventListener("hashchange", () => location.reload());
  show(invitation === "" ? "start" : "invited");
}

start().catch((error) => tell(error, "none"));
