// Two pictures of a case compared in four ways, and what is known about them drawn on them.
import { fill, make, worded } from "/static/page.js";
import { outline, outlineSwitch } from "/static/change.js";
import { answersOver, boxesOver, measured } from "/static/case.js";

export const WAYS = { beside: "Side by side", slider: "Slider", flicker: "Flicker", difference: "Difference" };
export const LAYERS = { answers: "Answers", labels: "Labels", depth: "Depth", attention: "Attention" };
const COVERING = ["labels", "depth", "attention"];
const FLICKER = 600; // milliseconds
const CLOSEST = 12, STEP = 1.4; // times as large as a whole picture, and as before

// Pictures are { src, name, boxes, overlay, drawn }; `layersOf` returns a promise of what a network sees in them.
export class Stage {
  constructor() {
    this.way = "beside";
    this.layers = new Set(["answers"]);
    this.share = 50;
    this.timer = 0;
    this.box = make("div.stage", {});
    this.tools = make("div.ways", {});
    this.changed = () => {};
    this.view = { scale: 1, left: 0, top: 0 }; // what is seen of each picture, in shares of it
    this.box.addEventListener("wheel", (event) => this.wheeled(event), { passive: false });
    this.box.addEventListener("dblclick", (event) => { if (this.way !== "slider") this.zoom(this.view.scale > 1 ? 1 / CLOSEST : 3, this.under(event)); });
    this.box.addEventListener("pointerdown", (event) => this.dragged(event));
  }

  show(pictures, pair, layersOf) {
    Object.assign(this, { pictures, pair, layersOf });
    this.draw();
  }

  choose(way) {
    if (this.pictures.length < 2) return;
    this.way = way;
    this.draw();
    this.changed();
  }

  toggle(layer) {
    if (this.layers.has(layer)) this.layers.delete(layer);
    else {
      // Each fills the picture.
      for (const other of COVERING) if (layer !== "answers") this.layers.delete(other);
      this.layers.add(layer);
    }
    this.draw();
    this.changed();
  }

  stop() {
    clearInterval(this.timer);
  }

  // All pictures alike, so that the same place is seen in each. What lies under a place stays there; without one, what changed.
  zoom(by, at = null) {
    const { scale, left, top } = this.view, next = Math.max(1, Math.min(CLOSEST, scale * by));
    const [x, y] = at ?? (scale > 1 ? [0.5, 0.5] : this.middle()), within = (share) => Math.max(0, Math.min(1 - 1 / next, share));
    this.look(next, within(left + x / scale - x / next), within(top + y / scale - y / next));
  }

  look(scale, left, top) {
    this.view = { scale, left, top };
    for (const [name, value] of Object.entries(this.view)) this.box.style.setProperty(`--${name}`, value);
    this.box.classList.toggle("close", scale > 1);
  }

  // The middle of what is outlined as changed.
  middle() {
    const rect = this.box.querySelector(".changed rect"), whole = rect?.ownerSVGElement.viewBox.baseVal;
    const of = (name) => Number(rect.getAttribute(name));
    return rect ? [(of("x") + of("width") / 2) / whole.width, (of("y") + of("height") / 2) / whole.height] : [0.5, 0.5];
  }

  // Where an event is on its picture, in shares of what is seen; of all pictures that lie over each other as on one.
  under({ target, clientX, clientY }) {
    const box = target.closest(".layers, .boxed")?.getBoundingClientRect();
    return box ? [(clientX - box.left) / box.width, (clientY - box.top) / box.height] : null;
  }

  wheeled(event) {
    const at = this.under(event);
    // A wheel alone scrolls, until one is close.
    if (!at || (!event.ctrlKey && this.view.scale === 1)) return;
    event.preventDefault();
    this.zoom(event.deltaY < 0 ? STEP : 1 / STEP, at);
  }

  dragged(event) {
    const box = event.target.closest(".layers, .boxed")?.getBoundingClientRect(), from = this.view;
    if (!box || from.scale === 1 || this.way === "slider") return;
    event.preventDefault();
    const within = (share) => Math.max(0, Math.min(1 - 1 / from.scale, share));
    const move = ({ clientX, clientY }) => this.look(from.scale, within(from.left - (clientX - event.clientX) / box.width / from.scale), within(from.top - (clientY - event.clientY) / box.height / from.scale));
    const over = () => { removeEventListener("pointermove", move); removeEventListener("pointerup", over); removeEventListener("pointercancel", over); };
    addEventListener("pointermove", move);
    for (const end of ["pointerup", "pointercancel"]) addEventListener(end, over);
  }

