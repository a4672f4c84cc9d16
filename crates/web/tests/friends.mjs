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
/** The way to the cloud, whoever plays it. */
let gate;
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

/** Begins to set a place. */
async function set(page, square) {
  await page.getByRole("radio", { name: square, exact: true }).click();
  await page.getByRole("button", { name: "Set my place" }).click();
}

/** What the page says in the end. */
async function answer(page) {
  await page.locator("#answer .right, #answer .wrong").first().waitFor();
  return page.locator("#answer").innerText();
}

async function setPlace(page, square) {
  await set(page, square);
  return answer(page);
}

/** What this device keeps of the map. */
const kept = (page) =>
  page.evaluate(async () => (await import("/tacit/keep.js")).get("friend finder"));

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
  assert.match(await setPlace(second, "C4"), /guest 1 is in C4! You did not move there/);
  const earlier = gate.bytes;
  assert.match(await setPlace(third, "D5"), /You are in D5 now, and nobody else is/);
  midRunBytes = gate.bytes - earlier - RESULT_BYTES;
  // Who comes back after a reload is still somebody, and the map goes on from where it was.
  await second.reload();
  await second.getByText("You are guest 2.").waitFor();
  assert.match(await setPlace(second, "D5"), /guest 3 is in D5/);
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
      function: "friend-map-set",
      params: { cells: map.cells, id_bits: map.id_bits },
      inputs: { cell: 40 },
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

test("an invitation takes nobody's place unasked", async () => {
  const [page] = pages;
  const before = await kept(page);
  assert.ok(before.pin);
  const asked = [];
  const refuse = (dialog) => {
    asked.push(dialog.message());
    return dialog.dismiss();
  };
  page.on("dialog", refuse);
  for (const invitation of invitations) {
    await page.goto("about:blank");
    await page.goto(invitation);
    await page.getByText("You are guest 1.").waitFor();
    assert.deepEqual(await kept(page), before);
  }
  page.off("dialog", refuse);
  // Of the three one is its own.
  assert.equal(asked.length, 2);
  const newcomer = await open(await person(browser), "about:blank");
  newcomer.on("dialog", refuse);
  await newcomer.goto(invitations[1]);
  await newcomer.getByText("You have no invitation yet.").waitFor();
  assert.match(asked[2], /makes you guest 2 here/);
  assert.equal(await kept(newcomer), undefined);
  await newcomer.context().close();
});

test("the map is for keyboards and screen readers as well", async () => {
  const [page] = pages;
  const chosen = () => page.getByRole("radio", { checked: true }).getAttribute("aria-label");
  await page.getByRole("radio", { name: "C4", exact: true }).press("ArrowRight");
  assert.equal(await chosen(), "D4");
  await page.keyboard.press("End");
  await page.keyboard.press("ArrowRight");
  assert.equal(await chosen(), "P4");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  assert.match(await answer(page), /You are in P5 now/);
  await isAccessible(page, "friend-finder");
});

test("the keyboard's focus stays where a place was set", async () => {
  const [page] = pages;
  await page.getByRole("radio", { name: "N4", exact: true }).focus();
  await page.keyboard.press("Space");
  await page.getByRole("button", { name: "Set my place" }).focus();
  await page.keyboard.press("Enter");
  assert.match(await answer(page), /You are in N4 now/);
  assert.equal(await page.evaluate(() => document.activeElement.id), "set");
});

test("what is chosen is seen in colours that the system forces", async () => {
  const [page] = pages;
  await page.emulateMedia({ forcedColors: "active" });
  const background = (name) =>
    page
      .getByRole("radio", { name, exact: true })
      .evaluate((cell) => getComputedStyle(cell).backgroundColor);
  await page.getByRole("radio", { name: "N5", exact: true }).click();
  assert.notEqual(await background("N5"), await background("N6"));
  await picture(page, "friend-finder-forced");
  await page.emulateMedia({ forcedColors: "none" });
});

test("a damaged invitation is told in words, and changes nothing", async () => {
  const [page] = pages;
  const before = await kept(page);
  for (const damaged of [invitations[1].slice(0, -40), `${origin}/friend-finder/#invitation=!`]) {
    await page.goto("about:blank");
    await page.goto(damaged);
    await page.getByText("You are guest 1.").waitFor();
    assert.match(await answer(page), /This invitation is damaged.*Copy the whole link/);
    assert.deepEqual(await kept(page), before);
  }
  await isAccessible(page, "friend-finder-damaged");
});

test("an address without its slash leads to the page", async () => {
  const page = await open(await person(browser), `${origin}/friend-finder`);
  await page.getByText("You have no invitation yet").waitFor();
  assert.equal(page.url(), `${origin}/friend-finder/`);
  await page.context().close();
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
  const overflow = () =>
    page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.equal(await overflow(), 0);
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
  assert.match(await setPlace(pages[0], "E6"), /guest 3 is in E6/);
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
    id_bits: 8,
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
  assert.match(await setPlace(page, "A1"), /You are in A1 now/);
  assert.match(await setPlace(page, "B1"), /You are in B1 now/);
  const refused = await setPlace(page, "C1");
  assert.match(refused, /as often as this map allows \(2 times per hour\).*nothing has changed/s);
  assert.equal((await kept(page)).cut, undefined);
  await isAccessible(page, "friend-finder-often");
  await page.context().close();
  await stop(finder.script);
});
