// What a page keeps, over a store in memory in place of IndexedDB: no browser is needed.
import assert from "node:assert/strict";
import test from "node:test";

import { get, getIdentity, getSecret, put, putIdentity, putSecret } from "../js/keep.js";

const kept = new Map();

/** As much of IndexedDB as one database with one store needs. */
globalThis.indexedDB = {
  open() {
    const store = {
      get: (name) => ({ result: kept.get(name) }),
      put: (value, name) => ({ result: kept.set(name, value) }),
      delete: (name) => ({ result: kept.delete(name) }),
      add: (value, name) => (kept.has(name) ? refused() : { result: kept.set(name, value) }),
    };
    let failed = 0;
    const refused = () => {
      const request = { error: { name: "ConstraintError" } };
      failed += 1;
      const preventDefault = () => (failed -= 1);
      const event = { target: request, preventDefault, stopPropagation() {} };
      queueMicrotask(() => request.onerror(event));
      return request;
    };
    const transaction = () => {
      const transaction = { objectStore: () => store };
      setImmediate(() => (failed ? transaction.onabort() : transaction.oncomplete()));
      return transaction;
    };
    const request = { result: { transaction, close() {} } };
    queueMicrotask(() => request.onsuccess());
    return request;
  },
};

test("a secret is read under the name that it was kept under, and no other", async () => {
  await putSecret("mine", "first");
  await putIdentity("theirs", "second");
  assert.equal(await getSecret("mine"), "first");
  assert.equal(await getIdentity("theirs"), "second");
  assert.equal(await getSecret("nobody's"), undefined);
  const [mine, theirs] = [await get("mine"), await get("theirs")];
  await put("mine", theirs);
  await put("theirs", mine);
  await assert.rejects(getSecret("mine"), /was changed/);
  await assert.rejects(getIdentity("theirs"), /was changed/);
});

test("what was sealed without a name is not taken", async () => {
  await putSecret("mine", "first");
  const key = await get("sealing key");
  assert.equal(key.extractable, false);
  const iv = crypto.getRandomValues(new Uint8Array(12));
  const text = new TextEncoder().encode("earlier");
  const sealed = await crypto.subtle.encrypt({ name: "AES-GCM", iv }, key, text);
  await put("mine", { iv, sealed });
  await assert.rejects(getSecret("mine"), /an earlier release sealed it/);
});

test("an identity is a key that no script can read out, or a sealed text", async () => {
  const key = async (extractable) => {
    const made = await crypto.subtle.generateKey("Ed25519", extractable, ["sign", "verify"]);
    return { privateKey: made.privateKey, publicKey: new Uint8Array(32) };
  };
  const given = await key(false);
  await putIdentity("mine", given);
  assert.equal(await getIdentity("mine"), given);
  assert.equal(await getIdentity("nobody's"), undefined);
  for (const other of ["a PEM text", { privateKey: "a PEM text" }, await key(true), { iv: 1 }]) {
    await put("mine", other);
    await assert.rejects(getIdentity("mine"), /was changed/);
  }
});

test("of two tabs on first use each opens what the other sealed", async () => {
  kept.clear();
  const tabs = await Promise.all([1, 2].map((tab) => import(`../js/keep.js?tab=${tab}`)));
  await Promise.all(tabs.map((tab, number) => tab.putSecret(`of ${number}`, `secret ${number}`)));
  for (const tab of tabs) {
    assert.equal(await tab.getSecret("of 0"), "secret 0");
    assert.equal(await tab.getSecret("of 1"), "secret 1");
  }
});
