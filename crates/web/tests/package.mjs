// The package in Chromium: how calls end, and how much a page holds.
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import path from "node:path";
import { after, before, test } from "node:test";
import {
  AUDIENCE,
  Gate,
  browse,
  isAccessible,
  large,
  open,
  person,
  root,
  serveProgram,
  serveTable,
  serveBare,
  servePages,
  site,
  stopAll,
  until,
} from "./scene.mjs";

const { signed } = await import(path.join(root, "examples/web-contacts/login.js"));

let address;
let browser;
let context;

before(async () => {
  address = await servePages(site);
  browser = await browse();
  context = await person(browser);
});

after(async () => {
  await browser?.close();
  await stopAll();
});

const RICHER = `parties alice, bob;

main(a: u32 of alice, b: u32 of bob) -> (richer: bool to both) {
    a > b
}
`;

/** A check of this takes longer than anybody waits. */
const ENDLESS = `parties alice, bob;

main(a: u32 of alice, b: u32 of bob) -> (sum: u32 to both) {
    let mut sum = a;
    for i in 0..50_000 { sum = sum * b; }
    sum
}
`;

/** A page of the site with nothing in it, but what tells what each of some promises came to. */
async function blank() {
  const page = await open(context, `${address}style.css`);
  await page.evaluate(() => {
    globalThis.settled = async (promises) => {
      const all = await Promise.allSettled(promises);
      return all.map(({ value, reason: error }) => {
        return error
          ? { kind: error.kind, reason: error.reason, message: error.message }
          : { value };
      });
    };
  });
  return page;
}

test("a page that is served without its headers says so at once", async () => {
  const bare = await serveBare(site);
  for (const page of ["playground", "friend-finder"]) {
    const opened = await (await person(browser)).newPage();
    await opened.goto(`${bare}${page}/`);
    const alert = opened.getByRole("alert");
    await alert.waitFor();
    assert.match(await alert.innerText(), /cannot start.*Cross-Origin-Opener-Policy/);
    await isAccessible(opened, `bare-${page}`);
    await opened.context().close();
  }
});

test("close settles the calls that wait, and later ones are refused", async () => {
  const page = await blank();
  const [run, check, later] = await page.evaluate(
    async (text) => {
      const { Tacit } = await import("/tacit/tacit.js");
      const tacit = new Tacit();
      const order = { program: { text }, party: "alice", protocol: "direct", inputs: { a: 1 } };
      const run = tacit.runTwoParty({ room: "nobody", side: "garbler" }, order);
      const check = tacit.check({ text });
      setTimeout(() => tacit.close(), 200);
      const early = await globalThis.settled([run, check]);
      return [...early, ...(await globalThis.settled([tacit.check({ text })]))];
    },
    RICHER,
  );
  assert.equal(run.kind, "cancelled");
  assert.equal(check.kind, "cancelled");
  assert.equal(later.kind, "usage");
  assert.match(later.message, /was closed/);
  await page.close();
});

test("a signal ends its own call, and the others go on", async () => {
  const page = await blank();
  const [late, gone, next] = await page.evaluate(
    async ({ richer, endless }) => {
      const { Tacit } = await import("/tacit/tacit.js");
      const tacit = new Tacit();
      const limit = { signal: AbortSignal.timeout(300) };
      const calls = [
        // Its gates take seconds.
        tacit.describe({ text: endless }, limit),
        tacit.check({ text: richer }, { signal: AbortSignal.abort() }),
        tacit.check({ text: richer }),
      ];
      const all = await globalThis.settled(calls);
      tacit.close();
      return all;
    },
    { richer: RICHER, endless: ENDLESS },
  );
  assert.deepEqual([late.kind, late.reason], ["cancelled", "late"]);
  assert.equal(gone.kind, "cancelled");
  assert.deepEqual(next.value, []);
  await page.close();
});

