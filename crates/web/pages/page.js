// What both pages build their parts with.

export const $ = (id) => document.getElementById(id);

/** An element with a text and children. */
export function element(name, content = "", ...children) {
  const made = document.createElement(name);
  made.textContent = content;
  made.append(...children);
  return made;
}

/** An element of a class. */
export function styled(name, className, content = "") {
  const made = element(name, content);
  made.className = className;
  return made;
}

export function show(place, ...children) {
  place.replaceChildren(...children);
}

export function table(heads, rows) {
  const head = element("tr");
  head.append(...heads.map((name) => Object.assign(element("th", name), { scope: "col" })));
  const body = rows.map((cells) => element("tr", "", ...cells.map((cell) => element("td", cell))));
  return element("table", "", element("thead", "", head), element("tbody", "", ...body));
}

export const number = (value) => value.toLocaleString("en");

const NOT_ISOLATED =
  "The server of this page leaves out two headers that the page needs: " +
  "Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp. Over " +
  "plain HTTP browsers heed them on this machine alone: use HTTPS. Tell the person who runs the " +
  "site.";

/** Tacit, if it can start here; otherwise the page says why in place of everything else. */
export async function started() {
  try {
    if (!globalThis.crossOriginIsolated) throw new Error(NOT_ISOLATED);
    return await import("./tacit/tacit.js");
  } catch (error) {
    const alert = styled("p", "wrong", `This page cannot start. ${error.message}`);
    alert.setAttribute("role", "alert");
    document.querySelector("main").replaceChildren(alert);
    throw error;
  }
}
