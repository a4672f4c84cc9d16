// Pages that meet at a relay, in Chromium: with each other, by a link, and with a command.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  Gate,
  browse,
  commandAtRelay,
  isAccessible,
  open,
  paste,
  person,
  servePages,
  site,
  startRelay,
  stop,
  stopAll,
  typed,
  until,
} from "./scene.mjs";

let address;
let browser;
let port;
let relay;

before(async () => {
  address = await servePages(site);
  browser = await browse();
  ({ port } = await startRelay(address));
  relay = `ws://127.0.0.1:${port}`;
});

after(async () => {
  await browser?.close();
  await stopAll();
});

const AUCTION = `parties alice, bob;

main(bid: u32 of alice, offer: u32 of bob) -> (alice_wins: bool to both, price: u32 to both) {
    let wins = bid >= offer;
    (wins, min(bid, offer))
}
`;

/** An empty page of a person's own browser, with an identity. */
async function blank() {
  const page = await open(await person(browser), `${address}style.css`);
  await page.evaluate(async () => {
    const { Tacit } = await import("/tacit/tacit.js");
    globalThis.tacit = new Tacit();
    globalThis.identity = await tacit.generateIdentity();
    globalThis.told = (promise) =>
      promise.catch(({ kind, reason, started, message }) => ({ kind, reason, started, message }));
  });
  return page;
}

const fingerprint = (page) => page.evaluate(() => tacit.fingerprint(identity));

/** Makes an invitation; its text, and whom it brought. */
async function invite(page, at) {
  const text = await page.evaluate(
    (relay) =>
      new Promise((resolve, reject) => {
        const onInvitation = resolve;
        globalThis.invited = tacit.invite({ relay, identity }, { onInvitation });
        globalThis.invited.catch(reject);
      }),
    at,
  );
  return { text, met: () => page.evaluate(() => told(globalThis.invited)) };
}

const accept = (page, text, patience_ms = 5000) =>
  page.evaluate(
    ({ text, patience_ms }) => told(tacit.accept(text, { identity, patience_ms })),
    { text, patience_ms },
  );

const run = (page, at, order) =>
  page.evaluate(
    ({ at, order }) => told(tacit.runTwoParty(at, { protocol: "direct", ...order, identity })),
    { at, order },
  );

const price = ({ results, message }) =>
  results?.find(({ name }) => name === "price").value ?? message;

test("two people meet by a link and run a program with each other", async () => {
  const alice = await open(await person(browser), `${address}playground/`);
  await alice.locator("#start:enabled").waitFor();
  await paste(alice, AUCTION);
  await alice.getByText("None.").waitFor();
  await alice.getByLabel("The other party is").selectOption("person");
  await alice.getByLabel("Relay").fill(relay);
  await isAccessible(alice, "playground-person");
  await alice.getByRole("button", { name: "Make a link" }).click();
  const link = await alice.getByLabel("The link, for one person").inputValue();
  await isAccessible(alice, "playground-link");
  const bob = await open(await person(browser), link);
  await bob.getByText("invites you to run this program as bob").waitFor();
  assert.equal(await typed(bob), AUCTION);
  assert.equal(new URL(bob.url()).hash, "");
  await isAccessible(bob, "playground-invited");
  await bob.getByRole("button", { name: "Accept" }).click();
  for (const page of [alice, bob]) await page.getByText("The other person is there.").waitFor();
  await isAccessible(bob, "playground-met");
  for (const round of [1, 2]) {
    for (const [page, input, value] of [
      [alice, "bid", 12 * round],
      [bob, "offer", 30 * round],
    ]) {
      await page.locator("#run-inputs").getByLabel(input).fill(String(value));
      await page.getByRole("button", { name: "Run", exact: true }).click();
    }
    for (const page of [alice, bob]) {
      const told = page.locator("#run-results", { hasText: new RegExp(`price\\s*${12 * round}`) });
      await told.waitFor();
    }
  }
  // Somebody else finds the link, and comes too late.
  const eve = await open(await person(browser), link);
  await eve.getByRole("button", { name: "Accept" }).click();
  await eve.getByText("nobody waits for this link: it was used").waitFor();
  await isAccessible(eve, "playground-used");
  for (const page of [alice, bob, eve]) await page.context().close();
});

