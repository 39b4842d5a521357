// The page Look: a wall of which only what is seen is drawn, and one case at a time in a dialog. All cases of the run are
// here as columns (table.js); everything about a case is asked for when its card comes into sight.
import { alertAbout, ask, chip, fill, make } from "/static/page.js";
import { outlineSwitch } from "/static/change.js";
import { decidingPair, fillCard, measured, pictureOf, SAID } from "/static/case.js";
import { CaseDialog, copyButton, MARKS } from "/static/detail.js";
import { Filters } from "/static/filters.js";
import { Table } from "/static/table.js";
import { Kinds } from "/static/kinds.js";
import { speedUnit } from "/static/units.js";

const LOT = 60, KEPT = 1500, COPIED = 50, MOST = 200, GAP = 10, HEAD = 44, AHEAD = 300; // cases in one question, kept, in a copied suite, and in a requirement; pixels
const FULL = 300, CAPTION = 140; // pixels of width from which a card is whole, and from which it has a line below its picture
const COUNTED = { violated: ["violation", "violations"], error: ["error", "errors"], passed: ["passing case", "passing cases"], "not applicable": ["case that does not apply", "cases that do not apply"] };
const GROUPS = { "": "nothing", requirement: "requirement", system: "model", change: "change", place: "place", kind: "kind" };
const byId = (id) => document.getElementById(id);
const wall = byId("wall"), side = byId("side"), run = wall.dataset.run, here = `/look/${encodeURIComponent(run)}`;
const orders = byId("order"), groups = byId("group"), size = byId("size"), search = byId("q");

let table, filters, kinds, texts = {}, sections = [], view = [], blocks = [], shownCase = null;
const drawn = new Map(), details = new Map(), waiting = new Map(), selected = new Set(), undone = [];
let anchor = -1;

/* Everything about cases, a lot at a time. Who is scrolled past before a lot is asked for is left out of it. */

let asking = 0, soon = false;

// What a card asks for may be forgotten once it is scrolled past.
function detail(row, fleeting = false) {
  const known = details.get(row);
  if (known) {
    details.delete(row);
    details.set(row, known);
    return Promise.resolve(known);
  }
  if (!waiting.has(row)) {
    let done, failed;
    const promise = new Promise((one, other) => { done = one; failed = other; });
    waiting.set(row, { promise, done, failed, asked: false, fleeting });
    promise.catch(() => {});
  }
  waiting.get(row).fleeting &&= fleeting;
  if (!soon) {
    soon = true;
    queueMicrotask(() => { soon = false; askSome(); });
  }
  return waiting.get(row).promise;
}

async function askSome() {
  while (asking < 3) {
    const rows = [...waiting].filter(([, one]) => !one.asked).map(([row]) => row).slice(0, LOT);
    if (!rows.length) return;
    for (const row of rows) waiting.get(row).asked = true;
    asking++;
    answer(rows).finally(() => { asking--; askSome(); });
  }
}

const named = (row) => { const [requirement, system, name] = table.key(row); return { requirement, system, case: name }; };

async function answer(rows) {
  const mine = rows.map((row) => [row, waiting.get(row)]);
  try {
    const { cases } = await ask(`${here}/cases`, { cases: rows.map(named) });
    const found = new Map(cases.map((one) => [[one.requirement, one.system, one.case].join("\u001f"), one]));
    for (const [row, { done, failed }] of mine) {
      waiting.delete(row);
      const one = found.get(table.key(row).join("\u001f"));
      if (!one) { failed(new Error("This case is gone: reload the page.")); continue; }
      details.set(row, one);
      done(one);
    }
    for (const oldest of details.keys()) {
      if (details.size <= KEPT) break;
      details.delete(oldest);
    }
  } catch (error) {
    for (const [row, { failed }] of mine) { waiting.delete(row); failed(error); }
    alertAbout(error);
  }
}

/* The wall: rows of cards below headings. */

function width() {
  // From a mosaic to two pictures that fill the window; small steps where cards are small.
  const most = Math.min(wall.clientWidth, 900), share = Number(size.value) / 100;
  return Math.round(Math.min(most, 64 * (most / 64) ** share));
}

