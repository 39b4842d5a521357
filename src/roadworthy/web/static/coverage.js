// What was tried: curves of growth, and the operating domain as matrices whose holes lead to tests.
import uPlot from "/static/uplot/uPlot.esm.js";
import { makeable } from "/static/holes.js";
import { fill, make, onColors } from "/static/page.js";

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)}%`, count = (number) => String(Math.round(number));
const FONT = "11px system-ui, sans-serif";

function plot(place, data, lines, axis, shares) {
  const told = shares ? percent : count;
  const chart = new uPlot({
    width: place.clientWidth, height: 210, cursor: { y: false }, scales: { x: { time: false } },
    axes: [{ label: axis, labelSize: 18, labelFont: FONT, stroke: () => color("--text-dim"), grid: { show: false }, font: FONT },
      { stroke: () => color("--text-dim"), grid: { stroke: () => color("--line") }, values: (_, places) => places.map(told), size: 50, font: FONT }],
    series: [{ label: axis }, ...lines.map(([label, number]) => ({ label, stroke: () => color(`--series-${number}`), width: 2, points: { show: false }, value: (_, value) => (value === null ? "–" : told(value)) }))],
  }, data, place);
  new ResizeObserver(() => chart.setSize({ width: place.clientWidth, height: 210 })).observe(place);
  onColors(() => chart.redraw(false));
}

for (const place of document.querySelectorAll("[data-grown]")) {
  const [tries, coverage, failures] = JSON.parse(place.dataset.grown), first = place.dataset.line === "1";
  plot(place, [tries, first ? coverage : failures], [[first ? "coverage" : "failures", first ? 1 : 2]], "tries", first);
}
for (const place of document.querySelectorAll("[data-measured]")) {
  const grown = JSON.parse(place.dataset.measured), names = Object.keys(grown.at(-1)).filter((name) => name !== "images").slice(0, 6);
  plot(place, [grown.map((one) => one.images), ...names.map((name) => grown.map((one) => one[name] ?? null))], names.map((name, at) => [name, at + 1]), "images", true);
}

// ---- the operating domain

function domain(card) {
  const bins = JSON.parse(card.dataset.bins), groups = new Map();
  for (const hole of JSON.parse(card.dataset.never)) {
    const [name, words] = hole.split(/: (.*)/s);
    if (bins[name]) groups.set(name, [...(groups.get(name) ?? []), words]);
  }
  // Of a domain of one's own the bins are not known here: its holes stand in words below.
  const known = [...groups].filter(([name, holes]) => holes.every((words) => cells(bins[name]).some((cell) => words.startsWith(`${cell.join(", ")} `))));
  if (!known.length) {
    card.querySelector("details:last-of-type")?.setAttribute("open", "");
    return;
  }
  card.querySelector(".key-line").hidden = false;
  const told = card.querySelector(".picked");
  fill(card.querySelector(".matrices"), known.sort((one, other) => bins[other[0]].length === bins[one[0]].length ? 0 : rank(bins[one[0]]) - rank(bins[other[0]])).map(([name, holes]) => matrix(name, bins[name], holes, told)));
}

const rank = (dimensions) => ({ 2: 0, 3: 1, 1: 2 })[dimensions.length] ?? 3;
const cells = ([[, names], ...rest]) => (rest.length ? names.flatMap((one) => cells(rest).map((others) => [one, ...others])) : names.map((one) => [one]));

function matrix(name, dimensions, holes, told) {
  const empty = new Set(cells(dimensions).filter((cell) => holes.some((words) => words.startsWith(`${cell.join(", ")} `))).map(String));
  const [rows, columns, layers] = dimensions.length === 1 ? [[dimensions[0][0], [""]], dimensions[0]] : dimensions;
  const table = (layer) => make("table", {},
    make("thead", {}, make("tr", {}, make("td"), columns[1].map((one) => make("th", { scope: "col" }, make("span", {}, one))))),
    make("tbody", {}, rows[1].map((row) => make("tr", {}, make("th", { scope: "row" }, row || "–"), columns[1].map((column) => {
      const at = [row, column, layer].filter((one) => one !== undefined && one !== "");
      return make("td", {}, cell(dimensions, at, empty.has(String(at)), told));
    })))));
  return make(`section.matrix${layers ? ".wide" : ""}`, { "aria-label": name }, make("h3", {}, name),
    layers ? layers[1].map((layer) => make("div", {}, make("h4", {}, layer), table(layer))) : table());
}

function cell(dimensions, at, isHole, told) {
  const words = at.join(", ");
  if (!isHole) return make("span.cell.met", { title: `${words}: tried`, role: "img", "aria-label": `${words}: tried` });
  const hole = Object.fromEntries(dimensions.map(([name], place) => [name, at[place]]));
  return make("button.cell.hole", { type: "button", title: `${words}: no frame`, "aria-label": `${words}: no frame`, "aria-pressed": "false", onclick: ({ target }) => {
    for (const one of document.querySelectorAll(".cell[aria-pressed=true]")) one.setAttribute("aria-pressed", "false");
    target.setAttribute("aria-pressed", "true");
    told.hidden = false;
    const query = new URLSearchParams({ hole: Object.entries(hole).map((pair) => pair.join(":")).join(";") });
    fill(told, make("b", {}, words), ": no frame. ", makeable(hole)
      ? make("a.button", { href: `/suites?${query}` }, "Make tests for this hole")
      : make("span", {}, "Frames for it cannot be made: record them, or let a model drive. ", make("a", { href: "/suites" }, "Build a suite with a driving requirement")));
  } });
}

for (const card of document.querySelectorAll(".domain")) domain(card);
