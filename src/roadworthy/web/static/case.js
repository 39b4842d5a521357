// One case: pictures, answers drawn as arrows and bars, boxes, and numbers.
import { outline } from "/static/change.js";
import { chip, fill, hint, make } from "/static/page.js";

const SPACE = "http://www.w3.org/2000/svg";
export const SAID = { passed: "holds", violated: "violated", "not applicable": "not applicable", error: "error", "engine error": "engine error" };
export const UNITS = { speed: " m/s", steering: "°" };

const isInfinite = (value) => Math.abs(value) >= 1e300;

// Every number that is measured, in the same form on every page.
export function number(value) {
  if (value === null || value === undefined) return "–";
  if (isInfinite(value)) return value > 0 ? "∞" : "−∞";
  // What is not 0 is not shown as 0: a violation by a hair is one.
  const small = value !== 0 && Math.abs(value) < 0.005;
  return (small ? Number(value).toPrecision(1) : Number(value).toFixed(2)).replace("-", "−");
}

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
function drawing({ output, before, after, words }) {
  const name = `${output} ${number(before)} ${words[0]}, ${number(after)} ${words[1]}`;
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
function deviation({ before, after }) {
  if (before === null || after === null || isInfinite(before) || isInfinite(after)) return "";
  const by = after - before;
  return ` (${by > 0 ? "+" : by < 0 ? "" : "±"}${number(by)})`;
}

export function answersOf(one) {
  return one.answers.map((answer) => {
    const told = answer.words[0] === "before" ? `${number(answer.before)} → ${number(answer.after)}${answer.unit}${deviation(answer)}` : `${number(answer.after)}${answer.unit}, ${answer.words[0]} ${number(answer.before)}${answer.unit}`;
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

// A number with what it measures; an infinite one measures nothing.
export function measured(value, unit) {
  return `${number(value)}${isInfinite(value) ? "" : unit}`;
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

// A case as a card of a wall. `open` is what leads to the case: a button or a link, which covers the card.
export function fillCard(card, run, one, texts, open) {
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
    headingOf(one), requirementOf(one, texts, "div.small.of"),
    answersOf(one).slice(0, 1), one.answers.length || !told ? null : make("div.line", { title: told }, told),
    numbersOf(one));
}
