// What a page keeps between visits, in IndexedDB. Secrets are sealed under a key that the browser
// made and that no script can read out (WebCrypto, non-extractable). A script of this page can still
// use it, and so can a person who has the browser's profile while the page runs in it. The seal is
// bound to the name that the text is kept under: someone who can only write the storage cannot swap
// two of them.

const DATABASE = "tacit";
const STORE = "kept";
const SEAL = "sealing key";

function database() {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

async function transact(mode, work) {
  const opened = await database();
  try {
    return await new Promise((resolve, reject) => {
      const transaction = opened.transaction(STORE, mode, { durability: "strict" });
      const request = work(transaction.objectStore(STORE));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onerror = () => reject(transaction.error);
      transaction.onabort = () => reject(transaction.error);
    });
  } finally {
    opened.close();
  }
}

export const get = (name) => transact("readonly", (store) => store.get(name));
export const put = (name, value) => transact("readwrite", (store) => store.put(value, name));
export const forget = (name) => transact("readwrite", (store) => store.delete(name));

// Of two tabs that make a key at once both take the one that was added first.
async function sealingKey() {
  const there = await get(SEAL);
  if (there) return there;
  const usages = ["encrypt", "decrypt"];
  const made = await crypto.subtle.generateKey({ name: "AES-GCM", length: 256 }, false, usages);
  return transact("readwrite", (store) => {
    store.add(made, SEAL).onerror = (event) => {
      if (event.target.error.name !== "ConstraintError") return;
      event.preventDefault();
      event.stopPropagation();
    };
    return store.get(SEAL);
  });
}

const sealing = (name, iv) => {
  const additionalData = new TextEncoder().encode(`tacit kept secret 2\0${name}`);
  return { name: "AES-GCM", iv, additionalData };
};

/** Keeps a secret text under a name. */
export async function putSecret(name, text) {
  const iv = crypto.getRandomValues(new Uint8Array(12));
  const bytes = new TextEncoder().encode(text);
  const sealed = await crypto.subtle.encrypt(sealing(name, iv), await sealingKey(), bytes);
  bytes.fill(0);
  await put(name, { iv, sealed });
}

/** Keeps an identity: a key of the browser's as it is, a PEM text sealed. */
export const putIdentity = (name, identity) =>
  typeof identity === "string" ? putSecret(name, identity) : put(name, identity);

/** The identity of this name, if there is one. Throws if it is neither sealed for this name nor a key
 *  that no script can read out. */
export async function getIdentity(name) {
  const kept = await get(name);
  const key = kept?.privateKey;
  return key instanceof CryptoKey && !key.extractable ? kept : getSecret(name);
}

/** The secret text of this name, if there is one. Throws if its seal is for another name. */
export async function getSecret(name) {
  const kept = await get(name);
  if (!kept) return undefined;
  const { iv, sealed } = kept;
  const opened = crypto.subtle.decrypt(sealing(name, iv), await sealingKey(), sealed);
  const bytes = await opened.catch(() => {
    throw new Error(
      `${name}: what is kept under this name was changed, or an earlier release sealed it, which ` +
        "bound no names; put it here again",
    );
  });
  return new TextDecoder().decode(bytes);
}
