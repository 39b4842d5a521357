// Kinds of failures: a map on which what is alike is near, to be lassoed, and each kind in a sentence with its rate.
import { awaited, fill, hint, make, onColors } from "/static/page.js";
import { decidingPair, pictureOf } from "/static/case.js";
import { FAILURES, floats } from "/static/table.js";

const NEAR = 12; // pixels within which a click means a point
const MOST_WORDS = 4, TYPICAL = 0.65, LIFT = 1.25, HELD = 0.5;
const SHADES = ["--series-1", "--series-2", "--series-3", "--series-4", "--series-5", "--series-6", "--text", "--bad", "--line-strong"];
const THIRDS = { distance: ["near", "far"], visual_change: ["hardly visible", "plain to see"], speed: ["at low speed", "at high speed"] };

export class Kinds {
  constructor(box, button, source) {
    this.box = box;
    this.button = button;
    this.source = source;
    this.shown = false;
    this.listeners = [];
    button.addEventListener("click", () => (this.shown ? this.close() : this.open()));
  }

  close() {
    this.shown = false;
    this.box.hidden = true;
    delete document.documentElement.dataset.kinds;
    this.button.setAttribute("aria-pressed", "false");
    this.source.address();
  }

  async open() {
    this.shown = true;
    this.box.hidden = false;
    this.button.setAttribute("aria-pressed", "true");
    this.source.address();
    if (this.found) return this.draw();
    const line = make("p", { role: "status" }, "Looking at the failures …"), bar = make("progress", { max: 1, "aria-label": "Kinds of failures" });
    fill(this.box, make("h2", {}, "Kinds of failures"), bar, line);
    try {
      await this.find(({ said, seconds, share }) => {
        line.textContent = `${said} ${seconds.toFixed(0)} s`;
        if (share === null) bar.removeAttribute("value");
        else bar.value = share;
      });
      this.draw();
    } catch (error) {
      line.textContent = error.message;
      bar.replaceWith(make("button.quiet.way", { type: "button", onclick: () => this.open() }, "Try again"));
    }
  }

  // Finds them once, whoever asks: the map, or a case that looks for what is like it.
  find(told = () => {}) {
    this.listeners.push(told);
    this.finding ??= awaited(`${this.source.here}/kinds`, (now) => { for (const one of this.listeners) one(now); })
      .then((found) => this.take(found)).catch((error) => { this.finding = null; throw error; });
    return this.finding;
  }

  take(found) {
    const { table, filters } = this.source, rows = new Map();
    for (let row = 0; row < table.size; row++) rows.set(table.key(row).join("\u001f"), row);
    const at = found.cases.map((key) => rows.get(key.join("\u001f")));
    const column = (names, codeOf) => {
      const codes = new Int32Array(table.size).fill(-1);
      at.forEach((row, place) => { if (row !== undefined) codes[row] = codeOf(place); });
      return { names, codes };
    };
    const worded = (values) => { const names = [...new Set(values.filter(Boolean))]; return column(names, (place) => names.indexOf(values[place])); };
    const many = Math.max(...found.kinds) + 1;
    Object.assign(table.categories, { kind: column(Array.from({ length: many }, (_, one) => `kind ${one + 1}`), (place) => found.kinds[place]), side: worded(found.sides), against: worded(found.against) });
    this.found = { rows: at, kinds: found.kinds, map: found.map, parts: floats(found.parts), places: new Map(at.map((row, place) => [row, place])) };
    this.many = many;
    this.tell();
    filters.show();
  }

  // What the kinds are, of the failures that the other filters let through.
  tell() {
    this.kinds = Array.from({ length: this.many }, (_, one) => this.about(one)).filter(({ rows }) => rows.length);
    this.source.table.sentences = Object.fromEntries(this.kinds.map((kind) => [`kind ${kind.number + 1}`, this.sentence(kind)]));
  }

  // Filters have changed.
  refresh() {
    if (!this.found) return;
    this.tell();
    if (this.shown && this.canvas) this.list();
  }

  // The other failures, those first that look most like one; none of a case that is no failure with pictures. Several
  // models may fail on the same pictures: of those there is one, of the same model if there is.
  alike(row) {
    const { rows, parts, places } = this.found, own = places.get(row), wide = parts.length / rows.length;
    if (own === undefined) return [];
    const { codes } = this.source.table.categories.system;
    const far = rows.map((other, place) => {
      let sum = 0;
      for (let at = 0; at < wide; at++) sum += (parts[place * wide + at] - parts[own * wide + at]) ** 2;
      return [sum, codes[other] === codes[row] ? 0 : 1, other];
    }).filter(([sum, , other]) => other !== undefined && sum > 0).sort(([one, same], [other, too]) => one - other || same - too);
    return far.filter(([sum], place) => !place || sum !== far[place - 1][0]).map(([, , other]) => other);
  }

