// What a run would do, on a few frames.
import { outline, outlineSwitch } from "/static/change.js";
import { chip, fill, hint, make } from "/static/page.js";
import { boxesOver, SAID } from "/static/case.js";
import { measured, number, scaled } from "/static/units.js";

const SPACE = "http://www.w3.org/2000/svg";

export function showPreview(box, preview) {
  const frames = preview.frames.map((one) => (one.rows ? labelled(one) : pair(one)));
  const boxes = preview.frames.some((one) => one.rows);
  fill(box,
    make("div.head", {}, make("h2", {}, "Preview"), make("small", {}, `${preview.frames.length} of ${preview.of} frames of ${preview.data}, answers of ${preview.model}`)),
    boxes ? make("p.small", {}, "An object holds when its detection leads to the case that its true box leads to. ", hint("margin in pixels",
      "By how many pixels the edges of the detection may move before the verdict changes. Below 0 it is violated, and by how much.")) : null,
    boxes ? null : make("p", {}, outlineSwitch()),
    make("div.pairs", {}, frames));
  for (const one of box.querySelectorAll(".frames:not(.one)")) outline([...one.querySelectorAll("img")]);
}

function image(digest, size, name) {
  return make("img", { src: `/write/pictures/${digest}.png`, alt: name, width: size[0], height: size[1] });
}

function pair(one) {
  const names = ["as it is", "changed", "changed once more", "changed a third time"];
  const pictures = one.pictures.map((digest, place) => {
    const picture = image(digest, one.size, `${one.frame}, ${names[place] ?? "changed"}`);
    return make("figure", {}, make("div.boxed", {}, picture, boxesOver(picture, {}, one.overlays[place])), make("figcaption", {}, names[place] ?? "changed"));
  });
  const answers = one.answers.map((answer) => {
    const { unit } = answer;
    return make("div.answer", {}, make("p", {}, `${answer.output} ${scaled(answer.before, unit)} → ${measured(answer.after, unit)}`),
      make("div.small", {}, `margin ${measured(answer.margin, unit)} `, hint("margin", "How far the answer is from the border between pass and fail. Below 0 the rule is violated."),
        answer.visual_change === null || answer.visual_change === undefined ? "" : ` Δv ${number(answer.visual_change)} `,
        answer.visual_change === null || answer.visual_change === undefined ? "" : hint("visual change Δv", "How visible the change is: 0 is invisible, 1 leaves nothing of the picture.")));
  });
  return make("article.pair", {},
    make("div.frames", {}, pictures),
    make("p", {}, chip(one.status, SAID[one.status]), " ", make("b", {}, one.frame)),
    one.reason ? make("p", {}, one.reason) : null,
    one.estimated ? make("p.small", {}, one.estimated) : null,
    answers);
}

function labelled(one) {
  const [wide, tall] = one.size;
  const drawn = document.createElementNS(SPACE, "svg");
  drawn.setAttribute("viewBox", `0 0 ${wide} ${tall}`);
  drawn.setAttribute("aria-hidden", "true");
  for (const box of one.boxes) {
    const [x1, y1, x2, y2] = box.corners;
    const rect = document.createElementNS(SPACE, "rect");
    for (const [key, value] of Object.entries({ x: x1, y: y1, width: x2 - x1, height: y2 - y1, class: box.kind })) rect.setAttribute(key, value);
    const title = document.createElementNS(SPACE, "title");
    title.textContent = `${box.name} (${box.kind})`;
    rect.append(title);
    drawn.append(rect);
  }
  const rows = one.rows.map((row) => make("li", {}, chip(row.status, SAID[row.status]), " ",
    row.expected === null || row.expected === undefined ? row.reason : `expected ${row.expected}, found ${row.found ?? "nothing"}`,
    row.margin === null ? "" : make("small", {}, ` margin ${measured(row.margin, " px")}`)));
  return make("article.pair", {},
    make("div.frames.one", {}, make("figure.boxed", {}, image(one.pictures[0], one.size, one.frame), drawn)),
    make("p", {}, make("b", {}, one.frame), make("small", {}, " ", make("span.truth", {}, "true boxes"), " ", make("span.detection", {}, "detections"))),
    rows.length ? make("ul.plain.small", {}, rows) : make("p.empty", {}, "This frame has no object of these classes."));
}
