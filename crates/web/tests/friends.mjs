// The friend finder in Chromium: three people, each in a profile of its own, and two real servers.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";
import {
  Gate,
  PHONE,
  browse,
  built,
  isAccessible,
  join,
  open,
  person,
  picture,
  servePages,
  site,
  start,
  startFriendFinder,
  stop,
  stopAll,
  tacit,
  until,
} from "./scene.mjs";
import { agrees, answer, kept, overflow, set, setPlace, square } from "./on-the-map.mjs";

const PEOPLE = 3;
/** As few as the statistical security allows, so that the tests are quick. */
const COPIES = 128;
const LISTENING = /listening address=\S*:(\d+)/;

let browser;
let script;
let folder;
let origin;
let pages;
let invitations;
/** The way to the cloud, or to a process that plays it. */
let gate;
/** The map's configuration without it. */
let direct;
/** The cloud's process, by its number. */
let cloud;
/** What the cloud sends from a page's opening until its first move is in mid-run, in bytes. */
let midRunBytes;
/** The cloud's result is the last that it sends, and has fewer bytes. */
const RESULT_BYTES = 100;

const file = (name) => path.join(folder, name);

before(async () => {
  browser = await browse();
  const scene = await startFriendFinder(PEOPLE, {
    PROFILE: "dev",
    COPIES: String(COPIES),
    RATE: "1000/1h",
  });
  ({ script, folder, cloud, invitations } = scene);
  const config = JSON.parse(await readFile(file("site/friend-finder/config.json"), "utf8"));
  direct = structuredClone(config);
  gate = await Gate.to(Number(new URL(config.cloud.url).port));
  config.cloud.url = `ws://127.0.0.1:${gate.port}`;
  await writeFile(file("site/friend-finder/config.json"), JSON.stringify(config));
  origin = new URL(invitations[0]).origin;
  pages = [];
  for (const invitation of invitations) {
    pages.push(await join(await person(browser, PHONE), invitation));
  }
});

after(async () => {
  await browser?.close();
  await stopAll();
});

/** Runs the cloud again, in its folder. */
async function restartCloud() {
  const child = await start(tacit, ["serve", "--config", "cloud.toml"], LISTENING, { cwd: folder });
  cloud = child.pid;
  gate.target = Number(child.said[1]);
  return child;
}