test("a link is good once, and no other gets in", async () => {
  const [alice, bob, eve] = [await blank(), await blank(), await blank()];
  const [hers, his] = [await fingerprint(alice), await fingerprint(bob)];
  const { text, met } = await invite(alice, relay);
  const read = await bob.evaluate((text) => tacit.readInvitation(text), text);
  assert.deepEqual([read.relay, read.inviter], [relay, hers]);
  assert.ok(Math.abs(read.expires_ms - Date.now() - 15 * 60_000) < 60_000, `${read.expires_ms}`);
  const damaged = await accept(eve, `${text.slice(0, -1)}${text.endsWith("a") ? "b" : "a"}`);
  assert.deepEqual([damaged.kind, damaged.started], ["input", false], damaged.message);
  // A link of somebody who does not wait.
  const other = await invite(eve, relay);
  await eve.evaluate(() => tacit.cancel());
  assert.equal((await other.met()).kind, "cancelled");
  const wrong = await accept(eve, other.text);
  assert.deepEqual([wrong.kind, wrong.reason], ["network", "not-awaited"], wrong.message);
  assert.equal((await accept(bob, text, 60_000)).peer, hers);
  assert.deepEqual(await met(), { relay, peer: his });
  const used = await accept(eve, text);
  assert.equal(used.reason, "not-awaited", used.message);
  const program = { text: AUCTION };
  const order = { program, party: "alice", inputs: { bid: 1 }, patience_ms: 60_000 };
  const [a, b] = await Promise.all([
    run(alice, { relay }, { ...order, protocol: "authenticated", peer: his }),
    run(bob, { relay }, {
      ...order,
      party: "bob",
      inputs: { offer: 5 },
      protocol: "authenticated",
      peer: hers,
    }),
  ]);
  assert.deepEqual([price(a), price(b)], [1, 1]);
  const alone = await run(alice, { relay }, { ...order, peer: read.inviter });
  assert.match(alone.message, /this party's own fingerprint/);
  const nobody = await run(bob, { relay }, { ...order, patience_ms: 5000, peer: read.inviter });
  assert.deepEqual([nobody.kind, nobody.reason, nobody.started], ["network", "not-there", false]);
  for (const page of [alice, bob, eve]) await page.context().close();
});

for (const [party, protocol] of [
  ["alice", "direct"],
  ["bob", "authenticated"],
]) {
  test(`a page runs with a command at a relay as ${party}, by ${protocol}`, async () => {
    const page = await blank();
    const isAlice = party === "alice";
    const { fingerprint: peer, command } = await commandAtRelay({
      text: AUCTION,
      party: isAlice ? "bob" : "alice",
      peer: await fingerprint(page),
      input: isAlice ? "offer=30" : "bid=30",
      port,
      protocol,
    });
    const inputs = isAlice ? { bid: 12 } : { offer: 12 };
    const order = { program: { text: AUCTION }, party, inputs, protocol, peer };
    const found = await run(page, { relay }, order);
    assert.equal(price(found), 12);
    assert.equal(await command.ended, 0, command.told);
    await until(() => /price = 12/.test(command.told), "the command's result");
    await page.context().close();
  });
}

test("a relay that is cut during a run, or not there, says what to do", async () => {
  const [alice, bob] = [await blank(), await blank()];
  const own = await startRelay(address);
  const gate = await Gate.to(own.port);
  const text = `parties alice, bob;

component fn step(power: u64, b: u64) -> u64 {
    power * b
}

main(a: u64 of alice, b: u64 of bob) -> (power: u64 to both) {
    let mut power = a;
    for i in 0..1000 { power = step(power, b); }
    power
}
`;
  const [hers, his] = [await fingerprint(alice), await fingerprint(bob)];
  const program = { text };
  const asAlice = { program, party: "alice", inputs: { a: 3 }, peer: his, patience_ms: 60_000 };
  const asBob = { ...asAlice, party: "bob", inputs: { b: 5 }, peer: hers };
  const at = (port) => ({ relay: `ws://127.0.0.1:${port}` });
  const cut = gate.holdAfter(4 << 20);
  const runs = [
    run(alice, at(own.port), asAlice),
    run(bob, at(gate.port), asBob),
  ];
  await Promise.race([cut, ...runs]);
  await stop(own.relay, "SIGKILL");
  gate.release();
  for (const { kind, reason, started, message } of await Promise.all(runs)) {
    assert.deepEqual([kind, reason, started], ["network", "left", true], message);
    assert.match(message, /the relay are still there, and run again/);
  }
  const gone = await run(alice, at(own.port), asAlice);
  assert.deepEqual([gone.kind, gone.reason, gone.started], ["network", "unreached", false]);
  assert.match(gone.message, /relay cannot be reached.*this page's origin/);
  for (const page of [alice, bob]) await page.context().close();
});

test("a relay refuses a page of another origin, and a page without room is told so", async () => {
  const page = await blank();
  const elsewhere = await startRelay("https://elsewhere.example");
  const refused = await page.evaluate(
    (relay) => told(tacit.invite({ relay, identity }, { onInvitation: () => {} })),
    `ws://127.0.0.1:${elsewhere.port}`,
  );
  assert.deepEqual([refused.kind, refused.reason], ["network", "unreached"], refused.message);
  const small = await startRelay(address, "--per-network", "1");
  const url = `ws://127.0.0.1:${small.port}`;
  const { text } = await invite(page, url);
  const other = await blank();
  await until(async () => (await accept(other, text)).reason === "busy", "the relay to be full");
  for (const one of [page, other]) await one.context().close();
});
