// Fields for inputs: one for a plain value, and a form with a field for each part of a struct. The
// form writes the value's text, which may be written by hand instead.
import { element, show } from "../page.js";

/** The largest number of rows of a form. */
const MOST_ROWS = 32;

const isStruct = ({ kind }) => kind === "struct" || kind === "tuple";

/** Whether a form can show all values of a shape. */
function isShown(shape) {
  if (shape.kind === "struct") return shape.fields.every((field) => isShown(field.shape));
  if (shape.kind === "tuple") return shape.parts.every(isShown);
  return shape.kind !== "list" || (shape.most <= MOST_ROWS && isShown(shape.of));
}

/** Whether a value is written in a form: lists of plain values are shorter as text. */
const hasForm = (shape) =>
  shape && isShown(shape) && (isStruct(shape) || (shape.kind === "list" && isStruct(shape.of)));

const choices = (shape) => (shape.kind === "bool" ? ["false", "true"] : shape.variants);

function field(shape, value) {
  if (shape?.kind !== "bool" && shape?.kind !== "enum") {
    const made = element("input");
    Object.assign(made, { value: value ?? "", autocomplete: "off", spellcheck: false });
    return made;
  }
  const names = choices(shape);
  const made = element("select", "", ...names.map((name) => element("option", name)));
  made.value = names.includes(String(value)) ? String(value) : names[0];
  return made;
}

/** A part of a form: what is shown, and what reads its value. */
function part(shape, { path, title, said = "" }, value) {
  if (isStruct(shape)) return group(shape, { path, title, said }, value);
  if (shape.kind === "list") return list(shape, { path, title, said }, value);
  const made = field(shape, value);
  made.setAttribute("aria-label", path);
  return {
    node: element("label", "", `${title} `, element("small", said), made),
    read: () => made.value,
  };
}

function fieldset({ title, said }, ...children) {
  const legend = element("legend", "", `${title} `, element("small", said));
  return element("fieldset", "", legend, ...children);
}

function group(shape, names, value) {
  if (shape.kind === "tuple") {
    const parts = shape.parts.map((one, place) =>
      part(one, { path: `${names.path}.${place}`, title: `.${place}` }, value?.[place]),
    );
    return {
      node: fieldset(names, ...parts.map(({ node }) => node)),
      read: () => parts.map(({ read }) => read()),
    };
  }
  const parts = shape.fields.map(({ name, type, shape: one }) => {
    const of = { path: `${names.path}.${name}`, title: name, said: type };
    return [name, part(one, of, value?.[name])];
  });
  return {
    node: fieldset(names, ...parts.map(([, { node }]) => node)),
    read: () => Object.fromEntries(parts.map(([name, { read }]) => [name, read()])),
  };
}

function list(shape, names, value) {
  const rows = element("div");
  const count = Math.max(shape.least, Math.min(value?.length ?? 1, shape.most));
  let parts = [];
  const draw = (values) => {
    parts = values.map((one, place) => {
      const path = `${names.path}[${place}]`;
      return part(shape.of, { path, title: path }, one);
    });
    show(rows, ...parts.map(({ node }) => node));
    more.disabled = parts.length >= shape.most;
    less.disabled = parts.length === 0;
  };
  const read = () => parts.map((one) => one.read());
  const button = (said, change) => {
    const made = Object.assign(element("button", said), { type: "button" });
    made.onclick = () => {
      draw(change(read()));
      rows.dispatchEvent(new Event("input", { bubbles: true }));
    };
    return made;
  };
  const more = button("Add a row", (values) => [...values, undefined]);
  const less = button("Remove the last", (values) => values.slice(0, -1));
  const given = Array.isArray(value) ? value : [];
  draw(Array.from({ length: count }, (_, place) => given[place]));
  const isOpen = shape.least < shape.most;
  const buttons = Object.assign(element("div", "", more, less), { className: "row" });
  return { node: fieldset(names, rows, ...(isOpen ? [buttons] : [])), read };
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A form, with its text below. */
function form({ name, said, shape }, before) {
  const text = field(null, before);
  text.name = name;
  const place = element("div");
  let made;
  const draw = (value) => {
    made = part(shape, { path: name, title: name, said }, value);
    show(place, made.node);
  };
  const write = () => {
    text.value = JSON.stringify(made.read());
  };
  draw(parsed(text.value));
  if (text.value === "") write();
  place.addEventListener("input", write);
  text.addEventListener("input", () => {
    const value = parsed(text.value);
    if (value !== undefined) draw(value);
  });
  const label = element("label", `${name} as text`, text);
  const summary = element("summary", "As text");
  return Object.assign(element("div", "", place, element("details", "", summary, label)), {
    className: "form",
  });
}

function plain({ name, said, shape, value = "" }, before) {
  const made = field(shape, before ?? value);
  made.name = name;
  return element("label", "", `${name} `, element("small", said), made);
}

const fieldsOf = (place) => [...place.querySelectorAll("[name]")];

/** Fields for inputs. Those that were there keep what was typed, and the cursor. */
export function fields(place, inputs) {
  const now = JSON.stringify(inputs.map(({ name, said, shape }) => [name, said, shape]));
  if (place.dataset.fields === now) return;
  place.dataset.fields = now;
  const before = new Map(fieldsOf(place).map((one) => [one.name, one.value]));
  const made = inputs.map((input) => {
    const given = before.get(input.name);
    return hasForm(input.shape) ? form(input, given ?? input.value) : plain(input, given);
  });
  show(place, ...made);
}

/** What is in the fields, by name; empty ones left out. */
export function values(place) {
  const given = fieldsOf(place).map(({ name, value }) => [name, value.trim()]);
  return Object.fromEntries(given.filter(([, value]) => value !== ""));
}
