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
