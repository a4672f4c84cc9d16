// The starter project, made by its README in a folder of its own, in Chromium with a real service.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cp, mkdtemp, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { browse, isAccessible, open, person, root, serveTable, site, start, stopAll } from "./scene.mjs";

let browser;

after(async () => {
  await browser?.close();
  await stopAll();
});

/** Installs the project with the package in a folder of its own; what runs npm there. */
async function installed(folder) {
  await cp(path.join(root, "examples/web-contacts"), folder, { recursive: true });
  const npm = (...args) => execFileSync("npm", args, { cwd: folder, encoding: "utf8" }).trim();
  const packed = npm("pack", "--silent", path.join(site, "tacit"));
  npm("install", "--no-audit", "--no-fund", "--silent", `./${packed}`);
  return npm;
}

test("the starter project finds contacts, and says what is wrong", async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), "tacit-starter-"));
  const npm = await installed(folder);
  npm("run", "build");
  const vite = path.join(folder, "node_modules/.bin/vite");
  const args = ["preview", "--port", "0", "--host", "127.0.0.1"];
  const preview = await start(vite, args, /http:\/\/127\.0\.0\.1:\d+/, { cwd: folder });
  const address = preview.said[0];
  browser = await browse();
  const page = await open(await person(browser), address);
  await page.locator("#find:enabled").waitFor();
  const peer = await page.locator("#me").innerText();
  const table = ["ann@example.org", "zoe@example.org"];
  const { url, fingerprint } = await serveTable({ keys: table, keysPerDay: 300, peer, address });
  const named = `VITE_TACIT_URL=${url}\nVITE_TACIT_PEER=${fingerprint}\n`;
  await writeFile(path.join(folder, ".env.local"), named);
  npm("run", "build");
  await page.reload();
  await isAccessible(page, "starter");
  const contacts = page.getByLabel("E-mail addresses, one a line");
  await contacts.fill("Ann@example.org, bob@example.org\nzoe@Example.org");
  await page.getByRole("button", { name: "Find" }).click();
  await page.getByText("2 contacts are members.").waitFor();
  const found = await page.locator("#found li").allInnerTexts();
  assert.deepEqual(found, ["Ann@example.org", "zoe@Example.org"]);
  await page.getByRole("button", { name: "Find" }).click();
  await page.getByText(/as many addresses as the service allows today/).waitFor();
});