function layout() {
  const wide = wall.clientWidth, least = width(), gap = least < CAPTION ? 4 : GAP;
  const columns = Math.max(1, Math.floor((wide + gap) / (least + gap)));
  const card = (wide - gap * (columns - 1)) / columns;
  const full = card >= FULL;
  // Of a whole card the pictures grow with it, what is said below them does not.
  const tall = full ? Math.round((card - 26) / 4) + 148 : Math.round(card / 2) + (card >= CAPTION ? 22 : 0);
  let top = 0;
  blocks = sections.map(({ heading, rows }, number) => {
    const block = { number, heading, rows, top, head: heading ? HEAD : 0, first: sections.slice(0, number).reduce((sum, one) => sum + one.rows.length, 0) };
    block.lines = Math.ceil(rows.length / columns);
    top += block.head + block.lines * (tall + gap);
    return block;
  });
  return { columns, card, tall, gap, full, kind: full ? "full" : card >= CAPTION ? "line" : "mini", height: top };
}

// How far down the wall the line of a case begins.
function topOf(place, { columns, tall, gap }) {
  const block = blocks.findLast((one) => one.first <= place);
  return block.top + block.head + Math.floor((place - block.first) / columns) * (tall + gap);
}

// Another size, in which what is seen at a height of the window stays there.
function zoom(to, x = innerWidth / 2, y = innerHeight / 3) {
  const { left, top } = wall.getBoundingClientRect(), before = layout(), down = y - top, line = before.tall + before.gap;
  const block = down > 0 ? blocks.findLast((one) => one.top <= down && one.rows.length) : null;
  size.value = to;
  localStorage.setItem("roadworthy-size", size.value);
  if (block) {
    const at = Math.max(0, (down - block.top - block.head) / line), column = Math.min(before.columns - 1, Math.max(0, Math.floor((x - left) / (before.card + before.gap))));
    const place = block.first + Math.min(block.rows.length - 1, Math.floor(at) * before.columns + column), after = layout();
    wall.style.height = `${after.height}px`;
    scrollBy(0, topOf(place, after) + (at % 1) * (after.tall + after.gap) - down);
  }
  draw();
}

let planned = false;
function draw() {
  if (planned || !table) return;
  planned = true;
  requestAnimationFrame(() => {
    planned = false;
    const shape = layout(), { columns, card, tall, gap } = shape;
    wall.style.height = view.length ? `${shape.height}px` : "";
    const from = -wall.getBoundingClientRect().top - AHEAD, to = from + innerHeight + 2 * AHEAD;
    const seen = new Set();
    for (const block of blocks) {
      const end = block.top + block.head + block.lines * (tall + gap);
      if (end < from || block.top > to) continue;
      if (block.heading) {
        const key = `head ${block.number}`;
        seen.add(key);
        place(key, -1, block.first - 0.5, () => make("div.section-head", { role: "listitem" }, make("h2", { title: block.heading }, block.heading), make("small", {}, block.rows.length.toLocaleString("en")))).style.transform = `translateY(${block.top}px)`;
      }
      const start = block.top + block.head;
      const firstLine = Math.max(0, Math.floor((from - start) / (tall + gap))), lastLine = Math.min(block.lines - 1, Math.floor((to - start) / (tall + gap)));
      for (let at = firstLine * columns; at < Math.min(block.rows.length, (lastLine + 1) * columns); at++) {
        const row = block.rows[at], key = `${shape.kind} ${row}`;
        seen.add(key);
        const tile = place(key, row, block.first + at, () => newTile(row, shape));
        tile.style.width = `${card}px`;
        tile.style.height = `${tall}px`;
        tile.style.setProperty("--picture", `${tall - 148}px`);
        tile.style.transform = `translate(${(at % columns) * (card + gap)}px, ${start + Math.floor(at / columns) * (tall + gap)}px)`;
        tile.setAttribute("aria-posinset", block.first + at + 1);
        tile.setAttribute("aria-setsize", view.length);
      }
    }
    for (const [key, { element }] of drawn) {
      // What has the focus stays, so that the keyboard does not lose its place.
      if (seen.has(key) || (element.contains(document.activeElement) && view.length && placeOf.has(drawn.get(key).row) && key.split(" ")[0] === shape.kind)) continue;
      element.remove();
      drawn.delete(key);
    }
    for (const [row, { asked, fleeting }] of waiting) if (!asked && fleeting && ![...drawn.values()].some((one) => one.row === row)) waiting.delete(row);
  });
}

