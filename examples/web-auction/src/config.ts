/** Where the two people meet. The relay sees both addresses, and how many bytes pass. */
export const RELAY = import.meta.env.VITE_TACIT_RELAY ?? "ws://127.0.0.1:7400";