/** Whether a process has ended; its parent may not have asked yet. */
async function hasEnded(pid) {
  try {
    return /^\d+ \(.*\) Z/.test(await readFile(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return true;
  }
}

async function endCloud(signal) {
  process.kill(cloud, signal);
  await until(() => hasEnded(cloud), "the cloud to end");
}

test("three people find each other", async () => {
  const [first, second, third] = pages;
  assert.doesNotMatch(first.url(), /invitation/);
  assert.match(await setPlace(first, "C4"), /You are in C4 now, and nobody else is/);
  assert.match(await setPlace(second, "C4"), /Guest 1 is in C4! You did not move there\.\s+Guest 1 is not told/);
  const earlier = gate.bytes;
  assert.match(await setPlace(third, "D5"), /You are in D5 now, and nobody else is/);
  midRunBytes = gate.bytes - earlier - RESULT_BYTES;
  // Who comes back after a reload is still somebody, and the map goes on from where it was.
  await second.reload();
  await second.getByText("You are guest 2.").waitFor();
  assert.match(await setPlace(second, "D5"), /Guest 3 is in D5/);
  await first.getByRole("button", { name: "Leave the map" }).click();
  await first.getByText("You left the map.").waitFor();
  assert.match(await setPlace(second, "C4"), /You are in C4 now, and nobody else is/);
});

test("a next run takes the connections of the last", async () => {
  const { joined } = gate;
  await pages[1].evaluate(async () => {
    const { Tacit } = await import("/tacit/tacit.js");
    const { getIdentity } = await import("/tacit/keep.js");
    const map = await (await fetch("config.json")).json();
    const order = {
      function: "friend-finder-set",
      params: { cells: map.cells, ids: map.ids },
      inputs: { cell: 40, agrees: 0 },
      copies: map.copies,
      security_bits: map.security_bits,
      identity: await getIdentity("friend finder identity"),
      generator: map.generator.fingerprint,
      cloud: map.cloud.fingerprint,
    };
    const tacit = new Tacit();
    const run = () => tacit.runClient({ url: map.generator.url }, { url: map.cloud.url }, order);
    await run();
    await run();
    tacit.close();
  });
  assert.equal(gate.joined, joined + 1);
});

test("two who agree are both told, and a friend's mark stays on the map", async () => {
  const [first, second, third] = pages;
  await agrees(first).check();
  await agrees(second).check();
  assert.match(await setPlace(first, "K3"), /You are in K3 now/);
  assert.match(await setPlace(second, "M6"), /You are in M6 now/);
  const found = await setPlace(second, "K3");
  assert.match(found, /Guest 1 is in K3! You did not move there: you are still in M6\.\n/);
  assert.match(found, /Guest 1 will be told that you found them/);
  const friend = await square(second, "K3").getAttribute("aria-label");
  assert.match(friend, /guest 1 was here at \d\d:\d\d$/);
  assert.match(await square(second, "M6").getAttribute("aria-label"), /you are here$/);
  await isAccessible(second, "friend-finder-found");
  // Who has not agreed tells nobody.
  assert.match(await setPlace(third, "M6"), /Guest 2 is in M6!.*\s+Guest 2 is not told/);
  assert.match(await setPlace(first, "K2"), /^Guest 2 found you in K3\.\s+You are in K2 now/);
  await isAccessible(first, "friend-finder-told");
  assert.match(await setPlace(first, "K2"), /^You are in K2 now/);
  assert.match(await setPlace(second, "M7"), /^You are in M7 now/);
  await agrees(second).uncheck();
  // It is kept, and a friend who takes it back is not told.
  await first.reload();
  await first.getByText("You are guest 1.").waitFor();
  assert.equal(await agrees(first).isChecked(), true);
  assert.match(await setPlace(second, "M7"), /^You are in M7 now/);
  assert.match(await setPlace(first, "M7"), /Guest 2 is in M7!.*\s+Guest 2 did not agree/);
  assert.match(await setPlace(second, "M8"), /^You are in M8 now/);
  await agrees(first).uncheck();
});

test("a move that waits says how many come before it", async () => {
  const [first] = pages;
  const context = await person(browser, PHONE);
  await context.route("**/config.json", (route) => route.fulfill({ json: direct }));
  const other = await join(context, invitations[1]);
  await first.reload();
  const held = gate.holdAfter(midRunBytes);
  await set(first, "C3");
  await held;
  await first.getByText("The servers compute and check…").waitFor();
  await set(other, "G3");
  await other.getByText("Waiting for your turn: one move comes before yours.").waitFor();
  const bar = other.getByRole("progressbar");
  assert.equal(await bar.evaluate(({ value, max }) => value / max), 0.5);
  // The cloud waits 20 s for the turn, so there is no time for more.
  await picture(other, "friend-finder-waiting");
  gate.release();
  assert.match(await answer(first), /You are in C3 now/);
  assert.match(await answer(other), /You are in G3 now/);
  assert.equal(await bar.isVisible(), false);
  await context.close();
});

test("a move is cancelled where it was set, and the next one goes on", async () => {
  const page = pages[2];
  await page.reload();
  const held = gate.holdAfter(midRunBytes);
  await set(page, "E7");
  await held;
  // A press within 0.6 s of the first one is a double press.
  await page.waitForTimeout(700);
  const cancel = page.getByRole("button", { name: "Cancel" });
  assert.equal(await cancel.getAttribute("id"), "set");
  assert.equal(await page.getByRole("button", { name: "Set my place" }).count(), 0);
  await cancel.click();
  assert.match(await answer(page), /was cut off/);
  gate.release();
  assert.equal(await page.evaluate(() => document.activeElement.id), "set");
  assert.match(await setPlace(page, "E7"), /You are in E7 now/);
});

test("a server that is another is told loudly, and the page fits a phone", async () => {
  const context = await person(browser, PHONE);
  const config = JSON.parse(await readFile(file("site/friend-finder/config.json"), "utf8"));
  config.cloud.fingerprint = config.generator.fingerprint;
  const changed = (route) => route.fulfill({ json: config });
  await context.route("**/config.json", changed);
  const page = await join(context, invitations[1]);
  const said = await setPlace(page, "B2");
  assert.match(said, /Stop: somebody else answers in place of a server.*nothing has changed/s);
  assert.equal((await kept(page)).cut, undefined);
  await page.getByText("Details").click();
  await page.getByText(/identity is tacit:/).waitFor();
  assert.equal(await overflow(page), 0);
  await isAccessible(page, "friend-finder-another");
  await context.close();
});

test("a reload in mid-run is told, and the next run goes on", async () => {
  const page = pages[2];
  await page.reload();
  const held = gate.holdAfter(midRunBytes);
  await set(page, "E6");
  await held;
  await page.reload();
  assert.match(await answer(page), /was cut off.*You learnt nothing/);
  gate.release();
  assert.match(await setPlace(page, "E6"), /You are in E6 now, and nobody else is/);
  assert.match(await setPlace(pages[0], "E6"), /Guest 3 is in E6/);
});

test("of two tabs one moves, and neither brings an older map back", async () => {
  const [page] = pages;
  const version = async () => Number((await kept(page)).pin.split(":")[1]);
  await page.reload();
  const held = gate.holdAfter(midRunBytes);
  await set(page, "K8");
  await held;
  const other = await open(page.context(), `${origin}/friend-finder/`);
  await other.getByText("You are guest 1.").waitFor();
  assert.match(await setPlace(other, "L8"), /^Another tab of this browser is busy/);
  gate.release();
  assert.match(await answer(page), /You are in K8 now/);
  const earlier = await version();
  assert.match(await setPlace(other, "L8"), /You are in L8 now/);
  assert.equal(await version(), earlier + 1);
  await other.close();
});

test("a server that is killed in mid-run is told, and the next run goes on", async () => {
  const page = pages[2];
  const earlier = await kept(page);
  await page.reload();
  const held = gate.holdAfter(midRunBytes);
  await set(page, "F7");
  await held;
  await endCloud("SIGKILL");
  gate.release();
  const said = await answer(page);
  assert.match(said, /A server left while it worked for you/);
  assert.match(said, /You learnt nothing/);
  assert.equal((await kept(page)).pin, earlier.pin);
  // Nobody is there now.
  assert.match(await setPlace(page, "F7"), /cannot be reached.*nothing has changed/s);
  await isAccessible(page, "friend-finder-killed");
  await restartCloud();
  assert.match(await setPlace(page, "F7"), /You are in F7 now, and nobody else is/);
});

test("a cloud that lies is found out, and nothing of it is kept", async () => {
  const [first, second] = pages;
  const earlier = await kept(first);
  await endCloud("SIGTERM");
  const toml = await readFile(file("cloud.toml"), "utf8");
  const fingerprint = (name) => new RegExp(`${name} = .*fingerprint = "([^"]+)"`).exec(toml)[1];
  const people = ["founder", "guest-1", "guest-2", "guest-3"].map(fingerprint);
  const order = {
    key: file("cloud.key"),
    stock: file("cloud-stock"),
    generator: fingerprint("generator"),
    at: /address = "([^"]+)"/.exec(toml)[1],
    guest: people[1],
    clients: people,
    origin,
    cells: 256,
    ids: 32,
    copies: COPIES,
  };
  const command = built("examples/lying_cloud");
  const liar = await start(command, [JSON.stringify(order)], /listening at \S*:(\d+)/);
  gate.target = Number(liar.said[1]);
  const said = await setPlace(first, "H8");
  assert.match(said, /A server cheated or broke the protocol/);
  assert.match(said, /keeps nothing/);
  assert.match(liar.told, /lied about a result/);
  assert.equal((await kept(first)).pin, earlier.pin);
  assert.equal(await first.locator("[aria-current]").count(), 0);
  await isAccessible(first, "friend-finder-lie");
  await stop(liar);
  await restartCloud();
  assert.match(await setPlace(second, "J9"), /You are in J9 now, and nobody else is/);
});

