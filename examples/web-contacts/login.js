// Your site's login, as far as the service needs it: a token for a user who is logged in. Here the
// development server is the site, and everybody who reaches it is its one user.
import { generateKeyPairSync, sign } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";

const KEY = "login.key";
const PUBLIC_KEY = "service/login.pub.pem";

/** A JSON Web Token with these claims, signed by a private key of Ed25519. */
export function signed(claims, key) {
  const part = (json) => Buffer.from(JSON.stringify(json)).toString("base64url");
  const text = `${part({ alg: "EdDSA" })}.${part(claims)}`;
  return `${text}.${sign(null, Buffer.from(text), key).toString("base64url")}`;
}

/** The site's key; a new one if there is none. The service gets the public half. */
function siteKey() {
  if (!existsSync(KEY)) {
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    writeFileSync(KEY, privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
    writeFileSync(PUBLIC_KEY, publicKey.export({ type: "spki", format: "pem" }));
  }
  return readFileSync(KEY);
}

/** Answers `/token?fingerprint=…` with a token for this identity of the user's page. */
export function login() {
  const key = siteKey();
  const answer = ({ url }, response) => {
    const claims = {
      sub: "user-1", // who is logged in
      aud: "web-contacts",
      exp: Math.floor(Date.now() / 1000) + 600,
      cnf: { tacit: new URL(url, "http://site").searchParams.get("fingerprint") },
    };
    response.end(signed(claims, key));
  };
  const serve = ({ middlewares }) => void middlewares.use("/token", answer);
  return { name: "login", configureServer: serve, configurePreviewServer: serve };
}
