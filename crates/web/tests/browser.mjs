// The pages in a real Chromium: node --test browser.mjs, run by scripts/web test.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const target = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const root = process.env.TACIT_ROOT ?? path.resolve(target, "..");
const PATIENCE = 60_000;
const PHONE = { width: 375, height: 740 };
const DESKTOP = { width: 1280, height: 900 };

let profile;
let context;
const started = [];

/** Starts a process of this test's; resolves with its output when it has said `ready`. */
function start(command, args, ready, env = {}) {
  const child = spawn(command, args, {
    cwd: root,
    env: { ...process.env, ...env },
    detached: true,
    stdio: ["ignore", "pipe", "inherit"],
  });
  started.push(child);
  return new Promise((resolve, reject) => {
    let said = "";
    child.stdout.on("data", (text) => {
      said += text;
      if (ready.test(said)) resolve({ child, said });
    });
    child.on("exit", (code) => reject(new Error(`${command} ended with ${code}: ${said}`)));
  });
}

function stop(child) {
  if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid, "SIGTERM");
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

let site;

before(async () => {
  profile = await mkdtemp(path.join(tmpdir(), "tacit-browser-"));
  const tool = path.join(target, "debug/tacit-web-tool");
  const { said } = await start(tool, ["serve", path.join(target, "web/site"), "127.0.0.1:0"], /\/\n/);
  site = said.trim();
  context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    viewport: DESKTOP,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
  context.setDefaultTimeout(PATIENCE);
});

after(async () => {
  await context?.close();
  started.forEach(stop);
  await rm(profile, { recursive: true, force: true });
});

async function open(address, where = context) {
  const page = await where.newPage();
  page.on("pageerror", (error) => console.error("page:", error.message));
  page.on("console", (line) => line.type() === "error" && console.error("console:", line.text()));
  await page.goto(address);
  return page;
}