test("a stranger's page gets no connection to either server", async () => {
  const stranger = await servePages(site);
  const context = await person(browser);
  const config = JSON.parse(await readFile(file("site/friend-finder/config.json"), "utf8"));
  const opens = (page, url) =>
    page.evaluate(async (url) => {
      const socket = new WebSocket(url, "tacit-2");
      const opened = await new Promise((resolve) => {
        socket.onopen = () => resolve(true);
        socket.onerror = () => resolve(false);
      });
      socket.close();
      return opened;
    }, url);
  const theirs = await open(context, `${stranger}playground/`);
  for (const { url } of [config.generator, config.cloud]) {
    assert.equal(await opens(theirs, url), false, url);
    assert.equal(await opens(pages[0], url), true, url);
  }
  const name = new URL(stranger).origin;
  const log = () => readFile(file("generator.log"), "utf8");
  await until(async () => (await log()).includes(name), "the log to name the origin");
});

test("without a network the page is there, and says that the servers are not", async () => {
  const [page] = pages;
  await page.evaluate(async () => void (await navigator.serviceWorker.ready));
  await endCloud("SIGTERM");
  await stop(script);
  await page.reload();
  await page.getByText("You are guest 1.").waitFor();
  assert.match(await setPlace(page, "A1"), /cannot be reached/);
});

test("a person moves as often as the page says, and no more", async () => {
  const finder = await startFriendFinder(1, {
    PROFILE: "dev",
    COPIES: String(COPIES),
    CELLS: "16",
    RATE: "2/1h",
  });
  const page = await join(await person(browser, PHONE), finder.invitations[0]);
  const said = await page.locator("#rate").innerText();
  assert.match(said, /2 times per hour.*all 16 squares to find you takes 8 hours/);
  assert.match(await setPlace(page, "A1"), /You are in A1 .*now/);
  assert.match(await setPlace(page, "B1"), /You are in B1 .*now/);
  const refused = await setPlace(page, "C1");
  assert.match(refused, /as often as this map allows \(2 times per hour\).*nothing has changed/s);
  assert.equal((await kept(page)).cut, undefined);
  await isAccessible(page, "friend-finder-often");
  await page.context().close();
  await stop(finder.script);
});