// In their order, whichever way one scrolls and sorts: the Tab key follows it.
function place(key, row, order, makes) {
  let known = drawn.get(key);
  if (known?.order === order) return known.element;
  const held = known?.element.contains(document.activeElement) ? document.activeElement : null;
  if (!known) drawn.set(key, known = { element: makes(), row });
  known.order = order;
  let after = null;
  for (const other of drawn.values()) if (other !== known && other.order > order && (!after || other.order < after.order)) after = other;
  wall.insertBefore(known.element, after?.element ?? null);
  held?.focus({ preventScroll: true });
  return known.element;
}

let placeOf = new Map();

function newTile(row, shape) {
  const tile = make("div.tile.waiting", { role: "listitem", "data-row": row });
  detail(row, true).then((one) => fillTile(tile, one, row, shape.full, shape.card >= CAPTION)).catch(() => {});
  return tile;
}

function fillTile(tile, one, row, full, captioned) {
  const mark = table.marks.get(row);
  if (mark) Object.assign(one, mark);
  const held = tile.contains(document.activeElement);
  const button = make("button", { type: "button", "data-row": row });
  tile.className = `tile ${full ? "" : `mini ${one.status.replaceAll(" ", "-")}`}`;
  if (full) fillCard(tile, run, one, texts, button);
  else mini(tile, one, button, captioned);
  const tick = make("input.tick", { type: "checkbox", tabindex: -1, "aria-label": `Select ${one.case}`, checked: selected.has(row) });
  tile.append(tick);
  tile.classList.toggle("chosen", selected.has(row));
  swapOnHover(tile, one);
  if (held) button.focus();
}

function mini(tile, one, open, captioned) {
  const pair = decidingPair(one, one.pictures), after = pair.at(-1);
  open.classList.add("open");
  open.setAttribute("aria-label", `Open ${one.case} of ${one.requirement}, ${one.system}, ${SAID[one.status]}${one.margin === null ? "" : `, margin ${measured(one.margin, one.unit)}`}`);
  open.title = `${one.requirement} · ${one.system} · ${one.case}`;
  fill(tile, open, after ? make("div.boxed", {}, make("img", { src: pictureOf(run, after), alt: "after", decoding: "async" })) : make("div.none", {}, "no picture"),
    one.mark ? make("span.flag", {}, chip("marked", one.mark)) : null,
    captioned ? make("div.caption", {}, make("span", {}, one.requirement), make("span", {}, one.margin === null ? SAID[one.status] : measured(one.margin, one.unit))) : null);
}

// Under the pointer, the picture after shows what was there before.
function swapOnHover(tile, one) {
  const pair = decidingPair(one, one.pictures), image = [...tile.querySelectorAll(".boxed img")].at(-1);
  if (pair.length < 2 || !image) return;
  const show = (place) => { image.src = pictureOf(run, pair[place]); tile.classList.toggle("before", place === 0); };
  tile.onpointerenter = (event) => { if (event.pointerType === "mouse") show(0); };
  tile.onpointerleave = () => show(1);
}

function again(row) {
  const one = details.get(row);
  for (const [key, { element, row: other }] of drawn) if (other === row && one) fillTile(element, one, row, key.startsWith("full"), !key.startsWith("mini"));
}

/* What is chosen, and the address that says so. */

function address() {
  const query = new URLSearchParams();
  filters.address(query);
  if (search.value.trim()) query.set("q", search.value.trim());
  if (/[<>=]/.test(search.value) && speedUnit() !== "m/s") query.set("unit", speedUnit());
  if (orders.value !== "each") query.set("order", orders.value);
  if (groups.value) query.set("group", groups.value);
  if (kinds.shown) query.set("kinds", "1");
  if (shownCase) {
    for (const [name, value] of Object.entries({ case: shownCase.case, of: shownCase.requirement, on: shownCase.system })) query.set(name, value);
    dialog.address(query);
  }
  history.replaceState(null, "", `?${query}`.replace(/\?$/, location.pathname));
}

