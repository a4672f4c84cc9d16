// The documentation as a site. Pages are those of the contents, in that order. A link that leads
// nowhere is refused.
import { cp, mkdir, readFile, readdir, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import MiniSearch from "minisearch";
import { between, codeBlock, escaped, readPage } from "./markdown.mjs";
import { FIELDS, STORED } from "./search-fields.js";

/** The addresses of pages that do not have their file's name. */
const NAMED = { "README.md": "index.html", "docs/README.md": "first-tasks.html" };
/** The languages of files that pages lead to. */
const LANGUAGES = { ".tacit": "tacit", ".rs": "rust", ".json": "json" };
const MOST_FILE_BYTES = 1 << 20;

/** Where a page of the repository is in the site. */
function addressOf(file) {
  const inside = file.replace(/^docs\//, "").replace(/\.md$/, ".html");
  return NAMED[file] ?? (file.startsWith("docs/") ? inside : inside.toLowerCase());
}

/** A problem that a writer of pages has to solve. */
class Broken extends Error {}

async function readPages(repository, contents) {
  const files = contents.flatMap(({ pages }) => pages);
  const there = await readdir(path.join(repository, "docs"), { recursive: true });
  const missing = there.filter((name) => name.endsWith(".md") && !files.includes(`docs/${name}`));
  if (missing.length > 0) throw new Broken(`contents.json lacks ${missing.join(", ")}`);
  const read = files.map(async (file) => {
    const text = await readFile(path.join(repository, file), "utf8");
    return [file, { file, address: addressOf(file), ...readPage(text) }];
  });
  return new Map(await Promise.all(read));
}

/** The site: its pages, and the other files of the repository that they lead to. */
class Site {
  constructor(repository, pages) {
    this.repository = repository;
    this.pages = pages;
    /** Pictures, which are copied, and sources, which become pages: their addresses. */
    this.others = new Map();
  }

  /** Where a link of a page leads, from that page. */
  lead(page, link) {
    if (/^https?:/.test(link)) return link;
    const [to, anchor] = link.split("#");
    const file = to === "" ? page.file : path.posix.join(path.posix.dirname(page.file), to);
    const clean = file.replace(/\/$/, "");
    const other = this.pages.get(clean);
    const end = anchor === undefined ? "" : `#${anchor}`;
    if (other) {
      const isThere = !anchor || other.sections.some(({ id }) => id === anchor);
      if (!isThere) throw new Broken(`${page.file}: ${clean} has no heading for #${anchor}`);
      return (to === "" ? "" : between(page.address, other.address)) + end;
    }
    const known = this.others.get(clean);
    if (!known) throw new Broken(`${page.file}: ${link} leads to no file`);
    return between(page.address, known) + end;
  }

  /** Finds the files that pages lead to and that are no pages. */
  async findOthers() {
    for (const page of this.pages.values()) {
      for (const link of page.links) {
        if (/^https?:/.test(link)) continue;
        const [to] = link.split("#");
        if (to !== "") await this.find(path.posix.join(path.posix.dirname(page.file), to));
      }
    }
  }

  async find(given) {
    const file = given.replace(/\/$/, "");
    if (this.pages.has(file) || this.others.has(file) || file.startsWith("..")) return;
    const found = await stat(path.join(this.repository, file)).catch(() => null);
    if (!found) return;
    if (found.isDirectory()) {
      this.others.set(file, `files/${file}/index.html`);
      for (const name of await readdir(path.join(this.repository, file))) {
        await this.find(`${file}/${name}`);
      }
    } else if (file.endsWith(".svg")) {
      this.others.set(file, file.replace(/^docs\//, ""));
    } else if (found.size <= MOST_FILE_BYTES) {
      this.others.set(file, `files/${file}.html`);
    }
  }

  /** A page of a file of the repository, or of the list of a folder. */
  async other(file, address) {
    const place = path.join(this.repository, file);
    const title = `<h1>${escaped(file)}</h1>`;
    if (!address.endsWith("/index.html")) {
      const text = await readFile(place, "utf8");
      const name = path.basename(file);
      const language = LANGUAGES[path.extname(file)];
      return title + (await codeBlock(text, language, { name, from: address }));
    }
    const inside = [...this.others, ...[...this.pages].map(([one, page]) => [one, page.address])];
    const items = inside
      .filter(([one]) => path.posix.dirname(one) === file)
      .map(([one, to]) => `<li><a href="${between(address, to)}">${escaped(one)}</a></li>`);
    return `${title}<ul>${items.join("")}</ul>`;
  }
}

/** The list of pages, with the headings of the one that is shown. */
function navigation(contents, pages, current) {
  const item = (file) => {
    const page = pages.get(file);
    if (page !== current) {
      const way = between(current.address, page.address);
      return `<li><a href="${way}">${escaped(page.title)}</a></li>`;
    }
    const inside = page.sections.filter(({ level }) => level === 2);
    const headings = inside.map(
      ({ id, title }) => `<li><a href="#${id}">${escaped(title)}</a></li>`,
    );
    const list = headings.length > 0 ? `<ul>${headings.join("")}</ul>` : "";
    return `<li><a href="#top" aria-current="page">${escaped(page.title)}</a>${list}</li>`;
  };
  const parts = contents.map(
    ({ title, pages: files }) => `<h2>${title}</h2><ul>${files.map(item).join("")}</ul>`,
  );
  return parts.join("\n");
}

/** The pages before and after one. */
function neighbours(pages, current) {
  const all = [...pages.values()];
  const place = all.indexOf(current);
  const link = (page, words) =>
    page
      ? `<a href="${between(current.address, page.address)}">${words}: ${escaped(page.title)}</a>`
      : "";
  const [before, after] = [all[place - 1], all[place + 1]];
  return place < 0 ? "" : `<p class="next">${link(before, "Before")} ${link(after, "Next")}</p>`;
}

function whole({ address, title }, list, body) {
  const way = (to) => between(address, to);
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>${escaped(title)} · Tacit</title>
    <link rel="stylesheet" href="${way("style.css")}" />
    <link rel="stylesheet" href="${way("code.css")}" />
    <link rel="stylesheet" href="${way("docs.css")}" />
    <link rel="icon" href="data:," />
    <script type="module" src="${way("search.js")}"></script>
  </head>
  <body id="top">
    <header>
      <a class="skip" href="#page">Skip to the text</a>
      <a class="home" href="${way("index.html")}">Tacit</a>
      <a href="${way("../playground/")}">Playground</a>
      <a class="narrow" href="#pages">All pages</a>
      <form role="search" data-index="${way("search.json")}" data-root="${way("index.html")}" hidden>
        <label for="search">Search</label>
        <input id="search" type="search" autocomplete="off" spellcheck="false" aria-controls="found" />
      </form>
    </header>
    <div id="found" role="status"></div>
    <div class="columns">
      <main id="page">
${body}
      </main>
      <nav aria-label="Pages" id="pages">
${list}
      </nav>
    </div>
  </body>
</html>
`;
}

/** What search looks through: each section of each page. */
function searchIndex(pages) {
  const index = new MiniSearch({ fields: FIELDS, storeFields: STORED });
  const sections = [...pages.values()].flatMap(({ address, title: page, sections: all }) =>
    all
      .filter(({ title, text }) => title !== "" || text !== "")
      .map(({ id, title, text }) => ({
        page,
        title,
        text,
        address: id ? `${address}#${id}` : address,
      })),
  );
  index.addAll(sections.map((section, id) => ({ id, ...section })));
  return JSON.stringify(index);
}

export async function makeDocs(repository, folder, contents) {
  const pages = await readPages(repository, contents);
  const site = new Site(repository, pages);
  await site.findOthers();
  const put = async (address, text) => {
    await mkdir(path.join(folder, path.dirname(address)), { recursive: true });
    await writeFile(path.join(folder, address), text);
  };
  for (const page of pages.values()) {
    const html = await page.html(page.address, (link) => site.lead(page, link));
    const list = navigation(contents, pages, page);
    await put(page.address, whole(page, list, html + neighbours(pages, page)));
  }
  for (const [file, address] of site.others) {
    if (address.endsWith(".svg")) {
      await mkdir(path.join(folder, path.dirname(address)), { recursive: true });
      await cp(path.join(repository, file), path.join(folder, address));
      continue;
    }
    const page = { address, title: file, sections: [] };
    const list = navigation(contents, pages, page);
    await put(address, whole(page, list, await site.other(file, address)));
  }
  await put("search.json", searchIndex(pages));
}
