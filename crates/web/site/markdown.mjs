// A page of the documentation as HTML: its title and headings, its links, its programs in colour.
import path from "node:path";
import { StreamLanguage } from "@codemirror/language";
import { json } from "@codemirror/legacy-modes/mode/javascript";
import { python } from "@codemirror/legacy-modes/mode/python";
import { rust } from "@codemirror/legacy-modes/mode/rust";
import { shell } from "@codemirror/legacy-modes/mode/shell";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { classHighlighter, highlightCode, tags } from "@lezer/highlight";
import markdownIt from "markdown-it";
import { tacitLanguage } from "./grammar.js";
import { fragment } from "./share.js";

/** Names of tokens that these modes have and @lezer/highlight does not. */
const tokenTable = { property: tags.propertyName, special: tags.special(tags.string) };
const mode = (given) => StreamLanguage.define({ ...given, tokenTable });
const languages = {
  tacit: tacitLanguage,
  json: mode(json),
  python: mode(python),
  rust: mode(rust),
  sh: mode(shell),
  toml: mode(toml),
};

export const escaped = (text) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

/** A program in colour. */
export function colored(code, language) {
  const known = languages[language];
  if (!known) return escaped(code);
  let html = "";
  const put = (text, classes) => {
    html += classes ? `<span class="${classes}">${escaped(text)}</span>` : escaped(text);
  };
  highlightCode(code, known.parser.parse(code), classHighlighter, put, () => put("\n"));
  return html;
}

/** The way to another page of the site, from the page at this address. */
export function between(from, to) {
  return path.posix.relative(path.posix.dirname(from), to);
}

/** What stands above and below a program. */
export async function codeBlock(code, language, { name, from }) {
  const tools = [];
  if (name) tools.push(`<span>${escaped(name)}</span>`);
  if (language === "tacit") {
    const way = between(from, "../playground/") + (await fragment({ text: code }));
    tools.push(`<a class="try" href="${escaped(way)}">Open in the playground</a>`);
  }
  const bar = tools.length > 0 ? `<div class="bar">${tools.join(" ")}</div>` : "";
  return `<div class="code">${bar}<pre tabindex="0"><code>${colored(code, language)}</code></pre></div>\n`;
}

/** The name that a heading has in links, as GitHub makes it. */
function slug(title, taken) {
  const letters = title.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "");
  const name = letters.trim().replace(/\s/g, "-");
  const count = taken.get(name) ?? 0;
  taken.set(name, count + 1);
  return count === 0 ? name : `${name}-${count}`;
}

const plainText = ({ children }) =>
  children.map(({ type, content }) => (type === "softbreak" ? " " : content)).join("");

/** The sections of a page, each with the text that search looks through. */
function sectionsOf(tokens) {
  const sections = [{ id: "", title: "", level: 0, text: [] }];
  const taken = new Map();
  tokens.forEach((token, place) => {
    if (token.type === "heading_open") {
      const title = plainText(tokens[place + 1]);
      const id = slug(title, taken);
      token.attrSet("id", id);
      sections.push({ id, title, level: Number(token.tag[1]), text: [] });
    } else if (token.type === "inline" && tokens[place - 1].type !== "heading_open") {
      sections.at(-1).text.push(plainText(token));
    } else if (token.type === "fence" || token.type === "code_block") {
      sections.at(-1).text.push(token.content);
    }
  });
  return sections.map((section) => ({ ...section, text: section.text.join(" ") }));
}

/**
 * Reads a page: its sections, its links as they are written, and `html`, which writes it for an
 * address with the links that `lead` gives.
 */
export function readPage(text) {
  const markdown = markdownIt({ html: false });
  const tokens = markdown.parse(text, {});
  const sections = sectionsOf(tokens);
  // The Content-Security-Policy allows no style in a tag.
  for (const token of tokens.filter((one) => /^t[hd]_open$/.test(one.type))) {
    if (/right/.test(token.attrGet("style"))) token.attrSet("class", "number");
    token.attrs = token.attrs?.filter(([name]) => name !== "style") ?? null;
  }
  const inner = tokens.flatMap(({ children }) => children ?? []);
  const leading = inner.flatMap((token) => {
    const name = { link_open: "href", image: "src" }[token.type];
    return name ? [{ token, name, link: token.attrGet(name) }] : [];
  });
  const title = sections.find(({ level }) => level === 1)?.title ?? "";
  const html = async (from, lead) => {
    for (const { token, name, link } of leading) token.attrSet(name, lead(link));
    const blocks = tokens.filter(({ type }) => type === "fence" || type === "code_block");
    const made = new Map();
    for (const block of blocks) {
      const [language, named] = block.info.split(/[\s,]+/);
      made.set(block, await codeBlock(block.content, language, { name: named, from }));
    }
    const written = (all, place) => made.get(all[place]);
    Object.assign(markdown.renderer.rules, { fence: written, code_block: written });
    markdown.renderer.rules.table_open = () => '<div class="wide" tabindex="0"><table>\n';
    markdown.renderer.rules.table_close = () => "</table></div>\n";
    return markdown.renderer.render(tokens, markdown.options, {});
  };
  return { title, sections, links: leading.map(({ link }) => link), html };
}
