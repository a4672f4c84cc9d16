// The documentation as pages, in Chromium.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cp, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import {
  PHONE,
  browse,
  isAccessible,
  open,
  person,
  root,
  servePages,
  site,
  stopAll,
  typed,
} from "./scene.mjs";

const tools = path.resolve(site, "../site-tools");
let address;
let browser;

before(async () => {
  address = await servePages(site);
  browser = await browse();
});

after(async () => {
  await browser?.close();
  await stopAll();
});

test("search finds a section, by words that begin as those of the page", async () => {
  const page = await open(await person(browser), `${address}docs/`);
  await page.getByLabel("Search").fill("playgr");
  await page.getByRole("link", { name: "The playground · In the browser" }).click();
  await page.waitForURL(/web\.html#the-playground$/);
  assert.match(await page.locator("h1").innerText(), /In the browser/);
  assert.equal(await page.getByLabel("Pages").getByText("In the browser").count(), 1);
  await page.getByLabel("Search").fill("zzzzqqqq");
  await page.getByText("Nothing was found").waitFor();
  await page.context().close();
});

test("pages are readable with a phone, in light and dark, and without a mouse", async () => {
  const page = await open(await person(browser, PHONE), `${address}docs/first-tasks.html`);
  await isAccessible(page, "docs-first-tasks");
  for (const name of ["first-tasks", "language", "operate", "protocols/authenticated"]) {
    await page.goto(`${address}docs/${name}.html`);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.equal(width, PHONE.width, name);
  }
  await isAccessible(page, "docs-authenticated");
  await page.context().close();
});

test("every program on a page opens in the playground, and is right", async () => {
  const page = await open(await person(browser), `${address}docs/language.html`);
  const files = await readdir(path.join(site, "docs"), { recursive: true });
  const links = new Set();
  for (const file of files.filter((name) => name.endsWith(".html"))) {
    const html = await readFile(path.join(site, "docs", file), "utf8");
    for (const [, hash] of html.matchAll(/class="try" href="[^"#]*(#[^"]*)"/g)) links.add(hash);
  }
  assert.ok(links.size >= 30, `${links.size} programs`);
  const wrong = await page.evaluate(
    async (links) => {
      const { Tacit } = await import("/tacit/tacit.js");
      const { unpacked } = await import("/playground/share.js");
      const tacit = new Tacit();
      const found = [];
      for (const link of links) {
        const program = await unpacked(link);
        for (const { at, message } of await tacit.check(program)) {
          found.push(`${message} (line ${at.line} of ${program.text.slice(0, 80)})`);
        }
      }
      return found;
    },
    [...links],
  );
  assert.deepEqual(wrong, []);
  await page.locator(".code", { hasText: "gap.tacit" }).getByRole("link").click();
  await page.locator("#start:enabled").waitFor();
  assert.match(await typed(page), /Whether two salaries differ/);
  await page.context().close();
});

test("a link that leads nowhere, or a page that nobody finds, is refused", async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), "tacit-docs-"));
  const out = path.join(folder, "out");
  const make = () => {
    const options = { cwd: tools, encoding: "utf8", stdio: "pipe" };
    execFileSync(process.execPath, ["make.mjs", "docs", folder, out], options);
  };
  const stdout = execFileSync("git", ["ls-files"], { cwd: root, encoding: "utf8" });
  const kept = stdout
    .split("\n")
    .filter((name) => /\.(md|svg|tsv|tacit|json)$|^LICENSE|\.rs$/.test(name));
  for (const name of kept) await cp(path.join(root, name), path.join(folder, name));
  make();
  const guide = path.join(folder, "docs/plan.md");
  const text = await readFile(guide, "utf8");
  for (const [link, said] of [
    ["[x](nowhere.md)", /docs\/plan\.md: nowhere\.md leads to no file/],
    ["[x](guide.md#nowhere)", /docs\/plan\.md: docs\/guide\.md has no heading for #nowhere/],
    ["[x](../../etc/passwd)", /leads to no file/],
  ]) {
    await writeFile(guide, `${text}\n${link}\n`);
    assert.throws(make, ({ stderr }) => said.test(stderr), link);
  }
  await writeFile(guide, text);
  await writeFile(path.join(folder, "docs/lost.md"), "# Lost\n");
  assert.throws(make, ({ stderr }) => /contents\.json lacks lost\.md/.test(stderr));
  await rm(folder, { recursive: true });
});
