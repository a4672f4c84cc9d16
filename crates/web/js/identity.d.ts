/** An identity whose private key no script can read out. */
export interface KeyIdentity {
  privateKey: CryptoKey;
  /** 32 bytes. */
  publicKey: Uint8Array;
}

/** A new identity; undefined where WebCrypto has no Ed25519. */
export function newIdentity(): Promise<KeyIdentity | undefined>;
/** The identity of a PEM text; undefined where WebCrypto does not take it. */
export function importedIdentity(pem: string): Promise<KeyIdentity | undefined>;
