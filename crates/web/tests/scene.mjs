// What the tests of pages share: processes, a browser, a way to a server that can be stopped.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { connect, createServer } from "node:net";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const target = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
export const root = process.env.TACIT_ROOT ?? path.resolve(target, "..");
export const built = (name) => path.join(target, "debug", name);
/** The command: TACIT, or the one of the same build as the tests. */
export const tacit = process.env.TACIT ?? built("tacit");
export const site = path.join(target, "web/site");

/** The longest that anything may take on a machine that is busy. */
const PATIENCE = Number(process.env.PATIENCE ?? 120_000);
const SIZES = { phone: { width: 390, height: 844 }, desktop: { width: 1280, height: 900 } };
export const PHONE = SIZES.phone;
/** A phone whose browser keeps its bars in view. */
export const SHORT_PHONE = { width: 390, height: 664 };

const started = [];

// Whatever ends the tests ends what they started.
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));
process.on("exit", () => {
  for (const { pid, exitCode, signalCode } of started) {
    if (exitCode === null && signalCode === null) process.kill(-pid, "SIGTERM");
  }
});

/** Starts a process; resolves once it has said what `ready` matches, which is then its `said`. */
export function start(command, args, ready, { cwd = root, env = {} } = {}) {
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...env },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  started.push(child);
  child.ended = new Promise((resolve) => child.on("exit", resolve));
  child.told = "";
  return new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (text) => {
        child.told += text;
        child.said = ready.exec(child.told);
        if (child.said) resolve(child);
      });
    }
    child.on("error", reject);
    child.ended.then((code) => reject(new Error(`${command} ended with ${code}: ${child.told}`)));
  });
}

export async function stop(child, signal = "SIGTERM") {
  if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid, signal);
  await child.ended;
}

export async function stopAll() {
  await Promise.all(started.map((child) => stop(child)));
}

