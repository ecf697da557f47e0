// An answer as a chart: lines, bars, a histogram, or a heat map over time. Which one, the columns say;
// the reader can change it. What is drawn is also said in words, for those who do not see it.

import uPlot from "./vendor/uPlot.js";
import { colour, h, s } from "./dom.js";
import { cell, count, instant, isNumber, number, short } from "./format.js";

export const KINDS = [["line", "Line"], ["bars", "Bars"], ["histogram", "Histogram"], ["heat", "Heat map"]];

const SERIES = 8;
const BARS = 60;

/** True of columns that are names of things rather than amounts, though they are numbers. */
const isName = (column) => /(^|\.)(id|number|port|src|dst|srcport|dstport|type|code|ssrc|vlan|dlci|vci|vpi|channel|status|proto)$/i.test(column.name);

/** Which chart fits the columns of an answer: its kind, and what is drawn against what; null when none does. */
export function choose(columns, rows) {
  if (rows.length === 0) return null;
  const at = (test) => columns.map((column, index) => [column, index]).filter(([column]) => test(column)).map(([, index]) => index);
  const times = at((column) => column.type === "time");
  const amounts = at((column) => isNumber(column.type) && !isName(column));
  const names = at((column) => !isNumber(column.type) && column.type !== "time" && column.type !== "list" && column.type !== "struct")
    .concat(at((column) => isNumber(column.type) && isName(column)));
  const distinct = (index) => new Set(rows.slice(0, 20_000).map((row) => cell(row[index]))).size;
  if (times.length > 0) {
    const [x] = times;
    // Two amounts at each time, many times over, are a map: where, and how many.
    const many = distinct(x) * 2 < rows.length;
    if (many && names.length === 0 && amounts.length === 2) return { kind: "heat", x, y: amounts[0], value: amounts[1] };
    if (amounts.length > 0 && names.length > 0 && many) {
      if (distinct(names[0]) > SERIES) return { kind: "heat", x, y: names[0], value: amounts.at(-1) };
      return { kind: "line", x, ys: [amounts.at(-1)], split: names[0] };
    }
    if (amounts.length > 0) return { kind: "line", x, ys: amounts.slice(0, 4), split: null };
    return names.length > 0 && rows.length > 1 ? { kind: "heat", x, y: names[0], value: null } : null;
  }
  if (names.length > 0 && amounts.length > 0) return { kind: "bars", x: names, ys: [amounts[0]] };
  if (amounts.length === 1 && rows.length > 1) return { kind: "histogram", x: amounts[0] };
  if (amounts.length >= 2) return rows.length <= BARS ? { kind: "bars", x: [amounts[0]], ys: [amounts[1]] } : { kind: "line", x: amounts[0], ys: amounts.slice(1, 5), split: null };
  return null;
}

/** A choice made to fit another kind, as far as the columns allow. */
export function convert(kind, columns, rows, from) {
  const amounts = columns.map((_, index) => index).filter((index) => isNumber(columns[index].type));
  const time = columns.findIndex((column) => column.type === "time");
  const others = columns.map((_, index) => index).filter((index) => index !== time);
  const chosen = from?.kind === kind ? from : null;
  if (chosen) return chosen;
  switch (kind) {
    case "line": {
      const x = time >= 0 ? time : amounts[0];
      const ys = amounts.filter((index) => index !== x);
      return x === undefined || ys.length === 0 ? null : { kind, x, ys: (from?.ys ?? [from?.value ?? ys.at(-1)]).filter((index) => index !== null && index !== x), split: from?.kind === "heat" && from.value !== null ? from.y : null };
    }
    case "bars": {
      const y = from?.ys?.[0] ?? from?.value ?? amounts.at(-1);
      const x = others.filter((index) => index !== y && !amounts.includes(index));
      return y === undefined ? null : { kind, x: x.length ? x : [time >= 0 ? time : amounts[0]], ys: [y] };
    }
    case "histogram": return amounts.length === 0 ? null : { kind, x: from?.ys?.[0] ?? from?.value ?? amounts.at(-1) };
    default: {
      if (time < 0) return null;
      const y = from?.split ?? others.find((index) => index !== from?.ys?.[0]) ?? others[0];
      return y === undefined ? null : { kind, x: time, y, value: amounts.filter((index) => index !== y).at(-1) ?? null };
    }
  }
}

