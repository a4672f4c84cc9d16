// The TextMate grammar of editors/ as a language of CodeMirror. It takes of TextMate's rules what
// that grammar uses: `match` with captures, `begin` and `end`, `include` of the repository.
import { StreamLanguage } from "@codemirror/language";
import grammar from "./tacit.tmLanguage.json" with { type: "json" };

/** The tags of @lezer/highlight for the names of TextMate's scopes; the first that fits. */
const TAGS = [
  ["comment.line.documentation", "docComment"],
  ["comment", "comment"],
  ["string", "string"],
  ["constant.character.escape", "escape"],
  ["constant.language", "bool"],
  ["constant.numeric", "number"],
  ["keyword.operator", "operator"],
  ["keyword", "keyword"],
  ["storage.type", "typeName"],
  ["entity.name.type", "typeName"],
  ["entity.name.function", "variableName.function"],
  ["entity.name", "variableName.definition"],
];
const tag = (name = "") => TAGS.find(([scope]) => name.startsWith(scope))?.[1] ?? null;

/** A rule whose expressions match at one place: a repeated include is one object. */
const read = new Map();
function rule(given) {
  if (given.include) return rule(grammar.repository[given.include.slice(1)]);
  if (read.has(given)) return read.get(given);
  const made = { tag: tag(given.name) };
  read.set(given, made);
  made.match = new RegExp(given.match ?? given.begin, "dy");
  made.end = given.end && new RegExp(given.end, "y");
  made.patterns = (given.patterns ?? []).map(rule);
  const captures = Object.entries(given.captures ?? {});
  made.captures = captures.map(([group, { name }]) => ({ group: Number(group), tag: tag(name) }));
  return made;
}
const root = { tag: null, patterns: grammar.patterns.map(rule) };

function matched(expression, stream) {
  expression.lastIndex = stream.pos;
  return expression.exec(stream.string);
}

/** The parts of a match: each capture, and what is between them. */
function parts({ captures, tag: whole }, found) {
  const made = [];
  let done = found.index;
  const end = found.index + found[0].length;
  for (const { group, tag: name } of captures) {
    const [from, to] = found.indices[group];
    made.push({ to: from, tag: whole }, { to, tag: name });
    done = to;
  }
  made.push({ to: end, tag: whole });
  return made.filter(({ to }, place) => to > (made[place - 1]?.to ?? found.index));
}

function token(stream, state) {
  if (state.parts.length > 0) {
    const next = state.parts[0];
    state.parts = state.parts.slice(1);
    stream.pos = next.to;
    return next.tag;
  }
  const inner = state.inside.at(-1) ?? root;
  const end = inner.end && matched(inner.end, stream);
  if (end) {
    stream.pos += end[0].length;
    state.inside = state.inside.slice(0, -1);
    return inner.tag;
  }
  for (const one of inner.patterns) {
    const found = matched(one.match, stream);
    if (!found?.[0]) continue;
    if (one.end) {
      stream.pos += found[0].length;
      state.inside = [...state.inside, one];
      return one.tag;
    }
    state.parts = parts(one, found);
    return token(stream, state);
  }
  // No pattern begins in the middle of a word.
  if (!stream.match(/^\w+/)) stream.next();
  return inner.tag;
}

/** Spaces before a line: those of the line above, more after an opening bracket. */
function indent(_, textAfter, context) {
  const { options, pos, unit } = context;
  let above = context.lineAt(options.simulateBreak === pos ? pos : Math.max(pos - 1, 0), -1);
  while (above.text.trim() === "" && above.from > 0) above = context.lineAt(above.from - 1, -1);
  const opens = /[([{]\s*(\/\/.*)?$/.test(above.text) ? unit : 0;
  const closes = /^\s*[)\]}]/.test(textAfter) ? unit : 0;
  return Math.max(context.lineIndent(above.from, -1) + opens - closes, 0);
}

/** The words that the grammar lists, of which many are names elsewhere in a program. */
const lists = grammar.patterns.map(({ match = "" }) => /^\\b\(([a-z|]+)\)\\b$/.exec(match)?.[1]);
export const tacitWords = lists.flatMap((list) => list?.split("|") ?? []);

export const tacitLanguage = StreamLanguage.define({
  name: "tacit",
  startState: () => ({ inside: [], parts: [] }),
  token,
  indent,
  languageData: {
    commentTokens: { line: "//", block: { open: "/*", close: "*/" } },
    closeBrackets: { brackets: ["(", "[", "{", '"'] },
    indentOnInput: /^\s*[)\]}]$/,
  },
});