/** Waits until `condition` holds. */
export async function until(condition, what) {
  const end = Date.now() + PATIENCE;
  while (!(await condition())) {
    assert.ok(Date.now() < end, `in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** A friend finder for so many people: its process, its folder, and an invitation for each. */
export async function startFriendFinder(people, env) {
  const last = new RegExp(`guest ${people}: .*\\n`);
  const script = await start("scripts/friend-finder", [String(people)], last, {
    env: { BUILT: "1", GENERATOR_PORT: "0", CLOUD_PORT: "0", PAGE_PORT: "0", ...env },
  });
  return {
    script,
    folder: /keep logs in (\S+)\.\s/.exec(script.told)[1],
    cloud: Number(/cloud \(process (\d+)\)/.exec(script.told)[1]),
    invitations: [...script.told.matchAll(/guest \d: (\S+)/g)].map((match) => match[1]),
  };
}

/** Pages of a folder, at an origin of their own. */
export async function servePages(pages) {
  const tool = built("tacit-web-tool");
  const child = await start(tool, ["serve", pages, "127.0.0.1:0"], /http\S+\/\n/);
  return child.said[0].trim();
}

/** The same without the headers that isolate a page, as most servers send it. */
export async function serveBare(pages) {
  const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };
  const server = createHttpServer(async ({ url }, answer) => {
    const name = url.endsWith("/") ? `${url}index.html` : url;
    try {
      const body = await readFile(path.join(pages, path.normalize(name)));
      answer
        .writeHead(200, { "Content-Type": types[path.extname(name)] ?? "text/plain" })
        .end(body);
    } catch {
      answer.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  return `http://127.0.0.1:${server.address().port}/`;
}

/** A relay for pages of `address`, and its port. */
export async function startRelay(address, ...more) {
  const args = ["relay", "--listen", "127.0.0.1:0", "--origins", new URL(address).origin, ...more];
  const relay = await start(tacit, args, /listening on \S*:(\d+)\n/);
  return { relay, port: Number(relay.said[1]) };
}

/** The identity of a command: a folder with its key, and its fingerprint. */
export async function makeCommand() {
  const cwd = await mkdtemp(path.join(os.tmpdir(), "tacit-web-"));
  const keygen = ["keygen", "--out", path.join(cwd, "identity.key")];
  const fingerprint = execFileSync(tacit, keygen, { encoding: "utf8", stdio: "pipe" }).trim();
  return { cwd, fingerprint };
}

/** A command that will run a program as `party` with `peer`, by the relay at a port. */
export async function commandAtRelay({ text, party, peer, input, port, protocol }) {
  const { cwd, fingerprint } = await makeCommand();
  await writeFile(path.join(cwd, "program.tacit"), text);
  const args = ["run", "program.tacit", "--as", party, "--input", input, "--peer", peer];
  const how = ["--identity", "identity.key", "--protocol", protocol];
  const where = ["--relay", `127.0.0.1:${port}`];
  const run = start(tacit, [...args, ...how, ...where], /waiting for the other party/, { cwd });
  return { fingerprint, command: await run };
}

/** The name of services in the tokens of a site's login. */
export const AUDIENCE = "https://tables.example";

/** What a service's configuration says of those for whom its offer is. */
function knows({ peer, login }) {
  if (peer) return [`[peers.page]\nfingerprint = "${peer}"`, ""];
  const site = `[[serve.visitors]]
name = "members"
key_file = "login.pub.pem"
audience = "${AUDIENCE}"
semi_honest = true`;
  return [site, `peers = ["members"]\nrate = "${login.rate}"`];
}

/**
 * A service for pages of `address`, with these files, limits and offer. It knows `peer`, or lets in
 * visitors who come by the `login` of a site: its `publicKey`, and the `rate` of each visitor.
 */
async function serve({ address, ...who }, files, limits, offer) {
  const { cwd, fingerprint } = await makeCommand();
  const [known, theirs] = knows(who);
  const key = who.login?.publicKey.export({ type: "spki", format: "pem" }) ?? "";
  const all = { ...files, "login.pub.pem": key };
  for (const [name, text] of Object.entries(all)) await writeFile(path.join(cwd, name), text);
  const config = `identity = "identity.key"
[stock]
folder = "stock"
[serve]
listen = "127.0.0.1:0"
origins = ["${new URL(address).origin}"]
metrics = ""
${limits}
${known}
${offer}
${theirs}
`;
  await writeFile(path.join(cwd, "service.toml"), config);
  const args = ["serve", "--config", "service.toml"];
  const service = await start(tacit, args, /listening address=(\S*)/, { cwd });
  return { url: `ws://${service.said[1]}`, fingerprint, service };
}

/** So often 64 bits times 64 bits, which takes 70 kB of tables; the step is compiled once. */
export const large = (times) => `parties alice, bob;

component fn step(power: u64, a: u64, b: u64) -> u64 {
    power * b + a
}

main(a: u64 of alice, b: u64 of bob) -> (power: u64 to both) {
    let mut power = a;
    for i in 0..${times} { power = step(power, a, b); }
    power
}
`;

/** A service that plays `role` in a program with `peer`, for pages of `address`. */
export function serveProgram({ text, role, inputs, ...who }) {
  const files = { "served.tacit": text, "inputs.json": JSON.stringify(inputs) };
  const protocols = who.login ? ["direct"] : ["direct", "authenticated"];
  const offer = `[[serve.function]]
function = "served.tacit"
role = "${role}"
protocols = ${JSON.stringify(protocols)}
inputs_file = "inputs.json"`;
  return serve(who, files, "", offer);
}

/** A service that holds a table of addresses, and answers each visitor so many of them on a day. */
export function serveTable({ keys, keysPerDay, ...who }) {
  const files = { "table.csv": ["email", ...keys, ""].join("\n") };
  const offer = `[[serve.match]]
table = "table.csv:email"
normalize = "email"
to = "peer"`;
  return serve(who, files, `keys_per_day = ${keysPerDay}`, offer);
}

/** The browser of the tests. */
export const CHROMIUM = {
  path: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
};

export const browse = () =>
  chromium.launch({
    executablePath: CHROMIUM.path,
    headless: true,
    timeout: PATIENCE,
    args: CHROMIUM.args,
  });

/** A person's browser profile, in which no test waits for long. */
export async function person(browser, viewport = SIZES.desktop) {
  const context = await browser.newContext({ viewport });
  context.setDefaultTimeout(PATIENCE);
  return context;
}

export async function open(context, address) {
  const page = await context.newPage();
  page.on("pageerror", (error) => console.error("page:", error.message));
  page.on("console", (line) => line.type() === "error" && console.error("console:", line.text()));
  await page.goto(address);
  return page;
}

/** The editor of the playground. */
export const editor = (page) => page.getByRole("textbox", { name: "Text of the program" });

/** Puts a program into the editor, as by copy and paste. */
export async function paste(page, text) {
  await editor(page).press("Control+a");
  await editor(page).evaluate((content, text) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", text);
    content.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true }));
  }, text);
}

