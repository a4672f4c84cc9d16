// Tacit for pages: every call is a promise, and all work is in two workers.
import { importedIdentity, newIdentity } from "./identity.js";

/** What went wrong, in words for a person, and of which kind it is. */
export class TacitError extends Error {
  name = "TacitError";

  constructor(message, kind = "other", { reason = null, started = false } = {}) {
    super(message);
    this.kind = kind;
    this.reason = reason;
    this.started = started;
  }
}

/**
 * The code of all calls, and that of a page without programs, which has no compiler of the language.
 * Bundlers know these addresses as they stand here.
 */
const FULL = {
  wasm: new URL("./tacit_web_bg.wasm", import.meta.url),
  worker: () => new Worker(new URL("./worker.js", import.meta.url), { type: "module" }),
};
const LEAN = {
  wasm: new URL("./tacit_lean_bg.wasm", import.meta.url),
  worker: () => new Worker(new URL("./lean-worker.js", import.meta.url), { type: "module" }),
};

/** The calls of a page without programs. */
const LEAN_CALLS = [
  "generateIdentity",
  "fingerprint",
  "match",
  "invite",
  "readInvitation",
  "accept",
];

/** Compiles code, once for all workers of this page. */
function compiledOf(code) {
  const fetched = async () => {
    const answer = await fetch(code.wasm);
    if (!answer.ok) throw new Error(`${code.wasm.pathname}: ${answer.status} ${answer.statusText}`);
    return answer;
  };
  // A server that has another type for the file keeps the browser from compiling as it comes.
  const compile = async () => {
    const answer = await fetched();
    const isTyped = answer.headers.get("Content-Type")?.startsWith("application/wasm");
    if (isTyped) return WebAssembly.compileStreaming(answer);
    return WebAssembly.compile(await answer.arrayBuffer());
  };
  code.compiled ??= compile();
  // The next one tries again.
  code.compiled.catch(() => (code.compiled = undefined));
  return code.compiled;
}

/** What a call that `signal` ended is told. */
function ended(signal, started) {
  const isLate = signal.reason?.name === "TimeoutError";
  const why = isLate ? "it took longer than it was allowed to" : "cancelled";
  return new TacitError(why, "cancelled", { reason: isLate ? "late" : null, started });
}

export class Tacit {
  #code;
  #compute;
  #post;
  /** The call that runs, and those that wait for it to end. */
  #running = null;
  #waiting = [];
  #number = 0;
  #isReady = false;
  /** Why no call is taken any more. */
  #over = null;

  constructor({ programs = true } = {}) {
    this.#code = programs ? FULL : LEAN;
    if (!globalThis.crossOriginIsolated) {
      throw new TacitError(
        "this page is not isolated: serve it over HTTPS with the headers " +
          "Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp",
        "usage",
        { reason: "not-isolated" },
      );
    }
    this.#start();
  }

  async #start() {
    const compute = this.#code.worker();
    const post = new Worker(new URL("./post.js", import.meta.url), { type: "module" });
    [this.#compute, this.#post, this.#isReady] = [compute, post, false];
    compute.onmessage = ({ data }) => this.#answered(data);
    const fail = (why) => {
      if (this.#compute === compute) this.#end(new TacitError(`Tacit did not start: ${why}`));
    };
    for (const worker of [compute, post]) {
      worker.onerror = ({ message }) => fail(message ?? "a worker's script cannot be loaded");
    }
    try {
      const module = await compiledOf(this.#code);
      if (this.#compute !== compute) return;
      const { port1, port2 } = new MessageChannel();
      post.postMessage({ port: port1 }, [port1]);
      compute.postMessage({ post: port2, module }, [port2]);
      this.#isReady = true;
      this.#next();
    } catch (error) {
      fail(error.message);
    }
  }

  #next() {
    if (!this.#isReady || this.#running || this.#waiting.length === 0) return;
    this.#running = this.#waiting.shift();
    const { name, given } = this.#running;
    this.#compute.postMessage({ call: ++this.#number, name, given });
  }

  #answered({ call, result, error, progress }) {
    if (call !== this.#number || !this.#running) return;
    const { settle, onProgress } = this.#running;
    if (progress !== undefined) return onProgress?.(progress);
    this.#running = null;
    // What the engine stopped may have sent something before.
    const isEngines = error !== undefined && error.kind === undefined;
    const told = isEngines ? { started: true } : error;
    if (error === undefined) settle({ result });
    else settle({ error: new TacitError(error.message, error.kind, told) });
    // It is not whole any more.
    if (isEngines) this.#restart();
    this.#next();
  }

  #ask(name, given, { signal, onProgress } = {}) {
    return new Promise((resolve, reject) => {
      if (this.#over) return reject(this.#over);
      if (this.#code === LEAN && !LEAN_CALLS.includes(name)) {
        const why = `this Tacit was made without programs, and so without ${name}`;
        return reject(new TacitError(`${why}: leave out programs: false`, "usage"));
      }
      if (signal?.aborted) return reject(ended(signal, false));
      const abort = () => this.#abort(call, signal);
      const settle = ({ result, error }) => {
        signal?.removeEventListener("abort", abort);
        if (error) reject(error);
        else resolve(result);
      };
      const call = { name, given, settle, onProgress };
      signal?.addEventListener("abort", abort);
      this.#waiting.push(call);
      this.#next();
    });
  }

  /** Gives up one call; the others go on. */
  #abort(call, signal) {
    const isRunning = this.#running === call;
    if (isRunning) {
      this.#running = null;
      this.#restart();
    }
    this.#waiting = this.#waiting.filter((other) => other !== call);
    call.settle({ error: ended(signal, isRunning) });
    this.#next();
  }

  #terminate() {
    this.#compute.terminate();
    this.#post.terminate();
  }

  #restart() {
    this.#terminate();
    this.#start();
  }

