// The page Look: a wall of which only what is seen is drawn, and one case at a time in a dialog.
import { alertAbout, ask, fill, make } from "/static/page.js";
import { answersOf, boxesOver, headingOf, number, numbersOf, pictureOf } from "/static/case.js";
import { CaseDialog } from "/static/detail.js";

const CHUNK = 60, HEIGHT = 206, LEAST = 320, GAP = 12, AHEAD = 2;
const wall = document.getElementById("wall"), filters = document.getElementById("filters");
const run = wall.dataset.run, texts = JSON.parse(wall.dataset.texts);

let total = 0, chunks = new Map(), drawn = new Map(), generation = 0;

// What is chosen; what is left open is not in it.
function chosen() {
  const fields = [...new FormData(filters)].filter(([, value]) => value);
  const ranged = fields.some(([name]) => name === "least" || name === "most");
  return new URLSearchParams(fields.filter(([name]) => name !== "amount" || ranged));
}

function wanted(offset) {
  const query = chosen();
  query.set("offset", offset);
  query.set("limit", CHUNK);
  return `/look/${encodeURIComponent(run)}/cases?${query}`;
}

async function chunk(place) {
  if (!chunks.has(place)) chunks.set(place, ask(wanted(place * CHUNK)));
  return chunks.get(place);
}

async function begin() {
  const mine = ++generation;
  chunks = new Map();
  history.replaceState(null, "", `?${chosen()}`);
  try {
    const first = await chunk(0);
    if (mine !== generation) return;
    total = first.total;
    document.getElementById("count").textContent = total === 1 ? "1 case" : `${total.toLocaleString("en")} cases`;
    drawn.clear();
    if (total) wall.replaceChildren();
    else fill(wall, make("p.card.empty", {}, "No case is like this. Choose others above."));
    wall.style.height = "";
    draw();
  } catch (error) {
    alertAbout(error);
  }
}

function layout() {
  const width = wall.clientWidth, columns = Math.max(1, Math.floor((width + GAP) / (LEAST + GAP)));
  return { columns, wide: (width - GAP * (columns - 1)) / columns, rows: Math.ceil(total / columns) };
}

let asked = false;
function draw() {
  if (asked || !total) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    const { columns, wide, rows } = layout();
    wall.style.height = `${rows * (HEIGHT + GAP)}px`;
    const top = -wall.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(top / (HEIGHT + GAP)) - AHEAD);
    const last = Math.min(rows - 1, Math.ceil((top + innerHeight) / (HEIGHT + GAP)) + AHEAD);
    const seen = new Set();
    for (let place = first * columns; place < Math.min(total, (last + 1) * columns); place++) {
      seen.add(place);
      let card = drawn.get(place);
      if (!card) {
        card = make("article.tile", { role: "listitem", "aria-posinset": place + 1, "aria-setsize": total });
        drawn.set(place, card);
        wall.append(card);
        complete(place, card, generation);
      }
      card.style.width = `${wide}px`;
      card.style.transform = `translate(${(place % columns) * (wide + GAP)}px, ${Math.floor(place / columns) * (HEIGHT + GAP)}px)`;
    }
    for (const [place, card] of drawn) {
      // What has the focus stays, so that the keyboard does not lose its place.
      if (seen.has(place) || card.contains(document.activeElement)) continue;
      card.remove();
      drawn.delete(place);
    }
  });
}

async function complete(place, card, mine) {
  try {
    const one = (await chunk(Math.floor(place / CHUNK))).cases[place % CHUNK];
    if (mine !== generation || !one) return;
    tile(card, one, place);
  } catch (error) {
    alertAbout(error);
  }
}

function tile(card, one, place) {
  const pictures = one.pictures.slice(0, 2).map((digest, number_) => {
    const image = make("img", { src: pictureOf(run, digest), alt: one.pictures.length > 1 ? (number_ ? "after" : "before") : "frame", decoding: "async" });
    return make("div.boxed", {}, image, boxesOver(image, one.boxes));
  });
  const open = make("button.open", { type: "button", "aria-label": `Open ${one.case}, ${one.system}, margin ${number(one.margin)}`, onclick: () => dialog.show(place) });
  fill(card, open,
    pictures.length ? make("div.tile-pictures", {}, pictures) : make("div.tile-pictures.none", {}, "no pictures were kept of this case"),
    headingOf(one), answersOf(one).slice(0, 1),
    one.expected !== null && one.expected !== undefined ? make("div.small", {}, `expected ${one.expected}, found ${one.found ?? "nothing"}`) : null,
    one.reason ? make("div.small", {}, one.reason) : null,
    numbersOf(one));
}

const dialog = new CaseDialog(document.getElementById("case"), {
  run, texts, shrinks: Boolean(wall.dataset.shrinks),
  size: () => total,
  // Somebody else may have marked it since the wall was drawn.
  case: async (place) => {
    const one = (await chunk(Math.floor(place / CHUNK))).cases[place % CHUNK];
    const { mark, note } = await ask(`/look/${encodeURIComponent(run)}/case?${new URLSearchParams({ requirement: one.requirement, system: one.system, case: one.case })}`);
    if (mark !== one.mark || note !== one.note) {
      Object.assign(one, { mark, note });
      const card = drawn.get(place);
      if (card) tile(card, one, place);
    }
    return one;
  },
  changed: (place, one) => { const card = drawn.get(place); if (card) tile(card, one, place); },
});

// An address may name one case, which is opened: /look/RUN?requirement=R1&system=dave2&case=town-000017
async function openNamed(query) {
  try {
    dialog.open(await ask(`/look/${encodeURIComponent(run)}/case?${query}`));
  } catch (error) {
    alertAbout(error);
  }
}

const named = new URLSearchParams(location.search);
if (named.has("case")) openNamed(new URLSearchParams(["requirement", "system", "case"].map((name) => [name, named.get(name) ?? ""])));
for (const [name, value] of named) {
  const field = filters.elements[name];
  if (field && (!field.options || [...field.options].some((option) => option.value === value))) field.value = value;
}
const more = document.getElementById("more-filters");
const wide = matchMedia("(min-width: 701px)");
more.open = wide.matches || [...more.querySelectorAll("select, input")].some((field) => field.name !== "amount" && field.value);
wide.addEventListener("change", () => { more.open ||= wide.matches; });
const { amount, least, most } = filters.elements;
function showRange() {
  const { from, to } = amount.selectedOptions[0].dataset;
  least.placeholder = `from ${from}`;
  most.placeholder = `to ${to}`;
}
if (amount) {
  amount.addEventListener("change", showRange);
  showRange();
}
filters.addEventListener("change", () => { drawn.forEach((card) => card.remove()); drawn.clear(); begin(); });
filters.addEventListener("submit", (event) => event.preventDefault());
addEventListener("scroll", draw, { passive: true });
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  chunks.clear();
  for (const [place, card] of drawn) complete(place, card, generation);
});
new ResizeObserver(draw).observe(document.body);
begin();
