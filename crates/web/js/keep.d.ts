/** What a page keeps between visits, in IndexedDB. */
export function get(name: string): Promise<unknown>;
export function put(name: string, value: unknown): Promise<unknown>;
export function forget(name: string): Promise<unknown>;
/** Keeps a text sealed under a key that no script can read out. */
export function putSecret(name: string, text: string): Promise<void>;
export function getSecret(name: string): Promise<string | undefined>;
