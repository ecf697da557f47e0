// A call as a ladder: a column for each end, an arrow for each message, a band for each stream of media.
// Only arrows in sight are drawn, so that a call of ten thousand messages scrolls; the export has all.

import { h, s, save } from "./dom.js";
import { nanoseconds, seconds } from "./format.js";

const ROW = 30;
const LEFT = 96;
const HEAD = 34;

/** Messages and streams in the order of time, with the columns that they go between. */
function arrange(ladder) {
  const names = ladder.participants.map((end) => (typeof end === "string" ? end : end.name ?? `${end.address}:${end.port}`));
  const place = (end) => (typeof end === "number" ? end : names.indexOf(end));
  const items = ladder.messages.map((message) => ({ ...message, at: message.time, from: place(message.from), to: place(message.to) }));
  for (const stream of ladder.media ?? []) {
    // Media have ports of their own: they belong to the end of the same address. A stream between addresses that no
    // message names stands in the list below the ladder only.
    const near = (end) => (place(end) >= 0 ? place(end) : names.findIndex((name) => host(name) === host(end)));
    const [from, to] = [near(stream.from), near(stream.to)];
    if (from >= 0 && to >= 0) items.push({ ...stream, media: true, at: stream.start ?? stream.time ?? null, from, to, label: quality(stream) });
  }
  const key = (item) => (item.at ? nanoseconds(item.at) : 0n);
  const keyed = items.map((item, index) => [key(item), index, item]);
  keyed.sort((one, other) => (one[0] < other[0] ? -1 : one[0] > other[0] ? 1 : one[1] - other[1]));
  const first = keyed[0]?.[0] ?? 0n;
  return { names, items: keyed.map(([time, , item]) => ({ ...item, seconds: item.at ? Number(time - first) / 1e9 : null })) };
}

/** The address of an end. */
const host = (end) => String(end).replace(/:\d+$/, "");

/** What a stream lost and how it sounds, in a line. */
export function quality(stream) {
  const parts = [stream.codec ?? stream.label ?? "media"];
  if (stream.packets !== undefined && stream.packets !== null) parts.push(`${stream.packets} packets`);
  if (stream.lost !== undefined && stream.lost !== null) parts.push(`${stream.lost} lost`);
  if (stream.jitter !== undefined && stream.jitter !== null) parts.push(`jitter ${Number(stream.jitter).toFixed(1)} ms`);
  if (stream.mos !== undefined && stream.mos !== null) parts.push(`MOS ${Number(stream.mos).toFixed(2)}`);
  return parts.join(" · ");
}

function widthOf(names, room) {
  return Math.max(172, Math.min(320, (room - LEFT - 20) / Math.max(1, names.length)));
}

function x(column, width) { return LEFT + width * (column + 0.5); }

/** The arrow of an item, at a height. */
function arrow(item, y, width) {
  const kind = item.media ? "media" : item.failed ? "failed" : item.repeat ? "again" : "";
  const [from, to] = [x(item.from, width), x(item.to, width)];
  const text = item.label;
  const parts = [s("text", { x: LEFT - 14, y: y + 4, "text-anchor": "end", class: "time" }, item.seconds === null ? "" : item.seconds.toFixed(6).replace(/0{1,3}$/, ""))];
  if (item.from < 0 || item.to < 0) {
    parts.push(s("text", { x: LEFT, y: y + 4 }, text));
  } else if (item.from === item.to) {
    parts.push(s("path", { d: `M${from} ${y - 6}h26v12h-22`, class: "shaft" }), s("path", { d: `M${from + 2} ${y + 6}l8 -4v8z`, class: "tip" }), s("text", { x: from + 32, y: y + 4 }, text));
  } else {
    const way = Math.sign(to - from);
    if (item.media) {
      parts.push(s("rect", { x: Math.min(from, to), y: y + 1, width: Math.abs(to - from), height: 6, rx: 3, class: "band" }));
    } else {
      parts.push(s("line", { x1: from, x2: to - way * 6, y1: y + 4, y2: y + 4, class: "shaft" }), s("path", { d: `M${to} ${y + 4}l${-way * 9} -4.5v9z`, class: "tip" }));
    }
    const room = Math.abs(to - from) - 18;
    const longest = Math.max(8, Math.floor(room / 6.4));
    parts.push(s("text", { x: (from + to) / 2, y: y - 3, "text-anchor": "middle", class: "label" }, text.length > longest ? `${text.slice(0, longest - 1)}…` : text));
  }
  return s("g", { class: `message ${kind}` }, parts);
}

function heads(names, width) {
  return names.map((name, column) => s("text", { x: x(column, width), y: 21, "text-anchor": "middle", class: "end" }, name));
}

