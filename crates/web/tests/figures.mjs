// What the browser does in which time, as one record in JSON; run by scripts/web figures.
//   node figures.mjs release [PART]...   all parts unless some are named
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { run } from "./runs.mjs";
import {
  browse,
  join,
  open,
  person,
  servePages,
  serveTable,
  site,
  startFriendFinder,
  stop,
  stopAll,
} from "./scene.mjs";

const RUNS = 5;

/** The median, least and greatest of some numbers. */
function spread(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const round = (number) => Number(number.toFixed(3));
  return {
    median: round(sorted[sorted.length >> 1]),
    least: round(sorted[0]),
    greatest: round(sorted.at(-1)),
  };
}

/** Bytes of what a page loads, as they are and each file compressed by itself. */
function sizesOf(isLoaded) {
  const files = readdirSync(path.join(site, "tacit")).filter((name) => /\.(js|wasm)$/.test(name));
  const loaded = files.filter(isLoaded);
  const bytes = loaded.map((name) => readFileSync(path.join(site, "tacit", name)));
  const sum = (sizes) => sizes.reduce((sum, size) => sum + size, 0);
  return {
    bytes: sum(bytes.map((one) => one.length)),
    gzip_bytes: sum(bytes.map((one) => gzipSync(one, { level: 9 }).length)),
  };
}

/** Bytes of a page with programs, and of one without. */
const sizes = () => ({
  with_programs: sizesOf((name) => !/^(tacit_lean|lean-worker)/.test(name)),
  without_programs: sizesOf((name) => !/^(tacit_web|worker\.js)/.test(name)),
});

/** From the address to a program that is checked and can be run, in fresh profiles. */
async function firstUse(browser, address) {
  const times = [];
  for (let run = 0; run < RUNS; run++) {
    const context = await person(browser);
    const begun = performance.now();
    const page = await open(context, `${address}playground/`);
    await page.locator("#start:enabled").waitFor();
    times.push(performance.now() - begun);
    await context.close();
  }
  return spread(times);
}

async function speeds(browser, address) {
  const context = await person(browser);
  const page = await open(context, `${address}playground/`);
  const found = [];
  for (let run = 0; run < RUNS; run++) {
    const measure = async () => {
      const { Tacit } = await import("/tacit/tacit.js");
      const tacit = new Tacit();
      const found = await tacit.speed(1000);
      tacit.close();
      return found;
    };
    found.push(await page.evaluate(measure));
  }
  await context.close();
  return {
    backend: found[0].backend,
    garble_mands_per_s: spread(found.map((one) => one.garble_mands_per_s)),
    evaluate_mands_per_s: spread(found.map((one) => one.evaluate_mands_per_s)),
  };
}

/** Sets the place that is chosen; how long that takes the page, in seconds. */
function moveTime(page) {
  return page.evaluate(async () => {
    const answer = document.getElementById("answer");
    const begun = performance.now();
    document.getElementById("set").click();
    while (!answer.querySelector(".right, .wrong")) {
      const changed = (tell) => new MutationObserver(tell).observe(answer, { childList: true });
      await new Promise(changed);
    }
    return (performance.now() - begun) / 1000;
  });
}

/** Moves on a map, from the button to the answer; the first after the page was opened by itself. */
async function moves(browser, cells, profile) {
  const finder = await startFriendFinder(1, { PROFILE: profile, CELLS: String(cells) });
  const page = await join(await person(browser), finder.invitations[0]);
  const times = [];
  for (const square of ["A1", "B1", "C1", "D1", "E1", "F1"]) {
    await page.getByRole("radio", { name: square, exact: true }).click();
    // People take longer.
    await new Promise((resolve) => setTimeout(resolve, 500));
    times.push(await moveTime(page));
    await page.getByText(`You are in ${square} now`).waitFor();
  }
  await stop(finder.script);
  const [first, ...later] = times;
  return { cells, copies: 256, first_seconds: Number(first.toFixed(3)), seconds: spread(later) };
}

/** Matches 500 keys of a page with 100,000 of a service; the first in fresh workers by itself. */
async function matches(browser, address) {
  const page = await open(await person(browser), `${address}style.css`);
  const make = async () => {
    const { Tacit } = await import("/tacit/tacit.js");
    globalThis.tacit = new Tacit();
    globalThis.identity = await tacit.generateIdentity();
    return tacit.fingerprint(globalThis.identity);
  };
  const peer = await page.evaluate(make);
  const keys = Array.from({ length: 100_000 }, (_, number) => `${number}@example.org`);
  const service = await serveTable({ keys, keysPerDay: 1_000_000, peer, address });
  const found = [];
  for (let run = 0; run <= RUNS; run++) {
    const match = async ({ url, peer, keys }) => {
      const begun = performance.now();
      const order = { keys, normalize: "email", identity: globalThis.identity, peer };
      const { common, phases } = await globalThis.tacit.match({ url }, order);
      const bytes = phases.map((phase) => phase.sent_bytes + phase.received_bytes);
      const sum = bytes.reduce((sum, count) => sum + count, 0);
      return { common: common.length, bytes: sum, ms: performance.now() - begun };
    };
    const { url, fingerprint } = service;
    const own = keys.slice(0, 250).concat(keys.slice(0, 250).map((key) => `x${key}`));
    found.push(await page.evaluate(match, { url, peer: fingerprint, keys: own }));
  }
  const [first, ...later] = found;
  return { ...first, ms: spread(later.map(({ ms }) => ms)), first_ms: first.ms };
}

const [servers = "dev", ...only] = process.argv.slice(2);
const browser = await browse();
try {
  const address = await servePages(site);
  const parts = {
    sizes,
    first_use_ms: () => firstUse(browser, address),
    speeds: () => speeds(browser, address),
    match_500_by_100000: () => matches(browser, address),
    run_of_evaluator: () => run(address, "evaluator"),
    run_of_garbler: () => run(address, "garbler"),
    moves_256: () => moves(browser, 256, servers),
    moves_2048: () => moves(browser, 2048, servers),
  };
  const record = {
    cpu: os.cpus()[0].model,
    cpus: os.cpus().length,
    load_before: os.loadavg()[0],
    browser: browser.version(),
    servers,
    commit: execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).trim(),
  };
  for (const [name, measure] of Object.entries(parts)) {
    if (only.length === 0 || only.includes(name)) record[name] = await measure();
  }
  record.load_after = os.loadavg()[0];
  console.log(JSON.stringify(record, null, 2));
} finally {
  await browser.close();
  await stopAll();
}
