import { Tacit, TacitError, type Identity } from "tacit-web";
import { getIdentity, putIdentity } from "tacit-web/keep";
import { SERVICE } from "./config";
import { words } from "./words";

const $ = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;
const form = $<HTMLFormElement>("form");
const contacts = $<HTMLTextAreaElement>("contacts");
const find = $<HTMLButtonElement>("find");
const cancel = $<HTMLButtonElement>("cancel");
const progress = $<HTMLProgressElement>("progress");
const status = $("status");
const found = $<HTMLUListElement>("found");

/** Who this visitor is, from one visit to the next. */
async function visitor(tacit: Tacit): Promise<Identity> {
  const kept = await getIdentity("me");
  if (kept) return kept;
  const made = await tacit.generateIdentity();
  await putIdentity("me", made);
  return made;
}

function tell(error: unknown) {
  console.error(error);
  status.textContent = error instanceof TacitError ? words(error) : String(error);
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
  const order = { keys, normalize: "email", identity, peer: SERVICE.peer } as const;
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
  const tacit = new Tacit();
  const identity = await visitor(tacit);
  $("me").textContent = await tacit.fingerprint(identity);
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
