// All cases of a run as columns: which are chosen, how many there are of what, and in which order they stand.
// One bit of a row's mask is set by each filter that it does not pass, so a filter that changes is looked at alone.

import { factorOf } from "/static/units.js";

const LITTLE_LEFT = 0.9; // Δv above which little is left of an image; what people were measured to recognise lies below
const BINS = 24, SAMPLE = 20_000;
export const FAILURES = ["violated", "error"];
const COMPARED = /^([a-zδΔ][a-zδΔ_]*)(<=|>=|<|>|=)(-?\d+(?:\.\d*)?)$/i;
const WORDS = { margin: "margin", deviation: "deviation", distance: "distance", speed: "speed", strength: "strength", dv: "visual_change", "δv": "visual_change", visual_change: "visual_change" };

// Numbers as the server packs them; letter by letter where the browser cannot do it at once.
function bytes(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text), found = new Uint8Array(raw.length);
  for (let at = 0; at < raw.length; at++) found[at] = raw.charCodeAt(at);
  return found;
}

export const floats = (text) => new Float32Array(bytes(text).buffer);
const integers = (text) => new Int32Array(bytes(text).buffer);

// What was done, without how much of it: "add(element=pedestrian, side=left)" is "add pedestrian".
export function shortChange(text) {
  return text.split(" + ").map((part) => {
    const [, name, inside = ""] = /^([^(]*)(?:\((.*)\))?/.exec(part);
    const element = /element=([^,)]+)/.exec(inside)?.[1];
    return element ? `${name} ${element}` : name;
  }).join(" + ");
}

