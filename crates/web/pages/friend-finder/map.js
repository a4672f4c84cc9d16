// The map: its squares, the venues on it, who is where as far as this page knows, and the zoom.
import { $, element, show, styled } from "../page.js";

/** How much wider than the window the ground may be. */
const ZOOMS = [1, 1.5, 2, 3, 4];

let cells;
let columns;
let rows;
let venues;
let press;
let zoom = 0;
let chosen = null;
/** The mark in each square that has one. */
const marks = new Map();

/** A square's short name: a letter or two for its column, and its row. */
function codeOf(cell) {
  const column = cell % columns;
  const letter = (place) => String.fromCharCode(65 + place);
  const before = column < 26 ? "" : letter(Math.floor(column / 26) - 1);
  return `${before}${letter(column % 26)}${Math.floor(cell / columns) + 1}`;
}

const venuesIn = (cell) => venues.filter((venue) => venue.cell === cell).map(({ name }) => name);

/** A square's name, with what is there. */
export function nameOfCell(cell) {
  const there = venuesIn(cell);
  return codeOf(cell) + (there.length > 0 ? ` (${there.join(", ")})` : "");
}

function describe(cell) {
  const mark = marks.get(cell);
  const parts = [codeOf(cell), ...venuesIn(cell), ...(mark ? [mark.label] : [])];
  $("grid").children[cell].setAttribute("aria-label", parts.join(", "));
}

/** The square that an arrow key leads to, if there is one. */
function neighbour(cell, key) {
  const column = cell % columns;
  const next = {
    ArrowLeft: column > 0 ? cell - 1 : -1,
    ArrowRight: column < columns - 1 ? cell + 1 : -1,
    ArrowUp: cell - columns,
    ArrowDown: cell + columns,
    Home: cell - column,
    End: cell - column + columns - 1,
  }[key];
  return next >= 0 && next < cells ? next : null;
}

function square(cell) {
  const button = element("button");
  button.type = "button";
  button.setAttribute("role", "radio");
  button.setAttribute("aria-checked", "false");
  button.tabIndex = cell === 0 ? 0 : -1;
  button.onclick = () => press(cell);
  button.onkeydown = (event) => {
    const next = neighbour(cell, event.key);
    if (next === null) return;
    event.preventDefault();
    press(next);
  };
  return button;
}

function label({ name, x, y, isMain = false }) {
  const made = styled("span", isMain ? "venue main" : "venue", name);
  made.style.left = `${100 * x}%`;
  made.style.top = `${100 * y}%`;
  return made;
}

const rowOf = (cell) => Math.floor(cell / columns);

/** Moves the names of venues away from marks, and from the chosen square. */
function spare() {
  const marked = [...marks.keys(), ...(chosen === null ? [] : [chosen])];
  const isNear = (cell, other) =>
    Math.abs((cell % columns) - (other % columns)) <= 1 &&
    Math.abs(rowOf(cell) - rowOf(other)) <= 1;
  venues.forEach(({ cell }, place) => {
    const near = marked.filter((other) => isNear(cell, other));
    const isBelow = near.some((other) => rowOf(other) < rowOf(cell));
    const { classList } = $("venues").children[place];
    classList.toggle("above", near.length > 0 && !isBelow);
    classList.toggle("below", isBelow);
  });
}

/** Draws `count` squares over a plan: a picture, and venues at parts of its width and height. */
export function drawMap(count, plan, onPress) {
  [cells, press] = [count, onPress];
  columns = 2 ** Math.ceil(Math.log2(cells) / 2);
  rows = Math.ceil(cells / columns);
  const part = (length, at) => Math.min(length - 1, Math.floor(at * length));
  venues = plan.venues.map((venue) => ({
    ...venue,
    cell: part(rows, venue.y) * columns + part(columns, venue.x),
  }));
  document.documentElement.style.setProperty("--columns", columns);
  document.documentElement.style.setProperty("--rows", rows);
  $("picture").src = plan.picture;
  show($("grid"), ...Array.from({ length: cells }, (_, cell) => square(cell)));
  for (let cell = 0; cell < cells; cell++) describe(cell);
  show($("venues"), ...venues.map(label));
}

