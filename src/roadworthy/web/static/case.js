// One case: pictures, answers drawn as arrows and bars, boxes, and numbers.
import { outline } from "/static/change.js";
import { chip, fill, hint, make } from "/static/page.js";
import { isInfinite, measured, number, scaled, unitOf } from "/static/units.js";

export { measured, number } from "/static/units.js";

const SPACE = "http://www.w3.org/2000/svg";
export const SAID = { passed: "passed", violated: "violated", "not applicable": "not applicable", error: "error", "engine error": "engine error" };

function shape(tag, attributes, ...children) {
  const element = document.createElementNS(SPACE, tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

export function pictureOf(run, digest) {
  return `/runs/${encodeURIComponent(run)}/files/images/${digest.slice(0, 2)}/${digest}.png`;
}

// Steering as an arrow from the wheel, everything else as a bar; what it was held against is drawn faint.
function drawing({ output, before, after, words, unit }) {
  const name = `${output} ${measured(before, unit)} ${words[0]}, ${measured(after, unit)} ${words[1]}`;
  const picture = shape("svg", { viewBox: "0 0 64 36", class: "drawn", role: "img", "aria-label": name });
  if (output === "steering") {
    for (const [value, kind] of [[before, "before"], [after, "after"]]) {
      // Three times as far as it turns, so that a degree can be seen.
      const angle = (Math.max(-25, Math.min(25, value)) * 3 * Math.PI) / 180;
      const [x, y] = [32 + 26 * Math.sin(angle), 33 - 26 * Math.cos(angle)];
      picture.append(shape("line", { x1: 32, y1: 33, x2: x, y2: y, class: kind }), shape("circle", { cx: x, cy: y, r: 2.6, class: kind }));
    }
  } else {
    const most = Math.max(before, after, 0.1);
    for (const [row, value, kind] of [[8, before, "before"], [21, after, "after"]]) picture.append(shape("rect", { x: 2, y: row, width: Math.max(1, (60 * Math.max(0, value)) / most), height: 9, class: kind }));
  }
  return picture;
}

// By how much the answer changed, with its sign.
function deviation({ before, after, unit }) {
  if (before === null || after === null || isInfinite(before) || isInfinite(after)) return "";
  const by = after - before;
  return ` (${by > 0 ? "+" : by < 0 ? "" : "±"}${scaled(by, unit)})`;
}

export function answersOf(one) {
  return one.answers.map((answer) => {
    const told = answer.words[0] === "before" ? `${scaled(answer.before, answer.unit)} → ${scaled(answer.after, answer.unit)}${unitOf(answer.unit)}${deviation(answer)}` : `${measured(answer.after, answer.unit)}, ${answer.words[0]} ${measured(answer.before, answer.unit)}`;
    const part = one.answers.length > 1 ? `part ${answer.part}: ` : "";
    const line = `${part}${answer.output} ${told}`;
    return make("div.answer-line", {}, drawing(answer), make("span", { title: line }, line));
  });
}

// Boxes by their kind, and what a model answered about this picture: detections, or the line of a path.
export function boxesOver(image, boxes, { boxes: found = [], line = [] } = {}) {
  const all = [...Object.entries(boxes), ...found.map((corners) => ["detection", corners])];
  if (!all.length && !line.length) return null;
  const drawn = shape("svg", { "aria-hidden": "true", preserveAspectRatio: "xMidYMid meet" });
  const draw = () => {
    if (!image.naturalWidth) return;
    drawn.setAttribute("viewBox", `0 0 ${image.naturalWidth} ${image.naturalHeight}`);
    drawn.replaceChildren(...all.map(([kind, [x1, y1, x2, y2]]) => shape("rect", { x: x1, y: y1, width: x2 - x1, height: y2 - y1, class: kind })), ...(line.length ? [shape("polyline", { points: line.join(" "), class: "path" })] : []));
  };
  image.addEventListener("load", draw);
  draw();
  return drawn;
}

// What the model answered, on the picture: steering as an arrow from the car, three times as far as it turns, all else as
// a bar at the side. Light is before, orange is after.
export function answersOver(image, { output, unit, values }) {
  const drawn = shape("svg", { class: "hud", "aria-hidden": "true", preserveAspectRatio: "xMidYMid meet" });
  const draw = () => {
    const [wide, tall] = [image.naturalWidth, image.naturalHeight], known = values.filter(({ value }) => value !== null && !isInfinite(value));
    if (!wide || !known.length) return;
    drawn.setAttribute("viewBox", `0 0 ${wide} ${tall}`);
    const size = 0.06 * tall, thick = 0.017 * tall, parts = [];
    const text = (x, y, words, kind, anchor) => shape("text", { x, y, class: kind, "font-size": size, "text-anchor": anchor }, words);
    const most = Math.max(...known.map(({ value }) => Math.abs(value)), 0.1);
    known.forEach(({ value, kind }, place) => {
      if (output === "steering") {
        const angle = (Math.max(-25, Math.min(25, value)) * 3 * Math.PI) / 180, long = 0.3 * tall;
        const [x, y] = [wide / 2 + long * Math.sin(angle), 0.97 * tall - long * Math.cos(angle)], head = 3 * thick;
        const corner = (turn) => `${x - head * Math.sin(angle + turn)} ${y + head * Math.cos(angle + turn)}`;
        const way = `M${wide / 2} ${0.97 * tall}L${x} ${y}M${corner(-0.5)}L${x} ${y}L${corner(0.5)}`;
        parts.push(shape("path", { d: way, class: "casing", "stroke-width": 1.8 * thick }), shape("path", { d: way, class: kind, "stroke-width": thick }));
        if (place === known.length - 1) parts.push(text(wide / 2 + 2 * thick, 0.95 * tall, measured(value, unit), kind, "start"));
      } else {
        const long = (0.62 * tall * Math.abs(value)) / most, x = 0.03 * wide + place * 2.1 * thick;
        parts.push(shape("rect", { x, y: 0.95 * tall - long, width: 1.6 * thick, height: Math.max(1, long), class: kind }));
        if (place === known.length - 1) parts.push(text(0.03 * wide, 0.93 * tall - 0.62 * tall, measured(value, unit), kind, "start"));
      }
    });
    drawn.replaceChildren(...parts);
  };
  image.addEventListener("load", draw);
  draw();
  return drawn;
}

// What to draw over each picture of a case: the first has the answer before, the next those before and after.
export function answersAt(one, place) {
  const found = one.answers.find(({ part }) => part === Math.max(1, place)) ?? null;
  if (!found) return null;
  const { output, unit, before, after } = found, alone = one.pictures.length === 1;
  const values = [{ value: before, kind: "before" }, { value: after, kind: "after" }];
  return { output, unit, values: alone || place ? values : values.slice(0, 1) };
}

const AXLES = 2.7, AHEAD = 24; // metres between the axles of a usual car, and that are drawn ahead

// Where the car would go, seen from above: the path that the model plans, or the circle on which its steering leads.
export function fromAbove(one) {
  const ways = [];
  for (const [place, kind] of [[0, "before"], [Math.max(1, one.answers[0]?.part ?? 1), "after"]]) {
    const text = one.measures[`answer.${place}`];
    const points = text ? JSON.parse(text).points : null;
    if (points) ways.push({ kind, points: [[0, 0], ...points] });
  }
  const steering = one.answers.find(({ output }) => output === "steering");
  if (!ways.length && steering) {
    for (const [value, kind] of [[steering.before, "before"], [steering.after, "after"]]) {
      if (value === null || isInfinite(value)) continue;
      const bend = Math.tan((Math.max(-45, Math.min(45, value)) * Math.PI) / 180) / AXLES;
      const arc = (far) => (Math.abs(bend) < 1e-6 ? [far, 0] : [Math.sin(bend * far) / bend, (1 - Math.cos(bend * far)) / bend]);
      ways.push({ kind, points: Array.from({ length: 25 }, (_, step) => arc(Math.min(AHEAD, Math.PI / 2 / Math.max(Math.abs(bend), 1e-6)) * (step / 24))) });
    }
  }
  if (!ways.length) return null;
  const all = ways.flatMap(({ points }) => points), ahead = Math.max(AHEAD / 2, ...all.map(([x]) => x)), aside = Math.max(4, ...all.map(([, y]) => Math.abs(y))) * 1.15;
  const W = 240, H = 150, scale = Math.min((H - 34) / ahead, W / 2 / aside), at = ([x, y]) => [W / 2 + y * scale, H - 22 - x * scale];
  const picture = shape("svg", { viewBox: `0 0 ${W} ${H}`, class: "above", role: "img", "aria-label": "The way from above, before and after" });
  for (let metres = 0; metres <= ahead; metres += ahead > 60 ? 20 : ahead > 26 ? 10 : 5) {
    const [, y] = at([metres, 0]);
    picture.append(shape("line", { x1: 0, x2: W, y1: y, y2: y, class: "grid" }), shape("text", { x: 2, y: y - 2 }, `${metres} m`));
  }
  for (const { kind, points } of ways) picture.append(shape("polyline", { points: points.map(at).join(" "), class: kind }));
  const [x, y] = at([0, 0]);
  picture.append(shape("rect", { x: x - 5, y, width: 10, height: 18, rx: 3, class: "car" }));
  return picture;
}

export function numbersOf(one, { explained = false } = {}) {
  const part = (text, about, words) => make("span.value", {}, text, explained ? hint(about, words) : null);
  const parts = [];
  const endless = one.margin !== null && isInfinite(one.margin) ? " Here it is infinite: nothing was found that could be measured." : "";
  if (one.margin !== null) parts.push(part(`margin ${measured(one.margin, one.unit)}`, "margin", `How far the case is from the border between pass and fail, in the requirement's own unit. Below 0 is a violation.${endless}`));
  if (one.visual_change !== null) parts.push(part(`Δv ${number(one.visual_change)}`, "visual change Δv", "How visible the change is: 0 is invisible, 1 leaves nothing of the picture."));
  if (one.tolerated !== null && one.tolerated !== undefined) parts.push(part(one.tolerated ? "people tolerate it" : "people do not tolerate it", "tolerated", "Whether people still recognise what is there after a change as strong as this one, by the published study of the change."));
  if (one.estimated) parts.push(part(one.estimated, "estimated", "The data has none: a network said what the frame shows, and it may err. Look at the picture before you trust the verdict."));
  return make("div.small.numbers", {}, parts);
}

export function headingOf(one, { named = true } = {}) {
  return make("div.case-head", {}, chip(one.status, SAID[one.status]), named && one.mark ? make("span.chip.marked", {}, one.mark) : null, named ? make("b", {}, one.case) : null, make("small", {}, one.system));
}

// Which requirement it is about: its id, and what it says.
export function requirementOf(one, texts, tag) {
  const text = texts[one.requirement] ?? "";
  return make(tag, { title: text }, make("b", {}, one.requirement), text ? ` ${text}` : "");
}

// Of the pictures of a rule with several parts, those of the part that decides; it stands first among the answers.
export function decidingPair(one, pictures) {
  const part = one.answers[0]?.part ?? 1;
  return pictures.slice(pictures.length > part ? part - 1 : 0).slice(0, 2);
}

// A case as a card of a wall. `open` is what leads to the case: a button or a link, which covers the card; `said` stands
// in place of what the model answered.
export function fillCard(card, run, one, texts, open, said = null) {
  const pictures = decidingPair(one, one.pictures).map((digest, place) => {
    const image = make("img", { src: pictureOf(run, digest), alt: one.pictures.length > 1 ? (place ? "after" : "before") : "frame", decoding: "async" });
    return make("div.boxed", {}, image, boxesOver(image, one.boxes, decidingPair(one, one.overlays)[place]));
  });
  outline(pictures.map((one) => one.firstChild));
  const told = [...one.lines, one.reason].filter(Boolean).join(": ");
  open.classList.add("open");
  open.setAttribute("aria-label", `Open ${one.case} of ${one.requirement}, ${one.system}, ${SAID[one.status]}${one.margin === null ? "" : `, margin ${measured(one.margin, one.unit)}`}`);
  fill(card, open,
    pictures.length ? make("div.tile-pictures", {}, pictures) : make("div.tile-pictures.none", {}, "no picture stored"),
    said ? make("div.case-head", {}, make("b", {}, one.case), make("small", {}, one.system)) : headingOf(one), requirementOf(one, texts, "div.small.of"),
    said ?? [answersOf(one).slice(0, 1), one.answers.length || !told ? null : make("div.line", { title: told }, told), numbersOf(one)].flat());
}
