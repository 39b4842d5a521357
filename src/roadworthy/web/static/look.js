// The page Look: a wall of which only what is seen is drawn, and one case at a time in a dialog.
import { alertAbout, ask, fill, make } from "/static/page.js";
import { outlineSwitch } from "/static/change.js";
import { fillCard } from "/static/case.js";
import { CaseDialog } from "/static/detail.js";

const CHUNK = 60, KEPT = 12, HEIGHT = 250, LEAST = 320, GAP = 12, AHEAD = 2;
const wall = document.getElementById("wall"), filters = document.getElementById("filters");
const run = wall.dataset.run, texts = JSON.parse(wall.dataset.texts);

const COUNTED = { failures: ["failure", "failures"], violated: ["violation", "violations"], error: ["error", "errors"], passed: ["passing case", "passing cases"], "not applicable": ["case that does not apply", "cases that do not apply"], all: ["case", "cases"] };

let total = 0, chunks = new Map(), drawn = new Map(), generation = 0, shownCase = null;

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

// Some cases. However far one scrolls, no more than a few lots are kept, and what one has scrolled past is not waited for.
async function chunk(place) {
  const mine = chunks;
  let lot = mine.get(place);
  if (!lot) {
    const stop = new AbortController();
    lot = { stop, cases: ask(wanted(place * CHUNK), undefined, { signal: stop.signal }) };
  }
  mine.delete(place);
  mine.set(place, lot);
  for (const [oldest, { stop }] of mine) {
    if (mine.size <= KEPT) break;
    mine.delete(oldest);
    stop.abort();
  }
  try {
    return await lot.cases;
  } catch (error) {
    // Asked again when it is wanted again: the server may have come back.
    if (mine.get(place) === lot) mine.delete(place);
    throw error;
  }
}

function forget() {
  for (const { stop } of chunks.values()) stop.abort();
  chunks = new Map();
}

// The address holds what is chosen, and the case that is open, so that it can be sent to others.
function address() {
  const query = chosen();
  if (shownCase) for (const [name, value] of [["case", shownCase.case], ["of", shownCase.requirement], ["on", shownCase.system]]) query.set(name, value);
  history.replaceState(null, "", `?${query}`);
}

async function begin() {
  const mine = ++generation;
  forget();
  address();
  try {
    const first = await chunk(0);
    if (mine !== generation) return;
    total = first.total;
    const [one, several] = COUNTED[filters.elements.status.value];
    document.getElementById("count").textContent = total === 1 ? `1 ${one}` : `${total.toLocaleString("en")} ${several}`;
    drawn.clear();
    const switches = document.getElementById("switches");
    // Of single pictures nothing can be outlined.
    if (!switches.querySelector(".outlines") && first.cases.some((one) => one.pictures.length > 1)) switches.append(outlineSwitch());
    if (total) wall.replaceChildren();
    else fill(wall, make("p.card.empty", {}, "No case matches these filters."));
    wall.style.height = "";
    draw();
  } catch (error) {
    if (error.name !== "AbortError") alertAbout(error);
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
        // In their order, whichever way one scrolls: the Tab key follows it.
        const after = Math.min(...[...drawn.keys()].filter((other) => other > place));
        wall.insertBefore(card, drawn.get(after) ?? null);
        drawn.set(place, card);
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
    if (error.name !== "AbortError") alertAbout(error);
  }
}

function tile(card, one, place) {
  fillCard(card, run, one, texts, make("button", { type: "button", onclick: () => dialog.show(place) }));
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
  opened: (one) => { shownCase = one; address(); },
  closed: (place) => {
    shownCase = null;
    address();
    drawn.get(place)?.querySelector(".open")?.focus();
  },
});

// An address may name one case, which is opened: /look/RUN?requirement=R1&system=dave2&case=town-000017
async function openNamed(query, of, on) {
  const which = new URLSearchParams({ requirement: of, system: on, case: query.get("case") });
  const within = new URLSearchParams([...chosen(), ["of", of], ["on", on], ["case", query.get("case")]]);
  try {
    const { place } = await ask(`/look/${encodeURIComponent(run)}/place?${within}`);
    if (place === null) dialog.open(await ask(`/look/${encodeURIComponent(run)}/case?${which}`));
    else await dialog.show(place);
  } catch (error) {
    alertAbout(error);
  }
}

const named = new URLSearchParams(location.search);
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
  forget();
  for (const [place, card] of drawn) complete(place, card, generation);
});
new ResizeObserver(draw).observe(document.body);
begin().then(() => { if (named.has("case")) openNamed(named, named.get("of") ?? named.get("requirement") ?? "", named.get("on") ?? named.get("system") ?? ""); });
