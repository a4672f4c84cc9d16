// What two tabs of one browser keep, in Chromium.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { browse, open, person, servePages, site, stopAll } from "./scene.mjs";

let address;
let browser;

before(async () => {
  address = await servePages(site);
  browser = await browse();
});

after(async () => {
  await browser?.close();
  await stopAll();
});

test("of two tabs on first use each opens what the other sealed", async () => {
  const context = await person(browser);
  const tabs = [];
  for (const number of [0, 1]) {
    const tab = await open(context, `${address}style.css`);
    // Until both have asked for a key none is there.
    await tab.evaluate((number) => {
      const other = new BroadcastChannel("keys");
      const { generateKey } = SubtleCrypto.prototype;
      SubtleCrypto.prototype.generateKey = async function (...given) {
        const heard = new Promise((resolve) => (other.onmessage = resolve));
        other.postMessage(number);
        await heard;
        other.postMessage(number);
        return generateKey.apply(this, given);
      };
    }, number);
    tabs.push(tab);
  }
  const sealed = tabs.map((tab, number) =>
    tab.evaluate(async (number) => {
      const { putIdentity } = await import("/tacit/keep.js");
      await putIdentity(`identity ${number}`, `PEM ${number}`);
    }, number),
  );
  await Promise.all(sealed);
  for (const tab of [...tabs, await open(context, `${address}style.css`)]) {
    const opened = await tab.evaluate(async () => {
      const { getIdentity } = await import("/tacit/keep.js");
      return [await getIdentity("identity 0"), await getIdentity("identity 1")];
    });
    assert.deepEqual(opened, ["PEM 0", "PEM 1"]);
  }
});
