// Elements, and what the page says to those who listen rather than look.

/** An element: attributes, `on…` listeners, properties behind a dot (".value"), and children. */
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  set(element, attributes);
  append(element, children);
  return element;
}

/** An element of an SVG image. */
export function s(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  set(element, attributes);
  append(element, children);
  return element;
}

function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.startsWith(".")) element[name.slice(1)] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child);
  }
}

/** Says a sentence to screen readers without moving the focus. */
export function say(sentence) {
  const region = document.getElementById("said");
  // The same sentence twice is spoken twice only when the text changes in between.
  region.textContent = "";
  requestAnimationFrame(() => { region.textContent = sentence; });
}

/** A short note at the edge of the page, spoken too. */
export function toast(sentence, kind = "note") {
  const note = h("div", { class: `toast ${kind}` }, sentence);
  document.getElementById("toasts").append(note);
  say(sentence);
  setTimeout(() => note.remove(), kind === "bad" ? 9000 : 3500);
}

/** A dialog over the page, closed by Escape, a click beside it, or its button; focus returns to where it was. */
export function dialog(title, content, { wide = false } = {}) {
  const close = () => box.close();
  const box = h("dialog", { "aria-label": title, class: wide ? "wide" : null },
    h("header", {}, h("h2", {}, title),
      h("button", { type: "button", class: "plain", "aria-label": "Close", onclick: close }, "✕")),
    h("div", { class: "dialog-body", tabindex: "0" }, content));
  box.addEventListener("click", (event) => { if (event.target === box) close(); });
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
  return box;
}

/** A button with a menu of actions, driven by the arrow keys. */
export function menu(label, actions, attributes = {}) {
  const list = h("div", { class: "menu", role: "menu", hidden: true, "aria-label": attributes["aria-label"] ?? label });
  const button = h("button", {
    type: "button", "aria-haspopup": "menu", "aria-expanded": "false", ...attributes,
    onclick: () => (list.hidden ? open() : close(false)),
  }, label, h("span", { class: "caret", "aria-hidden": "true" }, "▾"));
  const items = () => [...list.querySelectorAll("[role=menuitem]")];
  const outside = (event) => { if (!box.contains(event.target)) close(false); };
  function open() {
    list.replaceChildren(...actions().map(([text, act, hint]) => h("button", {
      type: "button", role: "menuitem", tabindex: "-1", onclick: () => { close(true); act(); },
    }, text, hint ? h("span", { class: "dim" }, hint) : null)));
    list.hidden = false;
    button.setAttribute("aria-expanded", "true");
    // A menu that would leave the window opens to the other side.
    list.classList.toggle("left", button.getBoundingClientRect().left + list.offsetWidth > innerWidth - 8);
    items()[0]?.focus();
    document.addEventListener("pointerdown", outside);
  }
  function close(refocus) {
    list.hidden = true;
    button.setAttribute("aria-expanded", "false");
    document.removeEventListener("pointerdown", outside);
    if (refocus) button.focus();
  }
  list.addEventListener("keydown", (event) => {
    const all = items();
    const at = all.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to !== undefined) { event.preventDefault(); all[(to + all.length) % all.length].focus(); }
    if (event.key === "Escape") { event.stopPropagation(); close(true); }
    if (event.key === "Tab") close(false);
  });
  const box = h("span", { class: "menu-box" }, button, list);
  return box;
}

/** Tabs: a row of buttons, one of them chosen, moved through by the arrow keys. */
export function tabs(label, names, chosen, onchoose) {
  const buttons = names.map(([key, text]) => h("button", {
    type: "button", role: "tab", id: `tab-${key}`, "aria-controls": `panel-${key}`, onclick: () => choose(key),
  }, text));
  function choose(key, focus = false) {
    names.forEach(([name], at) => {
      buttons[at].setAttribute("aria-selected", String(name === key));
      buttons[at].tabIndex = name === key ? 0 : -1;
      if (focus && name === key) buttons[at].focus();
    });
    onchoose(key);
  }
  const row = h("div", { role: "tablist", "aria-label": label, class: "tabs" }, buttons);
  row.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at = buttons.findIndex((button) => button.getAttribute("aria-selected") === "true");
    choose(names[(at + step + names.length) % names.length][0], true);
  });
  queueMicrotask(() => choose(chosen));
  row.choose = choose;
  return row;
}

/** Hands a file to whoever sits before the page. */
export function save(blob, name) {
  const url = URL.createObjectURL(blob);
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Puts text on the clipboard, and says so. */
export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    toast(`${what} copied`);
  } catch {
    dialog(`Copy ${what}`, h("textarea", { class: "mono copy", rows: 6, readonly: true, ".value": text, "aria-label": what }));
  }
}

/** Calls a function once things have been quiet for so many milliseconds. */
export function quiet(milliseconds, act) {
  let timer;
  return (...words) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(...words), milliseconds);
  };
}

/** The colour that a variable of the style sheet stands for now, as canvases want it. */
export function colour(name) {
  const probe = document.getElementById("probe");
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}