/** Runs RICHER in a tab of its own as this party; what came of it. */
async function tab(party, input, more = {}) {
  const page = await blank();
  return page.evaluate(
    async ({ text, party, input, more }) => {
      const { Tacit } = await import("/tacit/tacit.js");
      const tacit = new Tacit();
      const side = party === "alice" ? "garbler" : "evaluator";
      const order = { program: { text }, party, protocol: "direct", inputs: input, ...more };
      const run = tacit.runTwoParty({ room: "tests", side }, order);
      return run.catch(({ kind, reason, message }) => ({ kind, reason, message }));
    },
    { text: RICHER, party, input, more },
  );
}

test("of two tabs as one party the later is told, and the earlier goes on", async () => {
  const both = [tab("alice", { a: 7 }), tab("alice", { a: 7 })];
  const later = await Promise.race(both);
  assert.deepEqual([later.kind, later.reason], ["usage", "occupied"], later.message);
  assert.match(later.message, /another tab of this browser is this party already/);
  const other = await tab("bob", { b: 5 });
  assert.equal(other.results?.[0].value, true, other.message);
  const all = await Promise.all(both);
  assert.equal(all.filter(({ results }) => results?.[0].value === true).length, 1);
});

test("a lone tab waits as long as it was told, and says what to do", async () => {
  const lone = await tab("bob", { b: 5 }, { patience_ms: 1500 });
  assert.deepEqual([lone.kind, lone.reason], ["network", "unreached"]);
  assert.match(lone.message, /no other tab came within 1.5s: open one in this browser/);
});

/** A run of bob, who evaluates, with a service; what comes of it. */
async function runWith(page, { url, fingerprint }, text, more = {}) {
  const order = { program: { text }, party: "bob", protocol: "direct", inputs: { b: 3 }, ...more };
  return page.evaluate(
    async ({ url, order }) => {
      const { Tacit } = await import("/tacit/tacit.js");
      const { getIdentity } = await import("/tacit/keep.js");
      const tacit = new Tacit();
      const identity = await getIdentity("me");
      const run = tacit.runTwoParty({ url }, { ...order, identity });
      const told = await run.catch(({ kind, reason, message }) => ({ kind, reason, message }));
      tacit.close();
      return told;
    },
    { url, order: { ...order, peer: order.peer ?? fingerprint } },
  );
}

/** An identity that this page keeps. */
const makeIdentity = (page) =>
  page.evaluate(async () => {
    const { Tacit } = await import("/tacit/tacit.js");
    const { putIdentity } = await import("/tacit/keep.js");
    const tacit = new Tacit();
    const identity = await tacit.generateIdentity();
    await putIdentity("me", identity);
    const fingerprint = await tacit.fingerprint(identity);
    tacit.close();
    return fingerprint;
  });

const WINDOW = 4 << 20;
const TIMES = 1000;

test("a page evaluates more than it may hold, and holds a window of it", async () => {
  const page = await blank();
  const me = await makeIdentity(page);
  const text = large(TIMES);
  const inputs = { a: 2 };
  const service = await serveProgram({ text, role: "garbler", peer: me, inputs, address });
  const gate = await Gate.to(Number(new URL(service.url).port));
  const url = `ws://127.0.0.1:${gate.port}`;
  const run = runWith(page, { ...service, url }, text, { patience_ms: 60_000 });
  // The service hears no more of what the page took: it goes on for a window, and waits.
  await gate.deafenAfter(8 << 20);
  const deafened = gate.bytes;
  let before = 0;
  await until(async () => {
    const still = before === gate.bytes;
    before = gate.bytes;
    await new Promise((resolve) => setTimeout(resolve, 500));
    return still;
  }, "the service to wait");
  assert.ok(gate.bytes <= deafened + WINDOW + (64 << 10), `${gate.bytes - deafened} bytes more`);
  gate.release();
  const { results, message } = await run;
  assert.ok(results, message);
  let power = 2n;
  for (let i = 0; i < TIMES; i++) power = BigInt.asUintN(64, power * 3n + 2n);
  assert.equal(results[0].text, String(power));
  assert.ok(gate.bytes > 64 << 20, `${gate.bytes} bytes`);
  await page.close();
});

