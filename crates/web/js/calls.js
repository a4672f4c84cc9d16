// The calls of a compute worker, which is Tacit itself. A call blocks it until it is done.
import { dropLink, isOpen, makeLink, useKey, usePost, useWatch } from "./link.js";

/** How long sessions are kept for the next run; servers let them be idle for longer. */
const KEPT_MS = 30_000;
/** How long a guest waits for the page that invited it, which waits for the guest. */
const ACCEPT_MS = 20_000;

/** Tacit, compiled: all of it, or without programs. */
let tacit;

/** Work that needs links: they are there for as long as it runs, and open once it says so. */
function linked(addresses, work) {
  const links = addresses.map(makeLink);
  try {
    return work(links);
  } finally {
    links.forEach(dropLink);
  }
}

/** An order or an identity as text. A private key stays here, and its text has its number. */
function text(order) {
  return JSON.stringify(order, (_, value) => {
    if (value instanceof CryptoKey) return useKey(value);
    return value instanceof Uint8Array ? [...value] : value;
  });
}

/** The links over which sessions with both servers are kept, and between whom they are. */
let met = null;
let parting;

function part() {
  clearTimeout(parting);
  for (const link of met?.links ?? []) {
    tacit.part(link);
    dropLink(link);
  }
  met = null;
}

/** Work over links to both servers: those that are kept, unless a server has ended one. */
function withServers({ generatorAt, cloudAt, order }, work) {
  const { identity, generator, cloud } = order;
  const parties = [identity.publicKey ?? identity, generatorAt, generator, cloudAt, cloud];
  const who = text(parties);
  if (met?.who !== who || !met.links.every(isOpen)) {
    part();
    met = { who, links: [generatorAt, cloudAt].map(makeLink) };
  }
  clearTimeout(parting);
  try {
    const done = work(...met.links, text(order));
    parting = setTimeout(part, KEPT_MS);
    return done;
  } catch (error) {
    part();
    throw error;
  }
}

/** Work with another page, for which both connect to this relay. */
const atRelay = (relay, work) => linked([{ url: relay }], ([link]) => work(link));

/** Makes an invitation, tells its text, and waits for the guest. */
function invite({ order }, tell) {
  const told = text(order);
  const invitation = tacit.make_invitation(told);
  tell(invitation);
  const { relay } = order;
  return { relay, peer: atRelay(relay, (link) => tacit.invite(link, invitation, told)) };
}

function accept({ invitation, order }) {
  const { relay } = JSON.parse(tacit.read_invitation(invitation));
  const told = text({ patience_ms: ACCEPT_MS, ...order });
  return { relay, peer: atRelay(relay, (link) => tacit.accept(link, invitation, told)) };
}

function runTwoParty({ at, order }) {
  const run = (link, told) => JSON.parse(tacit.run_two_party(link, text(told)));
  if (at.relay) return atRelay(at.relay, (link) => run(link, { ...order, by_relay: true }));
  return linked([at], ([link]) => run(link, order));
}

const calls = {
  check: ({ program }) => JSON.parse(tacit.check(JSON.stringify(program))),
  describe: ({ program }) => JSON.parse(tacit.describe(JSON.stringify(program))),
  evaluate: (order) => JSON.parse(tacit.evaluate(JSON.stringify(order))),
  format: ({ text }) => tacit.format(text),
  names: ({ program }) => JSON.parse(tacit.names(JSON.stringify(program))),
  explain: ({ program, offset }) => JSON.parse(tacit.explain(JSON.stringify(program), offset)),
  rename: ({ program, offset, name }) =>
    JSON.parse(tacit.rename(JSON.stringify(program), offset, name)),
  test: ({ program }) => JSON.parse(tacit.test(JSON.stringify(program))),
  speed: ({ milliseconds }) => JSON.parse(tacit.speed(milliseconds)),
  generateIdentity: () => tacit.generate_identity(),
  fingerprint: ({ identity }) => tacit.fingerprint(text(identity)),
  runTwoParty,
  readInvitation: ({ invitation }) => JSON.parse(tacit.read_invitation(invitation)),
  invite,
  accept,
  match: ({ at, order }) =>
    linked([at], ([link]) => JSON.parse(tacit.match_keys(link, text(order)))),
  meetServers: (given) => withServers(given, tacit.meet),
  runClient: (given, tell) => {
    tell({ stage: "connecting" });
    return JSON.parse(withServers(given, tacit.run_client));
  },
};

/** Makes this worker one that computes with `compiled`, which `init` starts. */
export function compute(init, compiled) {
  tacit = compiled;
  let ready;
  self.onmessage = async ({ data }) => {
    if (data.post) {
      usePost(data.post);
      ready = init({ module_or_path: data.module });
      // Calls tell it.
      ready.catch(() => {});
      return;
    }
    try {
      await ready;
      const tell = (progress) => self.postMessage({ call: data.call, progress });
      useWatch(tell);
      self.postMessage({ call: data.call, result: calls[data.name](data.given, tell) });
    } catch (error) {
      // Tacit's own errors are JSON; others are the engine's.
      const told = typeof error === "string" ? JSON.parse(error) : { message: String(error) };
      self.postMessage({ call: data.call, error: told });
    }
  };
}