  buttons() {
    const several = this.pictures.length > 1, held = this.tools.contains(document.activeElement) ? document.activeElement.dataset : {};
    const button = (kind, value, words, pressed, onclick) => make("button.quiet.way", { type: "button", [`data-${kind}`]: value, "aria-pressed": String(pressed), onclick }, words);
    const drawable = this.pictures.some((one) => one.drawn);
    fill(this.tools,
      several ? make("div.group", { role: "group", "aria-label": "How to compare" }, Object.entries(WAYS).map(([way, words]) => button("way", way, words, way === this.way, () => this.choose(way)))) : null,
      this.pictures.length ? make("div.group", { role: "group", "aria-label": "What is drawn on the pictures" }, Object.entries(LAYERS).filter(([layer]) => drawable || (layer !== "answers" && layer !== "attention")).map(([layer, words]) => button("layer", layer, words, this.layers.has(layer), () => this.toggle(layer)))) : null,
      several ? outlineSwitch() : null);
    const again = held.way ? `[data-way="${held.way}"]` : held.layer ? `[data-layer="${held.layer}"]` : null;
    if (again) this.tools.querySelector(again)?.focus();
  }

  // A picture with all that lies over it.
  composite({ src, name, boxes, overlay, drawn }) {
    const image = make("img", { src, alt: name });
    return make("div.boxed", {}, image, boxesOver(image, boxes, overlay), drawn && this.layers.has("answers") ? answersOver(image, drawn) : null);
  }

  draw() {
    this.stop();
    this.buttons();
    const { pictures, box } = this;
    if (!pictures.length) return fill(box, make("p.empty", {}, "No pictures were stored for this case: runs store those of failures, or all with --images all."));
    const way = pictures.length === 1 ? "beside" : this.way;
    const shown = way === "beside" ? pictures : this.pair.map((place) => pictures[place]);
    const all = shown.map((one) => this.composite(one));
    const images = all.map((one) => one.firstChild);
    if (way === "beside") fill(box, make("div.frames", {}, all.map((one, place) => make("figure", {}, one, pictures.length > 1 ? make("figcaption", {}, shown[place].name) : null))));
    else {
      all[1].classList.add("over");
      fill(box, make("div.layers", {}, all));
    }
    const everywhere = () => box.append(make("p.small.changed", {}, "Most of the picture changed, so nothing is outlined."));
    if (way !== "difference") outline(images, way === "beside" ? { everywhere } : {});
    if (way === "difference") {
      box.firstChild.classList.add("difference");
      box.append(make("p.small", {}, "Black where nothing changed; brightened so that small changes show."));
    } else if (way === "slider") this.slide(all[1]);
    else if (way === "flicker") this.timer = setInterval(() => { all[1].style.visibility = all[1].style.visibility === "hidden" ? "" : "hidden"; }, FLICKER);
    this.cover(all, way === "beside" ? pictures.map((_, place) => place) : this.pair);
  }

  // A line that is drawn over the pictures, or moved by the field below them.
  slide(over) {
    const { box } = this, line = make("div.divide", { "aria-hidden": "true" });
    const slider = make("input", { type: "range", min: 0, max: 100, value: this.share, "aria-label": "How much of the picture before is shown", oninput: () => move(Number(slider.value)) });
    const move = (share) => {
      this.share = Math.max(0, Math.min(100, share));
      slider.value = this.share;
      over.style.clipPath = `inset(0 0 0 ${this.share}%)`;
      line.style.left = `${this.share}%`;
    };
    const layers = box.firstChild, at = (event) => { const { left, width } = layers.getBoundingClientRect(); move((100 * (event.clientX - left)) / width); };
    layers.append(line);
    layers.addEventListener("pointerdown", (event) => { layers.setPointerCapture(event.pointerId); at(event); });
    layers.addEventListener("pointermove", (event) => { if (layers.hasPointerCapture(event.pointerId)) at(event); });
    box.append(slider);
    move(this.share);
  }

  // Labels or depth over the pictures, as the street network sees them, or what the model looks at.
  async cover(all, places) {
    const layer = COVERING.find((one) => this.layers.has(one));
    if (!layer || !this.layersOf || this.way === "difference") return;
    const line = make("p.small", { role: "status" }, "Looking …");
    this.box.append(line);
    try {
      const found = await this.layersOf(layer, ({ said }) => { line.textContent = said; });
      if (!all[0].isConnected) return;
      all.forEach((one, place) => one.firstChild.after(make(`img.layer.${layer}`, { src: `/write/pictures/${found[layer][places[place]]}.png`, alt: "" })));
      if (layer === "attention") return fill(line, `Bright: the ${found.output} changes by up to ${measured(found.most, found.unit)} where this is hidden.`);
      const key = layer === "depth" ? ["Near is bright."] : found.classes.map(([name, ...color]) => { const dot = make("span.dot", { "aria-hidden": "true" }); dot.style.background = `rgb(${color})`; return make("span.label-key", {}, dot, name.replaceAll("_", " ")); });
      fill(line, "Estimated by the street network: ", key);
    } catch (error) {
      if (error.name !== "AbortError") fill(line, worded(error.message));
    }
  }
}