test("a service that is another, or not there, is told by its kind", async () => {
  const page = await blank();
  const me = await makeIdentity(page);
  const inputs = { a: 2 };
  const service = await serveProgram({ text: RICHER, role: "garbler", peer: me, inputs, address });
  const other = await runWith(page, service, RICHER, { peer: me });
  assert.equal(other.kind, "identity", other.message);
  const nobody = await runWith(page, { ...service, url: "ws://127.0.0.1:1" }, RICHER);
  assert.deepEqual([nobody.kind, nobody.reason], ["network", "unreached"], nobody.message);
  const found = await runWith(page, service, RICHER);
  assert.equal(found.results?.[0].value, false, found.message);
  await page.close();
});

test("a page garbles and evaluates a chain of gates as the command does", async () => {
  const page = await blank();
  const me = await makeIdentity(page);
  // An adder alone has one AND gate a layer, whose keys are expanded ahead.
  const text = RICHER.replace("richer: bool", "sum: u32").replace("a > b", "a + b");
  const parties = { bob: ["garbler", { a: 2 }, { b: 3 }], alice: ["evaluator", { b: 3 }, { a: 2 }] };
  for (const [party, [role, theirs, inputs]] of Object.entries(parties)) {
    const service = await serveProgram({ text, role, peer: me, inputs: theirs, address });
    const { results, message } = await runWith(page, service, text, { party, inputs });
    assert.equal(results?.[0].value, 5, `${party}: ${message}`);
  }
  await page.close();
});

/** Matches each of these lists of keys with a service's table; what comes of each. */
async function matchWith(page, { url, fingerprint }, orders) {
  return page.evaluate(
    async ({ url, peer, orders }) => {
      const { Tacit } = await import("/tacit/tacit.js");
      const { getIdentity } = await import("/tacit/keep.js");
      const tacit = new Tacit({ programs: false });
      const identity = await getIdentity("me");
      const all = [];
      for (const given of orders) {
        const parts = [];
        const order = { normalize: "email", identity, peer, ...given };
        const match = tacit.match({ url }, order, { onProgress: (part) => parts.push(part) });
        all.push({ ...(await globalThis.settled([match]))[0], parts });
      }
      tacit.close();
      return all;
    },
    { url, peer: fingerprint, orders },
  );
}

test("a page without programs loads no compiler, and says what it lacks", async () => {
  const page = await blank();
  const loaded = [];
  page.on("request", (request) => loaded.push(new URL(request.url()).pathname));
  const told = await page.evaluate(async () => {
    const { Tacit } = await import("/tacit/tacit.js");
    const tacit = new Tacit({ programs: false });
    const identity = await tacit.generateIdentity();
    const fingerprint = await tacit.fingerprint(identity);
    const program = { text: "parties a, b;" };
    const refused = await globalThis.settled([tacit.check(program), tacit.runTwoParty({}, {})]);
    tacit.close();
    return { fingerprint, refused };
  });
  assert.match(told.fingerprint, /^tacit:/);
  for (const { kind, message } of told.refused) {
    assert.equal(kind, "usage");
    assert.match(message, /made without programs, and so without (check|runTwoParty)/);
  }
  const wasm = loaded.filter((name) => name.endsWith(".wasm"));
  assert.deepEqual(wasm, ["/tacit/tacit_lean_bg.wasm"]);
  await page.close();
});

test("a page finds which of its contacts a service has", async () => {
  const page = await blank();
  const peer = await makeIdentity(page);
  // The page composes by its browser's tables, and the service by its own.
  const table = ["ann@example.org", "eve@example.org", "ZO\u00cb@example.org"];
  // Room for so few keys that a second run has too many.
  const service = await serveTable({ keys: table, keysPerDay: 400, peer, address });
  const keys = [" Ann@Example.org", "bob@example.org", "ann@example.org", "zoe\u0308@example.org"];
  const many = Array.from({ length: 500 }, (_, number) => `${number}@example.org`);
  const [empty, both, large, found, again] = await matchWith(page, service, [
    { keys: ["ann@example.org", " "] },
    { keys, to: "both" },
    { keys: many },
    { keys },
    { keys },
  ]);
  assert.equal(empty.kind, "input", empty.message);
  assert.match(empty.message, /key 1 is no key/);
  assert.deepEqual([both.kind, both.reason], ["incompatible", "not-allowed"], both.message);
  assert.equal(large.reason, "too-large", large.message);
  assert.deepEqual(found.value?.common, [0, 2, 3], found.message);
  assert.deepEqual([found.value.own_keys, found.value.peer_keys], [3, 3]);
  assert.match(found.value.threat_model, /semi-honest/);
  assert.deepEqual(found.parts, found.parts.toSorted((a, b) => a - b));
  assert.equal(found.parts.at(-1), 1);
  assert.equal(again.reason, "too-often", again.message);
  await page.close();
});

