// The post worker: it owns sockets and channels between tabs, and never blocks. The compute worker
// shares a ring with it for each link (link.js).
//
// A browser takes what comes as fast as it comes. So each side sends at most a WINDOW beyond what
// the other says that it took, over a WebSocket as between tabs: what waits here is bounded.
import {
  BELL,
  BROKEN,
  COUNTERS,
  ENDED,
  FLOODED,
  HUNGRY,
  OCCUPIED,
  OPEN,
  OPENING,
  RECEIVED,
  RING_BYTES,
  STATE,
  TAKEN,
  UNREACHED,
  UNSENT,
  WINDOW,
} from "./link.js";

/** What a service speaks inside a WebSocket. */
const SUBPROTOCOL = "tacit-2";
/** Bytes that are taken before the peer is told. */
const STEP = 256 << 10;
/** How often a tab calls for the other one, in ms. */
const CALL_MS = 200;
/** Messages of at most this many bytes are joined into buffers of at most this many bytes. */
const JOINED_BYTES = 64 << 10;

const links = new Map();

/**
 * Bytes that came and have no room in the ring yet. Two buffers in a row have more than JOINED_BYTES
 * together: a peer that sends each byte in a message of its own has no object here for each.
 */
class Arrived {
  #buffers = [];
  /** The short messages that came after the buffers. */
  #short = new Uint8Array(JOINED_BYTES);
  #filled = 0;

  get isEmpty() {
    return this.#buffers.length === 0 && this.#filled === 0;
  }

