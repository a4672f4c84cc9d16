// A link that holds a program: the part of an address that browsers send to no server.

/** The start of the fragment; what follows is JSON, by DEFLATE, in base64 for addresses. */
const START = "#program=";
/** The longest fragment, and the longest program in one. Browsers and mail cut longer addresses. */
const MOST_LETTERS = 32_000;
const MOST_BYTES = 256 << 10;

/** All bytes of a stream, unless there are more than `most`. */
async function gathered(stream, most) {
  const pieces = [];
  let count = 0;
  for await (const piece of stream) {
    count += piece.length;
    if (count > most) throw new Error("it is too long");
    pieces.push(piece);
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}

const through = (bytes, transform) => new Blob([bytes]).stream().pipeThrough(transform);

/** The fragment that holds a program, and an invitation to run it. Fails if it is too long. */
export async function fragment({ text, params, public: agreed, meeting }) {
  const held = JSON.stringify({ text, params, public: agreed, meeting });
  const json = new TextEncoder().encode(held);
  const packed = await gathered(through(json, new CompressionStream("deflate-raw")), MOST_LETTERS);
  const letters = btoa(Array.from(packed, (byte) => String.fromCharCode(byte)).join(""));
  const safe = letters.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  if (safe.length > MOST_LETTERS || json.length > MOST_BYTES) {
    throw new Error("The program is too long for a link: save it in a file.");
  }
  return START + safe;
}

const isRecord = (value) => value === undefined || (value !== null && typeof value === "object");

/** An invitation, and the party and protocol of the person who accepts it. */
const isMeeting = (meeting) =>
  meeting === undefined ||
  ["invitation", "party", "protocol"].every((part) => typeof meeting?.[part] === "string");

/** The program in a fragment, or null. Fails on one that is damaged. */
export async function unpacked(hash) {
  if (!hash.startsWith(START)) return null;
  try {
    if (hash.length > START.length + MOST_LETTERS) throw new Error("it is too long");
    const letters = hash.slice(START.length).replaceAll("-", "+").replaceAll("_", "/");
    const packed = Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
    const json = await gathered(
      through(packed, new DecompressionStream("deflate-raw")),
      MOST_BYTES,
    );
    const found = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(json));
    const isRight = typeof found?.text === "string" && isRecord(found.params);
    if (!isRight || !isRecord(found.public)) throw new Error("it holds no program");
    const { text, params, public: agreed, meeting } = found;
    if (!isMeeting(meeting)) throw new Error("it holds half an invitation");
    return { text, params, public: agreed, meeting };
  } catch (error) {
    throw new Error("The program in the link is damaged: copy all of the link.", { cause: error });
  }
}

/** The program in the page's address, or null. A reload opens what was written since, and not this. */
export async function linked() {
  const { hash } = location;
  if (hash.startsWith(START)) history.replaceState(null, "", location.pathname + location.search);
  return unpacked(hash);
}
