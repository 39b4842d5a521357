// The filters of the wall: lists with counts, and histograms whose bars are brushed. The form's fields are the state.
import uPlot from "/static/uplot/uPlot.esm.js";
import { fill, hint, make, onColors } from "/static/page.js";
import { SAID } from "/static/case.js";
import { number, unitOf } from "/static/units.js";
import { FAILURES } from "/static/table.js";

const SHOWN = 8; // of a list, until more is asked for
const FACETS = { status: "Status", requirement: "Requirement", system: "Model", change: "Change", place: "Place", kind: "Kind", tag: "Tag", mark: "Mark" };
const MEASURES = { margin: "Margin", visual_change: "Δv", distance: "Distance, m", speed: "Speed before", deviation: "Deviation", strength: "Strength" };
const ABOUT = {
  margin: "How far a case is from the border between pass and fail. Below 0 is a violation. Each unit has its own histogram; infinite margins are in none.",
  visual_change: "How visible the change is: 0 is invisible, 1 leaves nothing of the picture.",
  distance: "How far away the added object stands.",
  deviation: "By how much the deciding answer changed; for a search, its error.",
};

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export class Filters {
  constructor(form, table, changed) {
    this.form = form;
    this.table = table;
    this.changed = changed;
    this.chosen = {}; // of each list, the values that are ticked
    this.ranges = new Map(); // of each measure, [from, to]
    this.plots = new Map();
    this.all = new Set(); // lists of which all is shown
    this.measures = table.measures().sort((one, other) => Object.keys(MEASURES).indexOf(one.column) - Object.keys(MEASURES).indexOf(other.column));
    this.lists = Object.keys(FACETS).map((name) => [name, make("fieldset.facet", { "data-facet": name })]);
    this.charts = this.measures.map((one) => [one, this.chart(one)]);
    fill(form, this.lists.map(([, box]) => box), this.charts.map(([, box]) => box), make("button.quiet.way", { type: "button", id: "reset", onclick: () => this.reset() }, "Clear filters"));
    new ResizeObserver(() => this.fit()).observe(form);
    onColors(() => this.redraw());
  }

  set(name, values) {
    this.chosen[name] = values;
    this.table.choose(name, values);
  }

  toggle(name, value, on) {
    const values = this.chosen[name] ?? [];
    this.set(name, on ? [...values, value] : values.filter((one) => one !== value));
    this.changed();
  }

  setRange(measure, from, to) {
    this.table.range(measure, from, to);
    if (from === null && to === null) this.ranges.delete(measure.name);
    else this.ranges.set(measure.name, [from, to]);
  }

  reset() {
    for (const name of Object.keys(FACETS)) this.set(name, name === "status" ? FAILURES.filter((one) => this.table.categories.status.names.includes(one)) : []);
    for (const measure of this.measures) this.setRange(measure, null, null);
    document.getElementById("q").value = "";
    this.table.search("");
    this.changed();
  }

  show() {
    for (const [name, box] of this.lists) this.list(name, box);
    for (const [measure, box] of this.charts) this.bars(measure, box);
  }

  list(name, box) {
    if (name !== "mark" && name !== "tag" && !this.table.categories[name]) return void (box.hidden = true);
    const chosen = this.chosen[name] ?? [], counts = this.table.counts(name);
    for (const value of chosen) if (!counts.has(value)) counts.set(value, 0);
    // A list that leaves no choice says nothing.
    box.hidden = counts.size < 2 || (name === "place" && counts.size > 200);
    if (box.hidden) return;
    const held = box.contains(document.activeElement) ? document.activeElement.value : null;
    const ordered = [...counts].sort(([one, first], [other, second]) => second - first || (one < other ? -1 : 1));
    const shown = this.all.has(name) ? ordered : ordered.filter(([value, many], place) => (place < SHOWN && many) || chosen.includes(value));
    const most = Math.max(1, ...counts.values());
    const rows = shown.map(([value, many]) => {
      const about = name === "requirement" ? this.table.requirements[value]?.text : name === "kind" ? this.table.sentences?.[value] : "";
      const words = name === "status" ? SAID[value] ?? value : value;
      return make("label.facet-row", { title: about || words }, make("input", { type: "checkbox", value, name, checked: chosen.includes(value), onchange: (event) => this.toggle(name, value, event.target.checked) }),
        make("span.facet-name", {}, words, about ? make("small", {}, ` ${about}`) : null), make("span.facet-count", {}, many.toLocaleString("en")), make("meter", { min: 0, max: most, value: many, "aria-hidden": "true" }));
    });
    const more = ordered.length > shown.length ? make("button.more-values", { type: "button", onclick: () => { this.all.add(name); this.list(name, box); box.querySelectorAll("input")[shown.length]?.focus(); } }, `${ordered.length - shown.length} more`) : null;
    fill(box, make("legend", {}, FACETS[name]), rows, more);
    if (held !== null) [...box.querySelectorAll("input")].find((one) => one.value === held)?.focus();
  }

  chart(measure) {
    const unit = unitOf(measure.column === "speed" ? "m/s" : measure.unit);
    const words = `${MEASURES[measure.column]}${unit ? `, ${unit.trim()}` : ""}`;
    const field = (kind, label) => make("input", { type: "number", step: "any", inputmode: "decimal", name: `${measure.name}.${kind}`, placeholder: number(kind === "from" ? measure.least : measure.most), "aria-label": `${words}: ${label}`, onchange: () => this.typed(measure, box) });
    const box = make("fieldset.facet.measure", { "data-measure": measure.name }, make("legend", {}, words, ABOUT[measure.column] ? [" ", hint(words, ABOUT[measure.column])] : null),
      make("div.plot", { "aria-hidden": "true" }), make("div.ends-of", {}, field("from", "at least"), "–", field("to", "at most")));
    return box;
  }

  typed(measure, box) {
    const [from, to] = [...box.querySelectorAll("input")].map((field) => (field.value === "" ? null : Number(field.value)));
    this.setRange(measure, from, to);
    this.changed();
  }

  bars(measure, box) {
    const { middles, bins } = this.table.histogram(measure);
    // Of what no case has there is nothing to brush; who types in it must not lose it.
    box.hidden = !this.ranges.has(measure.name) && !box.contains(document.activeElement) && !bins.some((one) => one > 0);
    const plot = this.plots.get(measure.name) ?? this.plot(measure, box, middles, bins);
    plot.setData([middles, bins]);
    const [from, to] = this.ranges.get(measure.name) ?? [null, null];
    const fields = box.querySelectorAll("input");
    [from, to].forEach((value, place) => { if (document.activeElement !== fields[place]) fields[place].value = value ?? ""; });
    const left = plot.valToPos(from ?? measure.low, "x"), right = plot.valToPos(to ?? measure.high, "x");
    const on = from !== null || to !== null;
    box.classList.toggle("brushed", on);
    plot.setSelect({ left: on ? Math.max(0, left) : 0, width: on ? Math.max(0, Math.min(right, plot.over.clientWidth) - Math.max(0, left)) : 0, top: 0, height: plot.over.clientHeight }, false);
  }

  plot(measure, box, middles, bins) {
    const wide = middles[1] - middles[0], place = box.querySelector(".plot");
    const plot = new uPlot({
      width: place.clientWidth || 220, height: 74, legend: { show: false }, padding: [4, 4, 0, 4],
      cursor: { y: false, bind: { dblclick: () => null }, points: { show: false }, drag: { x: true, y: false, setScale: false } },
      scales: { x: { time: false, range: [measure.low, measure.high] }, y: { range: (_, __, most) => [0, Math.max(1, most)] } },
      axes: [{ size: 20, stroke: () => color("--text-dim"), grid: { show: false }, ticks: { show: false }, gap: 2, values: (_, places) => places.map((one) => String(one).replace("-", "−")), font: "11px system-ui, sans-serif", space: 45 }, { show: false }],
      series: [{}, { fill: () => color("--series-1"), stroke: () => color("--series-1"), width: 0, points: { show: false }, paths: uPlot.paths.bars({ size: [0.9, 40] }) }],
      hooks: {
        setSelect: [(drawn) => {
          const { left, width } = drawn.select;
          const at = (position) => drawn.posToVal(position, "x");
          if (width < 3) return;
          // To the very end means what lies beyond it, too.
          const from = left <= 1 ? null : Number(at(left).toPrecision(3));
          const to = left + width >= drawn.over.clientWidth - 1 ? null : Number(at(left + width).toPrecision(3));
          this.setRange(measure, from, to);
          this.changed();
        }],
      },
    }, [middles, bins], place);
    // A click that is no drag takes the filter away.
    let down = 0;
    plot.over.addEventListener("mousedown", (event) => { down = event.clientX; });
    plot.over.addEventListener("click", (event) => { if (Math.abs(event.clientX - down) < 3 && this.ranges.has(measure.name)) { this.setRange(measure, null, null); this.changed(); } });
    this.plots.set(measure.name, plot);
    return plot;
  }

  fit() {
    for (const [measure, box] of this.charts) {
      const plot = this.plots.get(measure.name), width = box.querySelector(".plot").clientWidth;
      if (plot && width && plot.width !== width) { plot.setSize({ width, height: 74 }); this.bars(measure, box); }
    }
  }

  redraw() {
    for (const plot of this.plots.values()) plot.redraw(false);
  }

  // What is chosen, as an address has it; failures are what is shown when it says nothing.
  address(query) {
    const { status = [] } = this.chosen, offered = FAILURES.filter((one) => this.table.categories.status.names.includes(one));
    if (!status.length) query.append("status", "all");
    else if (status.length !== offered.length || !offered.every((one) => status.includes(one))) for (const one of status) query.append("status", one);
    for (const [name, values] of Object.entries(this.chosen)) if (name !== "status") for (const value of values) query.append(name, value);
    // As the server has it: who follows the address may see another unit.
    const plain = (value, { factor }) => (value === null ? "" : Number((value / factor).toPrecision(7)));
    for (const measure of this.measures) if (this.ranges.has(measure.name)) query.append(measure.name, this.ranges.get(measure.name).map((one) => plain(one, measure)).join(".."));
  }

  read(query) {
    const status = query.getAll("status").filter((one) => one !== "failures");
    const known = this.table.categories.status.names;
    this.set("status", status.includes("all") ? [] : status.length ? status : FAILURES.filter((one) => known.includes(one)));
    for (const name of Object.keys(FACETS)) if (name !== "status") this.set(name, name === "mark" || name === "tag" || this.table.categories[name] ? query.getAll(name).filter(Boolean) : []);
    for (const measure of this.measures) {
      const [from, to] = (query.get(measure.name) ?? "..").split("..").map((text) => (text === "" || Number.isNaN(Number(text)) ? null : Number(text) * measure.factor));
      this.setRange(measure, from, to ?? null);
    }
  }
}
