import { Tacit, TacitError, type Identity } from "tacit-web";
import { LOGIN, SERVICE } from "./config";
import { words } from "./words";

const $ = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;
const form = $<HTMLFormElement>("form");
const contacts = $<HTMLTextAreaElement>("contacts");
const find = $<HTMLButtonElement>("find");
const cancel = $<HTMLButtonElement>("cancel");
const progress = $<HTMLProgressElement>("progress");
const status = $("status");
const found = $<HTMLUListElement>("found");

/** What the site's login signs of its user: a token, for the key that this page has. */
async function token(tacit: Tacit, identity: Identity): Promise<string> {
  const fingerprint = encodeURIComponent(await tacit.fingerprint(identity));
  const answer = await fetch(`${LOGIN}?fingerprint=${fingerprint}`, { method: "POST" });
  if (!answer.ok) throw new Error("Log in to the site, and try again.");
  return answer.text();
}

function tell(error: unknown) {
  console.error(error);
  status.textContent = error instanceof TacitError ? words(error) : (error as Error).message;
}

function show(common: string[]) {
  const count = common.length;
  status.textContent = count === 1 ? "1 contact is a member." : `${count} contacts are members.`;
  const items = common.map((address) => {
    const item = document.createElement("li");
    item.textContent = address;
    return item;
  });
  found.replaceChildren(...items);
}

async function search(tacit: Tacit, identity: Identity, signal: AbortSignal) {
  const keys = contacts.value.split(/[\s,;]+/).filter((address) => address.includes("@"));
  const who = { identity, peer: SERVICE.peer, token: await token(tacit, identity) };
  const order = { keys, normalize: "email", ...who } as const;
  const onProgress = (part: number) => (progress.value = part);
  const { common } = await tacit.match({ url: SERVICE.url }, order, { signal, onProgress });
  show(common.map((place) => keys[place]));
}

function isSearching(is: boolean) {
  find.disabled = is;
  cancel.hidden = progress.hidden = !is;
  progress.value = 0;
}

async function start() {
  const tacit = new Tacit({ programs: false });
  // The service knows the user by the token, so the page keeps no identity.
  const identity = await tacit.generateIdentity();
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const controller = new AbortController();
    cancel.onclick = () => controller.abort();
    isSearching(true);
    status.textContent = "Searching…";
    found.replaceChildren();
    await search(tacit, identity, controller.signal).catch(tell);
    isSearching(false);
  });
  find.disabled = false;
}

start().catch(tell);