  keep(bytes) {
    const isShort = bytes.length <= JOINED_BYTES;
    if (!isShort || this.#filled + bytes.length > JOINED_BYTES) this.#endShort();
    if (!isShort) return void this.#buffers.push(bytes);
    this.#short.set(bytes, this.#filled);
    this.#filled += bytes.length;
  }

  #endShort() {
    if (this.#filled > 0) this.#buffers.push(this.#short.slice(0, this.#filled));
    this.#filled = 0;
  }

  /** The oldest buffer, which the caller gives back if bytes of it are left. */
  take() {
    if (this.#buffers.length === 0) this.#endShort();
    return this.#buffers.shift();
  }

  giveBack(bytes) {
    this.#buffers.unshift(bytes);
  }

  clear() {
    this.#buffers = [];
    this.#filled = 0;
  }
}

class Shared {
  constructor(shared) {
    this.counters = new Int32Array(shared, 0, COUNTERS);
    this.ring = new Uint8Array(shared, 4 * COUNTERS);
    this.arrived = new Arrived();
    /** Bytes that came and of which the peer was not told that they were taken. */
    this.held = 0;
    this.untold = 0;
    this.ending = null;
    this.tell = () => {};
  }

  ring_bell() {
    Atomics.add(this.counters, BELL, 1);
    Atomics.notify(this.counters, BELL);
  }

  open() {
    Atomics.compareExchange(this.counters, STATE, OPENING, OPEN);
    this.ring_bell();
  }

  /** After what came before has been read, the link is in this state. */
  end(state) {
    const isOpening = Atomics.load(this.counters, STATE) === OPENING;
    this.ending ??= isOpening && state !== OCCUPIED ? UNREACHED : state;
    this.pump();
  }

  receive(bytes) {
    if (this.ending !== null || bytes.length === 0) return;
    this.held += bytes.length;
    if (this.held > WINDOW) {
      this.arrived.clear();
      return this.end(FLOODED);
    }
    // While something waits for room, the ring is full.
    this.arrived.keep(this.arrived.isEmpty ? this.fill(bytes) : bytes);
  }

  /** The peer says that it took this many bytes; false where it cannot have. */
  granted(count) {
    const isPossible =
      Number.isSafeInteger(count) && count > 0 && count <= Atomics.load(this.counters, UNSENT);
    if (!isPossible) return false;
    Atomics.sub(this.counters, UNSENT, count);
    this.ring_bell();
    return true;
  }

  taken(count) {
    this.untold += count;
    if (this.untold < STEP) return;
    this.tell(this.untold);
    this.held -= this.untold;
    this.untold = 0;
  }

  /** Moves bytes to the ring, as far as there is room; returns the rest. */
  fill(bytes) {
    const { counters, ring } = this;
    while (bytes.length > 0) {
      const received = counters[RECEIVED];
      const room = RING_BYTES - ((received - Atomics.load(counters, TAKEN)) >>> 0);
      if (room === 0) {
        Atomics.store(counters, HUNGRY, 1);
        // The reader may have made room before it could see that.
        if ((received - Atomics.load(counters, TAKEN)) >>> 0 !== RING_BYTES) continue;
        return bytes;
      }
      const start = (received >>> 0) % RING_BYTES;
      const count = Math.min(bytes.length, room, RING_BYTES - start);
      ring.set(bytes.subarray(0, count), start);
      bytes = bytes.subarray(count);
      Atomics.store(counters, RECEIVED, (received + count) | 0);
      this.ring_bell();
      this.taken(count);
    }
    return bytes;
  }

  pump() {
    for (let bytes = this.arrived.take(); bytes; bytes = this.arrived.take()) {
      const rest = this.fill(bytes);
      if (rest.length > 0) return this.arrived.giveBack(rest);
    }
    if (this.ending !== null) {
      Atomics.store(this.counters, STATE, this.ending);
      this.ring_bell();
    }
  }
}

/** A link over a WebSocket, as which the server's TLS runs inside. */
function webSocket(address, shared) {
  const socket = new WebSocket(address.url, SUBPROTOCOL);
  const send = (data) => socket.readyState === WebSocket.OPEN && socket.send(data);
  const fail = () => {
    shared.end(BROKEN);
    socket.close();
  };
  socket.binaryType = "arraybuffer";
  shared.tell = (count) => send(String(count));
  socket.onopen = () => shared.open();
  socket.onmessage = ({ data }) => {
    if (data instanceof ArrayBuffer) shared.receive(new Uint8Array(data));
    else if (!/^[1-9]\d{0,6}$/.test(data) || !shared.granted(Number(data))) fail();
    if (shared.ending === FLOODED) socket.close();
  };
  socket.onerror = () => shared.end(BROKEN);
  socket.onclose = ({ wasClean }) => shared.end(wasClean ? ENDED : BROKEN);
  return { send, finish: () => socket.close(1000), drop: () => socket.close() };
}

/** A link to another tab of this browser and origin, which has the room's other side. */
function tab({ room, side }, shared) {
  const channel = new BroadcastChannel(`tacit ${room}`);
  const own = crypto.randomUUID();
  /** Of two tabs of one side the earlier one stays. */
  const since = performance.timeOrigin + performance.now();
  const isEarlier = (other) => since < other.since || (since === other.since && own < other.from);
  let peer = null;
  const tell = (message) => channel.postMessage({ from: own, to: peer, side, ...message });
  const call = () => {
    if (peer === null) {
      tell({ call: true, since });
      setTimeout(call, CALL_MS);
    }
  };
  const leave = () => {
    peer ??= own;
    channel.close();
  };
  shared.tell = (count) => tell({ taken: count });
  channel.onmessage = ({ data }) => {
    if (data.to !== null && data.to !== own) return;
    if (data.side === side) {
      if (data.call && isEarlier(data)) tell({ to: data.from, occupied: true });
      if (data.occupied && peer === null) {
        leave();
        shared.end(OCCUPIED);
      }
      return;
    }
    if (peer === null && data.call) {
      peer = data.from;
      tell({ call: true, since });
      shared.open();
    }
    if (data.from !== peer) return;
    if (data.bytes instanceof Uint8Array) shared.receive(data.bytes);
    if (data.taken !== undefined && !shared.granted(data.taken)) shared.end(BROKEN);
    if (data.finish) shared.end(ENDED);
  };
  call();
  return {
    send: (bytes) => tell({ bytes }),
    finish: () => tell({ finish: true }),
    drop() {
      if (peer !== own) tell({ finish: true });
      leave();
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
