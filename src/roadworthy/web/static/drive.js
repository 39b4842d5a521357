// A drive: its route in the colours of a metric, its signals with thresholds on one line, a film that follows the cursor, and
// other drives over it.
import uPlot from "/static/uplot/uPlot.esm.js";
import { alertAbout, fill, hint, make, onColors } from "/static/page.js";
import { factorOf, number, unitOf } from "/static/units.js";

// Viridis in ten steps, from low to high: told apart also by people who do not see all colours.
const COLOURS = ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"];
const UNKNOWN = "#8a8a8a", SPACE = "http://www.w3.org/2000/svg", OTHERS = 5;
const WIDE = 640, EDGE = 28, LEAST = 5; // of the map; metres that it shows at least
const place = document.getElementById("map"), along = document.getElementById("along"), form = document.getElementById("shown"), film = document.querySelector("video.film");
const query = new URLSearchParams(location.search);
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function shape(tag, attributes, ...children) {
  const element = document.createElementNS(SPACE, tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// What is shown of every drive; of its signals, those in m/s as people read them.
function prepared(track, name = track.name) {
  const { signals } = track, scale = (values, unit) => { const factor = factorOf(unit); return factor === 1 ? values : values?.map((one) => (one === null ? null : one * factor)); };
  const begin = signals.distance?.find((one) => one !== null) ?? 0;
  return { ...track, name, size: track.time.length, value: scale(signals.value, track.unit), speed: scale(signals.speed, "m/s"), steering: signals.steering, distance: signals.distance?.every((one) => one !== null) ? signals.distance.map((one) => one - begin) : null };
}

const own = prepared(JSON.parse(place.dataset.track)), others = new Map();
const { size, time, sectors, names, events } = own, alarmed = sectors.map((sector) => own.alarms.includes(names[sector]));
const limits = Object.entries(own.limits).map(([metric, limit]) => ({ metric, limit, above: own.ways[metric] === "up" }));
const label = unitOf(own.label);
let way = query.get("along") === "distance" && own.distance ? "distance" : "time", row = -1, plots = [];

const known = own.value.filter((one) => one !== null), low = known.length ? Math.min(...known) : 0, high = known.length ? Math.max(...known) : 1;
const colourOf = (value) => (value === null ? UNKNOWN : COLOURS[Math.min(COLOURS.length - 1, Math.floor(((value - low) / (high - low || 1)) * COLOURS.length))]);

// Stretches of rows for which something is the same, each with the row behind it, so that neighbours touch.
function* stretches(of) {
  for (let start = 0; start < size;) {
    let end = start;
    while (end + 1 < size && of(end + 1) === of(start)) end++;
    yield [of(start), start, Math.min(end + 1, size - 1)];
    start = end + 1;
  }
}

/* The map. */

const drives = () => [own, ...others.values()];
const where = ({ signals: { x, y } }, at) => (x && y && x[at] !== null && y[at] !== null ? [x[at], y[at]] : null);

function onPaper() {
  const points = drives().flatMap((drive) => drive.time.map((_, at) => where(drive, at)).filter(Boolean));
  if (!points.length) return null;
  const ends = [0, 1].map((axis) => points.reduce(([least, most], one) => [Math.min(least, one[axis]), Math.max(most, one[axis])], [Infinity, -Infinity]));
  const spread = ends.map(([least, most]) => Math.max(most - least, LEAST)), middle = ends.map(([least, most]) => (least + most) / 2);
  const scale = Math.min((WIDE - 2 * EDGE) / spread[0], (0.75 * WIDE) / spread[1]), tall = Math.round(spread[1] * scale) + 2 * EDGE;
  return { tall, at: (drive, one) => { const to = where(drive, one); return to && [(to[0] - middle[0]) * scale + WIDE / 2, (middle[1] - to[1]) * scale + tall / 2]; } };
}

let paper = null;
const cursors = new Map();

function map() {
  paper = onPaper();
  cursors.clear();
  if (!paper) return make("p.empty", {}, "This record has no positions, so there is no map.");
  const line = (kind, drive, start, end, attributes = {}) => shape("polyline", { class: kind, points: Array.from({ length: end - start + 1 }, (_, one) => paper.at(drive, start + one)).filter(Boolean).map((one) => one.map((value) => value.toFixed(1))).join(" "), ...attributes });
  const parts = [...stretches((one) => alarmed[one])].filter(([is]) => is).map(([, start, end]) => line("alarm", own, start, end));
  // A border, without which dark colours would be lost on a dark page.
  parts.push(line("casing", own, 0, size - 1), ...[...stretches((one) => colourOf(own.value[one]))].map(([stroke, start, end]) => line("way", own, start, end, { stroke })));
  [...others.values()].forEach((drive, at) => parts.push(line(`other line-${at + 2}`, drive, 0, drive.size - 1)));
  names.forEach((name, sector) => {
    const at = paper.at(own, sectors.indexOf(sector));
    if (!at) return;
    const right = at[0] > 0.8 * WIDE; // there to the left of its place, or it would be cut off
    parts.push(shape("circle", { class: "begin", cx: at[0], cy: at[1], r: 2.5 }), shape("text", { class: own.alarms.includes(name) ? "name alarmed" : "name", x: at[0] + (right ? -6 : 6), y: at[1] - 6, "text-anchor": right ? "end" : "start" }, name));
  });
  for (const { name, row: of } of events) {
    const at = paper.at(own, of);
    if (at) parts.push(shape("path", { class: name === "line crossing" ? "event crossing" : "event", d: `M${at[0].toFixed(1)} ${at[1].toFixed(1)}m-6 -6l12 12m0 -12l-12 12` }, shape("title", {}, `${name} at ${time[of].toFixed(1)} s`)));
  }
  drives().forEach((drive, at) => { const dot = shape("circle", { class: at ? `cursor line-${at + 1}` : "cursor", r: at ? 5 : 7, visibility: "hidden" }); cursors.set(drive, dot); });
  return shape("svg", { class: "map", viewBox: `0 0 ${WIDE} ${paper.tall}`, role: "img" }, shape("title", {}, `Route of ${own.name}, coloured by ${label}: ${number(low)} to ${number(high)}`), ...parts, ...[...cursors.values()].reverse());
}

function legend() {
  return make("div.map-legend.small", {}, make("span", {}, number(low)), shape("svg", { viewBox: "0 0 160 10", width: 160, height: 10, "aria-hidden": "true" }, ...COLOURS.map((fill, at) => shape("rect", { x: 16 * at, y: 0, width: 16, height: 10, fill }))), make("span", {}, number(high)), make("span", {}, label),
    hint("the map", `North is up. The colour is ${unitOf(place.dataset.about)}. Sectors with an alarm have a red border; crosses are crashes, collisions and crossed lines.`));
}

/* The signals. */

const axisOf = (drive) => (way === "distance" && drive.distance ? drive.distance : drive.time.map((one) => one - drive.time[0]));
const nearest = (values, to) => {
  let first = 0, last = values.length - 1;
  while (last - first > 1) { const middle = (first + last) >> 1; if (values[middle] < to) first = middle; else last = middle; }
  return to - values[first] < values[last] - to ? first : last;
};

const shown = [["value", label, own.metric], ["speed", unitOf("speed, m/s"), "SP"], ["steering", "steering, °", "SA"]].filter(([name, words, metric]) => own[name] && (name === "value" || metric !== own.metric));
// A metric has its own threshold; a signal those of its most and least.
const limitsOf = ([, , metric]) => limits.filter((one) => [metric, `Max(${metric})`, `Min(${metric})`].includes(one.metric)).map((one) => ({ ...one, limit: one.limit * factorOf(metric === own.metric ? own.unit : metric === "SP" ? "m/s" : "") }));
const told = make("p.small.told", { role: "status" });

function goTo(to, { fromFilm = false } = {}) {
  row = Math.max(0, Math.min(size - 1, to));
  const at = axisOf(own)[row];
  for (const [drive, dot] of cursors) {
    const here = paper.at(drive, drive === own ? row : nearest(axisOf(drive), at));
    dot.setAttribute("visibility", here ? "visible" : "hidden");
    if (here) { dot.setAttribute("cx", here[0]); dot.setAttribute("cy", here[1]); }
  }
  for (const plot of plots) plot.setCursor({ left: plot.valToPos(at, "x"), top: 20 }, false);
  const event = events.find((one) => Math.abs(time[one.row] - time[row]) < 0.5);
  told.textContent = `${time[row].toFixed(1)} s${own.distance ? ` · ${own.distance[row].toFixed(0)} m` : ""}${names.length ? ` · ${names[sectors[row]]}` : ""} · ${shown.map(([name, words]) => { const [about, unit = ""] = words.split(", "); return `${about} ${number(own[name][row])}${unit === "°" ? unit : ` ${unit}`}`.trim(); }).join(" · ")}${event ? ` · ${event.name}` : ""}`;
  for (const box of along.querySelectorAll(".along")) { box.setAttribute("aria-valuenow", row); box.setAttribute("aria-valuetext", told.textContent); }
  if (film && !fromFilm && film.paused && Number.isFinite(film.duration)) film.currentTime = Math.max(0, Math.min(film.duration, time[row] - time[0]));
}

// Behind the lines: sectors with an alarm, borders of sectors, events, and what is beyond a threshold.
function bands(plot, of) {
  const { ctx, bbox } = plot, xs = axisOf(own), at = (one) => plot.valToPos(xs[one], "x", true);
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.fillStyle = color("--quiet-soft");
  for (const [is, start, end] of stretches((one) => alarmed[one])) if (is) ctx.fillRect(at(start), bbox.top, at(end) - at(start), bbox.height);
  for (const { limit, above } of of) {
    const y = plot.valToPos(limit, "y", true);
    ctx.fillStyle = color("--bad-soft");
    if (above) ctx.fillRect(bbox.left, bbox.top, bbox.width, y - bbox.top);
    else ctx.fillRect(bbox.left, y, bbox.width, bbox.top + bbox.height - y);
    ctx.fillStyle = color("--bad");
    ctx.fillRect(bbox.left, y - 1, bbox.width, 1.5);
  }
  ctx.fillStyle = color("--line");
  for (const [, start] of stretches((one) => sectors[one])) if (start) ctx.fillRect(at(start), bbox.top, 1, bbox.height);
  ctx.fillStyle = color("--bad");
  for (const one of events) ctx.fillRect(at(one.row) - 1, bbox.top, 3, bbox.height);
  ctx.restore();
}

function chart(signal, at, all) {
  const [name, words] = signal, of = limitsOf(signal);
  const box = make("div.along", { tabindex: 0, role: "slider", "aria-label": `${words} along the route`, "aria-valuemin": 0, "aria-valuemax": size - 1, "aria-valuenow": 0 });
  const data = uPlot.join(drives().filter((drive) => drive[name]).map((drive) => [axisOf(drive), drive[name]])), last = at === all.length - 1;
  requestAnimationFrame(() => {
    const plot = new uPlot({
      width: box.clientWidth || 460, height: last ? 144 : 132, legend: { show: false }, title: `${words}${of.map((one) => ` · ${one.metric} ${one.above ? "≤" : "≥"} ${number(one.limit)}`).join("")}`,
      padding: [8, 18, last ? 0 : 8, 0], cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
      scales: { x: { time: false }, y: { range: (_, least, most) => uPlot.rangeNum(Math.min(least, ...of.map((one) => one.limit)), Math.max(most, ...of.map((one) => one.limit)), 0.1, true) } },
      axes: [{ show: last, stroke: () => color("--text-dim"), grid: { show: false }, font: "11px system-ui, sans-serif", size: 26, values: (_, values) => values.map((one) => `${one} ${way === "distance" ? "m" : "s"}`) }, { stroke: () => color("--text-dim"), grid: { stroke: () => color("--line") }, font: "11px system-ui, sans-serif", size: 46 }],
      series: [{}, ...drives().filter((drive) => drive[name]).map((_, number_) => ({ stroke: () => color(`--series-${number_ + 1}`), width: number_ ? 1.3 : 1.8, points: { show: false } }))],
      hooks: { drawClear: [(drawn) => bands(drawn, of)], setCursor: [(drawn) => { if (!drawn.cursor.event || drawn.cursor.left < 0) return; const to = nearest(axisOf(own), drawn.posToVal(drawn.cursor.left, "x")); if (to !== row) goTo(to); }] },
    }, data, box);
    plots.push(plot);
    new ResizeObserver(() => plot.setSize({ width: box.clientWidth, height: plot.height })).observe(box);
    if (row >= 0) goTo(row, { fromFilm: true });
  });
  box.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageDown: -Math.ceil(size / 20), PageUp: Math.ceil(size / 20), Home: -size, End: size }[event.key];
    if (!step) return;
    event.preventDefault();
    goTo(row + step);
  });
  return box;
}

