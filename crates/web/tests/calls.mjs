// How calls end, over workers that answer as a test says: no browser is needed.
import assert from "node:assert/strict";
import test from "node:test";

globalThis.crossOriginIsolated = true;
// A module with nothing in it.
const empty = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0);
globalThis.fetch = async () => new Response(empty);

/** What the worker that computes answers to a call. */
let answer;

globalThis.Worker = class {
  postMessage({ call }) {
    if (call) queueMicrotask(() => this.onmessage({ data: { call, ...answer } }));
  }
  terminate() {}
};

const { Tacit } = await import("../js/tacit.js");

async function failed() {
  const order = { program: { text: "" }, party: "alice", protocol: "direct", inputs: {} };
  const run = new Tacit().runTwoParty({ room: "one", side: "garbler" }, order);
  return run.then(assert.fail, (error) => error);
}

test("a run that the engine stops may have started", async () => {
  // A trap, or memory that is not there: the messages before it have left.
  answer = { error: { message: "RuntimeError: unreachable" } };
  const error = await failed();
  assert.equal(error.kind, "other");
  assert.equal(error.started, true);
});

test("of Tacit's own errors each says whether the run may have started", async () => {
  for (const started of [false, true]) {
    answer = { error: { kind: "network", message: "busy", reason: "busy", started } };
    const error = await failed();
    assert.deepEqual([error.reason, error.started], ["busy", started]);
  }
});
