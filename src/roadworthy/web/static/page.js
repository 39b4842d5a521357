// What every page has: the switch of colours, explanations that close again, and requests to the server.

const token = document.querySelector('meta[name="csrf-token"]').content;

class Refused extends Error {
  constructor(message, code, status) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

// Asks the server; throws Refused with what it says is wrong.
export async function ask(path, body, { signal } = {}) {
  const options = { method: body === undefined ? "GET" : "POST", headers: { accept: "application/json" }, signal };
  if (body !== undefined) {
    options.headers["content-type"] = "application/json";
    options.headers["x-csrf-token"] = token;
    options.body = JSON.stringify(body);
  }
  let answer;
  try {
    answer = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("The server does not answer. Start it again with `roadworthy serve`; your text is kept.", "gone", 0);
  }
  const document = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(document.error ?? `The server answered ${answer.status}.`, document.code, answer.status);
  return document;
}

// Asks for what the server computes in the background, and tells how far it has come, ever less often. What it found
// is asked for once it is there. With `cancels`, the server gives up as well when nobody waits any more.
export async function awaited(path, told = () => {}, { body, signal, cancels = false } = {}) {
  for (let pause = 300; ;) {
    const { found, problem, work } = await ask(path, body, { signal });
    if (problem) throw new Refused(problem, "problem", 200);
    if (found !== null) return found;
    try {
      for (let over = false; !over;) {
        const now = await ask(`/working/${work}`, undefined, { signal });
        told(now);
        over = now.over;
        if (!over) await new Promise((done) => setTimeout(done, pause));
        pause = Math.min(2000, pause * 1.25);
      }
    } catch (error) {
      if (cancels && error.name === "AbortError") ask(`/working/${work}/cancel`, {}).catch(() => {});
      throw error;
    }
  }
}

// Makes an element; children are elements or text, and text is never read as markup.
export function make(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name);
  if (classes.length) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  fill(element, ...children);
  return element;
}

// Puts children into an element in place of what is there; those that are null are left out.
export function fill(element, ...children) {
  element.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
}

// Text in which commands stand between backticks.
export function worded(text) {
  return text.split("`").map((part, place) => (place % 2 ? make("code", {}, part) : part));
}

export function hint(about, text) {
  return make("details.hint", {}, make("summary", { "aria-label": `What is this: ${about}?` }, "?"), make("p", { role: "note" }, worded(text)));
}

// Draws again what has colours of its own whenever these change, by the switch or by the system.
export function onColors(draw) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  new MutationObserver(draw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
}

// A state in a word, in its colour.
export function chip(state, words = state) {
  return make(`span.chip.${state.replaceAll(" ", "-")}`, {}, words);
}

export function alertAbout(error) {
  const box = document.getElementById("alerts");
  const reload = error.code === "session" ? make("button", { type: "button", onclick: () => location.reload() }, "Reload") : null;
  const close = make("button.quiet", { type: "button", onclick: () => box.replaceChildren() }, "Close");
  box.replaceChildren(make("div.alert", {}, make("p", {}, worded(error.message)), make("div.actions", {}, reload, close)));
}

const themes = ["auto", "light", "dark"];
const button = document.getElementById("theme");
const now = () => localStorage.getItem("roadworthy-theme") ?? "auto";
function showTheme() {
  const theme = now();
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  document.getElementById("theme-now").textContent = theme;
}
button.addEventListener("click", () => {
  localStorage.setItem("roadworthy-theme", themes[(themes.indexOf(now()) + 1) % themes.length]);
  showTheme();
});
showTheme();

// An explanation closes by a click elsewhere, by Escape, and when another one opens.
const opened = () => document.querySelectorAll("details.hint[open]");
document.addEventListener("click", (event) => {
  for (const one of opened()) if (!one.contains(event.target)) one.open = false;
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const one of opened()) {
    one.open = false;
    one.querySelector("summary").focus();
  }
});
document.addEventListener("toggle", (event) => {
  if (!event.target.matches?.("details.hint") || !event.target.open) return;
  // It must not hang over the edge of the window.
  const note = event.target.querySelector("p");
  note.style.setProperty("--shift", "0px");
  const { left, right } = note.getBoundingClientRect();
  const over = right - document.documentElement.clientWidth + 8;
  if (over > 0) note.style.setProperty("--shift", `${-over}px`);
  else if (left < 8) note.style.setProperty("--shift", `${8 - left}px`);
}, true);

// What is wider than the window can be scrolled by keyboard.
const widths = new ResizeObserver((seen) => { for (const { target } of seen) target.tabIndex = target.scrollWidth > target.clientWidth ? 0 : -1; });
for (const one of document.querySelectorAll(".scroll")) widths.observe(one);