/** Marks a square as the chosen one, and moves the keyboard's focus to it. */
export function markChosen(cell) {
  const squares = $("grid").children;
  for (const one of squares) {
    one.tabIndex = -1;
    one.setAttribute("aria-checked", "false");
  }
  squares[cell].setAttribute("aria-checked", "true");
  squares[cell].tabIndex = 0;
  squares[cell].focus();
  chosen = cell;
  spare();
}

/** Marks who is in a square, for as long as the page is open: a class, short letters, and words. */
export function mark(cell, kind, letters, label) {
  unmark(cell);
  marks.set(cell, { kind, label });
  $("grid").children[cell].append(styled("span", `mark ${kind}`, letters));
  describe(cell);
  spare();
}

export function unmark(cell) {
  if (!marks.delete(cell)) return;
  $("grid").children[cell].replaceChildren();
  describe(cell);
  spare();
}

/** Takes off the marks of one kind, or of one person. */
export function unmarkAll(is) {
  for (const [cell, mark] of [...marks]) if (is(mark)) unmark(cell);
}

/** The place of the map that stays where it is: the chosen square, or the middle of the window. */
function middle() {
  const [window, ground] = [$("map"), $("ground")];
  if (chosen !== null) {
    const square = $("grid").children[chosen];
    return [
      (square.offsetLeft + square.offsetWidth / 2) / ground.clientWidth,
      (square.offsetTop + square.offsetHeight / 2) / ground.clientHeight,
    ];
  }
  return [
    (window.scrollLeft + window.clientWidth / 2) / ground.clientWidth,
    (window.scrollTop + window.clientHeight / 2) / ground.clientHeight,
  ];
}

function zoomTo(next, at = middle()) {
  zoom = Math.min(ZOOMS.length - 1, Math.max(0, next));
  const [window, ground] = [$("map"), $("ground")];
  ground.style.setProperty("--zoom", ZOOMS[zoom]);
  window.scrollTo({
    left: at[0] * ground.clientWidth - window.clientWidth / 2,
    top: at[1] * ground.clientHeight - window.clientHeight / 2,
    behavior: "instant",
  });
  $("closer").setAttribute("aria-disabled", String(zoom === ZOOMS.length - 1));
  $("farther").setAttribute("aria-disabled", String(zoom === 0));
}

/** What two fingers or a wheel are on, as parts of the ground. */
function partsOf(x, y) {
  const box = $("ground").getBoundingClientRect();
  return [(x - box.left) / box.width, (y - box.top) / box.height];
}

$("closer").onclick = () => zoomTo(zoom + 1);
$("farther").onclick = () => zoomTo(zoom - 1);
$("map").addEventListener(
  "wheel",
  (event) => {
    // Two fingers on a touchpad come as this, too.
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoomTo(zoom + (event.deltaY < 0 ? 1 : -1), partsOf(event.clientX, event.clientY));
  },
  { passive: false },
);

const spread = ([one, other]) =>
  Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
let apart = 0;
$("map").addEventListener("touchstart", ({ touches }) => {
  if (touches.length === 2) apart = spread(touches);
});
$("map").addEventListener(
  "touchmove",
  (event) => {
    const { touches } = event;
    if (touches.length !== 2) return;
    event.preventDefault();
    const ratio = spread(touches) / apart;
    if (ratio < 1.25 && ratio > 0.8) return;
    apart = spread(touches);
    const [one, other] = touches;
    const at = partsOf((one.clientX + other.clientX) / 2, (one.clientY + other.clientY) / 2);
    zoomTo(zoom + (ratio > 1 ? 1 : -1), at);
  },
  { passive: false },
);
