// Two pictures of a case compared in four ways, and what is known about them drawn on them.
import { fill, make } from "/static/page.js";
import { outline, outlineSwitch } from "/static/change.js";
import { answersOver, boxesOver } from "/static/case.js";

export const WAYS = { beside: "Side by side", slider: "Slider", flicker: "Flicker", difference: "Difference" };
export const LAYERS = { answers: "Answers", labels: "Labels", depth: "Depth" };
const FLICKER = 600; // milliseconds

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
      // Both fill the picture.
      for (const other of ["labels", "depth"]) if (layer !== "answers") this.layers.delete(other);
      this.layers.add(layer);
    }
    this.draw();
    this.changed();
  }

  stop() {
    clearInterval(this.timer);
  }

  buttons() {
    const several = this.pictures.length > 1, held = this.tools.contains(document.activeElement) ? document.activeElement.dataset : {};
    const button = (kind, value, words, pressed, onclick) => make("button.quiet.way", { type: "button", [`data-${kind}`]: value, "aria-pressed": String(pressed), onclick }, words);
    const drawable = this.pictures.some((one) => one.drawn);
    fill(this.tools,
      several ? make("div.group", { role: "group", "aria-label": "How to compare" }, Object.entries(WAYS).map(([way, words]) => button("way", way, words, way === this.way, () => this.choose(way)))) : null,
      this.pictures.length ? make("div.group", { role: "group", "aria-label": "What is drawn on the pictures" }, Object.entries(LAYERS).filter(([layer]) => layer !== "answers" || drawable).map(([layer, words]) => button("layer", layer, words, this.layers.has(layer), () => this.toggle(layer)))) : null,
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

  // Labels or depth over the pictures, as the street network sees them.
  async cover(all, places) {
    const layer = ["labels", "depth"].find((one) => this.layers.has(one));
    if (!layer || !this.layersOf || this.way === "difference") return;
    const line = make("p.small", { role: "status" }, "Looking …");
    this.box.append(line);
    try {
      const found = await this.layersOf();
      if (!all[0].isConnected) return;
      all.forEach((one, place) => one.firstChild.after(make(`img.layer.${layer}`, { src: `/write/pictures/${found[layer][places[place]]}.png`, alt: "" })));
      const key = layer === "depth" ? ["Near is bright."] : found.classes.map(([name, ...color]) => { const dot = make("span.dot", { "aria-hidden": "true" }); dot.style.background = `rgb(${color})`; return make("span.label-key", {}, dot, name.replaceAll("_", " ")); });
      fill(line, "Estimated by the street network: ", key);
    } catch (error) {
      line.textContent = error.message;
    }
  }
}
