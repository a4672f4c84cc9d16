// Search on the pages of the documentation. The index is fetched once somebody searches.
import MiniSearch from "minisearch";
import { FIELDS, STORED } from "./search-fields.js";

const MOST_FOUND = 12;
const form = document.querySelector("form[role=search]");
const input = document.getElementById("search");
const found = document.getElementById("found");
let index;

async function fetched() {
  const answer = await fetch(form.dataset.index);
  if (!answer.ok) throw new Error(`the index is not there (${answer.status})`);
  return MiniSearch.loadJSON(await answer.text(), { fields: FIELDS, storeFields: STORED });
}

function load() {
  index ??= fetched();
  // The next search tries again.
  index.catch(() => (index = undefined));
  return index;
}

function item({ page, title, address }) {
  const link = document.createElement("a");
  link.href = new URL(address, new URL(form.dataset.root, location.href)).href;
  link.textContent = title === "" || title === page ? page : `${title} · ${page}`;
  const made = document.createElement("li");
  made.append(link);
  return made;
}

function say(text, ...children) {
  const line = document.createElement("p");
  line.textContent = text;
  found.replaceChildren(line, ...children);
}

async function search() {
  const words = input.value.trim();
  if (words === "") return found.replaceChildren();
  try {
    const all = await load();
    // The person has typed on.
    if (input.value.trim() !== words) return;
    const how = { prefix: true, fuzzy: 0.15, combineWith: "AND", boost: { title: 4, page: 2 } };
    const results = all.search(words, how).slice(0, MOST_FOUND);
    if (results.length === 0) return say("Nothing was found. Try other words, or fewer.");
    const list = document.createElement("ul");
    list.append(...results.map(item));
    say(`${results.length} sections`, list);
  } catch (error) {
    say(`The search does not work: ${error.message}.`);
  }
}

form.hidden = false;
input.addEventListener("focus", () => load().catch(() => {}));
input.addEventListener("input", search);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  search();
});
// A reader who followed a result to this page has found it.
found.addEventListener("click", ({ target }) => {
  if (target.closest("a")) found.replaceChildren();
});
