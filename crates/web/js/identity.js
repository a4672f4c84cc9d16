// Identities made by the browser. Where its WebCrypto has Ed25519 the private key is one that no
// script can read out, this one included; elsewhere an identity is a PEM text, which is secret.

const ALGORITHM = "Ed25519";

/** A new identity; undefined where WebCrypto has no Ed25519. */
export async function newIdentity() {
  try {
    const made = await crypto.subtle.generateKey(ALGORITHM, false, ["sign", "verify"]);
    const publicKey = new Uint8Array(await crypto.subtle.exportKey("raw", made.publicKey));
    return { privateKey: made.privateKey, publicKey };
  } catch {
    return undefined;
  }
}

const bytesOf = (base64) => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));

/** The identity of a PEM text; undefined where WebCrypto does not take it. */
export async function importedIdentity(pem) {
  const lines = pem.split("\n").filter((line) => !line.startsWith("-----"));
  try {
    const der = bytesOf(lines.join("").replaceAll(/\s/g, ""));
    const imported = (extractable) =>
      crypto.subtle.importKey("pkcs8", der, ALGORITHM, extractable, ["sign"]);
    // The public half is not in the text. It takes a key that can be read out, which nobody keeps.
    const { x } = await crypto.subtle.exportKey("jwk", await imported(true));
    const privateKey = await imported(false);
    der.fill(0);
    return { privateKey, publicKey: bytesOf(x.replaceAll("-", "+").replaceAll("_", "/")) };
  } catch {
    return undefined;
  }
}