// Where a frame is from: its id without the number at the end.
export function placeOf(cluster) {
  return cluster.replace(/[-_/ #]*\d[\d.]*(?:\.[a-z]+)?$/i, "") || cluster;
}

// The same column with other names: those that become equal are one.
function renamed({ names, codes }, rename) {
  const places = new Map(), into = names.map((name) => {
    const other = rename(name);
    if (!places.has(other)) places.set(other, places.size);
    return places.get(other);
  });
  return { names: [...places.keys()], codes: codes.map((code) => (code < 0 ? -1 : into[code])) };
}

// The same column in the unit in which it is shown.
const scaledBy = (values, by) => values.map((value, row) => value * by(row));

export class Table {
  constructor({ rows, total, requirements, categories, numbers, marks }) {
    this.size = rows;
    this.total = total;
    this.requirements = requirements;
    this.categories = {};
    for (const [name, { names, codes }] of Object.entries(categories)) this.categories[name] = { names, codes: integers(codes) };
    const { change, cluster } = this.categories;
    if (change) this.categories.change = renamed(change, shortChange);
    // Runs of before have no clusters.
    if (cluster) this.categories.place = renamed(cluster, placeOf);
    delete this.categories.cluster;
    this.numbers = Object.fromEntries(Object.entries(numbers).map(([name, text]) => [name, floats(text)]));
    const { names, codes } = this.categories.requirement;
    const units = names.map((id) => requirements[id]?.unit ?? "");
    this.unit = (row) => units[codes[row]];
    this.units = [...new Set(units)];
    const factors = units.map(factorOf), { margin, deviation, speed } = this.numbers;
    if (factors.some((one) => one !== 1)) for (const [name, values] of Object.entries({ margin, deviation })) if (values) this.numbers[name] = scaledBy(values, (row) => factors[codes[row]]);
    if (speed) this.numbers.speed = scaledBy(speed, () => factorOf("m/s"));
    this.margin = this.numbers.margin;
    this.mask = new Uint32Array(rows);
    this.filters = new Map(); // name → { bit, passes(row) }
    this.marks = new Map();
    if (marks.length) {
      const found = new Map(marks.map((one) => [[one.requirement, one.system, one.case].join("\u001f"), one]));
      for (let row = 0; row < rows; row++) {
        const mark = found.get(this.key(row).join("\u001f"));
        if (mark) this.marks.set(row, { mark: mark.mark, note: mark.note });
      }
    }
  }

  key(row) {
    return ["requirement", "system", "case"].map((name) => this.value(name, row));
  }

  value(name, row) {
    const { names, codes } = this.categories[name];
    return names[codes[row]] ?? "";
  }

  rowOf(requirement, system, name) {
    const wanted = [["requirement", requirement], ["system", system], ["case", name]].map(([column, value]) => [this.categories[column].codes, this.categories[column].names.indexOf(value)]);
    for (let row = 0; row < this.size; row++) if (wanted.every(([codes, code]) => codes[row] === code)) return row;
    return -1;
  }

  // What cases are measured by. Margins and deviations of each unit are on their own: m/s and degrees have no one scale.
  measures() {
    const found = [];
    for (const [name, values] of Object.entries(this.numbers)) {
      if (name !== "margin" && name !== "deviation") found.push({ name, column: name, unit: null, values, factor: name === "speed" ? factorOf("m/s") : 1 });
      else for (const unit of this.units) found.push({ name: unit ? `${name}:${unit.trim()}` : name, column: name, unit, values, factor: factorOf(unit) });
    }
    return found.map((one) => ({ ...one, ...this.ends(one) })).filter((one) => one.high > one.low);
  }

  has(measure, row) {
    return Number.isFinite(measure.values[row]) && (measure.unit === null || this.unit(row) === measure.unit);
  }

  // Nearly all lie between these; the few beyond count to the first and the last bar. Of very many, some tell that.
  ends(measure) {
    const step = Math.ceil(this.size / SAMPLE), values = [];
    let least = Infinity, most = -Infinity;
    for (let row = 0; row < this.size; row++) {
      if (!this.has(measure, row)) continue;
      const value = measure.values[row];
      if (value < least) least = value;
      if (value > most) most = value;
      if (row % step === 0) values.push(value);
    }
    const sorted = Float32Array.from(values).sort(), at = (share) => sorted[Math.round(share * (sorted.length - 1))];
    return sorted.length ? { low: at(0.005), high: at(0.995), least, most } : { low: 0, high: 0 };
  }

  // Sets a filter, or takes it away where `passes` is null.
  filter(name, passes) {
    let filter = this.filters.get(name);
    if (!filter) {
      const taken = new Set([...this.filters.values()].map((one) => one.bit));
      let bit = 1;
      while (taken.has(bit)) bit *= 2;
      this.filters.set(name, filter = { bit });
    }
    const { bit } = filter;
    for (let row = 0; row < this.size; row++) {
      if (passes === null || passes(row)) this.mask[row] &= ~bit;
      else this.mask[row] |= bit;
    }
    if (passes === null) this.filters.delete(name);
  }

  choose(name, values) {
    if (!values.length) return this.filter(name, null);
    const wanted = new Set(values);
    if (name === "mark") return this.filter(name, (row) => wanted.has(this.marks.get(row)?.mark || "none"));
    if (name === "tag") {
      const { names, codes } = this.categories.requirement;
      const tagged = names.map((id) => this.requirements[id]?.tags.some((tag) => wanted.has(tag)) ?? false);
      return this.filter(name, (row) => tagged[codes[row]]);
    }
    const { names, codes } = this.categories[name];
    const chosen = names.map((one) => wanted.has(one));
    return this.filter(name, (row) => codes[row] >= 0 && chosen[codes[row]]);
  }

  range(measure, from, to) {
    if (from === null && to === null) return this.filter(measure.name, null);
    // As the column has it: 0.3 is not the same number with half the digits.
    const low = from === null ? -Infinity : Math.fround(from), high = to === null ? Infinity : Math.fround(to);
    return this.filter(measure.name, (row) => this.has(measure, row) && measure.values[row] >= low && measure.values[row] <= high);
  }

  // "night pedestrian dave2 margin<-2": every word must be somewhere, every comparison must hold. Returns what is not understood.
  search(text) {
    const tests = [], odd = [];
    for (const word of text.toLowerCase().split(/\s+/).filter(Boolean)) {
      const [, what, sign, limit] = COMPARED.exec(word.replace("−", "-")) ?? [];
      const values = what && this.numbers[WORDS[what]];
      if (values) {
        const least = Math.fround(Number(limit));
        tests.push({ "<": (row) => values[row] < least, ">": (row) => values[row] > least, "<=": (row) => values[row] <= least, ">=": (row) => values[row] >= least, "=": (row) => values[row] === least }[sign]);
      } else if (/[<>=]/.test(word)) odd.push(word);
      else tests.push(this.holding(word));
    }
    this.filter("q", tests.length ? (row) => tests.every((test) => test(row)) : null);
    return odd;
  }

  holding(word) {
    const found = Object.entries(this.categories).map(([column, { names, codes }]) => {
      const about = column === "requirement" ? (name) => [name, this.requirements[name]?.text, ...(this.requirements[name]?.tags ?? [])].join(" ") : (name) => name;
      return [codes, names.map((name) => about(name).toLowerCase().includes(word))];
    });
    return (row) => found.some(([codes, holds]) => codes[row] >= 0 && holds[codes[row]]) || (this.marks.get(row)?.mark ?? "").includes(word);
  }

  // How many there are of each value, among what the other filters let through.
  counts(name) {
    const others = ~(this.filters.get(name)?.bit ?? 0);
    const found = new Map(), { mask, size } = this;
    if (name === "mark") {
      for (let row = 0; row < size; row++) if (!(mask[row] & others)) { const mark = this.marks.get(row)?.mark || "none"; found.set(mark, (found.get(mark) ?? 0) + 1); }
      return found;
    }
    const { names, codes } = this.categories[name === "tag" ? "requirement" : name];
    const numbers = new Uint32Array(names.length);
    for (let row = 0; row < size; row++) if (!(mask[row] & others) && codes[row] >= 0) numbers[codes[row]]++;
    if (name !== "tag") names.forEach((one, code) => found.set(one, numbers[code]));
    else names.forEach((id, code) => { for (const tag of this.requirements[id]?.tags ?? []) found.set(tag, (found.get(tag) ?? 0) + numbers[code]); });
    return found;
  }

  histogram(measure) {
    const { low, high, values } = measure, others = ~(this.filters.get(measure.name)?.bit ?? 0);
    const bins = new Uint32Array(BINS), wide = (high - low) / BINS;
    for (let row = 0; row < this.size; row++) {
      if (this.mask[row] & others || !this.has(measure, row)) continue;
      bins[Math.max(0, Math.min(BINS - 1, Math.floor((values[row] - low) / wide)))]++;
    }
    return { middles: Array.from(bins, (_, place) => low + (place + 0.5) * wide), bins: Array.from(bins) };
  }

  chosen() {
    const found = [];
    for (let row = 0; row < this.size; row++) if (!this.mask[row]) found.push(row);
    return found;
  }

  // Whether rows pass all filters but some.
  among(...names) {
    const others = ~names.reduce((bits, name) => bits | (this.filters.get(name)?.bit ?? 0), 0);
    return (row) => !(this.mask[row] & others);
  }

  chosenWithout(name) {
    const among = this.among(name);
    return this.mask.reduce((sum, _, row) => sum + among(row), 0);
  }

  // Rows as they came: of each requirement the worst first. Now one of each in turn, as the suite has them.
  interleaved(rows) {
    const { codes, names } = this.categories.requirement, seen = [], lots = [];
    const asked = Object.keys(this.requirements), turns = names.map((id) => asked.indexOf(id));
    for (const row of rows) {
      const turn = seen[codes[row]] = (seen[codes[row]] ?? -1) + 1;
      (lots[turn] ??= []).push(row);
    }
    for (const lot of lots) lot.sort((one, other) => turns[codes[one]] - turns[codes[other]]);
    return lots.flat();
  }

  orders() {
    const by = (name, sign, unit = false) => (rows) => {
      const values = this.numbers[name], key = (row) => (Number.isNaN(values[row]) ? Infinity : sign * values[row]);
      // Of different units one after the other, never mixed.
      return rows.sort((one, other) => (unit ? this.units.indexOf(this.unit(one)) - this.units.indexOf(this.unit(other)) : 0) || key(one) - key(other) || one - other);
    };
    const all = {
      each: ["worst of each requirement", (rows) => this.interleaved(rows)],
      believable: ["what a driver would meet first", "visual_change", (rows) => by("visual_change", 1)(rows)],
      margin: ["margin, worst first", "margin", by("margin", 1, true)],
      best: ["margin, best first", "margin", by("margin", -1, true)],
      deviating: ["deviation, largest first", "deviation", by("deviation", -1, true)],
      steady: ["deviation, smallest first", "deviation", by("deviation", 1, true)],
      unseen: ["change, least seen first", "visual_change", by("visual_change", 1)],
      seen: ["change, best seen first", "visual_change", by("visual_change", -1)],
      near: ["distance, nearest first", "distance", by("distance", 1)],
      far: ["distance, farthest first", "distance", by("distance", -1)],
      case: ["frame", (rows) => this.byName(rows)],
    };
    return new Map(Object.entries(all).filter(([, about]) => about.length === 2 || this.numbers[about[1]]).map(([name, about]) => [name, { words: about[0], sort: about.at(-1) }]));
  }

  byName(rows) {
    const { names, codes } = this.categories.case;
    const places = new Int32Array(names.length);
    [...names.keys()].sort((one, other) => (names[one] < names[other] ? -1 : 1)).forEach((code, place) => { places[code] = place; });
    return rows.sort((one, other) => places[codes[one]] - places[codes[other]] || one - other);
  }

  // The chosen rows in sections, each with its heading: by a column, or apart from the rest what cannot be believed at once.
  sections(order, group) {
    const rows = this.chosen(), { sort } = this.orders().get(order);
    if (this.categories[group]) return this.grouped(sort(rows), group);
    if (order !== "each" && order !== "believable") return [{ heading: "", rows: sort(rows) }];
    const seen = this.numbers.visual_change, lots = [[], [], []];
    for (const row of rows) lots[Number.isFinite(this.margin[row]) || Number.isNaN(this.margin[row]) ? (seen?.[row] > LITTLE_LEFT ? 1 : 0) : 2].push(row);
    const headings = ["", "Little of the picture is left: Δv above 0.9", "Infinite margin: nothing was found that could be measured"];
    return lots.map((lot, place) => ({ heading: headings[place], rows: sort(lot) })).filter((one) => one.rows.length);
  }

  grouped(rows, name) {
    const lots = new Map();
    for (const row of rows) {
      const value = this.value(name, row) || "none";
      if (!lots.has(value)) lots.set(value, []);
      lots.get(value).push(row);
    }
    const about = (value) => (name === "kind" && this.sentences?.[value] ? `${value}: ${this.sentences[value]}` : name === "requirement" && this.requirements[value]?.text ? `${value} ${this.requirements[value].text}` : value);
    return [...lots].sort(([, one], [, other]) => other.length - one.length).map(([value, lot]) => ({ heading: about(value), rows: lot }));
  }
}