/** The whole ladder as an image that stands by itself. */
export function image(ladder, title) {
  const { names, items } = arrange(ladder);
  const width = widthOf(names, 1100);
  const wide = LEFT + width * names.length + 20;
  const tall = HEAD + items.length * ROW + 20;
  const root = s("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${wide} ${tall}`, width: wide, height: tall },
    s("title", {}, title),
    s("style", {}, "svg{background:#fff;font:11px system-ui,sans-serif}.life{stroke:#c3c9d2}.shaft{stroke:#2257a8;fill:none;stroke-width:1.4}.tip{fill:#2257a8}.failed .shaft{stroke:#b3261e}.failed .tip,.failed text{fill:#b3261e}.band{fill:#1d7a55;opacity:.55}.time{fill:#667}.end{font-weight:600}"),
    names.map((_, column) => s("line", { x1: x(column, width), x2: x(column, width), y1: HEAD, y2: tall, class: "life" })),
    heads(names, width), items.map((item, index) => arrow(item, HEAD + index * ROW + ROW / 2 + 2, width)));
  return new XMLSerializer().serializeToString(root);
}

export class Ladder {
  #items = [];
  #names = [];
  #width = 160;
  #active = -1;
  #frame = 0;
  #onpick;

  constructor({ onpick }) {
    this.#onpick = onpick;
    this.heads = s("svg", { class: "ladder-heads", "aria-hidden": "true" });
    this.drawing = s("svg", { class: "ladder-drawing", role: "presentation" });
    this.element = h("div", {
      class: "ladder", role: "listbox", tabindex: "0", "aria-label": "Messages of the call",
      onkeydown: (event) => this.#key(event),
    }, this.heads, this.drawing);
    this.element.addEventListener("scroll", () => this.#later(), { passive: true });
    this.#observer = new ResizeObserver(() => this.#later());
    this.#observer.observe(this.element);
  }

  #observer;

  destroy() {
    this.#observer.disconnect();
    cancelAnimationFrame(this.#frame);
  }

  /** Shows a ladder. */
  set(ladder) {
    const { names, items } = arrange(ladder);
    this.#names = names;
    this.#items = items;
    this.ladder = ladder;
    this.#active = -1;
    this.element.scrollTop = 0;
    this.#later();
  }

  get length() { return this.#items.length; }

  /** Saves the whole ladder as an SVG. */
  save(name) {
    save(new Blob([image(this.ladder, name)], { type: "image/svg+xml" }), `${name}.svg`);
  }

  /** Chooses a message by its place. */
  choose(index) {
    if (this.#items.length === 0) return;
    this.#active = Math.max(0, Math.min(this.#items.length - 1, index));
    const top = this.#active * ROW;
    const room = this.element.clientHeight - HEAD - ROW;
    if (top < this.element.scrollTop) this.element.scrollTop = top;
    else if (top > this.element.scrollTop + room) this.element.scrollTop = top - room;
    this.#later();
    this.#onpick(this.#items[this.#active], this.#active);
  }

  #later() {
    if (this.#frame) return;
    this.#frame = requestAnimationFrame(() => { this.#frame = 0; this.#draw(); });
  }

  #draw() {
    const { element } = this;
    const width = widthOf(this.#names, element.clientWidth);
    this.#width = width;
    const wide = Math.max(element.clientWidth - 2, LEFT + width * this.#names.length + 20);
    const tall = this.#items.length * ROW + 16;
    this.heads.setAttribute("width", wide);
    this.heads.setAttribute("height", HEAD);
    this.heads.replaceChildren(...heads(this.#names, width));
    this.drawing.setAttribute("width", wide);
    this.drawing.setAttribute("height", tall);
    const from = Math.max(0, Math.floor(element.scrollTop / ROW) - 4);
    const to = Math.min(this.#items.length, Math.ceil((element.scrollTop + element.clientHeight) / ROW) + 4);
    const parts = this.#names.map((_, column) => s("line", { x1: x(column, width), x2: x(column, width), y1: 0, y2: tall, class: "life", "aria-hidden": "true" }));
    for (let index = from; index < to; index += 1) {
      const item = this.#items[index];
      const group = arrow(item, index * ROW + ROW / 2 + 2, width);
      group.prepend(s("rect", { x: 0, y: index * ROW, width: wide, height: ROW, class: "under" }));
      group.id = `message-${index}`;
      group.classList.toggle("here", index === this.#active);
      group.setAttribute("role", "option");
      group.setAttribute("aria-selected", String(index === this.#active));
      group.setAttribute("aria-setsize", String(this.#items.length));
      group.setAttribute("aria-posinset", String(index + 1));
      group.prepend(s("title", {}, `${item.seconds === null ? "" : `${seconds(item.seconds)}: `}${this.#names[item.from] ?? ""} to ${this.#names[item.to] ?? ""}: ${item.label}${item.failed ? ", failed" : ""}`));
      group.addEventListener("click", () => { this.element.focus(); this.choose(index); });
      parts.push(group);
    }
    this.drawing.replaceChildren(...parts);
    if (this.#active >= from && this.#active < to) element.setAttribute("aria-activedescendant", `message-${this.#active}`);
    else element.removeAttribute("aria-activedescendant");
  }

  #key(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / ROW) - 2);
    const to = {
      ArrowDown: this.#active + 1, ArrowUp: this.#active - 1, PageDown: this.#active + page, PageUp: this.#active - page,
      Home: 0, End: this.#items.length - 1, Enter: this.#active, " ": this.#active,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.choose(to);
  }
}