function draw() {
  for (const plot of plots) plot.destroy();
  plots = [];
  for (const button of form.querySelectorAll("[data-along]")) button.setAttribute("aria-pressed", String(button.dataset.along === way));
  fill(place, map(), paper ? legend() : null);
  fill(along, make("div.along-head", {}, told, others.size ? make("ul.legend", {}, drives().map((drive, at) => make("li", {}, make(`span.key.line-${at + 1}`), " ", drive.name))) : null,
    events.length ? make("div.ways", { role: "group", "aria-label": "Events" }, events.map((one) => make("button.quiet.way", { type: "button", onclick: () => goTo(one.row) }, `${one.name}, ${time[one.row].toFixed(1)} s`))) : null),
  shown.map(chart));
  if (row < 0) told.textContent = "Point at a line, or use the arrow keys on it.";
}

/* What is shown is in the address. */

function address() {
  const said = new URLSearchParams([["drive", query.get("drive") ?? "."], ["metric", own.metric]]);
  if (way !== "time") said.set("along", way);
  for (const name of others.keys()) said.append("over", name);
  history.replaceState(null, "", `?${said}`);
}

// A drive's own page has its track.
async function trackOf(folder, drive) {
  const answer = await fetch(`/drives/${encodeURIComponent(folder)}?${new URLSearchParams({ drive, metric: own.metric })}`, { headers: { accept: "text/html" } });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html"), { track } = page.getElementById("map")?.dataset ?? {};
  if (!track) throw new Error(page.querySelector("[role=alert] .prose, main p")?.textContent ?? "This drive cannot be shown.");
  return JSON.parse(track);
}