/** Draws a chart into a box, and gives back what has to be called when the box is left. */
export function draw(box, columns, rows, choice, options = {}) {
  box.replaceChildren();
  if (!choice) {
    box.append(h("p", { class: "empty" }, rows.length === 0 ? "No rows to draw." : "These columns make no chart of this kind. A line or a heat map needs a time or two numbers, bars a name and a number."));
    return () => {};
  }
  const drawing = { line: drawLine, bars: drawBars, histogram: drawHistogram, heat: drawHeat }[choice.kind];
  let undo = drawing(box, columns, rows, choice, options);
  let width = box.clientWidth;
  const again = () => { undo(); box.replaceChildren(); undo = drawing(box, columns, rows, choice, options); };
  // A box that changes its width, and a page that changes its colours, are drawn anew.
  const observer = new ResizeObserver(() => {
    if (Math.abs(box.clientWidth - width) < 4) return;
    width = box.clientWidth;
    requestAnimationFrame(again);
  });
  observer.observe(box);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", again);
  addEventListener("weir-theme", again);
  return () => {
    undo();
    observer.disconnect();
    dark.removeEventListener("change", again);
    removeEventListener("weir-theme", again);
  };
}

/** How wide a drawing in a box may be. */
function roomOf(box) {
  const { paddingLeft, paddingRight } = getComputedStyle(box);
  return Math.max(200, box.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight));
}

/** The time of an axis or a legend, in UTC, with as much of it as tells neighbours apart. */
function clock(time, step) {
  const text = new Date(Math.round(time * 1e3)).toISOString();
  if (step >= 86_400) return text.slice(5, 10);
  return step >= 60 ? text.slice(11, 16) : step >= 1 ? text.slice(11, 19) : text.slice(11, 23);
}

/** A line for each amount, or for each value of the column that splits them. */
function drawLine(box, columns, rows, choice, options) {
  const isTime = columns[choice.x].type === "time";
  const at = (row) => (isTime ? instant(row[choice.x]) : number(row[choice.x]));
  const { xs, series, left } = choice.split === null || choice.split === undefined ? plainSeries() : splitSeries();

  function plainSeries() {
    const sorted = [...rows].filter((row) => Number.isFinite(at(row))).sort((one, other) => at(one) - at(other));
    return {
      xs: sorted.map(at), left: 0,
      series: choice.ys.map((index) => ({ name: columns[index].name, values: sorted.map((row) => number(row[index])) })),
    };
  }

  function splitSeries() {
    const [y] = choice.ys;
    const sums = new Map();
    const times = new Set();
    for (const row of rows) {
      const name = cell(row[choice.split]) || "NULL";
      sums.set(name, (sums.get(name) ?? 0) + (number(row[y]) ?? 0));
      times.add(at(row));
    }
    const names = [...sums].sort((one, other) => other[1] - one[1]).slice(0, SERIES).map(([name]) => name);
    const sorted = [...times].filter(Number.isFinite).sort((one, other) => one - other);
    const places = new Map(sorted.map((time, index) => [time, index]));
    const values = new Map(names.map((name) => [name, new Array(sorted.length).fill(null)]));
    for (const row of rows) {
      const line = values.get(cell(row[choice.split]) || "NULL");
      const place = places.get(at(row));
      if (line && place !== undefined) line[place] = (line[place] ?? 0) + (number(row[y]) ?? 0);
    }
    return { xs: sorted, series: names.map((name) => ({ name, values: values.get(name) })), left: sums.size - names.length };
  }

  if (xs.length === 0) { box.append(h("p", { class: "empty" }, "No rows to draw.")); return () => {}; }
  const ink = colour("dim");
  const grid = { stroke: colour("grid"), width: 1 };
  const font = `11px ${getComputedStyle(document.body).fontFamily}`;
  // Amounts of very different sizes have an axis each: a line along the bottom tells nothing.
  const tops = series.map((line) => Math.max(0, ...line.values.map((value) => Math.abs(value ?? 0))));
  const twoScales = series.length === 2 && choice.split == null && Math.min(...tops) > 0 && Math.max(...tops) / Math.min(...tops) > 8;
  const scaleOf = (index) => (twoScales && index === 1 ? "y2" : "y");
  const axis = (scale, side) => ({ scale, side, stroke: ink, grid: side === 3 ? grid : { show: false }, ticks: grid, font, size: 58, values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : short(tick))) });
  const bar = options.bars || xs.length <= 2;
  const distribution = choice.log ? 3 : 1;
  const plot = new uPlot({
    width: roomOf(box), height: options.height ?? Math.max(240, box.clientHeight - 60), padding: [10, 30, 0, 0],
    tzDate: (time) => uPlot.tzDate(new Date(time * 1e3), "Etc/UTC"),
    scales: { x: { time: isTime }, y: { distr: distribution, range: distribution === 1 ? (_, low, high) => [Math.min(0, low), high > low || high > 0 ? high * 1.06 : low + 1] : undefined }, y2: { distr: distribution, range: distribution === 1 ? (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.06 : 1] : undefined } },
    axes: [{ stroke: ink, grid, ticks: grid, font, space: isTime ? 84 : 60, size: 30, values: isTime ? (_, ticks) => ticks.map((tick) => clock(tick, ticks[1] - ticks[0])) : (_, ticks) => ticks.map(short) }, axis("y", 3), ...(twoScales ? [axis("y2", 1)] : [])],
    legend: { show: !options.plain, live: true },
    cursor: { drag: { x: true, y: false } },
    series: [
      { label: columns[choice.x].name, value: (_, value) => (value === null || value === undefined ? "–" : isTime ? new Date(value * 1e3).toISOString().replace("T", " ").replace("Z", "") : short(value)) },
      ...series.map((line, index) => ({
        label: line.name, scale: scaleOf(index), stroke: colour(`s${(index % SERIES) + 1}`), width: 1.5, spanGaps: choice.split == null,
        fill: series.length === 1 ? faint(colour(`s${(index % SERIES) + 1}`)) : undefined,
        points: { show: xs.length <= 40 }, value: (_, value) => (value === null || value === undefined ? "–" : count(Math.round(value * 1000) / 1000)),
        ...(bar ? { paths: uPlot.paths.bars({ size: [0.7, 60] }), points: { show: false } } : {}),
      })),
    ],
  }, [xs, ...series.map((line) => (choice.log ? line.values.map((value) => (value > 0 ? value : null)) : line.values))], box);
  describe(plot.root, `Line chart of ${series.map((line) => line.name).join(", ")} by ${columns[choice.x].name}: ${count(xs.length)} points, ${series.map((line, index) => `${line.name} at most ${short(tops[index])}`).join(", ")}.`);
  if (left > 0) box.append(h("p", { class: "dim note" }, `The ${SERIES} largest of ${SERIES + left} are drawn.`));
  return () => plot.destroy();
}

