// The server, as the page sees it. Every request of the page is made here.

/** What the server said was wrong. */
export class Failure extends Error {
  constructor(error, status) {
    super(error?.message ?? `the server answered ${status}`);
    this.kind = error?.kind ?? "http";
    this.hint = error?.hint ?? null;
    this.line = error?.line ?? null;
    this.column = error?.column ?? null;
    this.status = status;
  }
}

// The token comes in the fragment, which is never sent, and stays for as long as the tab.
const KEY = "weir.token";

/** Takes the token out of the address, so that neither history nor a copied link has it. */
export function takeToken() {
  const match = location.hash.match(/[#&?]token=([^&]*)/);
  if (!match) return;
  sessionStorage.setItem(KEY, decodeURIComponent(match[1]));
  const rest = location.hash.replace(match[0], match[0][0] === "#" ? "#" : "");
  history.replaceState(null, "", rest.length > 1 ? rest.replace("#&", "#") : location.pathname);
}

/** Remembers a token that was typed. */
export function setToken(token) {
  sessionStorage.setItem(KEY, token);
}

function headers(more = {}) {
  const token = sessionStorage.getItem(KEY);
  return token ? { ...more, Authorization: `Bearer ${token}` } : more;
}

async function ask(path, options = {}) {
  let response;
  try {
    response = await fetch(path, { ...options, headers: headers(options.headers) });
  } catch (error) {
    if (error.name === "AbortError") throw new Failure({ kind: "cancelled", message: "cancelled" }, 0);
    throw new Failure({ kind: "connection", message: "the server does not answer", hint: "is weir serve still running?" }, 0);
  }
  if (response.ok) return response;
  let error = null;
  try { error = (await response.json()).error; } catch { /* A body that is no JSON has nothing to add. */ }
  if (response.status === 401) window.dispatchEvent(new CustomEvent("weir-token"));
  throw new Failure(error, response.status);
}

const json = async (path, options) => (await ask(path, options)).json();
const query = (parts) => new URLSearchParams(Object.entries(parts).filter(([, value]) => value !== undefined && value !== null));

// Lists that do not change while the page is open are asked for once.
const kept = new Map();
function once(path) {
  if (!kept.has(path)) {
    const answer = json(path);
    kept.set(path, answer);
    answer.catch(() => kept.delete(path));
  }
  return kept.get(path);
}

export const fields = () => once("/fields");
export const functions = () => once("/functions");
export const tables = () => once("/tables");
export const live = () => once("/live");
export const files = () => json("/files");
export const ladder = (path, callId) => json(`/ladder?${query({ path, call_id: callId, format: "json" })}`);
export const stream = (path, flow) => json(`/stream?${query({ path, flow })}`);
export const packet = (path, number) => json(`/packet?${query({ path, number })}`);
export const study = (of, path) => json(`/study/${of}?${query({ path })}`);
export const callCapture = async (path, callId) => (await ask(`/call.pcap?${query({ path, call_id: callId })}`)).blob();

/** An answer in which addresses of either kind, which are text to the server, are addresses. */
function known(answer) {
  const isAddress = (column) => column.type === "text" && /(^|\.)addr\.(src|dst)$/.test(column.name);
  return { ...answer, columns: answer.columns.map((column) => (isAddress(column) ? { ...column, type: "ip" } : column)) };
}

/** A name for a query, which nothing else has. */
const identity = () => crypto.randomUUID?.() ?? `page-${Date.now()}-${Math.random().toString(36).slice(2)}`;

/** A query that can be watched and cancelled. */
export class Query {
  #abort = new AbortController();
  #timer = null;
  #over = false;

  constructor(sql, { limit = 10_000, params, timeout, onprogress } = {}) {
    this.sql = sql;
    this.id = identity();
    this.began = performance.now();
    if (onprogress) this.#watch(onprogress);
    const body = { sql, params, format: "json", limit, timeout_ms: timeout, id: this.id };
    this.answer = json("/query", {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal: this.#abort.signal,
    }).then(known).finally(() => { this.#over = true; clearTimeout(this.#timer); });
    // Who cancels need not also wait.
    this.answer.catch(() => {});
  }

  #watch(onprogress) {
    const look = async () => {
      try {
        const state = await json(`/query/${this.id}`);
        if (!this.#over) onprogress(state);
      } catch { /* It has ended, or not begun. */ }
      if (!this.#over) this.#timer = setTimeout(look, 400);
    };
    this.#timer = setTimeout(look, 300);
  }

  /** Ends the query on the server too. */
  cancel() {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#timer);
    ask(`/query/${this.id}`, { method: "DELETE" }).catch(() => {});
    this.#abort.abort();
  }
}

/** The rows of a query as they come, until it is left: of packets that are still to come. */
export class Stream {
  #abort = new AbortController();
  #over = false;

  constructor(sql, onrows) {
    this.id = identity();
    // A page that a browser keeps for its way back would go on listening.
    const hidden = () => this.cancel();
    addEventListener("pagehide", hidden);
    this.ended = this.#read(sql, onrows).catch((error) => {
      if (!this.#over) throw error;
    }).finally(() => {
      this.#over = true;
      removeEventListener("pagehide", hidden);
    });
  }

  async #read(sql, onrows) {
    const response = await ask("/query", {
      method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ sql, format: "ndjson", id: this.id }), signal: this.#abort.signal,
    });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ""; ;) {
      const { value, done } = await reader.read();
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      onrows(lines.map((line) => JSON.parse(line)));
    }
  }

  /** Ends the query on the server too. */
  cancel() {
    if (this.#over) return;
    this.#over = true;
    ask(`/query/${this.id}`, { method: "DELETE" }).catch(() => {});
    this.#abort.abort();
  }
}

/** The whole answer of a query as a file of a format. */
export async function download(sql, format) {
  const response = await ask("/query", {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ sql, format }),
  });
  return response.blob();
}

/** Sends a file, telling how far it is. The server keeps it by a plain name. */
export function upload(file, onprogress) {
  const name = file.name.replace(/[^\p{L}\p{N}._ -]/gu, "_").replace(/^\.+/, "").slice(-150) || "capture";
  return new Promise((done, failed) => {
    const request = new XMLHttpRequest();
    request.open("POST", `/upload?${query({ name })}`);
    for (const [name, value] of Object.entries(headers({ "Content-Type": "application/octet-stream" }))) request.setRequestHeader(name, value);
    request.upload.onprogress = (event) => onprogress(event.loaded, event.total);
    request.onerror = () => failed(new Failure({ kind: "connection", message: "the server does not answer" }, 0));
    request.onload = () => {
      let body = {};
      try { body = JSON.parse(request.responseText); } catch { /* The status says enough. */ }
      if (request.status < 300) done(body);
      else failed(new Failure(body.error, request.status));
    };
    request.send(file);
  });
}
