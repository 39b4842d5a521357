// What broke and what was fixed between runs, as a wall: each card has the pictures once, and what either run says.
import { ask, chip, fill, make } from "/static/page.js";
import { outlineSwitch } from "/static/change.js";
import { answersOf, fillCard, measured, SAID } from "/static/case.js";

const LOT = 60, WORDS = { broken: "Broken", fixed: "Fixed" };
const box = document.getElementById("changed"), lists = document.getElementById("lots");
const lots = JSON.parse(box.dataset.changed), titles = JSON.parse(box.dataset.titles);
const several = new Set(lots.map(({ runs }) => runs[1])).size > 1;
const query = new URLSearchParams(location.search);
const chosen = { kind: query.get("show") ?? (lots.some(({ kind }) => kind === "broken") ? "broken" : "fixed"), of: query.get("of") ?? "" };

/* Everything about cases, a lot at a time, when their cards come into sight. */

const waiting = new Map(); // run → [[key, resolve, reject], …]
let soon = false;

function detail(run, key) {
  return new Promise((done, failed) => {
    if (!waiting.has(run)) waiting.set(run, []);
    waiting.get(run).push([key, done, failed]);
    if (soon) return;
    soon = true;
    setTimeout(() => { soon = false; askAll(); }, 20);
  });
}

function askAll() {
  const name = ({ requirement, system, case: id }) => [requirement, system, id].join("\u001f");
  for (const [run, all] of waiting) {
    waiting.delete(run);
    for (let at = 0; at < all.length; at += LOT) {
      const some = all.slice(at, at + LOT);
      ask(`/look/${encodeURIComponent(run)}/cases`, { cases: some.map(([key]) => key) }).then(({ cases }) => {
        const found = new Map(cases.map((one) => [name(one), one]));
        for (const [key, done, failed] of some) found.has(name(key)) ? done(found.get(name(key))) : failed(new Error("This case is gone: reload the page."));
      }).catch((error) => { for (const [, , failed] of some) failed(error); });
    }
  }
}

function side(words, one) {
  const told = answersOf(one)[0] ?? make("div.line", {}, [...one.lines, one.reason].filter(Boolean).join(": "));
  return make("div.side", {}, make("div.case-head", {}, make("b", {}, words), chip(one.status, SAID[one.status]), make("small", {}, one.margin === null ? "" : measured(one.margin, one.unit))), told);
}

async function draw(card, lot, id) {
  const keys = lot.systems.map((system) => ({ requirement: lot.requirement, system, case: id }));
  // The run in which it fails has its pictures.
  const failing = lot.kind === "broken" ? 1 : 0, run = lot.runs[failing];
  try {
    const both = await Promise.all(lot.runs.map((name, place) => detail(name, keys[place])));
    const address = new URLSearchParams({ ...keys[failing], status: "failures" });
    const link = make("a", { href: `/look/${encodeURIComponent(run)}?${address}` });
    fillCard(card, run, both[failing], { [lot.requirement]: lot.text }, link, make("div.sides", {}, side("Before", both[0]), side("After", both[1])));
  } catch (error) {
    fill(card, make("p.small", {}, id), make("p.small", {}, error.message));
  }
}

const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    draw(target, ...target.about);
  }
}, { rootMargin: "800px" });

function show() {
  const button = (name, value, words) => make("button.quiet.way", { type: "button", "aria-pressed": String(chosen[name] === value), [`data-${name}`]: value, onclick: () => { chosen[name] = value; show(); document.querySelector(`#chosen [data-${name}="${CSS.escape(value)}"]`)?.focus(); } }, words);
  const total = (of) => of.reduce((sum, { count }) => sum + count, 0).toLocaleString("en");
  const ids = [...new Set(lots.filter(({ kind }) => kind === chosen.kind).map(({ requirement }) => requirement))];
  if (!ids.includes(chosen.of)) chosen.of = "";
  fill(document.getElementById("chosen"),
    make("div.group", { role: "group", "aria-label": "Which cases" }, Object.entries(WORDS).map(([kind, words]) => button("kind", kind, `${words} ${total(lots.filter((one) => one.kind === kind))}`))),
    ids.length > 1 ? make("div.group", { role: "group", "aria-label": "Of which requirement" }, button("of", "", "All"), ids.map((id) => button("of", id, id))) : null);
  const shown = lots.filter(({ kind, requirement }) => kind === chosen.kind && (!chosen.of || requirement === chosen.of));
  fill(lists, shown.length ? shown.flatMap((lot) => {
    const [before, after] = lot.systems, model = before === after ? after : `${before} → ${after}`;
    const cards = lot.cases.map((id) => { const card = make("div.tile", { role: "listitem" }, make("p.small", {}, id)); card.about = [lot, id]; return card; });
    const heading = make("h3.lot", {}, make("b", {}, lot.requirement), ` ${model} `, make("small", {}, [several ? titles[lot.runs[1]] : "", lot.count > lot.cases.length ? `the worst ${lot.cases.length} of ${lot.count.toLocaleString("en")}` : lot.count].filter(Boolean).join(", ")));
    return [heading, make("div.tiles", { role: "list", "aria-label": `${WORDS[lot.kind]}: ${lot.requirement}` }, cards)];
  }) : make("p.empty", {}, chosen.kind === "broken" ? "Nothing broke." : "Nothing was fixed."));
  for (const card of lists.querySelectorAll(".tile")) seen.observe(card);
  query.set("show", chosen.kind);
  if (chosen.of) query.set("of", chosen.of);
  else query.delete("of");
  history.replaceState(null, "", `?${query}`);
}

document.getElementById("switches").append(outlineSwitch());
show();