  // What most of a kind have in common and others have not, and how often such cases fail.
  about(number) {
    const { table } = this.source, own = [], others = [], among = table.among("kind", "status");
    this.found.rows.forEach((row, place) => { if (row !== undefined && among(row)) (this.found.kinds[place] === number ? own : others).push(row); });
    own.sort((one, other) => one - other); // the worst first, as in the table
    const share = (rows, test) => rows.reduce((sum, row) => sum + test(row), 0) / Math.max(1, rows.length);
    const candidates = [];
    for (const name of ["change", "requirement", "side", "against", "place", "system"]) {
      const column = table.categories[name];
      if (!column || column.names.length < 2) continue;
      const counts = new Map();
      for (const row of own) counts.set(column.codes[row], (counts.get(column.codes[row]) ?? 0) + 1);
      const [code] = [...counts].sort(([, one], [, other]) => other - one)[0] ?? [-1];
      if (code >= 0) candidates.push({ name, value: column.names[code], words: name === "against" ? `against ${column.names[code]}` : column.names[code], everywhere: name !== "side" && name !== "against", test: (row) => column.codes[row] === code });
    }
    for (const [name, [low, high]] of Object.entries(THIRDS)) {
      const values = table.numbers[name], measure = this.source.filters.measures.find((one) => one.name === name);
      if (!values || !measure) continue;
      const sorted = [...own, ...others].map((row) => values[row]).filter(Number.isFinite).sort((one, other) => one - other);
      const [third, thirds] = [sorted[Math.floor(sorted.length / 3)], sorted[Math.floor((2 * sorted.length) / 3)]];
      if (!(thirds > third)) continue;
      candidates.push({ measure, range: [null, third], words: low, everywhere: true, test: (row) => values[row] <= third }, { measure, range: [thirds, null], words: high, everywhere: true, test: (row) => values[row] >= thirds });
    }
    const told = [];
    let left = own;
    for (const one of candidates.filter((each) => share(own, each.test) >= TYPICAL && share(own, each.test) >= LIFT * share(others, each.test))) {
      if (told.length === MOST_WORDS) break;
      if (one.name === "requirement" && told.some(({ name }) => name === "change")) continue; // the change says it
      const next = left.filter(one.test);
      if (next.length < HELD * own.length) continue;
      told.push(one);
      left = next;
    }
    const requirements = new Set(own.map((row) => table.categories.requirement.codes[row]));
    const facts = told.filter((one) => one.everywhere), rate = { such: [0, 0], other: [0, 0] };
    const { requirement, status } = table.categories, such = [];
    for (let row = 0; row < table.size; row++) {
      const word = status.names[status.codes[row]], fails = FAILURES.includes(word);
      if (!among(row) || !requirements.has(requirement.codes[row]) || (!fails && word !== "passed")) continue;
      const alike = facts.every((one) => one.test(row)), of = alike ? rate.such : rate.other;
      if (alike) such.push(row);
      of[0] += fails;
      of[1] += 1;
    }
    return { number, rows: own, told, facts, such, held: left.length, rate, requirements: [...requirements].map((code) => requirement.names[code]), first: left[0] ?? own[0] };
  }

  sentence({ rows, told, held, requirements }) {
    const words = told.length ? told.map((one) => one.words).join(", ") : `all of ${requirements.slice(0, 3).join(", ")}${requirements.length > 3 ? " …" : ""}`;
    return `${told.length ? held : rows.length} of ${rows.length}: ${words}`;
  }

  draw() {
    const { source } = this;
    const canvas = make("canvas", { role: "img", "aria-label": "A map of the failures: what is alike is near. The list beside it says the same in words." });
    fill(this.box, make("div.head", {}, make("h2", {}, make("span", { id: "kind-count" }), " ", hint("kinds", "Failures that look alike, and of which alike was changed. The street network says what each scene looks like, the difference of both pictures says what changed; Ward's hierarchy of the principal components makes the kinds. They are a guess of where to look, no verdict. Sentences and rates are about what the filters show; a rate counts all judged cases of the same requirements.")),
      make("div.actions", {}, make("button.quiet.way", { type: "button", onclick: () => source.groupBy("kind") }, "Group the wall"), make("button.quiet.way", { type: "button", onclick: () => this.show([]) }, "All kinds"), make("button.quiet.way", { type: "button", onclick: () => this.close() }, "Close"))),
      make("div.kinds-body", {}, make("div", {}, canvas, make("p.small", {}, "Draw round points to select them.")), make("ul.kind-list")));
    this.canvas = canvas;
    this.list();
    this.lasso();
    new ResizeObserver(() => this.paint()).observe(canvas);
    onColors(() => this.paint());
  }