function faint(rgb) {
  return rgb.replace("rgb(", "rgba(").replace(")", ", 0.13)");
}

function describe(element, sentence) {
  element.setAttribute("role", "img");
  element.setAttribute("aria-label", sentence);
}

/** A bar for each row: the label at its left, the figure at its right, as a list that is also read aloud. */
function drawBars(box, columns, rows, choice, options) {
  const [y] = choice.ys;
  const label = (row) => choice.x.map((index) => cell(row[index], columns[index].type) || "NULL").join(options.join ?? "  ");
  const shown = rows.slice(0, options.rows ?? BARS);
  const scale = (value) => (choice.log ? Math.log10(1 + Math.max(0, value)) : Math.max(0, value));
  const top = Math.max(...shown.map((row) => scale(number(row[y]) ?? 0)), Number.MIN_VALUE);
  const list = h("ol", { class: "bars", "aria-label": `${columns[y].name} by ${choice.x.map((index) => columns[index].name).join(", ")}` }, shown.map((row, index) => {
    const fill = h("span", { class: `bar-fill ${options.tone?.(row) ?? ""}` });
    fill.style.width = `${(scale(number(row[y]) ?? 0) / top) * 100}%`;
    const line = [h("span", { class: "bar-label", title: label(row) }, label(row)), h("span", { class: "bar-track" }, fill),
      h("span", { class: "bar-value" }, options.value ? options.value(row[y], row) : count(row[y]))];
    return h("li", {}, options.onpick ? h("button", { type: "button", class: "bar-line", onclick: () => options.onpick(row, index) }, line) : h("span", { class: "bar-line" }, line));
  }));
  box.append(list);
  if (rows.length > shown.length && !options.plain) box.append(h("p", { class: "dim note" }, `The first ${shown.length} of ${count(rows.length)} rows are drawn.`));
  return () => {};
}

