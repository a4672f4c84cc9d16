// Tacit for pages: every call is a promise, and all work is in two workers.
import { importedIdentity, newIdentity } from "./identity.js";

/** What went wrong, in words for a person, and of which kind it is. */
export class TacitError extends Error {
  name = "TacitError";

  constructor(message, kind = "other") {
    super(message);
    this.kind = kind;
  }
}

export class Tacit {
  #compute;
  #post;
  #calls = new Map();
  #next = 1;

  constructor() {
    if (!globalThis.crossOriginIsolated) {
      throw new TacitError(
        "this page is not isolated: serve it with the headers Cross-Origin-Opener-Policy: " +
          "same-origin and Cross-Origin-Embedder-Policy: require-corp",
        "usage",
      );
    }
    this.#start();
  }

  #start() {
    this.#compute = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
    this.#post = new Worker(new URL("./post.js", import.meta.url), { type: "module" });
    const { port1, port2 } = new MessageChannel();
    this.#post.postMessage({ port: port1 }, [port1]);
    const module = new URL("./tacit_web_bg.wasm", import.meta.url).href;
    this.#compute.postMessage({ post: port2, module }, [port2]);
    this.#compute.onmessage = ({ data }) => {
      const call = this.#calls.get(data.call);
      this.#calls.delete(data.call);
      if (data.error === undefined) call?.resolve(data.result);
      else call?.reject(new TacitError(data.error.message, data.error.kind));
      // What the engine stopped is not whole any more.
      if (data.error && data.error.kind === undefined) this.#restart(data.error.message);
    };
    this.#compute.onerror = (event) => this.#fail(event.message ?? "the worker did not start");
  }

  #fail(why, kind) {
    for (const call of this.#calls.values()) call.reject(new TacitError(why, kind));
    this.#calls.clear();
  }

  #ask(name, given) {
    const call = this.#next++;
    return new Promise((resolve, reject) => {
      this.#calls.set(call, { resolve, reject });
      this.#compute.postMessage({ call, name, given });
    });
  }

  #restart(why, kind) {
    this.close();
    this.#fail(why, kind);
    this.#start();
  }

  /** Gives up whatever runs; calls that wait fail. */
  cancel() {
    this.#restart("cancelled", "cancelled");
  }

  /** Ends both workers. */
  close() {
    this.#compute.terminate();
    this.#post.terminate();
  }

  check(program) {
    return this.#ask("check", { program });
  }

  describe(program) {
    return this.#ask("describe", { program });
  }

  evaluate(program, inputs, seed = 0) {
    return this.#ask("evaluate", { program, inputs, seed });
  }

  format(text) {
    return this.#ask("format", { text });
  }

  speed(milliseconds = 500) {
    return this.#ask("speed", { milliseconds });
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

  runTwoParty(at, order) {
    return this.#ask("runTwoParty", { at, order });
  }

  meetServers(generatorAt, cloudAt, order) {
    return this.#ask("meetServers", { generatorAt, cloudAt, order });
  }

  runClient(generatorAt, cloudAt, order) {
    return this.#ask("runClient", { generatorAt, cloudAt, order });
  }
}