  list() {
    const { source } = this;
    fill(this.box.querySelector("#kind-count"), `${this.kinds.length} kind${this.kinds.length === 1 ? "" : "s"} of failures`);
    fill(this.box.querySelector(".kind-list"), this.kinds.length ? this.kinds.map((kind) => {
      const picture = make("img", { alt: "the worst of this kind", loading: "lazy" });
      source.detail(kind.first).then((one) => { const after = decidingPair(one, one.pictures).at(-1); if (after) picture.src = pictureOf(source.run, after); }).catch(() => {});
      const dot = make("span.dot", { "aria-hidden": "true" });
      dot.style.background = `var(${SHADES[kind.number % SHADES.length]})`;
      const { such, other } = kind.rate, percent = ([bad, all]) => (all ? `${Math.round((100 * bad) / all)}%` : "–");
      const rate = kind.facts.length && other[1] ? `Such cases fail ${such[0]} of ${such[1]} (${percent(such)}), others ${other[0]} of ${other[1]} (${percent(other)}).` : `Of ${kind.requirements.slice(0, 3).join(", ")}: ${such[0]} of ${such[1]} fail (${percent(such)}).`;
      return make("li.kind", {}, picture, make("div", {}, make("p", {}, dot, make("b", {}, this.sentence(kind))), make("p.small", {}, rate),
        make("div.actions", {}, make("button.quiet.way", { type: "button", onclick: () => this.show([kind.number]) }, "Show"),
          kind.facts.length ? make("button.quiet.way", { type: "button", onclick: () => this.compare(kind) }, "With what passes") : null,
          make("button.quiet.way", { type: "button", onclick: () => source.select(kind.rows) }, "Select"),
          make("button.quiet.way", { type: "button", title: "Copy a suite with these failures", onclick: () => source.test(kind.rows) }, "Test"),
          make("button.quiet.way", { type: "button", title: "A suite with all cases in the same circumstances, of which few may fail", onclick: () => source.require(kind.such, kind.told.map((one) => one.words).join(", ")) }, "Requirement"))));
    }) : make("li", {}, "No failure with pictures is among these cases."));
    this.paint();
  }

  show(numbers) {
    this.source.filters.set("kind", numbers.map((one) => `kind ${one + 1}`));
    this.source.refresh();
  }

  // The same circumstances, whatever came of them.
  compare({ facts, requirements }) {
    const { filters } = this.source;
    for (const name of ["kind", "change", "place", "system"]) filters.set(name, facts.filter((one) => one.name === name).map((one) => one.value));
    filters.set("requirement", requirements);
    filters.set("status", ["passed", ...FAILURES]);
    for (const measure of filters.measures) filters.setRange(measure, ...(facts.find((one) => one.measure === measure)?.range ?? [null, null]));
    this.source.refresh();
  }

  places() {
    const { map } = this.found, side = this.canvas.clientWidth, edge = 14;
    const ends = [0, 1].map((axis) => map.reduce(([low, high], one) => [Math.min(low, one[axis]), Math.max(high, one[axis])], [Infinity, -Infinity]));
    return map.map((one) => one.map((value, axis) => edge + ((value - ends[axis][0]) / (ends[axis][1] - ends[axis][0] || 1)) * (side - 2 * edge)));
  }

  paint(line = []) {
    const { canvas } = this, scale = devicePixelRatio, side = canvas.clientWidth;
    if (!side) return;
    if (canvas.width !== Math.round(side * scale)) canvas.width = canvas.height = Math.round(side * scale);
    const pen = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
    const colors = SHADES.map((name) => style.getPropertyValue(name).trim());
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, side, side);
    const size = this.found.map.length > 3000 ? 1.6 : 3.4;
    const among = this.source.table.among("kind", "status");
    this.places().forEach(([x, y], place) => {
      pen.globalAlpha = among(this.found.rows[place]) ? 0.75 : 0.12;
      pen.fillStyle = colors[this.found.kinds[place] % colors.length];
      pen.beginPath();
      pen.arc(x, y, size, 0, 2 * Math.PI);
      pen.fill();
    });
    pen.globalAlpha = 1;
    if (line.length < 2) return;
    pen.strokeStyle = style.getPropertyValue("--text");
    pen.lineWidth = 1.5;
    pen.setLineDash([5, 4]);
    pen.beginPath();
    line.forEach(([x, y]) => pen.lineTo(x, y));
    pen.closePath();
    pen.stroke();
    pen.setLineDash([]);
  }

  lasso() {
    let line = null;
    const at = ({ offsetX, offsetY }) => [offsetX, offsetY];
    this.canvas.addEventListener("pointerdown", (event) => { line = [at(event)]; this.canvas.setPointerCapture(event.pointerId); });
    this.canvas.addEventListener("pointermove", (event) => { if (line) { line.push(at(event)); this.paint(line); } });
    this.canvas.addEventListener("pointerup", () => {
      const places = this.places();
      const among = this.source.table.among("kind", "status"), inside = line.length > 3 ? places.map((place) => within(place, line)) : nearest(places, line[0]);
      const rows = this.found.rows.filter((row, place) => inside[place] && row !== undefined && among(row));
      line = null;
      this.paint();
      if (rows.length) this.source.choose(rows);
    });
  }
}

function nearest(places, [x, y]) {
  const far = places.map(([left, top]) => Math.hypot(left - x, top - y)), least = Math.min(...far);
  return far.map((one) => one === least && least < NEAR);
}

// Whether a place lies inside a line that closes: a ray from it crosses an odd number of times.
function within([x, y], line) {
  let inside = false;
  for (let one = 0, other = line.length - 1; one < line.length; other = one++) {
    const [x1, y1] = line[one], [x2, y2] = line[other];
    if (y1 > y !== y2 > y && x < ((x2 - x1) * (y - y1)) / (y2 - y1) + x1) inside = !inside;
  }
  return inside;
}
