// What the post worker holds, with a WebSocket and a compute worker in memory: no browser is needed.
import assert from "node:assert/strict";
import test from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import * as link from "../js/link.js";

const { COUNTERS, FLOODED, BROKEN, OPEN, RECEIVED, RING_BYTES, STATE, TAKEN, UNSENT, WINDOW } = link;
const STEP = 256 << 10;

/** As much of a WebSocket as the worker uses. */
class Socket {
  static OPEN = 1;
  static latest;
  readyState = Socket.OPEN;
  sent = [];

  constructor(url, subprotocol) {
    Object.assign(this, { url, subprotocol });
    Socket.latest = this;
  }

  send(data) {
    this.sent.push(data);
  }

  close() {
    this.readyState = 3;
  }

  come(data) {
    this.onmessage({ data: typeof data === "number" ? new ArrayBuffer(data) : data });
  }
}

globalThis.WebSocket = Socket;
globalThis.self = {};
await import("../js/post.js");

/** The post worker's link over a socket that is open: its counters, and what gives it orders. */
function opened() {
  const port = {};
  self.onmessage({ data: { port } });
  const shared = new SharedArrayBuffer(4 * COUNTERS + RING_BYTES);
  port.onmessage({ data: { open: 1, address: { url: "ws://service" }, shared } });
  const socket = Socket.latest;
  socket.onopen();
  const counters = new Int32Array(shared, 0, COUNTERS);
  const ring = new Uint8Array(shared, 4 * COUNTERS);
  /** Reads this many bytes, as the compute worker does. */
  const read = (count) => {
    const taken = counters[TAKEN];
    const bytes = Array.from({ length: count }, (_, place) => ring[(taken + place) % RING_BYTES]);
    Atomics.add(counters, TAKEN, count);
    port.onmessage({ data: { room: 1 } });
    return bytes;
  };
  return { counters, socket, port, read };
}

const grants = ({ sent }) => sent.map(Number).reduce((sum, count) => sum + count, 0);

test("what is taken is told, and no more than a window waits", () => {
  const { counters, socket, read } = opened();
  assert.equal(socket.subprotocol, "tacit-2");
  socket.come(WINDOW);
  // The ring is full, and the rest waits.
  assert.equal(grants(socket), RING_BYTES);
  assert.equal(counters[STATE], OPEN);
  for (let taken = 0; taken < WINDOW - RING_BYTES; taken += STEP) read(STEP);
  assert.equal(grants(socket), WINDOW);
  socket.come(WINDOW);
  assert.equal(counters[STATE], OPEN);
});

test("a service that sends without an end is left", () => {
  const { counters, socket } = opened();
  socket.come(WINDOW);
  assert.equal(counters[STATE], OPEN);
  // A ring was taken, and a byte more is too much.
  socket.come(RING_BYTES);
  assert.equal(counters[STATE], OPEN);
  socket.come(1);
  assert.equal(counters[STATE], FLOODED);
  assert.equal(socket.readyState, 3);
});

test("a service does not take what was not sent", () => {
  for (const told of ["101", "0", "-1", "1e1", "", "00000001", "x"]) {
    const { counters, socket } = opened();
    Atomics.add(counters, UNSENT, 100);
    socket.come("60");
    assert.equal(counters[UNSENT], 40);
    socket.come(told);
    assert.equal(counters[STATE], BROKEN, JSON.stringify(told));
    assert.equal(counters[UNSENT], 40);
  }
});

test("messages of a byte, each by itself, take little more memory than their bytes", () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc");
  const used = () => {
    collect();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const { counters, socket } = opened();
  // The reader is busy, and the ring full.
  socket.come(RING_BYTES);
  const before = used();
  const messages = 1 << 20;
  for (let sent = 0; sent < messages; sent++) socket.come(1);
  const grown = used() - before;
  assert.ok(grown < 4 * messages, `${grown} bytes for ${messages}`);
  assert.equal(counters[STATE], OPEN);
});

test("bytes are read in the order in which they came, however they were cut", () => {
  const { counters, socket, read } = opened();
  const JOINED = 64 << 10;
  const lengths = [RING_BYTES - 1, 5, 1, JOINED - 1, JOINED, 1, JOINED + 1, 3, 9 * JOINED, 4, JOINED];
  let sent = 0;
  const byteAt = (place) => (place >> 3) % 251;
  for (const length of lengths) {
    const message = Uint8Array.from({ length }, () => byteAt(sent++));
    socket.come(message.buffer);
  }
  let checked = 0;
  while (checked < sent) {
    const there = counters[RECEIVED] - counters[TAKEN];
    assert.ok(there > 0, `${checked} of ${sent}`);
    for (const byte of read(Math.min(there, 1000))) {
      if (byte !== byteAt(checked++)) assert.fail(`byte ${checked}`);
    }
  }
  assert.equal(counters[RECEIVED], sent);
});
