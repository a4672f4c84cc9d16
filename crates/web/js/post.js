// The post worker: it owns sockets and channels between tabs, and never blocks. The compute worker
// shares a ring with it for each link (link.js).
import {
  BELL,
  BROKEN,
  COUNTERS,
  ENDED,
  HUNGRY,
  OPEN,
  RECEIVED,
  RING_BYTES,
  STATE,
  TAKEN,
  UNSENT,
} from "./link.js";

/** Bytes that may wait for room in the ring before a link is given up. */
const MOST_QUEUED = 64 << 20;
/** Bytes that a WebSocket may hold before unsent bytes stay counted as unsent. */
const MOST_BUFFERED = 1 << 20;
/** How often a full WebSocket is looked at, and how often a tab calls for the other one, in ms. */
const LOOK_MS = 5;
const CALL_MS = 200;

const links = new Map();

class Shared {
  constructor(shared) {
    this.counters = new Int32Array(shared, 0, COUNTERS);
    this.ring = new Uint8Array(shared, 4 * COUNTERS);
    this.queue = [];
    this.queued = 0;
    this.ending = null;
    this.taken = () => {};
  }

  ring_bell() {
    Atomics.add(this.counters, BELL, 1);
    Atomics.notify(this.counters, BELL);
  }

  open() {
    Atomics.compareExchange(this.counters, STATE, 0, OPEN);
    this.ring_bell();
  }

  /** After what came before has been read, the link is in this state. */
  end(state) {
    this.ending ??= state;
    this.pump();
  }

  receive(bytes) {
    this.queue.push(bytes);
    this.queued += bytes.length;
    if (this.queued > MOST_QUEUED) {
      this.queue = [];
      this.end(BROKEN);
    }
    this.pump();
  }

  sent(count) {
    Atomics.sub(this.counters, UNSENT, count);
    this.ring_bell();
  }

  pump() {
    const { counters, ring } = this;
    while (this.queue.length > 0) {
      const received = counters[RECEIVED];
      const room = RING_BYTES - ((received - Atomics.load(counters, TAKEN)) >>> 0);
      if (room === 0) {
        Atomics.store(counters, HUNGRY, 1);
        // The reader may have made room before it could see that.
        if ((received - Atomics.load(counters, TAKEN)) >>> 0 !== RING_BYTES) continue;
        return;
      }
      const head = this.queue[0];
      const start = (received >>> 0) % RING_BYTES;
      const count = Math.min(head.length, room, RING_BYTES - start);
      ring.set(head.subarray(0, count), start);
      if (count === head.length) this.queue.shift();
      else this.queue[0] = head.subarray(count);
      this.queued -= count;
      Atomics.store(counters, RECEIVED, (received + count) | 0);
      this.ring_bell();
      this.taken(count);
    }
    if (this.ending !== null) {
      Atomics.store(counters, STATE, this.ending);
      this.ring_bell();
    }
  }
}

/** A link over a WebSocket, as which the server's TLS runs inside. */
function webSocket(address, shared) {
  const socket = new WebSocket(address.url, "tacit");
  socket.binaryType = "arraybuffer";
  const unsent = [];
  const look = () => {
    while (unsent.length > 0 && socket.bufferedAmount <= MOST_BUFFERED) shared.sent(unsent.shift());
    if (unsent.length > 0) setTimeout(look, LOOK_MS);
  };
  socket.onopen = () => shared.open();
  socket.onmessage = ({ data }) => {
    if (data instanceof ArrayBuffer) shared.receive(new Uint8Array(data));
    else socket.close();
  };
  socket.onerror = () => shared.end(BROKEN);
  socket.onclose = ({ wasClean }) => shared.end(wasClean ? ENDED : BROKEN);
  return {
    send(bytes) {
      if (socket.readyState !== WebSocket.OPEN) return;
      socket.send(bytes);
      unsent.push(bytes.length);
      look();
    },
    finish: () => socket.close(1000),
    drop: () => socket.close(),
  };
}

/** A link to another tab of this browser and origin, which has the room's other side. */
function tab({ room, side }, shared) {
  const channel = new BroadcastChannel(`tacit ${room}`);
  const own = crypto.randomUUID();
  let peer = null;
  const tell = (message) => channel.postMessage({ from: own, to: peer, side, ...message });
  const call = () => {
    if (peer === null) {
      tell({ call: true });
      setTimeout(call, CALL_MS);
    }
  };
  shared.taken = (count) => tell({ taken: count });
  channel.onmessage = ({ data }) => {
    if (data.side === side || (data.to !== null && data.to !== own)) return;
    if (peer === null && data.call) {
      peer = data.from;
      tell({ call: true });
      shared.open();
    }
    if (data.from !== peer) return;
    if (data.bytes instanceof Uint8Array) shared.receive(data.bytes);
    if (typeof data.taken === "number") shared.sent(data.taken);
    if (data.finish) shared.end(ENDED);
  };
  call();
  return {
    send: (bytes) => tell({ bytes }),
    finish: () => tell({ finish: true }),
    drop() {
      tell({ finish: true });
      peer ??= own;
      channel.close();
    },
  };
}

/** Signs for the compute worker, which waits: 1 for a signature, 2 where there is none. */
async function sign({ sign: key, message, shared }) {
  const state = new Int32Array(shared, 0, 1);
  try {
    const signature = await crypto.subtle.sign("Ed25519", key, message);
    new Uint8Array(shared, 4).set(new Uint8Array(signature));
    Atomics.store(state, 0, 1);
  } catch {
    Atomics.store(state, 0, 2);
  }
  Atomics.notify(state, 0);
}

function obey({ data }) {
  if (data.sign !== undefined) return void sign(data);
  if (data.open !== undefined) {
    const shared = new Shared(data.shared);
    try {
      const open = data.address.url ? webSocket : tab;
      links.set(data.open, { shared, ...open(data.address, shared) });
    } catch {
      shared.end(BROKEN);
    }
    return;
  }
  const number = data.send ?? data.finish ?? data.room ?? data.drop;
  const link = links.get(number);
  if (!link) return;
  if (data.send !== undefined) link.send(data.bytes);
  else if (data.finish !== undefined) link.finish();
  else if (data.room !== undefined) link.shared.pump();
  else {
    link.drop();
    links.delete(number);
  }
}

self.onmessage = ({ data }) => {
  data.port.onmessage = obey;
};