function refresh({ scroll = true } = {}) {
  const odd = table.search(search.value);
  kinds.refresh();
  byId("odd").hidden = !odd.length;
  byId("odd").textContent = odd.length ? `Not understood: ${odd.join(" ")}. Comparisons are about margin, dv, distance, speed, deviation or strength, where the run has them.` : "";
  sections = table.sections(orders.value, groups.value);
  view = sections.flatMap((one) => one.rows);
  placeOf = new Map(view.map((row, at) => [row, at]));
  count();
  filters.show();
  address();
  if (!view.length) {
    for (const { element } of drawn.values()) element.remove();
    drawn.clear();
    const whole = table.chosenWithout("status");
    fill(wall, make("div.card.empty", { role: "listitem" }, make("p", {}, whole ? "No case of this status matches these filters." : "No case matches these filters."),
      make("div.actions", {}, whole ? make("button", { type: "button", onclick: () => { filters.set("status", []); refresh(); } }, `Show ${whole.toLocaleString("en")} of any status`) : null, make("button.quiet", { type: "button", onclick: () => filters.reset() }, "Clear filters"))));
  } else wall.querySelector(".empty")?.remove();
  if (scroll && wall.getBoundingClientRect().top < 0) wall.scrollIntoView();
  draw();
}

function count() {
  const status = filters.chosen.status ?? [], total = view.length;
  const failing = status.length && status.every((one) => one === "violated" || one === "error");
  const [one, several] = status.length === 1 ? COUNTED[status[0]] ?? ["case", "cases"] : failing ? ["failure", "failures"] : ["case", "cases"];
  byId("count").textContent = `${total.toLocaleString("en")} ${total === 1 ? one : several}`;
  if (table.total > table.size) byId("count").append(make("small", {}, ` of the worst ${table.size.toLocaleString("en")} among ${table.total.toLocaleString("en")}`));
}

/* Many at once: selected, marked, and taken back. */

function select(rows, on = true) {
  for (const row of rows) if (on) selected.add(row); else selected.delete(row);
  for (const { element, row } of drawn.values()) {
    if (row < 0) continue;
    element.classList.toggle("chosen", selected.has(row));
    const tick = element.querySelector(".tick");
    if (tick) tick.checked = selected.has(row);
  }
  bar();
}

function bar(said = "") {
  const box = byId("selected"), many = selected.size;
  document.body.classList.toggle("selecting", many > 0);
  box.hidden = !many && !said;
  if (box.hidden) return;
  const rows = [...selected];
  fill(box, make("span", { role: "status" }, said || `${many.toLocaleString("en")} selected`),
    many ? Object.entries(MARKS).map(([mark, words]) => make("button.quiet.way", { type: "button", onclick: () => markAll(rows, mark) }, words)) : null,
    many ? make("button.quiet.way", { type: "button", onclick: () => markAll(rows, "") }, "No mark") : null,
    many ? make("button.quiet.way", { type: "button", onclick: () => copyAll(rows) }, "Copy as suite") : null,
    undone.length ? make("button.quiet.way", { type: "button", onclick: undo }, "Undo") : null,
    make("button.quiet.way", { type: "button", onclick: () => { selected.clear(); select([]); } }, many ? "Clear" : "Close"));
}

async function store(marks) {
  const rater = localStorage.getItem("roadworthy-rater") ?? "";
  for (let at = 0; at < marks.length; at += 200) {
    // Without notes: somebody may have written one meanwhile, and it stays.
    await ask(`${here}/marks`, { marks: marks.slice(at, at + 200).map(({ row, mark }) => ({ ...named(row), mark, rater })) });
  }
  for (const { row, mark } of marks) {
    const { note = "" } = table.marks.get(row) ?? {};
    if (mark || note) table.marks.set(row, { mark, note });
    else table.marks.delete(row);
    const one = details.get(row);
    if (one) one.mark = mark;
    again(row);
  }
  filters.set("mark", filters.chosen.mark ?? []);
}

async function markAll(rows, mark) {
  const before = rows.map((row) => ({ row, mark: table.marks.get(row)?.mark ?? "" }));
  try {
    await store(before.map((one) => ({ ...one, mark })));
    undone.push(before);
    selected.clear();
    select([]);
    bar(mark ? `${rows.length.toLocaleString("en")} marked: ${MARKS[mark].toLowerCase()}.` : `${rows.length.toLocaleString("en")} without a mark now.`);
    refresh({ scroll: false });
  } catch (error) {
    alertAbout(error);
  }
}