/** How often values fall into each of some twenty to fifty slots of one width. */
export function slots(values) {
  const sorted = Float64Array.from(values).sort();
  const low = sorted[0];
  const high = sorted.at(-1);
  if (low === high) return { low, width: 1, counts: [sorted.length] };
  const spread = 2 * (sorted[Math.floor(sorted.length * 0.75)] - sorted[Math.floor(sorted.length * 0.25)]) / Math.cbrt(sorted.length);
  const wanted = spread > 0 ? Math.min(50, Math.max(12, (high - low) / spread)) : 24;
  const power = 10 ** Math.floor(Math.log10((high - low) / wanted));
  const width = [1, 2, 2.5, 5, 10].map((step) => step * power).find((step) => (high - low) / step <= wanted) ?? 10 * power;
  const first = Math.floor(low / width) * width;
  const counts = new Array(Math.floor((high - first) / width) + 1).fill(0);
  for (const value of sorted) counts[Math.min(counts.length - 1, Math.floor((value - first) / width))] += 1;
  return { low: first, width, counts };
}

function drawHistogram(box, columns, rows, choice, options) {
  const values = rows.map((row) => number(row[choice.x])).filter((value) => value !== null && Number.isFinite(value));
  if (values.length === 0) { box.append(h("p", { class: "empty" }, "No numbers to draw.")); return () => {}; }
  const { low, width, counts } = slots(values);
  const wide = roomOf(box);
  const tall = options.height ?? Math.max(240, box.clientHeight - 8);
  const [left, bottom, top] = [52, 34, 10];
  const scale = (value) => (choice.log ? Math.log10(1 + value) : value);
  const most = Math.max(...counts.map(scale));
  const step = (wide - left - 26) / counts.length;
  const y = (value) => tall - bottom - (scale(value) / most) * (tall - bottom - top);
  const image = s("svg", { viewBox: `0 0 ${wide} ${tall}`, width: wide, height: tall, class: "plot" });
  for (const tick of ticks(choice.log ? 10 ** most - 1 : most, 4)) {
    image.append(s("line", { x1: left, x2: wide - 26, y1: y(tick), y2: y(tick), class: "grid-line" }), s("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, short(tick)));
  }
  counts.forEach((value, index) => {
    const from = low + index * width;
    image.append(s("rect", { x: left + index * step + 0.5, y: y(value), width: Math.max(1, step - 1), height: tall - bottom - y(value), class: "slot" },
      s("title", {}, `${short(from)} to ${short(from + width)}: ${count(value)}`)));
  });
  const every = Math.ceil(counts.length / Math.max(2, Math.floor((wide - left) / 70)));
  for (let index = 0; index <= counts.length; index += every) {
    image.append(s("text", { x: left + index * step, y: tall - bottom + 16, "text-anchor": "middle" }, short(Number((low + index * width).toPrecision(6)))));
  }
  image.append(s("text", { x: (left + wide) / 2, y: tall - 4, "text-anchor": "middle", class: "axis-name" }, columns[choice.x].name));
  const peak = counts.indexOf(Math.max(...counts));
  describe(image, `Histogram of ${columns[choice.x].name}: ${count(values.length)} values; most, ${count(counts[peak])}, lie from ${short(low + peak * width)} to ${short(low + (peak + 1) * width)}.`);
  box.append(image);
  return () => {};
}

function ticks(top, wanted) {
  if (!(top > 0)) return [0];
  const power = 10 ** Math.floor(Math.log10(top / wanted));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => top / one <= wanted) ?? 10 * power;
  return Array.from({ length: Math.floor(top / step) + 1 }, (_, index) => index * step);
}

/** Time from left to right, values from bottom to top, and how much by colour. */
function drawHeat(box, columns, rows, choice, options) {
  const y = columns[choice.y];
  const ordered = isNumber(y.type) && !isName(y);
  const amount = (row) => (choice.value === null ? 1 : number(row[choice.value]) ?? 0);
  const points = rows.map((row) => [instant(row[choice.x]), row[choice.y] === null ? "NULL" : ordered ? number(row[choice.y]) : cell(row[choice.y], y.type), amount(row)]).filter(([time]) => Number.isFinite(time));
  if (points.length === 0) { box.append(h("p", { class: "empty" }, "No times to draw.")); return () => {}; }
  const from = points.reduce((low, [time]) => Math.min(low, time), Infinity);
  const to = points.reduce((high, [time]) => Math.max(high, time), -Infinity);
  const times = [...new Set(points.map(([time]) => time))].sort((one, other) => one - other);
  let gap = Infinity;
  for (let index = 1; index < times.length; index += 1) gap = Math.min(gap, times[index] - times[index - 1]);
  const steps = Math.max(1, Math.min(160, Number.isFinite(gap) ? Math.round((to - from) / gap) + 1 : 1));
  const span = steps > 1 ? (to - from) / (steps - 1) : 1;
  const sums = new Map();
  for (const [, value, size] of points) sums.set(value, (sums.get(value) ?? 0) + size);
  let levels = ordered ? [...sums.keys()].filter((value) => value !== "NULL").sort((one, other) => one - other) : [...sums].sort((one, other) => other[1] - one[1]).map(([value]) => value);
  let left = 0;
  if (!ordered && levels.length > 24) { left = levels.length - 24; levels = levels.slice(0, 24); }
  if (ordered && levels.length > 40) {
    const width = (levels.at(-1) - levels[0]) / 40;
    const [base] = levels;
    levels = Array.from({ length: 40 }, (_, index) => base + index * width);
    for (const point of points) if (point[1] !== "NULL") point[1] = levels[Math.min(39, Math.floor((point[1] - base) / width))];
  }
  const place = new Map(levels.map((level, index) => [level, index]));
  const cells = new Float64Array(steps * levels.length);
  for (const [time, level, size] of points) {
    const row = place.get(level);
    if (row !== undefined) cells[row * steps + Math.min(steps - 1, Math.round((time - from) / span))] += size;
  }
  const most = cells.reduce((high, value) => Math.max(high, value), 0) || 1;
  const labels = levels.map((level) => (ordered ? short(Number(level.toPrecision(4))) : String(level)));
  const side = Math.min(190, 18 + 6.6 * Math.max(...labels.map((label) => label.length)));
  const wide = roomOf(box);
  const size = options.height ? Math.max(5, (options.height - 60) / levels.length) : Math.min(28, Math.max(12, (Math.max(260, box.clientHeight - 20) - 60) / levels.length));
  const tall = Math.ceil(size * levels.length) + 48;
  const canvas = h("canvas", { class: "plot" });
  const ratio = devicePixelRatio || 1;
  canvas.width = wide * ratio;
  canvas.height = tall * ratio;
  canvas.style.width = `${wide}px`;
  canvas.style.height = `${tall}px`;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  pen.font = `11px ${getComputedStyle(document.body).fontFamily}`;
  const step = (wide - side - 10) / steps;
  const ink = colour("s1");
  const rise = ordered ? (row) => levels.length - 1 - row : (row) => row;
  pen.fillStyle = colour("track");
  pen.fillRect(side, 4, wide - side - 10, size * levels.length);
  for (let row = 0; row < levels.length; row += 1) {
    for (let column = 0; column < steps; column += 1) {
      const value = cells[row * steps + column];
      if (value <= 0) continue;
      // The eye tells apart small amounts better when the scale is that of a root; the log is for long tails.
      const share = choice.log ? Math.log1p(value) / Math.log1p(most) : Math.sqrt(value / most);
      pen.globalAlpha = 0.15 + 0.85 * share;
      pen.fillStyle = ink;
      pen.fillRect(side + column * step, 4 + rise(row) * size, Math.max(1, step - (step > 4 ? 1 : 0)), size - (size > 6 ? 1 : 0));
    }
  }
  pen.globalAlpha = 1;
  pen.fillStyle = colour("dim");
  pen.textAlign = "right";
  const every = Math.ceil(14 / size);
  labels.forEach((label, row) => {
    if (row % every === 0) pen.fillText(label.length > 27 ? `${label.slice(0, 26)}…` : label, side - 6, 4 + rise(row) * size + size / 2 + 4);
  });
  pen.textAlign = "center";
  const marks = Math.max(2, Math.floor((wide - side) / 130));
  for (let mark = 0; mark <= marks; mark += 1) {
    const time = from + ((to - from + span) * mark) / marks;
    const text = new Date(time * 1e3).toISOString();
    pen.textAlign = mark === 0 ? "left" : mark === marks ? "right" : "center";
    pen.fillText(to - from > 172_800 ? text.slice(0, 10) : text.slice(11, to - from < 20 ? 22 : 19), side + ((wide - side - 10) * mark) / marks, 4 + size * levels.length + 16);
  }
  const tip = h("div", { class: "tip", hidden: true });
  canvas.addEventListener("pointermove", (event) => {
    const column = Math.floor((event.offsetX - side) / step);
    const row = rise(Math.floor((event.offsetY - 4) / size));
    tip.hidden = column < 0 || column >= steps || row < 0 || row >= levels.length;
    if (tip.hidden) return;
    tip.textContent = `${new Date((from + column * span) * 1e3).toISOString().slice(11, 23)} · ${labels[row]}: ${count(cells[row * steps + column])}`;
    tip.style.left = `${Math.min(event.offsetX + 12, wide - 220)}px`;
    tip.style.top = `${event.offsetY + 14}px`;
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  describe(canvas, `Heat map of ${y.name} over ${columns[choice.x].name}: ${count(steps)} slots of time, ${count(levels.length)} values; the busiest cell has ${count(most)}.`);
  box.append(h("div", { class: "heat" }, canvas, tip));
  if (left > 0) box.append(h("p", { class: "dim note" }, `The 24 largest of ${24 + left} values are drawn.`));
  return () => {};
}

/** The controls of a chart, and the chart: chosen by the columns, changed by the reader. */
export class Chart {
  #undo = () => {};
  #columns = [];
  #rows = [];
  #choice = null;

  constructor() {
    this.controls = h("div", { class: "controls" });
    this.box = h("div", { class: "chart-box" });
    this.element = h("div", { class: "chart" }, this.controls, this.box);
  }

  /** Draws an answer, with the chart that fits it, or the one that a link asked for. */
  set(columns, rows, kind = null) {
    this.#columns = columns;
    this.#rows = rows;
    this.#choice = choose(columns, rows);
    if (kind && kind !== this.#choice?.kind) this.#choice = convert(kind, columns, rows, this.#choice) ?? this.#choice;
    this.#show();
  }

  get kind() { return this.#choice?.kind ?? null; }

  #show() {
    this.#controls();
    this.#undo();
    this.#undo = draw(this.box, this.#columns, this.#rows, this.#choice);
  }

  #controls() {
    const choice = this.#choice;
    const pick = (label, indexes, chosen, onpick, none = false) => h("label", {}, label, h("select", { onchange: (event) => { onpick(event.target.value === "" ? null : Number(event.target.value)); this.#show(); } },
      none ? h("option", { value: "" }, "–") : null,
      indexes.map((index) => h("option", { value: index, selected: index === chosen }, this.#columns[index].name))));
    const all = this.#columns.map((_, index) => index);
    const amounts = all.filter((index) => isNumber(this.#columns[index].type));
    const times = all.filter((index) => this.#columns[index].type === "time");
    const parts = [h("label", {}, "Chart", h("select", {
      id: "chart-kind",
      onchange: (event) => {
        const converted = convert(event.target.value, this.#columns, this.#rows, this.#choice);
        this.#choice = converted;
        this.#show();
        if (!converted) this.controls.querySelector("select").value = event.target.value;
        document.getElementById("chart-kind")?.focus();
      },
    }, KINDS.map(([kind, name]) => h("option", { value: kind, selected: kind === choice?.kind }, name))))];
    if (choice?.kind === "line") {
      parts.push(pick("Along", [...times, ...amounts], choice.x, (index) => { choice.x = index; }));
      parts.push(pick("Amount", amounts, choice.ys[0], (index) => { choice.ys = [index]; }));
      if (choice.ys.length > 1) parts.push(h("span", { class: "dim" }, `and ${choice.ys.slice(1).map((index) => this.#columns[index].name).join(", ")}`));
      parts.push(pick("Split by", all.filter((index) => index !== choice.x && !choice.ys.includes(index)), choice.split, (index) => { choice.split = index; }, true));
    } else if (choice?.kind === "bars") {
      parts.push(pick("Name", all, choice.x[0], (index) => { choice.x = [index]; }));
      parts.push(pick("Amount", amounts, choice.ys[0], (index) => { choice.ys = [index]; }));
    } else if (choice?.kind === "histogram") {
      parts.push(pick("Of", amounts, choice.x, (index) => { choice.x = index; }));
    } else if (choice?.kind === "heat") {
      parts.push(pick("Over", times, choice.x, (index) => { choice.x = index; }));
      parts.push(pick("Rows", all.filter((index) => index !== choice.x), choice.y, (index) => { choice.y = index; }));
      parts.push(pick("Amount", amounts, choice.value, (index) => { choice.value = index; }, true));
    }
    if (choice) parts.push(h("label", { class: "check" }, h("input", { type: "checkbox", ".checked": Boolean(choice.log), onchange: (event) => { choice.log = event.target.checked; this.#show(); } }), "Logarithmic"));
    this.controls.replaceChildren(...parts.filter(Boolean));
  }

  destroy() { this.#undo(); }
}
