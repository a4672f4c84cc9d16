// The compute worker's end of links: it blocks here, and the post worker moves the bytes.
//
// A link is memory that both share: six counters, and a ring that received bytes lie in.
//   RECEIVED, TAKEN  bytes that came and that were read, modulo 2^32
//   STATE            one of the states below; only the first two may change
//   UNSENT           bytes handed over of which the peer has not said that it took them
//   BELL             changes with each of the others; what a blocked worker waits on
//   HUNGRY           1 where the post worker waits for room in the ring

export const COUNTERS = 6;
export const [RECEIVED, TAKEN, STATE, UNSENT, BELL, HUNGRY] = [0, 1, 2, 3, 4, 5];

// OPENING   nobody is at the other end yet
// OPEN      somebody is
// ENDED     the peer sends no more
// BROKEN    the connection failed
// UNREACHED it failed before anybody was there
// FLOODED   the peer sent more than it may
// OCCUPIED  another tab is this side already
export const [OPENING, OPEN, ENDED, BROKEN, UNREACHED, FLOODED, OCCUPIED] = [0, 1, 2, 3, 4, 5, 6];

/** Bytes of a ring; a power of two. */
export const RING_BYTES = 1 << 20;
/** Bytes that each side may send beyond those that the other says it took: as a service counts. */
export const WINDOW = 4 << 20;

// What reads and writes answer in place of a number of bytes (src/link.rs).
const NOTHING = -1;
const READABLE = -2;
/** Below these numbers: why a link is gone, as -GONE - state. */
const GONE = 10;

/** The pause before a link is opened anew. */
const RENEW_MS = 200;

/** The longest that the browser may take to sign. */
const SIGN_MS = 10_000;
const SIGNED = 1;
const SIGNATURE_BYTES = 64;

const links = new Map();
const keys = [];
let post;
let watch = () => {};
let next = 1;

/** Says which port leads to the post worker. */
export function usePost(port) {
  post = port;
}

/** Says who hears how far the call is. */
export function useWatch(told) {
  watch = told;
}

export function call_progressed(part) {
  watch(part);
}

export function call_waits(before) {
  watch({ stage: "waiting", before });
}

export function call_runs() {
  watch({ stage: "running" });
}

/** A link to `address` that is not open yet. */
function fresh(address) {
  const shared = new SharedArrayBuffer(4 * COUNTERS + RING_BYTES);
  return {
    address,
    shared,
    counters: new Int32Array(shared, 0, COUNTERS),
    ring: new Uint8Array(shared, 4 * COUNTERS),
    isOpened: false,
  };
}

/** A link to `address`, an object that the post worker knows; its number. */
export function makeLink(address) {
  const number = next++;
  links.set(number, fresh(address));
  return number;
}

/** Opens a link, unless it is open: a service closes connections that say nothing for long. */
export function link_open(number) {
  const link = links.get(number);
  if (link.isOpened) return;
  link.isOpened = true;
  post.postMessage({ open: number, address: link.address, shared: link.shared });
}

/** Ends a link, and after a pause leaves it to be opened anew: at a relay others come, too. */
export function link_renew(number) {
  const link = fresh(links.get(number).address);
  post.postMessage({ drop: number });
  links.set(number, link);
  Atomics.wait(link.counters, BELL, 0, RENEW_MS);
}

/** Whether a link is open at both ends. */
export const isOpen = (number) => Atomics.load(links.get(number).counters, STATE) === OPEN;

/** Ends a link for good. */
export function dropLink(number) {
  if (links.delete(number)) post.postMessage({ drop: number });
}

/** The number of a private key from now on. */
export function useKey(key) {
  return keys.push(key) - 1;
}

/** Signs with a private key into `into`, by the post worker: a promise is none of this worker's. */
export function key_sign(number, message, into) {
  const shared = new SharedArrayBuffer(4 + SIGNATURE_BYTES);
  const state = new Int32Array(shared, 0, 1);
  post.postMessage({ sign: keys[number], message: message.slice(), shared });
  Atomics.wait(state, 0, 0, SIGN_MS);
  into.set(new Uint8Array(shared, 4));
  return Atomics.load(state, 0) === SIGNED;
}

/** Bytes that came and were not read. */
const unread = (counters) => (Atomics.load(counters, RECEIVED) - counters[TAKEN]) >>> 0;

export function link_state(number) {
  return Atomics.load(links.get(number).counters, STATE);
}

export function link_ready(number) {
  const { counters } = links.get(number);
  return unread(counters) > 0 || Atomics.load(counters, STATE) > OPEN;
}

export function link_read(number, into, wait_ms) {
  const { counters, ring } = links.get(number);
  const bell = Atomics.load(counters, BELL);
  const state = Atomics.load(counters, STATE);
  const there = unread(counters);
  if (there > 0) {
    const taken = counters[TAKEN];
    const count = Math.min(there, into.length);
    const start = (taken >>> 0) % RING_BYTES;
    const first = Math.min(count, RING_BYTES - start);
    into.set(ring.subarray(start, start + first));
    into.set(ring.subarray(0, count - first), first);
    Atomics.store(counters, TAKEN, (taken + count) | 0);
    if (Atomics.exchange(counters, HUNGRY, 0) === 1) post.postMessage({ room: number });
    return count;
  }
  if (state === ENDED) return 0;
  if (state > ENDED) return -GONE - state;
  Atomics.wait(counters, BELL, bell, wait_ms);
  return NOTHING;
}

/** Takes all of `bytes`, which are no more than a window; where `reads`, a read comes first. */
export function link_write(number, bytes, reads, wait_ms) {
  const { counters } = links.get(number);
  const bell = Atomics.load(counters, BELL);
  const state = Atomics.load(counters, STATE);
  if (state > OPEN) return -GONE - state;
  const { length } = bytes;
  if (state === OPENING || Atomics.load(counters, UNSENT) + length > WINDOW) {
    if (reads && unread(counters) > 0) return READABLE;
    Atomics.wait(counters, BELL, bell, wait_ms);
    return NOTHING;
  }
  const copy = bytes.slice();
  Atomics.add(counters, UNSENT, length);
  // The buffer goes over, and is empty here from then on.
  post.postMessage({ send: number, bytes: copy }, [copy.buffer]);
  return length;
}

export function link_finish(number) {
  post.postMessage({ finish: number });
}
