// Runs of a page with a service, measured: rate, CPU time and memory, next to those of the command.
import { execFile, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { CHROMIUM, large, makeCommand, serveProgram, stop, tacit } from "./scene.mjs";

/** Steps of the program that is run: 100 million AND gates, which take 3.2 GB of tables. */
const STEPS = Number(process.env.STEPS ?? 46_000);
const PARTIES = { garbler: ["alice", { a: 2 }], evaluator: ["bob", { b: 3 }] };
const OTHER = { garbler: "evaluator", evaluator: "garbler" };
/** What takes less than this of the CPU is not told, in seconds. */
const LITTLE = 0.2;
/** Clock ticks a second, in which Linux counts CPU time. */
const TICKS = 100;

/** A process or a thread in /proc: its name, its parent, and its CPU seconds. */
function task(folder) {
  const [, name, rest] = /^\d+ \((.*)\) (.*)$/s.exec(readFileSync(`${folder}/stat`, "utf8"));
  const [, parent, ...fields] = rest.split(" ");
  return { name, parent: Number(parent), cpu: (Number(fields[9]) + Number(fields[10])) / TICKS };
}

const isNumber = (name) => /^\d+$/.test(name);

/** The threads of a page, or a process of another kind, with the most memory that it ever had. */
function tasks(pid) {
  const folder = `/proc/${pid}`;
  const mib = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`${folder}/status`, "utf8"))?.[1] ?? 0) / 1024;
  const isPage = readFileSync(`${folder}/cmdline`, "utf8").includes("--type=renderer");
  if (!isPage) return [[pid, { ...task(folder), mib }]];
  const threads = readdirSync(`${folder}/task`).map((id) => [id, task(`${folder}/task/${id}`)]);
  return threads.map(([id, { name, cpu }]) => [id, { name: `page: ${name}`, cpu, mib }]);
}

/** What processes that this one started have used so far, those of a page by thread. */
function used() {
  const all = new Map();
  for (const pid of readdirSync("/proc").filter(isNumber)) {
    try {
      all.set(Number(pid), task(`/proc/${pid}`).parent);
    } catch {
      // It has ended.
    }
  }
  const isOurs = (pid) => all.get(pid) === process.pid || (all.has(pid) && isOurs(all.get(pid)));
  const ours = [...all.keys()].filter(isOurs);
  return ours.flatMap((pid) => {
    try {
      return tasks(String(pid));
    } catch {
      return [];
    }
  });
}

/** Does work; how long it took, and what each process or thread used of the CPU. */
async function measured(work) {
  const before = new Map(used());
  const last = new Map();
  const look = () => used().forEach(([id, task]) => last.set(id, task));
  const timer = setInterval(look, 250);
  const begun = performance.now();
  const done = await work();
  const ms = performance.now() - begun;
  look();
  clearInterval(timer);
  const rows = [...last].map(([id, { name, cpu, mib }]) => ({
    name,
    cpu_seconds: Number((cpu - (before.get(id)?.cpu ?? 0)).toFixed(2)),
    largest_mib: Math.round(mib),
  }));
  const busy = rows.filter((row) => row.cpu_seconds > LITTLE);
  return { done, ms, used: busy.toSorted((a, b) => b.cpu_seconds - a.cpu_seconds) };
}

/**
 * A browser, and what calls a function in its one page, at `address`. Playwright has the browser
 * tell it each message of a WebSocket, which takes several times as long as the run.
 */
async function bareBrowser(address) {
  const folder = mkdtempSync(path.join(os.tmpdir(), "tacit-web-"));
  const own = ["--headless", "--remote-debugging-pipe", `--user-data-dir=${folder}`, address];
  const stdio = ["ignore", "ignore", "ignore", "pipe", "pipe"];
  const child = spawn(CHROMIUM.path, [...CHROMIUM.args, ...own], { stdio });
  const [, , , to, from] = child.stdio;
  const answers = new Map();
  let said = "";
  from.setEncoding("utf8").on("data", (text) => {
    const messages = (said + text).split("\0");
    said = messages.pop();
    for (const { id, result, error } of messages.map((one) => JSON.parse(one))) {
      answers.get(id)?.(result ?? { exceptionDetails: { text: error?.message } });
    }
  });
  const ask = (method, params = {}, sessionId) => {
    const id = answers.size + 1;
    to.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return new Promise((resolve) => answers.set(id, resolve));
  };
  let target;
  while (!target) {
    const { targetInfos } = await ask("Target.getTargets");
    target = targetInfos.find(({ url }) => url === address);
  }
  const { targetId } = target;
  const { sessionId } = await ask("Target.attachToTarget", { targetId, flatten: true });
  const evaluate = (how) => ask("Runtime.evaluate", how, sessionId);
  const loaded = `location.href === "${address}" && document.readyState === "complete"`;
  const isLoaded = { expression: loaded };
  while (!(await evaluate(isLoaded)).result?.value) await new Promise(setImmediate);
  const call = async (work, given) => {
    const expression = `(${work})(${JSON.stringify(given)})`;
    const how = { expression, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails: wrong } = await evaluate(how);
    if (wrong) throw new Error(`${wrong.text} ${wrong.exception?.description}`);
    return result.value;
  };
  const ended = new Promise((resolve) => child.on("exit", resolve));
  const close = async () => {
    ask("Browser.close");
    await ended;
  };
  return { call, close };
}

/** The same run of the command. */
async function ofCommand(theirs, { party, inputs }) {
  const { cwd, fingerprint: peer } = await makeCommand();
  const { url, fingerprint, service } = await serveProgram({ ...theirs, peer });
  writeFileSync(path.join(cwd, "served.tacit"), theirs.text);
  const [[name, value]] = Object.entries(inputs);
  const who = ["--as", party, "--identity", "identity.key", "--peer", fingerprint];
  const what = ["run", "served.tacit", "--input", `${name}=${value}`, "--json"];
  const where = ["--connect", new URL(url).host];
  const command = () => promisify(execFile)(tacit, [...what, ...who, ...where], { cwd });
  const { ms, used } = await measured(command);
  await stop(service);
  return { ms, used };
}

/** A run with a service by `direct`: of a page in this role, and then of the command. */
export async function run(address, role) {
  const [party, inputs] = PARTIES[role];
  const other = OTHER[role];
  const theirs = { text: large(STEPS), role: other, inputs: PARTIES[other][1], address };
  const { call, close } = await bareBrowser(`${address}style.css`);
  const begin = async (program) => {
    const { Tacit } = await import(`${location.origin}/tacit/tacit.js`);
    globalThis.tacit = new Tacit();
    globalThis.identity = await globalThis.tacit.generateIdentity();
    const { and_gates: gates } = await globalThis.tacit.describe(program);
    return { peer: await globalThis.tacit.fingerprint(globalThis.identity), gates };
  };
  const program = { text: theirs.text };
  const { peer, gates } = await call(begin, program);
  const { url, fingerprint, service } = await serveProgram({ ...theirs, peer });
  const order = { program, party, protocol: "direct", inputs, peer: fingerprint };
  const inPage = ({ url, order }) =>
    globalThis.tacit.runTwoParty({ url }, { ...order, identity: globalThis.identity });
  const { done, used } = await measured(() => call(inPage, { url, order }));
  await close();
  await stop(service);
  const rate = (ms) => Number((gates / ms / 1000).toFixed(2));
  const native = await ofCommand(theirs, { party, inputs });
  return {
    and_gates: gates,
    page: { mands_per_s: rate(done.ms), used },
    command: { mands_per_s: rate(native.ms), used: native.used },
  };
}