/** A site's login, and what makes a token of it: with other claims, or by another key. */
function makeLogin() {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const exp = Math.floor(Date.now() / 1000) + 600;
  const token = (fingerprint, sub, other = {}, key = privateKey) =>
    signed({ sub, aud: AUDIENCE, exp, cnf: { tacit: fingerprint }, ...other }, key);
  return { publicKey, token };
}

test("a visitor is let in by its own token and by no other", async () => {
  const page = await blank();
  const me = await makeIdentity(page);
  const { publicKey, token } = makeLogin();
  const login = { publicKey, rate: "10/1h" };
  const keys = ["ann@example.org"];
  const held = await serveTable({ keys, keysPerDay: 10_000, login, address });
  const refused = {
    none: undefined,
    "no token at all": "x",
    "one that was changed": token(me, "ann").replace(".", ".e"),
    "one of another site": makeLogin().token(me, "ann"),
    "one that somebody else got": token(held.fingerprint, "eve"),
    "one for another service": token(me, "ann", { aud: "https://elsewhere.example" }),
    "one that has expired": token(me, "ann", { exp: Math.floor(Date.now() / 1000) - 60 }),
    "one of no algorithm": token(me, "ann").replace(/^[^.]*/, btoa('{"alg":"none"}').replace("=", "")),
  };
  const brought = Object.values(refused).map((token) => ({ keys, token }));
  const told = await matchWith(page, held, brought);
  Object.keys(refused).forEach((what, place) => {
    const { kind, reason, message } = told[place];
    assert.deepEqual([kind, reason], ["incompatible", "unknown"], `${what}: ${message}`);
    assert.match(message, /bring a new token of the site/, what);
  });
  const [empty, found] = await matchWith(page, held, [
    { keys, token: "" },
    { keys, token: token(me, "ann") },
  ]);
  assert.match(empty.message, /a token is a text of 1 to \d+ bytes/);
  assert.deepEqual(found.value?.common, [0], found.message);
  // The operator sees who came, and no token.
  await until(() => /peer=members\/ann/.test(held.service.told), "the run in the log");
  assert.match(held.service.told, /another identity/);
  assert.ok(!held.service.told.includes(token(me, "ann").split(".")[1]));
  // A function is offered in the same way.
  const served = { text: RICHER, role: "garbler", inputs: { a: 2 }, login, address };
  const program = await serveProgram(served);
  const { results, message } = await runWith(page, program, RICHER, { token: token(me, "ann") });
  assert.equal(results?.[0].value, false, message);
  const stranger = await runWith(page, program, RICHER);
  assert.equal(stranger.reason, "unknown", stranger.message);
  await page.close();
});

test("a visitor counts by its subject, whatever key it has", async () => {
  const page = await blank();
  const { publicKey, token } = makeLogin();
  const login = { publicKey, rate: "2/1h" };
  const keys = ["ann@example.org"];
  const held = await serveTable({ keys, keysPerDay: 10_000, login, address });
  const asks = async (subjects) => {
    const me = await makeIdentity(page);
    const orders = subjects.map((sub) => ({ keys, token: token(me, sub) }));
    const told = await matchWith(page, held, orders);
    return told.map(({ value, reason }) => value?.common ?? reason);
  };
  assert.deepEqual(await asks(["ann", "ann", "ann"]), [[0], [0], "too-often"]);
  assert.deepEqual(await asks(["ann", "eve"]), ["too-often", [0]]);
  await page.close();
});
