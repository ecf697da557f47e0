// How values are written: shortened where a person reads them, exact where they are data.

const UNITS = ["B", "KB", "MB", "GB", "TB", "PB"];

/** Octets in powers of 1000. */
export function bytes(value) {
  let number = Number(value ?? 0);
  let unit = 0;
  while (Math.abs(number) >= 999.5 && unit < UNITS.length - 1) { number /= 1000; unit += 1; }
  return `${unit === 0 ? Math.round(number * 10) / 10 : number.toPrecision(3)} ${UNITS[unit]}`;
}

/** A whole number with separators. */
export function count(value) {
  if (value === null || value === undefined) return "–";
  return typeof value === "string" ? value.replace(/\B(?=(\d{3})+$)/g, ",") : Number(value).toLocaleString("en-US");
}

/** A noun that is counted, in the plural unless there is one. */
export function counted(value, noun) {
  return `${count(value)} ${Number(value) === 1 ? noun.replace(/s$/, "") : noun}`;
}

/** A number for an axis or a label. */
export function short(value) {
  const size = Math.abs(value);
  if (size >= 1e12) return `${trim(value / 1e12)}T`;
  if (size >= 1e9) return `${trim(value / 1e9)}G`;
  if (size >= 1e6) return `${trim(value / 1e6)}M`;
  if (size >= 1e4) return `${trim(value / 1e3)}k`;
  return Number.isInteger(value) ? value.toLocaleString("en-US") : trim(value);
}

function trim(value) {
  return String(Number(value.toPrecision(3)));
}

/** A span of seconds. */
export function seconds(value) {
  if (value === null || value === undefined) return "–";
  const number = Number(value);
  if (number < 1e-3) return `${trim(number * 1e6)} µs`;
  if (number < 1) return `${trim(number * 1e3)} ms`;
  if (number < 120) return `${trim(number)} s`;
  if (number < 7200) return `${Math.floor(number / 60)} min ${Math.round(number % 60)} s`;
  if (number < 172_800) return `${Math.floor(number / 3600)} h ${Math.round((number % 3600) / 60)} min`;
  return `${trim(number / 86_400)} days`;
}

/** Seconds since 1970 of an RFC 3339 time, with what a double keeps of its nanoseconds. */
export function instant(text) {
  if (typeof text !== "string") return NaN;
  const whole = text.replace(/(\.\d+)/, "");
  const fraction = Number(text.match(/\.\d+/)?.[0] ?? 0);
  const from = Date.parse(/Z|[+-]\d\d:?\d\d$/.test(whole) ? whole : `${whole.replace(" ", "T")}${whole.includes(":") ? "Z" : ""}`);
  return from / 1000 + fraction;
}

/** The nanoseconds between two RFC 3339 times, exactly. */
export function nanoseconds(text) {
  const [, whole, fraction = ""] = text.match(/^([^.Z+]+)(?:\.(\d+))?/) ?? [];
  return BigInt(Date.parse(`${whole}Z`)) * 1_000_000n + BigInt(fraction.padEnd(9, "0").slice(0, 9));
}

/** A value as a cell shows it. */
export function cell(value, type) {
  if (value === null || value === undefined) return "";
  if (type === "time") return String(value).replace("T", " ").replace(/Z$/, "");
  if (typeof value === "object") return Array.isArray(value) ? value.map((item) => cell(item)).join(", ") : JSON.stringify(value);
  return String(value);
}

/** True of types that are numbers. */
export function isNumber(type) {
  return type === "int" || type === "uint" || type === "float" || type === "decimal" || type === "duration";
}

/** A number that is drawn, whatever JSON made of it. */
export function number(value) {
  return value === null || value === undefined || value === "" ? null : Number(value);
}

/** Rows as CSV (RFC 4180). */
export function csv(columns, rows) {
  const field = (value) => {
    const text = value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = [columns.map((column) => field(column.name)).join(",")];
  for (const row of rows) lines.push(row.map(field).join(","));
  return `${lines.join("\n")}\n`;
}

/** Octets, given in hexadecimal, sixteen a line with their characters. */
export function hexdump(hex, octets = 16) {
  const lines = [];
  for (let at = 0; at < hex.length; at += octets * 2) {
    const pairs = hex.slice(at, at + octets * 2).match(/../g) ?? [];
    const text = pairs.map((pair) => printable(parseInt(pair, 16))).join("");
    lines.push(`${(at / 2).toString(16).padStart(6, "0")}  ${pairs.join(" ").padEnd(octets * 3 - 1)}  ${text}`);
  }
  return lines.join("\n");
}

/** The character of an octet, or a dot. */
export function printable(octet) {
  return octet >= 32 && octet < 127 ? String.fromCharCode(octet) : ".";
}