/** Fails on what axe-core finds, in light and in dark. */
async function isAccessible(page) {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await page.evaluate(await (await import("node:fs/promises")).readFile(axe, "utf8"));
    const { violations } = await page.evaluate(() => globalThis.axe.run());
    const said = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`);
    assert.deepEqual(said, [], colorScheme);
  }
  await page.emulateMedia({ colorScheme: "light" });
}

async function picture(page, name) {
  if (!process.env.PICTURES) return;
  for (const [size, viewport] of Object.entries({ phone: PHONE, desktop: DESKTOP })) {
    await page.setViewportSize(viewport);
    const file = path.join(process.env.PICTURES, `${name}-${size}.png`);
    await page.screenshot({ path: file, fullPage: true });
  }
}

const AUCTION = `parties alice, bob;

main(bid: u32 of alice, offer: u32 of bob) -> (alice_wins: bool to both, price: u32 to both) {
    (bid >= offer, min(bid, offer))
}
`;

test("the playground checks as you type and evaluates in the clear", async () => {
  const page = await open(`${site}playground/`);
  await page.getByLabel("Text").fill(AUCTION.replace("bid >=", "bit >="));
  await page.locator("#problems li").waitFor();
  assert.match(await page.locator("#problems").innerText(), /bit/);
  assert.equal(await page.locator("#marks mark").innerText(), "bit");
  await page.getByLabel("Text").fill(AUCTION);
  await page.locator("#ports table").waitFor();
  assert.match(await page.locator("#ports").innerText(), /AND gates/);
  const clear = page.locator("#clear");
  await clear.getByLabel("bid").fill("7");
  await clear.getByLabel("offer").fill("9");
  await clear.getByRole("button").click();
  await page.locator("#clear-results table").waitFor();
  assert.match(await page.locator("#clear-results").innerText(), /price\s+7/);
  await clear.getByLabel("offer").fill("-1");
  await clear.getByRole("button").click();
  await page.locator("#clear-results .wrong").waitFor();
  await isAccessible(page);
  await picture(page, "playground");
  await page.close();
});

for (const protocol of ["direct", "authenticated"]) {
  test(`two tabs compute an auction by ${protocol}`, async () => {
    const tabs = [];
    for (const [role, input, value] of [
      ["garbler", "bid", "12"],
      ["evaluator", "offer", "30"],
    ]) {
      const page = await open(`${site}playground/?role=${role}`);
      await page.getByLabel("Text").fill(AUCTION);
      await page.locator("#ports table").waitFor();
      await page.getByLabel("You are").selectOption(role);
      await page.getByLabel("Secure against").selectOption(protocol);
      await page.locator("#run").getByLabel(input).fill(value);
      await page.getByRole("button", { name: "Run", exact: true }).click();
      tabs.push(page);
    }
    for (const page of tabs) {
      await page.locator("#run-results table, #run-results .wrong").first().waitFor();
      const results = await page.locator("#run-results").innerText();
      assert.match(results, /price\s+12/);
      assert.match(results, protocol === "direct" ? /semi-honest/ : /malicious/);
      await page.close();
    }
  });
}

test("a run that nobody joins is cancelled, and the next one works", async () => {
  const page = await open(`${site}playground/`);
  await page.locator("#ports table").waitFor();
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByText(/give the input/).waitFor();
  await page.locator("#run-inputs input").first().fill("5");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByText(/Waiting for the other tab/).waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByText(/cancelled/).waitFor();
  await page.close();
});

/** Chooses a square and sets this person's place; what the page says then. */
async function setPlace(page, square) {
  await page.getByRole("radio", { name: square, exact: true }).click();
  await page.getByRole("button", { name: "Set my place" }).click();
  const answer = page.locator("#answer");
  await answer.locator(".right, .wrong").waitFor();
  return answer.innerText();
}

test("three people find each other, and a server that is gone is told", async () => {
  const [generatorPort, cloudPort, pagePort] = [await freePort(), await freePort(), await freePort()];
  const { child, said } = await start("scripts/friend-finder", ["3"], /guest 3: .*\n/, {
    BUILT: "1",
    PROFILE: process.env.TACIT_PROFILE ?? "dev",
    GENERATOR_PORT: generatorPort,
    CLOUD_PORT: cloudPort,
    PAGE_PORT: pagePort,
    COPIES: "128",
  });
  const invitations = [...said.matchAll(/guest \d: (\S+)/g)].map((match) => match[1]);
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu"],
  });
  try {
    const people = [];
    for (const invitation of invitations) {
      const own = await browser.newContext({ viewport: PHONE });
      own.setDefaultTimeout(PATIENCE);
      people.push(await open(invitation, own));
    }
    const [first, second, third] = people;
    await first.getByText("You are guest 1.").waitFor();
    assert.doesNotMatch(first.url(), /invitation/);
    assert.match(await setPlace(first, "C4"), /You are in C4 now, and nobody else is/);
    assert.match(await setPlace(second, "C4"), /guest 1 is in C4! You did not move there/);
    assert.match(await setPlace(third, "D5"), /You are in D5 now/);
    // Who comes back after a reload is still somebody, and the map goes on from where it was.
    await second.reload();
    await second.getByText("You are guest 2.").waitFor();
    assert.match(await setPlace(second, "D5"), /guest 3 is in D5/);
    // By keyboard alone.
    await first.getByRole("radio", { name: "C4", exact: true }).press("ArrowRight");
    assert.equal(await first.getByRole("radio", { checked: true }).getAttribute("aria-label"), "D4");
    await isAccessible(first);
    await picture(first, "friend-finder");
    // The cloud is killed; the page says that it learnt nothing.
    const cloud = Number(/\(process (\d+)\) keep logs/.exec(said)[1]);
    process.kill(cloud, "SIGKILL");
    assert.match(await setPlace(third, "E6"), /Nothing was learnt, and nothing is kept of it/);
  } finally {
    await browser.close();
    stop(child);
  }
});

test("a page of another origin gets no WebSocket", async () => {
  // A page of this site, which no service allows, and one that does allow another.
  const port = await freePort();
  const folder = await mkdtemp(path.join(tmpdir(), "tacit-service-"));
  const { execFileSync } = await import("node:child_process");
  const { writeFile } = await import("node:fs/promises");
  const tacit = path.join(target, "debug/tacit");
  const keygen = (name) =>
    execFileSync(tacit, ["keygen", "--out", path.join(folder, name)], { stdio: "pipe" });
  keygen("own.key");
  const peer = keygen("peer.key").toString().trim();
  const configure = (origin) =>
    writeFile(
      path.join(folder, "tacit.toml"),
      `identity = "own.key"\n[peers]\npeer = { fingerprint = "${peer}" }\n[serve]\n` +
        `listen = "127.0.0.1:${port}"\nmetrics = ""\norigins = ["${origin}"]\n` +
        `[[serve.function]]\nfunction = "millionaires"\nparams = { bits = 32 }\nrole = "garbler"\n` +
        `inputs_command = ["echo", '{"a": 1}']\n`,
    );
  const page = await open(`${site}playground/`);
  const ask = () =>
    page.evaluate(async (url) => {
      const socket = new WebSocket(url, "tacit");
      const opened = await new Promise((resolve) => {
        socket.onopen = () => resolve(true);
        socket.onerror = () => resolve(false);
      });
      socket.close();
      return opened;
    }, `ws://127.0.0.1:${port}`);
  for (const [origin, expected] of [
    ["https://page.example", false],
    [new URL(site).origin, true],
  ]) {
    await configure(origin);
    const config = path.join(folder, "tacit.toml");
    const service = spawn(tacit, ["serve", "--config", config], { cwd: folder, stdio: "pipe" });
    await new Promise((resolve) => service.stderr.once("data", resolve));
    assert.equal(await ask(), expected, origin);
    service.kill();
    await new Promise((resolve) => service.once("exit", resolve));
  }
  await page.close();
  await rm(folder, { recursive: true, force: true });
});
