// The starter projects, each made by its README in a folder of its own, in Chromium.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cp, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import {
  browse,
  isAccessible,
  open,
  person,
  root,
  site,
  start,
  startRelay,
  stopAll,
  tacit,
  until,
} from "./scene.mjs";

let browser;

before(async () => {
  browser = await browse();
});

after(async () => {
  await browser?.close();
  await stopAll();
});

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A project with the package in a folder of its own; `serve` builds its pages with these settings. */
async function installed(name) {
  const folder = await mkdtemp(path.join(os.tmpdir(), `tacit-${name}-`));
  await cp(path.join(root, "examples", name), folder, { recursive: true });
  const npm = (...args) => execFileSync("npm", args, { cwd: folder, encoding: "utf8" }).trim();
  const packed = npm("pack", "--silent", path.join(site, "tacit"));
  npm("install", "--no-audit", "--no-fund", "--silent", `./${packed}`);
  const port = await freePort();
  const serve = async (settings) => {
    const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`);
    await writeFile(path.join(folder, ".env.local"), lines.join(""));
    npm("run", "build");
    const vite = path.join(folder, "node_modules/.bin/vite");
    const args = ["preview", "--port", String(port), "--strictPort", "--host", "127.0.0.1"];
    await start(vite, args, /http:\/\/127\.0\.0\.1:\d+/, { cwd: folder });
  };
  return { folder, address: `http://127.0.0.1:${port}`, serve };
}

/** Changes texts of a file. */
async function edit(file, changes) {
  let text = await readFile(file, "utf8");
  for (const [before, now] of Object.entries(changes)) {
    assert.ok(text.includes(before), before);
    text = text.replace(before, now);
  }
  await writeFile(file, text);
}

test("the contacts: a user is let in by a token, finds contacts, and learns what is wrong", async () => {
  const { folder, address, serve } = await installed("web-contacts");
  const keygen = ["keygen", "--out", path.join(folder, "service/service.key")];
  const peer = execFileSync(tacit, keygen, { encoding: "utf8", stdio: "pipe" }).trim();
  const listen = `127.0.0.1:${await freePort()}`;
  await edit(path.join(folder, "service/service.toml"), {
    "127.0.0.1:7000": listen,
    "http://localhost:5173": address,
    "keys_per_day = 5000": "keys_per_day = 300",
  });
  await serve({ VITE_TACIT_URL: `ws://${listen}`, VITE_TACIT_PEER: peer });
  const page = await open(await person(browser), address);
  await page.locator("#find:enabled").waitFor();
  await isAccessible(page, "contacts");
  const contacts = page.getByLabel("E-mail addresses, one a line");
  await contacts.fill("Ann@example.org, bob@example.org\nzoe@Example.org");
  await page.getByRole("button", { name: "Find" }).click();
  await page.getByText(/The service cannot be reached/).waitFor();
  const service = ["serve", "--config", "service/service.toml"];
  await start(tacit, service, /listening/, { cwd: folder });
  await page.getByRole("button", { name: "Find" }).click();
  await page.getByText("2 contacts are members.").waitFor();
  const found = await page.locator("#found li").allInnerTexts();
  assert.deepEqual(found, ["Ann@example.org", "zoe@Example.org"]);
  await isAccessible(page, "contacts-found");
  // The same user in another browser.
  const other = await open(await person(browser), address);
  await other.getByLabel("E-mail addresses, one a line").fill("ann@example.org");
  await other.getByRole("button", { name: "Find" }).click();
  await other.getByText(/as many addresses as the service allows today/).waitFor();
  // Somebody whom the site's login does not know.
  await page.route("**/token*", (route) => route.fulfill({ status: 401 }));
  await page.getByRole("button", { name: "Find" }).click();
  await page.getByText("Log in to the site, and try again.").waitFor();
  await page.unroute("**/token*");
  await page.route("**/token*", (route) => route.fulfill({ body: "a.b.c" }));
  await page.getByRole("button", { name: "Find" }).click();
  await page.getByText(/The service does not let you in/).waitFor();
  await isAccessible(page, "contacts-refused");
});

/** What the QR code of a page says. */
async function decoded(page, folder) {
  const { default: decode } = await import(path.join(folder, "node_modules/qr/decode.js"));
  const image = await page.locator("#code").evaluate(async (shown) => {
    await shown.decode();
    const canvas = new OffscreenCanvas(512, 512).getContext("2d");
    canvas.fillStyle = "white";
    canvas.fillRect(0, 0, 512, 512);
    canvas.drawImage(shown, 16, 16, 480, 480);
    return [...canvas.getImageData(0, 0, 512, 512).data];
  });
  return decode({ width: 512, height: 512, data: Uint8ClampedArray.from(image) });
}

/** The link that a page shows, once that is another one. */
async function newLink(page, before) {
  const link = page.getByLabel("Send this link to one person");
  await until(async () => (await link.inputValue()) !== before, "a new link");
  return link.inputValue();
}

async function bid(page, amount) {
  await page.getByLabel("Your bid").fill(String(amount));
  await page.getByRole("button", { name: "Bid", exact: true }).click();
}

test("the auction: two visitors meet by a link, bid, and both learn winner and price", async () => {
  const { folder, address, serve } = await installed("web-auction");
  const { port } = await startRelay(address);
  await serve({ VITE_TACIT_RELAY: `ws://127.0.0.1:${port}` });
  const host = await open(await person(browser), address);
  const invite = host.getByRole("button", { name: "Invite somebody" });
  await invite.waitFor();
  await isAccessible(host, "auction-start");
  // An invitation is withdrawn, and of no use then.
  await invite.click();
  const withdrawn = await newLink(host, "");
  await host.getByRole("button", { name: "Cancel" }).click();
  await host.getByText("Cancelled.").waitFor();
  await invite.click();
  const link = await newLink(host, withdrawn);
  assert.equal(await decoded(host, folder), link);
  await isAccessible(host, "auction-link");
  const guest = await open(await person(browser), withdrawn);
  await guest.getByRole("button", { name: "Accept" }).click();
  await guest.getByText(/Nobody waits for this link/).waitFor();
  await guest.goto(link);
  await guest.getByRole("button", { name: "Accept" }).waitFor();
  assert.equal(new URL(guest.url()).hash, "");
  await isAccessible(guest, "auction-invited");
  await guest.getByRole("button", { name: "Accept" }).click();
  for (const page of [host, guest]) await page.getByText("The other person is here.").waitFor();
  await isAccessible(guest, "auction-bid");
  await bid(host, 12);
  await host.getByText("Waiting for the other bid…").waitFor();
  await isAccessible(host, "auction-waiting");
  // A bid may be taken back as long as the other person has not bid.
  await host.getByRole("button", { name: "Cancel" }).click();
  await host.getByText("Cancelled.").waitFor();
  for (const [bids, won, lost] of [
    [[40, 30], host, guest],
    [[7, 31], guest, host],
    [[8, 8], host, guest],
  ]) {
    await Promise.all([bid(host, bids[0]), bid(guest, bids[1])]);
    const price = Math.min(...bids);
    await won.getByText(`You win, and pay ${price}.`).waitFor();
    await lost.getByText(`The other person wins, and pays ${price}.`).waitFor();
  }
  await isAccessible(guest, "auction-lost");
  const damaged = await open(await person(browser), link.slice(0, -3));
  await damaged.getByRole("button", { name: "Accept" }).click();
  await damaged.getByText(/This link is damaged/).waitFor();
});
