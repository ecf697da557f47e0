// An answer as a table: a million rows of a thousand columns, of which only what is in sight is drawn.
// Sorted and filtered in place; the whole of it can be used by the keyboard.

import { h, say } from "./dom.js";
import { cell, count, isNumber, nanoseconds } from "./format.js";

const ROW = 25;
// Browsers limit how tall an element may be; taller tables are scrolled in proportion.
const TALLEST = 6_000_000;
const WIDEST = 420;
const NARROWEST = 44;

export class Grid {
  #columns = [];
  #rows = [];
  #order = new Uint32Array(0);
  #shown = [];
  #lefts = [];
  #hidden = new Set();
  #widths = new Map();
  #sorted = null;
  #ranked = null;
  #filter = "";
  #active = { row: 0, column: 0 };
  #pool = [];
  #frame = 0;
  #label;
  #onopen;
  #onselect;
  #onchange;
  #id = `grid${Math.random().toString(36).slice(2, 7)}`;

  constructor({ label, onopen, onselect, onchange } = {}) {
    this.#label = label ?? "Rows";
    this.#onopen = onopen;
    this.#onselect = onselect;
    this.#onchange = onchange ?? (() => {});
    this.head = h("div", { role: "row", class: "grid-head", "aria-rowindex": "1" });
    this.body = h("div", { role: "rowgroup", class: "grid-body" });
    this.element = h("div", {
      class: "grid", role: "grid", tabindex: "0", "aria-label": this.#label, "aria-readonly": "true",
      onkeydown: (event) => this.#key(event), onclick: (event) => this.#click(event), ondblclick: (event) => this.#open(event),
    }, h("div", { role: "rowgroup", class: "grid-top" }, this.head), this.body);
    this.element.addEventListener("scroll", () => this.#later(), { passive: true });
    this.#observer = new ResizeObserver(() => this.#later());
    this.#observer.observe(this.element);
  }

  #observer;

  /** Lets go of the observer when the view is left. */
  destroy() {
    this.#observer.disconnect();
    cancelAnimationFrame(this.#frame);
  }

  /** Shows an answer. */
  set(columns, rows) {
    this.#columns = columns;
    this.#rows = rows;
    this.#sorted = null;
    this.#ranked = null;
    this.#filter = "";
    this.#widths.clear();
    this.#hidden = new Set();
    if (rows.length > 0 && columns.length > 12) {
      const empty = columns.map((_, at) => at).filter((at) => rows.every((row) => row[at] === null));
      if (empty.length < columns.length) this.#hidden = new Set(empty);
    }
    this.#active = { row: 0, column: 0 };
    this.#arrange();
    this.#measure();
    this.element.scrollTop = 0;
    this.element.scrollLeft = 0;
    this.#later();
  }

  get columns() { return this.#columns; }
  get hidden() { return this.#hidden; }
  get total() { return this.#rows.length; }
  get length() { return this.#order.length; }

  /** The rows as they are shown, with the columns that are. */
  shown() {
    const columns = this.#shown.map((at) => this.#columns[at]);
    const rows = Array.from(this.#order, (index) => this.#shown.map((at) => this.#rows[index][at]));
    return { columns, rows };
  }

  /** A row, in the order that is shown, as an object by column. */
  row(at) {
    const row = this.#rows[this.#order[at]];
    return row && Object.fromEntries(this.#columns.map((column, index) => [column.name, row[index]]));
  }

  /** Hides columns by their places, and shows all others. */
  hide(columns) {
    this.#hidden = new Set(columns);
    this.#measure();
    this.#later();
    this.#onchange();
  }

  /** Keeps the rows that have every word of a text; `column>5` and `column:word` ask one column. */
  filter(text) {
    this.#filter = text.trim();
    this.#arrange();
    this.#active.row = 0;
    this.element.scrollTop = 0;
    this.#later();
    say(`${count(this.length)} of ${count(this.total)} rows`);
    this.#onchange();
  }

  /** Sorts by a column; the same again turns round, and a third time gives the order of the answer. */
  sort(column) {
    if (this.#sorted?.column !== column) this.#sorted = { column, down: false };
    else if (!this.#sorted.down) this.#sorted = { column, down: true };
    else this.#sorted = null;
    this.#arrange();
    this.#later();
    const name = this.#columns[column].name;
    say(this.#sorted ? `sorted by ${name}, ${this.#sorted.down ? "descending" : "ascending"}` : "in the order of the answer");
  }

  #arrange() {
    const keep = this.#keeps();
    const order = this.#sorted ? this.#orderBy(this.#sorted) : new Uint32Array(this.#rows.length).map((_, index) => index);
    this.#order = keep ? order.filter((index) => keep(this.#rows[index])) : order;
  }

  /** All rows in the order of a column. NULL comes last whichever way, and equals stay in the order of the answer. */
  #orderBy({ column, down }) {
    if (this.#ranked?.column === column && this.#ranked.down === down) return this.#ranked.order;
    const { ranks, last } = ranked(this.#rows, column, this.#columns[column].type);
    const all = this.#rows.length;
    // Rank and place in one number, so that numbers are sorted without a function: a second less a million rows.
    const packed = new Float64Array(all);
    for (let index = 0; index < all; index += 1) {
      const rank = ranks[index] === last ? last : down ? last - 1 - ranks[index] : ranks[index];
      packed[index] = rank * all + index;
    }
    packed.sort();
    const order = new Uint32Array(all);
    for (let place = 0; place < all; place += 1) order[place] = packed[place] % all;
    this.#ranked = { column, down, order };
    return order;
  }

  #keeps() {
    if (!this.#filter) return null;
    const tests = this.#filter.match(/[^\s"]*"[^"]*"|\S+/g).map((word) => this.#test(word));
    return (row) => tests.every((test) => test(row));
  }

  #test(word) {
    const plain = (text) => text.replace(/^"(.*)"$/, "$1");
    const match = word.match(/^([\w.]+)(<=|>=|!=|=|<|>|:)(.+)$/);
    const at = match ? this.#columns.findIndex((column) => column.name.toLowerCase() === match[1].toLowerCase()) : -1;
    if (at < 0) {
      const needle = plain(word).toLowerCase();
      const shown = this.#shown.length ? this.#shown : this.#columns.map((_, index) => index);
      return (row) => shown.some((index) => cell(row[index], this.#columns[index].type).toLowerCase().includes(needle));
    }
    const { type } = this.#columns[at];
    const value = plain(match[3]);
    if (match[2] === ":") return (row) => cell(row[at], type).toLowerCase().includes(value.toLowerCase());
    const compare = comparison(isNumber(type) ? type : type === "ip" ? "ip" : "text");
    const holds = { "=": (c) => c === 0, "!=": (c) => c !== 0, "<": (c) => c < 0, ">": (c) => c > 0, "<=": (c) => c <= 0, ">=": (c) => c >= 0 }[match[2]];
    return (row) => row[at] !== null && holds(compare(isNumber(type) ? row[at] : cell(row[at], type), value));
  }

  #measure() {
    this.#shown = this.#columns.map((_, at) => at).filter((at) => !this.#hidden.has(at));
    let left = 0;
    this.#lefts = this.#shown.map((at) => {
      const here = left;
      left += this.#width(at);
      return here;
    });
    this.#lefts.push(left);
    this.head.style.width = `${left}px`;
    this.body.style.width = `${left}px`;
    this.element.setAttribute("aria-colcount", String(this.#shown.length));
    this.#pool = [];
    this.body.replaceChildren();
    this.head.replaceChildren();
  }

  #width(at) {
    const kept = this.#widths.get(at);
    if (kept) return kept;
    const column = this.#columns[at];
    let longest = "";
    const look = (row) => {
      const text = cell(row[at], column.type);
      if (text.length > longest.length) longest = text;
    };
    const step = Math.max(1, Math.floor(this.#rows.length / 200));
    for (let index = 0; index < this.#rows.length; index += step) look(this.#rows[index]);
    if (this.#rows.length > 0) look(this.#rows.at(-1));
    const body = measure(longest, classOf(column.type) === "mono");
    const head = measure(column.name, false) * 1.08 + 14;
    const width = Math.min(WIDEST, Math.max(NARROWEST, Math.ceil(Math.max(body, head)) + 20));
    this.#widths.set(at, width);
    return width;
  }

  #later() {
    if (this.#frame) return;
    this.#frame = requestAnimationFrame(() => { this.#frame = 0; this.#draw(); });
  }

  #height() { return Math.min(this.#order.length * ROW, TALLEST); }

  /** How many whole rows are in sight. */
  #page() { return Math.max(1, Math.floor((this.element.clientHeight - ROW) / ROW)); }

  /** The first row in sight, with its part that is out of sight. */
  #first() {
    const all = this.#order.length;
    const tall = this.#height();
    if (tall === all * ROW) return this.element.scrollTop / ROW;
    const travel = tall + ROW - this.element.clientHeight;
    return (this.element.scrollTop / travel) * (all - this.#page());
  }

  #draw() {
    const { element } = this;
    this.body.style.height = `${this.#height()}px`;
    element.setAttribute("aria-rowcount", String(this.#order.length + 1));
    const right = element.scrollLeft + element.clientWidth;
    let from = 0;
    while (from < this.#shown.length - 1 && this.#lefts[from + 1] < element.scrollLeft) from += 1;
    let to = from;
    while (to < this.#shown.length && this.#lefts[to] < right) to += 1;
    this.#drawHead(from, to);

    const first = this.#first();
    const start = Math.floor(first);
    const rows = Math.min(this.#order.length - start, this.#page() + 3);
    const top = element.scrollTop - (first - start) * ROW;
    while (this.#pool.length < rows) {
      const row = h("div", { role: "row", class: "grid-row" });
      this.#pool.push(row);
      this.body.append(row);
    }
    let active = "";
    this.#pool.forEach((row, at) => {
      const index = start + at;
      row.hidden = at >= rows;
      if (row.hidden) return;
      row.style.transform = `translateY(${top + at * ROW}px)`;
      row.setAttribute("aria-rowindex", String(index + 2));
      row.classList.toggle("odd", index % 2 === 1);
      row.classList.toggle("active", index + 1 === this.#active.row);
      row.setAttribute("aria-selected", String(index + 1 === this.#active.row));
      while (row.children.length > to - from) row.lastChild.remove();
      while (row.children.length < to - from) row.append(h("div", { role: "gridcell" }));
      const values = this.#rows[this.#order[index]];
      for (let place = from; place < to; place += 1) {
        const box = row.children[place - from];
        const column = this.#columns[this.#shown[place]];
        const value = values[this.#shown[place]];
        const text = cell(value, column.type);
        box.textContent = value === null ? "NULL" : text.length > 400 ? `${text.slice(0, 400)}…` : text;
        box.className = value === null ? "null" : classOf(column.type);
        box.style.left = `${this.#lefts[place]}px`;
        box.style.width = `${this.#lefts[place + 1] - this.#lefts[place]}px`;
        box.setAttribute("aria-colindex", String(place + 1));
        const isActive = index + 1 === this.#active.row && place === this.#active.column;
        box.classList.toggle("here", isActive);
        if (isActive) { box.id = `${this.#id}-here`; active = box.id; } else if (box.id) box.removeAttribute("id");
      }
    });
    if (this.#active.row === 0) active = `${this.#id}-head${this.#active.column}`;
    if (active && document.getElementById(active)) element.setAttribute("aria-activedescendant", active);
    else element.removeAttribute("aria-activedescendant");
  }

  #drawHead(from, to) {
    this.head.replaceChildren(...this.#shown.slice(from, to).map((at, place) => {
      const column = this.#columns[at];
      const sorted = this.#sorted?.column === at ? (this.#sorted.down ? "descending" : "ascending") : "none";
      const box = h("div", {
        role: "columnheader", id: `${this.#id}-head${from + place}`, "aria-sort": sorted, "aria-colindex": String(from + place + 1),
        title: `${column.name} · ${column.sql_type ?? column.type}`,
        class: `${classOf(column.type)} ${this.#active.row === 0 && this.#active.column === from + place ? "here" : ""}`,
      }, h("span", {}, column.name), h("span", { class: "arrow", "aria-hidden": "true" }, { ascending: "▲", descending: "▼" }[sorted] ?? ""),
      h("span", { class: "grip", "aria-hidden": "true", onpointerdown: (event) => this.#drag(event, at), onclick: (event) => event.stopPropagation() }));
      box.style.left = `${this.#lefts[from + place]}px`;
      box.style.width = `${this.#lefts[from + place + 1] - this.#lefts[from + place]}px`;
      return box;
    }));
  }

  #drag(event, at) {
    event.preventDefault();
    event.stopPropagation();
    const began = event.clientX;
    const was = this.#width(at);
    const move = (moved) => this.#resize(at, was + moved.clientX - began);
    const end = () => { removeEventListener("pointermove", move); removeEventListener("pointerup", end); };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end);
  }

  #resize(at, width) {
    this.#widths.set(at, Math.max(NARROWEST, Math.min(2000, width)));
    this.#measure();
    this.#later();
  }

  #click(event) {
    const box = event.target.closest("[role=gridcell],[role=columnheader]");
    if (!box) return;
    const column = Number(box.getAttribute("aria-colindex")) - 1;
    if (box.getAttribute("role") === "columnheader") {
      this.#active = { row: 0, column };
      this.sort(this.#shown[column]);
    } else {
      this.#go(Number(box.parentElement.getAttribute("aria-rowindex")) - 1, column);
    }
  }

  #open(event) {
    if (event.target.closest("[role=gridcell]")) this.#onopen?.(this.row(this.#active.row - 1), this.#active.row - 1);
  }

  /** Chooses a row, counted from 0. */
  choose(at) {
    if (this.#order.length > 0) this.#go(at + 1, this.#active.column);
  }

  /** Moves the active cell: row 0 is the head. */
  #go(row, column) {
    const was = this.#active.row;
    this.#active = {
      row: Math.max(0, Math.min(this.#order.length, row)),
      column: Math.max(0, Math.min(this.#shown.length - 1, column)),
    };
    this.#reveal();
    this.#later();
    if (this.#active.row > 0 && this.#active.row !== was) this.#onselect?.(this.row(this.#active.row - 1), this.#active.row - 1);
  }

  #reveal() {
    const { element } = this;
    const index = this.#active.row - 1;
    if (index >= 0) {
      const first = this.#first();
      const page = this.#page();
      const all = this.#order.length;
      const scrollTo = (row) => {
        const tall = this.#height();
        const top = Math.max(0, Math.min(all - page, row));
        element.scrollTop = tall === all * ROW ? top * ROW : (top / (all - page)) * (tall + ROW - element.clientHeight);
      };
      if (index < first) scrollTo(index);
      else if (index >= first + page) scrollTo(index - page + 1);
    }
    const left = this.#lefts[this.#active.column];
    const right = this.#lefts[this.#active.column + 1];
    if (left < element.scrollLeft) element.scrollLeft = left;
    else if (right > element.scrollLeft + element.clientWidth) element.scrollLeft = Math.min(left, right - element.clientWidth);
  }

  #key(event) {
    const { row, column } = this.#active;
    const control = event.ctrlKey || event.metaKey;
    const page = this.#page();
    const to = {
      ArrowDown: [row + 1, column], ArrowUp: [row - 1, column], ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1],
      PageDown: [row + page, column], PageUp: [Math.max(1, row - page), column],
      Home: control ? [1, 0] : [row, 0], End: control ? [this.#order.length, this.#shown.length - 1] : [row, this.#shown.length - 1],
    }[event.key];
    if (event.altKey && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
      event.preventDefault();
      const at = this.#shown[column];
      this.#resize(at, this.#width(at) + (event.key === "ArrowRight" ? 24 : -24));
    } else if (to) {
      event.preventDefault();
      this.#go(...to);
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      if (row === 0) this.sort(this.#shown[column]);
      else if (event.key === "Enter") this.#onopen?.(this.row(row - 1), row - 1);
    } else if (control && event.key === "c" && row > 0 && String(getSelection()) === "") {
      event.preventDefault();
      const value = this.#rows[this.#order[row - 1]][this.#shown[column]];
      navigator.clipboard?.writeText(cell(value)).then(() => say("copied"), () => {});
    }
  }
}

let ruler = null;

/** How wide a text is in a cell. */
function measure(text, mono) {
  ruler ??= document.createElement("canvas").getContext("2d");
  const style = getComputedStyle(document.documentElement);
  ruler.font = mono ? `12px ${style.getPropertyValue("--mono")}` : `13px ${style.getPropertyValue("--sans")}`;
  // Digits stand in columns, each as wide as the widest.
  return ruler.measureText(text.slice(0, 200).replace(/\d/g, "0")).width;
}

function classOf(type) {
  if (isNumber(type)) return "number";
  return type === "ip" || type === "mac" || type === "bytes" || type === "time" ? "mono" : "";
}

/** An address as a text that sorts as the number that it is: those of IPv4 first. */
function address(value) {
  const text = String(value);
  if (!text.includes(":")) return `4${text.split(".").map((octet) => octet.padStart(3, "0")).join("")}`;
  const [head, tail] = text.split("::");
  const part = (side) => (side ? side.split(":") : []);
  const first = part(head);
  const last = tail === undefined ? [] : part(tail);
  const whole = [...first, ...Array(Math.max(0, 8 - first.length - last.length)).fill("0"), ...last];
  return `6${whole.map((group) => group.padStart(4, "0")).join("")}`;
}

/** The rank of each row's value among the values of its column; `last` is that of NULL. */
function ranked(rows, column, type) {
  const all = rows.length;
  const ranks = new Float64Array(all);
  if (isNumber(type)) {
    let low = Infinity;
    let high = -Infinity;
    let whole = true;
    for (let index = 0; index < all && whole; index += 1) {
      const value = rows[index][column];
      if (value === null) continue;
      whole = Number.isSafeInteger(value);
      if (value < low) low = value;
      if (value > high) high = value;
    }
    // Whole numbers that lie close enough together are their own ranks.
    if (whole && (high - low + 2) * all < Number.MAX_SAFE_INTEGER) {
      const last = high >= low ? high - low + 1 : 0;
      for (let index = 0; index < all; index += 1) {
        const value = rows[index][column];
        ranks[index] = value === null ? last : value - low;
      }
      return { ranks, last };
    }
  }
  const key = type === "list" || type === "struct" ? (value) => cell(value) : (value) => value;
  const distinct = new Set();
  for (const row of rows) if (row[column] !== null) distinct.add(key(row[column]));
  let values = [...distinct];
  if (type === "ip") {
    values = values.map((value) => [address(value), value]).sort((one, other) => (one[0] < other[0] ? -1 : one[0] > other[0] ? 1 : 0)).map(([, value]) => value);
  } else if (values.every((value) => typeof value === "string") && (type === "text" || type === "mac" || type === "bytes")) {
    values.sort();
  } else if (values.every((value) => typeof value === "number")) {
    values = Float64Array.from(values).sort();
  } else {
    values.sort(comparison(type));
  }
  const places = new Map();
  for (let rank = 0; rank < values.length; rank += 1) places.set(values[rank], rank);
  const last = values.length;
  for (let index = 0; index < all; index += 1) ranks[index] = rows[index][column] === null ? last : places.get(key(rows[index][column]));
  return { ranks, last };
}

/** How values of a type compare. */
export function comparison(type) {
  const plain = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  switch (type) {
    case "int": case "uint":
      // Integers beyond 2^53 are texts: these alone are compared as what they are.
      return (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : plain(whole(a), whole(b)));
    case "float": case "decimal": case "duration": return (a, b) => Number(a) - Number(b);
    case "time": return (a, b) => (a.length === b.length ? plain(a, b) : plain(nanoseconds(a), nanoseconds(b)));
    case "ip": return (a, b) => plain(address(a), address(b));
    case "list": case "struct": return (a, b) => plain(cell(a), cell(b));
    default: return (a, b) => plain(a, b);
  }
}

function whole(value) {
  try { return BigInt(value); } catch { return Number(value); }
}
