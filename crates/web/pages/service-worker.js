// Keeps the friend finder for when there is no network. The network comes first, so that a visitor
// has the newest version that can be had.
const CACHE = "tacit pages";
const FILES = [
  "friend-finder/",
  "friend-finder/friend-finder.css",
  "friend-finder/friend-finder.js",
  "friend-finder/config.json",
  "page.js",
  "style.css",
  "tacit/identity.js",
  "tacit/keep.js",
  "tacit/link.js",
  "tacit/post.js",
  "tacit/tacit.js",
  "tacit/tacit_web.js",
  "tacit/tacit_web_bg.wasm",
  "tacit/worker.js",
];

async function fill() {
  const cache = await caches.open(CACHE);
  await cache.addAll(FILES);
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