  /** Settles all calls. */
  #fail(error) {
    const calls = [this.#running, ...this.#waiting];
    [this.#running, this.#waiting] = [null, []];
    calls.forEach((call, place) => {
      // Of the one that runs something may have been sent.
      const started = place === 0;
      call?.settle({ error: new TacitError(error.message, error.kind, { ...error, started }) });
    });
  }

  /** For good: calls that wait fail, and later ones as well. */
  #end(error) {
    this.#over ??= error;
    this.#terminate();
    this.#fail(error);
  }

  /** Gives up whatever runs; calls that wait fail. */
  cancel() {
    if (this.#over) return;
    this.#restart();
    this.#fail(new TacitError("cancelled", "cancelled"));
  }

  /** Ends both workers; calls that wait fail, and later ones as well. */
  close() {
    if (this.#over) return;
    this.#over = new TacitError("this Tacit was closed: make another one", "usage");
    this.#end(new TacitError("closed while the call waited or ran", "cancelled"));
  }

  check(program, options) {
    return this.#ask("check", { program }, options);
  }

  describe(program, options) {
    return this.#ask("describe", { program }, options);
  }

  evaluate(program, inputs, seed = 0, options = {}) {
    return this.#ask("evaluate", { program, inputs, seed }, options);
  }

  format(text, options) {
    return this.#ask("format", { text }, options);
  }

  names(program, options) {
    return this.#ask("names", { program }, options);
  }

  explain(program, offset, options) {
    return this.#ask("explain", { program, offset }, options);
  }

  rename(program, offset, name, options) {
    return this.#ask("rename", { program, offset, name }, options);
  }

  test(program, options) {
    return this.#ask("test", { program }, options);
  }

  speed(milliseconds = 500, options = {}) {
    return this.#ask("speed", { milliseconds }, options);
  }

  async generateIdentity() {
    return (await newIdentity()) ?? this.#ask("generateIdentity", {});
  }

  async importIdentity(pem) {
    await this.fingerprint(pem);
    return (await importedIdentity(pem)) ?? pem;
  }

  fingerprint(identity) {
    return this.#ask("fingerprint", { identity });
  }

  runTwoParty(at, order, options) {
    return this.#ask("runTwoParty", { at, order }, options);
  }

  match(at, order, options) {
    return this.#ask("match", { at, order }, options);
  }

  invite(order, { onInvitation, ...options } = {}) {
    const told = { ...options, onProgress: onInvitation };
    return this.#ask("invite", { order }, told);
  }

  readInvitation(invitation, options) {
    return this.#ask("readInvitation", { invitation }, options);
  }

  accept(invitation, order, options) {
    return this.#ask("accept", { invitation, order }, options);
  }

  meetServers(generatorAt, cloudAt, order, options) {
    return this.#ask("meetServers", { generatorAt, cloudAt, order }, options);
  }

  runClient(generatorAt, cloudAt, order, options) {
    return this.#ask("runClient", { generatorAt, cloudAt, order }, options);
  }
}