// The selected cases as one suite; of very many the first on the wall.
async function copyAll(rows) {
  const some = rows.sort((one, other) => placeOf.get(one) - placeOf.get(other)).slice(0, COPIED);
  bar("Making the suite …");
  try {
    const test = await ask(`${here}/test`, { cases: some.map(named) });
    if (test.reason) return bar(test.reason);
    const { told, shown, copy } = copyButton(test, "");
    bar(`${some.length} of ${rows.length} cases. `);
    byId("selected").append(told, shown);
    await copy();
  } catch (error) {
    bar();
    alertAbout(error);
  }
}

// A suite that asks for a share of these cases instead of each: the builder shows it, to be changed and run.
async function requireOf(rows, words) {
  try {
    const test = await ask(`${here}/test`, { cases: rows.slice(0, MOST).map(named) });
    if (test.reason) throw new Error(test.reason);
    sessionStorage.setItem("roadworthy-made-suite", `suite: ${JSON.stringify(words || "A kind of failures")}\ndefaults: {accept: 5%}\n${test.text}`);
    location.assign("/suites?made");
  } catch (error) {
    alertAbout(error);
  }
}

async function undo() {
  const before = undone.pop();
  if (!before) return;
  try {
    await store(before);
    bar("Undone.");
    refresh({ scroll: false });
  } catch (error) {
    undone.push(before);
    alertAbout(error);
  }
}

/* By keyboard: everything that the pointer does. */

const focusedRow = () => Number(document.activeElement?.closest?.(".tile")?.dataset.row ?? -1);

function moveTo(at, extend) {
  const to = Math.max(0, Math.min(view.length - 1, at)), row = view[to];
  const shape = layout(), { tall } = shape, top = wall.getBoundingClientRect().top + topOf(to, shape);
  if (top < 70 || top + tall > innerHeight) scrollBy(0, top < 70 ? top - 70 : top + tall - innerHeight + 10);
  if (extend) select([row]);
  const focus = (tries) => {
    const button = wall.querySelector(`.tile[data-row="${row}"] .open`);
    if (button) button.focus({ preventScroll: true });
    else if (tries) setTimeout(() => focus(tries - 1), 40);
  };
  draw();
  setTimeout(() => focus(50), 30);
}

wall.addEventListener("keydown", (event) => {
  const row = focusedRow(), at = placeOf.get(row);
  if (row < 0 || at === undefined || event.ctrlKey || event.metaKey || event.altKey) {
    if ((event.ctrlKey || event.metaKey) && event.key === "a" && row >= 0) { event.preventDefault(); select(view); }
    if ((event.ctrlKey || event.metaKey) && event.key === "z" && row >= 0) { event.preventDefault(); undo(); }
    return;
  }
  const { columns } = layout(), steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns };
  const mark = { 1: "fault", 2: "false alarm", 3: "unsure", 0: "" }[event.key];
  if (event.key in steps) {
    if (event.shiftKey) select([row]);
    moveTo(at + steps[event.key], event.shiftKey);
  } else if (event.key === " ") { anchor = at; select([row], !selected.has(row)); }
  else if (mark !== undefined) markAll(selected.size ? [...selected] : [row], mark);
  else if (event.key === "u") undo();
  else if (event.key === "Escape" && selected.size) { selected.clear(); select([]); }
  else if (event.key === "+" || event.key === "-") { zoom(Number(size.value) + (event.key === "+" ? 10 : -10)); moveTo(at); }
  else return;
  event.preventDefault();
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target.matches("input, textarea, select") || document.querySelector("dialog[open]")) return;
  event.preventDefault();
  search.focus();
});

wall.addEventListener("click", (event) => {
  const row = Number(event.target.closest(".tile")?.dataset.row ?? -1), at = placeOf.get(row);
  if (at === undefined) return;
  const tick = event.target.closest(".tick");
  if (tick || event.ctrlKey || event.metaKey || event.shiftKey) {
    if (event.shiftKey && anchor >= 0) select(view.slice(Math.min(anchor, at), Math.max(anchor, at) + 1));
    else select([row], !selected.has(row));
    anchor = at;
  } else if (event.target.closest(".open")) dialog.show(at);
});

/* One case. */

