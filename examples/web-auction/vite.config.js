import { defineConfig } from "vite";

// A page that uses Tacit must be isolated, since its workers share memory. Your own server sends
// these headers, too, with the page and with each script.
const headers = {
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Embedder-Policy": "require-corp",
};

export default defineConfig({
  server: { headers },
  preview: { headers },
  // The package finds its workers and its WebAssembly next to its own modules.
  optimizeDeps: { exclude: ["tacit-web"] },
  worker: { format: "es" },
  build: { target: "es2022" },
});