/** The text in the editor. */
export const typed = (page) =>
  editor(page).evaluate(async (content) => {
    const { EditorView } = await import("/playground/codemirror.js");
    return EditorView.findFromDOM(content).state.doc.toString();
  });

/** Opens an invitation, and takes it. */
export async function join(context, invitation) {
  const page = await open(context, invitation);
  await page.getByRole("button", { name: "Accept" }).click();
  await page.getByText(/You are guest \d\./).waitFor();
  return page;
}

/** Keeps a picture of a page where PICTURES says. */
export async function picture(page, name) {
  if (!process.env.PICTURES) return;
  const file = path.join(process.env.PICTURES, `${name}.png`);
  await page.screenshot({ path: file, fullPage: true });
}

/** Fails on what axe-core finds, in light and in dark; keeps pictures where PICTURES says. */
export async function isAccessible(page, name) {
  await page.evaluate(await readFile(axe, "utf8"));
  const before = page.viewportSize();
  for (const [size, viewport] of Object.entries(SIZES)) {
    await page.setViewportSize(viewport);
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await picture(page, `${name}-${size}-${colorScheme}`);
      const { violations } = await page.evaluate(() => globalThis.axe.run({ preload: false }));
      const said = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`);
      assert.deepEqual(said, [], `${name}, ${size}, ${colorScheme}`);
    }
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize(before);
}

/** A way to the server at a port of this machine, on which nothing passes while it is held. */
export class Gate {
  #links = new Set();
  #left = Infinity;
  #reached = () => {};
  /** Which sockets of a link are held: both, or the one that leads to the page. */
  #holds = (link) => link;

  static async to(port) {
    const gate = new Gate();
    gate.target = port;
    gate.bytes = 0;
    gate.joined = 0;
    const server = createServer((near) => gate.#join(near));
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    server.unref();
    gate.port = server.address().port;
    return gate;
  }

  /** Holds everything once the server has sent this many bytes more; resolves when it has. */
  holdAfter(bytes) {
    this.#left = bytes;
    return new Promise((resolve) => (this.#reached = resolve));
  }

  /** The same, but what the server sends still passes: it hears nothing. */
  deafenAfter(bytes) {
    this.#holds = ([near]) => [near];
    return this.holdAfter(bytes);
  }

  /** Lets everything pass again. */
  release() {
    this.#left = Infinity;
    this.#holds = (link) => link;
    for (const link of this.#links) {
      for (const socket of link) socket.resume();
    }
  }

  #join(near) {
    const far = connect(this.target, "127.0.0.1");
    const link = [near, far];
    this.joined += 1;
    this.#links.add(link);
    far.on("data", (data) => {
      this.bytes += data.length;
      this.#left -= data.length;
      near.write(data);
      if (this.#left > 0) return;
      this.#reached();
      for (const held of this.#links) {
        for (const socket of this.#holds(held)) socket.pause();
      }
    });
    near.on("data", (data) => far.write(data));
    for (const [one, other] of [link, [far, near]]) {
      one.on("error", () => {});
      one.on("close", () => {
        other.destroy();
        this.#links.delete(link);
      });
    }
  }
}