const dialog = new CaseDialog(byId("case"), {
  run, here, detail,
  get texts() { return texts; },
  get table() { return table; },
  size: () => view.length,
  rowAt: (at) => view[at],
  placeOf: (row) => placeOf.get(row) ?? NaN,
  rowOf: (one) => table.rowOf(one.requirement, one.system, one.case),
  // Somebody else may have marked it since the wall was drawn.
  case: async (row) => {
    const one = await detail(row), { mark, note } = await ask(`${here}/case?${new URLSearchParams(named(row))}`);
    if (mark !== one.mark || note !== one.note) said(row, Object.assign(one, { mark, note }));
    return one;
  },
  knowsAlike: () => Boolean(kinds.found),
  recorded: wall.hasAttribute("data-recorded"),
  alike: async (row, told) => { await kinds.find(told); return kinds.alike(row); },
  changed: said,
  opened: (one) => { shownCase = one; address(); },
  closed: (at) => {
    shownCase = null;
    address();
    if (at >= 0) moveTo(at);
  },
});

function said(row, { mark, note }) {
  if (mark || note) table.marks.set(row, { mark, note });
  else table.marks.delete(row);
  filters.set("mark", filters.chosen.mark ?? []);
  filters.show();
  again(row);
}

// An address may name one case, which is opened: /look/RUN?requirement=R1&system=dave2&case=town-000017
async function openNamed(query) {
  const which = { requirement: query.get("of") ?? query.get("requirement") ?? "", system: query.get("on") ?? query.get("system") ?? "", case: query.get("case") };
  const row = table.rowOf(which.requirement, which.system, which.case);
  try {
    if (row < 0) dialog.open(await ask(`${here}/case?${new URLSearchParams(which)}`), row);
    else await dialog.go(row);
  } catch (error) {
    alertAbout(error);
  }
}

async function begin() {
  const query = new URLSearchParams(location.search);
  table = new Table(await ask(`${here}/table`));
  texts = Object.fromEntries(Object.entries(table.requirements).map(([id, one]) => [id, one.text]));
  fill(orders, [...table.orders()].map(([value, { words }]) => make("option", { value }, words)));
  fill(groups, Object.entries(GROUPS).filter(([name]) => !name || (table.categories[name]?.names.length ?? 0) > 1 || name === "kind").map(([value, words]) => make("option", { value }, words)));
  orders.value = table.orders().has(query.get("order")) ? query.get("order") : "each";
  groups.value = [...groups.options].some((one) => one.value === query.get("group")) ? query.get("group") : "";
  search.value = query.get("q") ?? "";
  size.value = localStorage.getItem("roadworthy-size") ?? "60";
  filters = new Filters(byId("filters"), table, refresh);
  kinds = new Kinds(byId("kinds"), byId("kinds-button"), { run, here, table, filters, refresh, address, detail, groupBy: (name) => { groups.value = name; refresh(); }, select, test: copyAll, require: requireOf, choose: (rows) => { selected.clear(); select(rows); } });
  filters.read(query);
  dialog.read(query);
  byId("switches").append(outlineSwitch());
  side.open = matchMedia("(min-width: 921px)").matches;
  refresh({ scroll: false });
  if (query.has("case")) openNamed(query);
  if (!["kinds", "kind"].some((one) => query.has(one)) && groups.value !== "kind") return;
  // They may take a while: the wall is there meanwhile.
  await kinds.open();
  if (!table.categories.kind) return;
  filters.set("kind", query.getAll("kind"));
  refresh({ scroll: false });
}

matchMedia("(min-width: 921px)").addEventListener("change", (event) => { side.open ||= event.matches; });
let typing = 0;
search.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(refresh, 120); });
orders.addEventListener("change", refresh);
groups.addEventListener("change", async () => {
  refresh();
  if (groups.value !== "kind" || table.categories.kind) return;
  await kinds.open();
  refresh();
});
size.addEventListener("input", () => zoom(size.value));
// Two fingers on a touchpad come as a wheel with Ctrl, too.
wall.addEventListener("wheel", (event) => {
  if (!event.ctrlKey) return;
  event.preventDefault();
  zoom(Number(size.value) - Math.sign(event.deltaY) * 5, event.clientX, event.clientY);
}, { passive: false });
byId("filters").addEventListener("submit", (event) => event.preventDefault());
addEventListener("scroll", draw, { passive: true });
new ResizeObserver(draw).observe(wall);
begin().catch(alertAbout);
