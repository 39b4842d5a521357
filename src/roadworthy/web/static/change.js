// Where two pictures differ, as an outline over them. It is found here, by comparing what is shown: stored pictures
// stay as they are, the server does nothing for it, and runs of any age have it.
import { hint, make } from "/static/page.js";

const SPACE = "http://www.w3.org/2000/svg";
const SIDE = 480; // pixels of the longer side at which pictures are compared: larger ones are made smaller
const CELL = 8; // what differs in cells that touch is one thing
const SEEN = 8; // of 255: less is seen by nobody, and looked for only where there is nothing else
const PAD = 4;
const MOST = 6; // outlines; of more things, one is drawn round all
const SHARE = 0.5; // of the picture; where more of it changed, an outline would say nothing

const canvases = [0, 1].map(() => document.createElement("canvas"));
const root = document.documentElement;
const KEPT = "roadworthy-outline";

function pixels(image, canvas, wide, tall) {
  if (canvas.width !== wide) canvas.width = wide;
  if (canvas.height !== tall) canvas.height = tall;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.clearRect(0, 0, wide, tall);
  context.drawImage(image, 0, 0, wide, tall);
  return context.getImageData(0, 0, wide, tall).data;
}

const round = (box, other) => [Math.min(box[0], other[0]), Math.min(box[1], other[1]), Math.max(box[2], other[2]), Math.max(box[3], other[3])];
const meet = (box, other) => box[0] <= other[2] && other[0] <= box[2] && box[1] <= other[3] && other[1] <= box[3];

// The extent of what differs by more than so much, cell by cell.
function differing(one, two, wide, tall, least) {
  const columns = Math.ceil(wide / CELL), cells = new Map();
  for (let y = 0, at = 0; y < tall; y++) {
    for (let x = 0; x < wide; x++, at += 4) {
      if (Math.abs(one[at] - two[at]) <= least && Math.abs(one[at + 1] - two[at + 1]) <= least && Math.abs(one[at + 2] - two[at + 2]) <= least) continue;
      const cell = Math.floor(y / CELL) * columns + Math.floor(x / CELL), known = cells.get(cell);
      cells.set(cell, known ? round(known, [x, y, x + 1, y + 1]) : [x, y, x + 1, y + 1]);
    }
  }
  return { cells, columns };
}

// A box round all cells that touch each other.
function grouped({ cells, columns }) {
  const found = [];
  for (const start of [...cells.keys()]) {
    let box = cells.get(start);
    if (!box) continue;
    for (const waiting = [start]; waiting.length;) {
      const cell = waiting.pop(), own = cells.get(cell);
      if (!own) continue;
      cells.delete(cell);
      box = round(box, own);
      const column = cell % columns;
      for (const down of [-columns, 0, columns]) for (const right of [-1, 0, 1]) if (column + right >= 0 && column + right < columns) waiting.push(cell + down + right);
    }
    found.push(box);
  }
  return found;
}

function merged(boxes) {
  const found = [];
  for (let box of boxes) {
    for (let place = found.length - 1; place >= 0; place--) {
      if (!meet(found[place], box)) continue;
      box = round(box, found.splice(place, 1)[0]);
      place = found.length; // It is larger now: all others once more.
    }
    found.push(box);
  }
  return found;
}

// The boxes in which two pictures differ, in pixels of the second; none where they are equal, null where most of it differs.
export function changedBoxes(before, after) {
  const scale = Math.min(1, SIDE / Math.max(after.naturalWidth, after.naturalHeight));
  const wide = Math.max(1, Math.round(after.naturalWidth * scale)), tall = Math.max(1, Math.round(after.naturalHeight * scale));
  const [one, two] = [pixels(before, canvases[0], wide, tall), pixels(after, canvases[1], wide, tall)];
  let found = differing(one, two, wide, tall, SEEN);
  if (!found.cells.size) found = differing(one, two, wide, tall, 0);
  const padded = grouped(found).map(([x1, y1, x2, y2]) => [Math.max(0, x1 - PAD), Math.max(0, y1 - PAD), Math.min(wide, x2 + PAD), Math.min(tall, y2 + PAD)]);
  let boxes = merged(padded);
  if (boxes.length > MOST) boxes = [boxes.reduce(round)];
  const area = boxes.reduce((sum, [x1, y1, x2, y2]) => sum + (x2 - x1) * (y2 - y1), 0);
  return area > SHARE * wide * tall ? null : boxes.map((box) => box.map((side) => side / scale));
}

function drawn(image, boxes) {
  const picture = document.createElementNS(SPACE, "svg");
  for (const [name, value] of Object.entries({ class: "changed", "aria-hidden": "true", viewBox: `0 0 ${image.naturalWidth} ${image.naturalHeight}`, preserveAspectRatio: "xMidYMid meet" })) picture.setAttribute(name, value);
  for (const [x1, y1, x2, y2] of boxes) {
    const rect = document.createElementNS(SPACE, "rect");
    for (const [name, value] of Object.entries({ x: x1, y: y1, width: x2 - x1, height: y2 - y1, rx: 2 })) rect.setAttribute(name, value);
    picture.append(rect);
  }
  return picture;
}

const whenIdle = window.requestIdleCallback ?? ((action) => setTimeout(action, 30));
const loaded = (image) => (image.complete ? Promise.resolve() : new Promise((done) => { for (const kind of ["load", "error"]) image.addEventListener(kind, done, { once: true }); }));

// Outlines what changed from the first picture to each of the others, over all of them: over the first, what the second
// differs in. `everywhere` is called where there is nothing to outline because most of a picture changed.
export async function outline(images, { everywhere = () => {} } = {}) {
  if (images.length < 2) return;
  await Promise.all(images.map(loaded));
  // While nothing else is to be done: who scrolls is not kept from it.
  whenIdle(() => {
    const [first, ...others] = images;
    // Scrolled past meanwhile, or not to be had.
    if (!images.every((image) => image.isConnected && image.naturalWidth)) return;
    const found = others.map((image) => changedBoxes(first, image));
    [found[0], ...found].forEach((boxes, place) => {
      const over = images[place].closest(".layers") ?? images[place].parentElement;
      // Pictures that lie on each other have one outline.
      if (boxes?.length && !over.querySelector(".changed")) over.append(drawn(images[place], boxes));
    });
    if (found.includes(null)) everywhere();
  });
}

const isOn = () => root.dataset.outline !== "off";

// Switches outlines on and off, on this page and on those that are opened later.
export function outlineSwitch() {
  const button = make("button.quiet.way", { type: "button", "data-outlines": "", "aria-pressed": String(isOn()), onclick: () => {
    localStorage.setItem(KEPT, isOn() ? "off" : "on");
    root.dataset.outline = localStorage.getItem(KEPT);
    for (const one of document.querySelectorAll("[data-outlines]")) one.setAttribute("aria-pressed", String(isOn()));
  } }, "Outline the change");
  return make("span.outlines", {}, button, " ", hint("the outline", "A line round what differs between the two pictures, found by comparing them in your browser; the stored pictures stay as they are. Where most of the picture changed, as in fog or at night, there is none."));
}
