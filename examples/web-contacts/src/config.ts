/** The service that holds the table: its address, and its fingerprint, which proves that it is it. */
export const SERVICE = {
  url: import.meta.env.VITE_TACIT_URL ?? "ws://127.0.0.1:7000",
  peer: import.meta.env.VITE_TACIT_PEER ?? "",
};

/** Where the site's login gives its user a token (login.js). */
export const LOGIN = "/token";
