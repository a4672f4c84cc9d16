import type { KeyIdentity } from "./identity.js";

/** What a page keeps between visits, in IndexedDB. */
export function get(name: string): Promise<unknown>;
export function put(name: string, value: unknown): Promise<unknown>;
export function forget(name: string): Promise<unknown>;
/** Keeps a text sealed, for this name alone, under a key that no script can read out. */
export function putSecret(name: string, text: string): Promise<void>;
/** Fails if what is kept was not sealed for this name, such as by an earlier release. */
export function getSecret(name: string): Promise<string | undefined>;
/** Keeps an identity: a key of the browser's as it is, a PEM text sealed. */
export function putIdentity(name: string, identity: string | KeyIdentity): Promise<unknown>;
/** Fails if what is kept is neither sealed for this name nor a key that no script can read out. */
export function getIdentity(name: string): Promise<string | KeyIdentity | undefined>;
