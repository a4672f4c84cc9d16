// The compute worker: Tacit itself. A call blocks it until it is done.
import init, * as tacit from "./tacit_web.js";
import { dropLink, openLink, useKey, usePost } from "./link.js";

/** Work that needs links: they are open for as long as it runs. */
function linked(addresses, work) {
  const links = addresses.map(openLink);
  try {
    return work(links);
  } finally {
    links.forEach(dropLink);
  }
}

/** An order or an identity as text. A private key stays here, and its text has its number. */
function text(order) {
  return JSON.stringify(order, (_, value) => {
    if (value instanceof CryptoKey) return useKey(value);
    return value instanceof Uint8Array ? [...value] : value;
  });
}

const calls = {
  check: ({ program }) => JSON.parse(tacit.check(JSON.stringify(program))),
  describe: ({ program }) => JSON.parse(tacit.describe(JSON.stringify(program))),
  evaluate: (order) => JSON.parse(tacit.evaluate(JSON.stringify(order))),
  format: ({ text }) => tacit.format(text),
  speed: ({ milliseconds }) => JSON.parse(tacit.speed(milliseconds)),
  generateIdentity: () => tacit.generate_identity(),
  fingerprint: ({ identity }) => tacit.fingerprint(text(identity)),
  runTwoParty: ({ at, order }) =>
    linked([at], ([link]) => JSON.parse(tacit.run_two_party(link, text(order)))),
  runClient: ({ generatorAt, cloudAt, order }) =>
    linked([generatorAt, cloudAt], ([generator, cloud]) =>
      JSON.parse(tacit.run_client(generator, cloud, text(order))),
    ),
};

let ready;

self.onmessage = async ({ data }) => {
  if (data.post) {
    usePost(data.post);
    ready = init({ module_or_path: data.module });
    return;
  }
  try {
    await ready;
    self.postMessage({ call: data.call, result: calls[data.name](data.given) });
  } catch (error) {
    // Tacit's own errors are JSON; others are the engine's.
    const told = typeof error === "string" ? JSON.parse(error) : { message: String(error) };
    self.postMessage({ call: data.call, error: told });
  }
};
