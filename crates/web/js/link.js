// The compute worker's end of links: it blocks here, and the post worker moves the bytes.
//
// A link is memory that both share: six counters, and a ring that received bytes lie in.
//   RECEIVED, TAKEN  bytes that came and that were read, modulo 2^32
//   STATE            one of OPENING, OPEN, ENDED (the peer sends no more), BROKEN
//   UNSENT           bytes handed over that are not on their way yet
//   BELL             changes with each of the others; what a blocked worker waits on
//   HUNGRY           1 where the post worker waits for room in the ring

export const COUNTERS = 6;
export const [RECEIVED, TAKEN, STATE, UNSENT, BELL, HUNGRY] = [0, 1, 2, 3, 4, 5];
export const [OPENING, OPEN, ENDED, BROKEN] = [0, 1, 2, 3];
/** Bytes of a ring; a power of two. */
export const RING_BYTES = 1 << 20;
/** Bytes that may be unsent before a write waits. */
const MOST_UNSENT = 4 << 20;

const NOTHING = -1;
const GONE = -2;

/** The longest that the browser may take to sign. */
const SIGN_MS = 10_000;
const SIGNED = 1;
const SIGNATURE_BYTES = 64;

const links = new Map();
const keys = [];
let post;
let next = 1;

/** Says which port leads to the post worker. */
export function usePost(port) {
  post = port;
}

/** Opens a link to `address`, an object that the post worker knows; its number. */
export function openLink(address) {
  const shared = new SharedArrayBuffer(4 * COUNTERS + RING_BYTES);
  const number = next++;
  links.set(number, {
    counters: new Int32Array(shared, 0, COUNTERS),
    ring: new Uint8Array(shared, 4 * COUNTERS),
  });
  post.postMessage({ open: number, address, shared });
  return number;
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

export function link_read(number, into, wait_ms) {
  const { counters, ring } = links.get(number);
  const bell = Atomics.load(counters, BELL);
  const state = Atomics.load(counters, STATE);
  const taken = counters[TAKEN];
  const there = (Atomics.load(counters, RECEIVED) - taken) >>> 0;
  if (there > 0) {
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
  if (state === BROKEN) return GONE;
  Atomics.wait(counters, BELL, bell, wait_ms);
  return NOTHING;
}

export function link_write(number, bytes, wait_ms) {
  const { counters } = links.get(number);
  const bell = Atomics.load(counters, BELL);
  const state = Atomics.load(counters, STATE);
  if (state === BROKEN || state === ENDED) return GONE;
  if (state === OPENING || Atomics.load(counters, UNSENT) > MOST_UNSENT) {
    Atomics.wait(counters, BELL, bell, wait_ms);
    return NOTHING;
  }
  const copy = bytes.slice();
  const count = copy.length;
  Atomics.add(counters, UNSENT, count);
  // The buffer goes over, and is empty here from then on.
  post.postMessage({ send: number, bytes: copy }, [copy.buffer]);
  return count;
}

export function link_finish(number) {
  post.postMessage({ finish: number });
}
