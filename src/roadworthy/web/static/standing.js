// Where a case stands among all of its requirement on its model: their margins, and a line where its own is.
import uPlot from "/static/uplot/uPlot.esm.js";
import { make } from "/static/page.js";
import { factorOf, measured, unitOf } from "/static/units.js";

const BINS = 28, TALL = 92;
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// The margins of one requirement on one model; those that are infinite measure nothing.
export function marginsOf(table, { requirement, system }) {
  const codes = [["requirement", requirement], ["system", system]].map(([name, value]) => [table.categories[name].codes, table.categories[name].names.indexOf(value)]);
  const found = [];
  for (let row = 0; row < table.size; row++) if (Number.isFinite(table.margin?.[row]) && codes.every(([column, code]) => column[row] === code)) found.push(table.margin[row]);
  return Float32Array.from(found).sort();
}

// What a person would say of it.
export function standingWords(margins, own) {
  const below = margins.findIndex((one) => one >= Math.fround(own)), place = below < 0 ? margins.length : below;
  const failing = margins.findIndex((one) => one >= 0), fails = failing < 0 ? margins.length : failing;
  const many = margins.length.toLocaleString("en");
  return `${place ? `${place.toLocaleString("en")} of ${many} are worse` : `The worst of ${many}`}; ${fails.toLocaleString("en")} fail.`;
}

export function standing(table, one) {
  // The table has margins in the unit that is shown.
  const margins = marginsOf(table, one), known = one.margin !== null && Math.abs(one.margin) < 1e300, own = known ? one.margin * factorOf(one.unit) : null;
  if (margins.length < 3 || !known) return null;
  const quantile = (share) => margins[Math.round(share * (margins.length - 1))];
  // Nearly all lie between these; its own always does.
  let [low, high] = [Math.min(quantile(0.005), own), Math.max(quantile(0.995), own)];
  if (!(high > low)) return null;
  // A bar ends at the border: none is both good and bad.
  const wide = (high - low) / BINS, first = Math.floor(low / wide), last = Math.floor(high / wide);
  const bins = Array.from({ length: last - first + 1 }, () => 0);
  for (const value of margins) bins[Math.max(0, Math.min(bins.length - 1, Math.floor(value / wide) - first))]++;
  const middles = bins.map((_, place) => (first + place + 0.5) * wide);
  [low, high] = [first * wide, (last + 1) * wide];
  const words = standingWords(margins, own);
  const place = make("div.plot", { role: "img", "aria-label": `${words} Margin ${measured(one.margin, one.unit)}.` });
  const box = make("div.standing", {}, make("h3", {}, `Margins of all ${margins.length.toLocaleString("en")} cases${one.unit ? `, ${unitOf(one.unit).trim()}` : ""}`), place, make("p.small", {}, words));
  const heights = (test) => middles.map((middle, at) => (test(middle) ? bins[at] : null));
  const bars = (name) => ({ fill: () => color(name), stroke: () => color(name), width: 0, points: { show: false }, paths: uPlot.paths.bars({ size: [0.9, 30] }) });
  const data = [middles, heights((middle) => middle < 0), heights((middle) => middle >= 0)];
  const plot = () => new uPlot({
    width: Math.max(160, place.clientWidth), height: TALL, legend: { show: false }, cursor: { show: false }, padding: [16, 14, 0, 6],
    scales: { x: { time: false, range: [low, high] }, y: { range: (_, __, most) => [0, Math.max(1, most)] } },
    axes: [{ size: 20, stroke: () => color("--text-dim"), grid: { show: false }, ticks: { show: false }, gap: 2, font: "11px system-ui, sans-serif", space: 45, values: (_, ticks) => ticks.map((tick) => String(tick).replace("-", "−")) }, { show: false }],
    series: [{}, bars("--bad"), bars("--good")],
    hooks: { draw: [(drawn) => {
      const { ctx: pen, bbox } = drawn, x = drawn.valToPos(own, "x", true), scale = devicePixelRatio;
      pen.save();
      pen.strokeStyle = pen.fillStyle = color("--text");
      pen.lineWidth = 2 * scale;
      pen.beginPath();
      pen.moveTo(x, bbox.top - 10 * scale);
      pen.lineTo(x, bbox.top + bbox.height);
      pen.stroke();
      pen.beginPath();
      pen.arc(x, bbox.top - 11 * scale, 4 * scale, 0, 2 * Math.PI);
      pen.fill();
      pen.restore();
    }] },
  }, data, place);
  // Its width is known once it is shown.
  let drawn = null;
  new ResizeObserver(() => {
    if (!place.clientWidth) return;
    if (!drawn) drawn = plot();
    else if (drawn.width !== place.clientWidth) drawn.setSize({ width: place.clientWidth, height: TALL });
  }).observe(place);
  return box;
}

// The least change that still fails, as a film: from nothing to all of it.
export function filmStrip(found, one, show) {
  const begins = found.film.find((step) => step.status === "violated"), percent = (amount) => `${Math.round(100 * amount)}%`;
  const steps = [{ amount: 0, status: "", pictures: found.pictures.slice(0, 1), answers: [] }];
  for (const step of found.film) {
    const last = steps.at(-1);
    // What cannot be made is told once, from where to where.
    if (!step.pictures.length && !last.pictures.length) last.until = step.amount;
    else steps.push({ ...step });
  }
  const frames = steps.map((step) => {
    if (!step.pictures.length) return make("li", {}, make("p.small", { title: step.reason }, make("b", {}, step.until ? `${percent(step.amount)} to ${percent(step.until)}` : percent(step.amount)), " ", step.reason || step.status));
    const said = !step.amount ? "unchanged" : step.status === "violated" ? "fails" : step.status === "passed" ? "holds" : step.status;
    const part = step.answers[0]?.part ?? step.pictures.length - 1;
    const about = step.amount ? `${percent(step.amount)} of the change: ${said}${step.margin === null || step.margin === undefined ? "" : `, margin ${measured(step.margin, one.unit)}`}` : "before the change";
    const picture = make("img", { src: `/write/pictures/${step.pictures[Math.min(part, step.pictures.length - 1)]}.png`, alt: about });
    return make("li", {}, make(`button.step${step.status ? `.${step.status.replaceAll(" ", "-")}` : ""}`, { type: "button", title: about, "data-amount": step.amount, onclick: () => show(step) }, picture,
      make("span.amount", {}, step.amount ? percent(step.amount) : "0"), make("span", {}, said)), step.amount === begins?.amount && step.amount < 1 ? make("b.begins", {}, "fails from here") : null);
  });
  const least = found.amount >= 1 ? "No smaller change was found that fails." : `${percent(found.amount)} of the change is enough`;
  return [make("p", {}, least, found.amount < 1 ? [": ", make("code", {}, found.changes.join("; ")), `, margin ${measured(found.margin, one.unit)}`] : null), make("ol.strip.scroll", {}, frames)];
}