async function over(box, on) {
  const { folder, drive } = box.dataset;
  try {
    if (on && others.size >= OTHERS) throw new Error(`${OTHERS} other drives at a time: take one away first.`);
    if (on) others.set(box.value, prepared(await trackOf(folder, drive), box.value));
    else others.delete(box.value);
    address();
    draw();
  } catch (error) {
    box.checked = false;
    alertAbout(error);
  }
}

form.querySelector("[data-along=distance]").hidden = !own.distance;
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("change", ({ target }) => {
  if (target.name === "over") return void over(target, target.checked);
  address();
  const next = new URL(location);
  next.searchParams.set("metric", target.value);
  location.assign(next);
});
form.addEventListener("click", ({ target }) => {
  if (!target.dataset.along) return;
  way = target.dataset.along;
  address();
  draw();
});
document.addEventListener("click", ({ target }) => { const list = form.querySelector(".over[open]"); if (list && !list.contains(target)) list.open = false; });
document.addEventListener("keydown", ({ key }) => { const list = form.querySelector(".over[open]"); if (key === "Escape" && list) { list.open = false; list.querySelector("summary").focus(); } });
film?.addEventListener("timeupdate", () => {
  if (film.paused) return;
  const second = film.currentTime + time[0], next = time.findIndex((one) => one >= second);
  goTo(next < 0 ? size - 1 : next, { fromFilm: true });
});
const redraw = () => plots.forEach((plot) => plot.redraw(false));
onColors(redraw);
draw();
for (const box of form.querySelectorAll("[name=over]")) if (query.getAll("over").includes(box.value)) { box.checked = true; await over(box, true); }
