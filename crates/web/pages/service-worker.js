// Keeps the friend finder for when there is no network. The network comes first, so that a visitor
// has the newest version that can be had.
const CACHE = "tacit pages";
const FILES = [
  "friend-finder/",
  "friend-finder/app.webmanifest",
  "friend-finder/config.json",
  "friend-finder/friend-finder.css",
  "friend-finder/friend-finder.js",
  "friend-finder/icon.svg",
  "friend-finder/invitation.js",
  "friend-finder/map.js",
  "friend-finder/words.js",
  "page.js",
  "style.css",
  "tacit/calls.js",
  "tacit/identity.js",
  "tacit/keep.js",
  "tacit/link.js",
  "tacit/post.js",
  "tacit/tacit.js",
  "tacit/tacit_web.js",
  "tacit/tacit_web_bg.wasm",
  "tacit/worker.js",
];

const finderFile = (name) => `friend-finder/${name}`;
const read = async (name) => (await fetch(finderFile(name))).json();

/** The plan of the map, which the site chooses, and its picture. */
async function filesOfMap() {
  const { plan = "town.json" } = await read("config.json");
  const { picture } = await read(plan);
  return [plan, picture].map(finderFile);
}

async function fill() {
  const cache = await caches.open(CACHE);
  await cache.addAll([...FILES, ...(await filesOfMap())]);
  await self.skipWaiting();
}

async function answer(request) {
  const cache = await caches.open(CACHE);
  try {
    const response = await fetch(request);
    if (response.ok && (await cache.match(request))) await cache.put(request, response.clone());
    return response;
  } catch {
    return (await cache.match(request)) ?? Response.error();
  }
}

self.addEventListener("install", (event) => event.waitUntil(fill()));
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  const isOwn = method === "GET" && new URL(url).origin === self.location.origin;
  if (isOwn) event.respondWith(answer(event.request));
});
