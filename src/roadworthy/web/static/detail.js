// One case closely: two pictures compared in four ways, everything that is known, and what people say of it.
import { alertAbout, ask, awaited, fill, hint, make, worded } from "/static/page.js";
import { answersAt, answersOf, decidingPair, fromAbove, headingOf, measured, numbersOf, pictureOf, requirementOf } from "/static/case.js";
import { LAYERS, Stage, WAYS } from "/static/stage.js";
import { filmStrip, standing } from "/static/standing.js";
import { number } from "/static/units.js";

export const MARKS = { fault: "True fault", "false alarm": "False alarm", unsure: "Unsure" };
const DWELL = 900, NEIGHBOURS = 8; // milliseconds after which the least change is looked for; cases that are shown as alike
const WAY_KEYS = { b: "beside", s: "slider", f: "flicker", d: "difference" }, LAYER_KEYS = { v: "answers", l: "labels", e: "depth", a: "attention" };
const MARK_KEYS = { 1: "fault", 2: "false alarm", 3: "unsure", 0: "" };
const KEYS = "Arrow keys go to the previous and the next case, n to the next that is alike, p back. b, s, f and d compare side by side, by slider, by flicker and by difference; v, l, e, a and o draw answers, labels, depth, attention and the outline. + and − zoom, as Ctrl with the wheel does; drag to move. 1, 2, 3 and 0 mark, c copies as a test, Escape closes.";

// A button that copies a suite to the clipboard, or marks it where pages may not write there.
export function copyButton(test, words) {
  const told = make("span.small", { role: "status" });
  const text = make("pre", { tabindex: 0, "aria-label": "The test" }, test.text);
  const shown = make("details.more", { hidden: true }, make("summary", {}, "The test"), text);
  const copy = async () => {
    shown.hidden = false;
    const command = `Save it as ${test.file}, then: roadworthy run ${test.file}`;
    try {
      await navigator.clipboard.writeText(test.text);
      told.textContent = `Copied. ${command}`;
    } catch {
      // Pages from another machine may not write to the clipboard: then it is marked, to be copied by hand.
      shown.open = true;
      getSelection().selectAllChildren(text);
      told.textContent = `Press Ctrl+C to copy it. ${command}`;
    }
  };
  return { button: make("button.quiet.way", { type: "button", onclick: copy }, words), told, shown, copy };
}

export class CaseDialog {
  constructor(box, source) {
    this.box = box;
    this.source = source;
    this.place = NaN; // of a case that is not among those chosen, nobody knows it
    this.row = -1;
    this.walked = []; // rows that were seen, by likeness from one to the next
    this.stage = new Stage();
    this.stage.changed = () => source.opened(this.one);
    this.saving = Promise.resolve();
    this.looking = new AbortController();
    box.addEventListener("close", () => {
      this.stage.stop();
      this.looking.abort();
      this.walked = [];
      source.closed(this.place);
    });
    box.addEventListener("click", (event) => { if (event.target === box) box.close(); });
    box.addEventListener("keydown", (event) => this.pressed(event));
  }

  pressed(event) {
    if (event.target.matches("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
    const { key } = event;
    if (key === "ArrowLeft") this.show(this.place - 1);
    else if (key === "ArrowRight") this.show(this.place + 1);
    else if (key === "n") this.next();
    else if (key === "p") this.back();
    else if (key in WAY_KEYS) this.stage.choose(WAY_KEYS[key]);
    else if (key in LAYER_KEYS) this.stage.toggle(LAYER_KEYS[key]);
    else if (key === "+" || key === "-") this.stage.zoom(key === "+" ? 1.4 : 1 / 1.4);
    else if (key === "o") this.box.querySelector("[data-outlines]")?.click();
    else if (key === "c") this.box.querySelector("[data-copy]")?.click();
    else if (key in MARK_KEYS) this.save?.(MARK_KEYS[key]);
    else return;
    event.preventDefault();
  }

  async show(place) {
    if (!(place >= 0 && place < this.source.size())) return;
    this.walked = [];
    await this.go(this.source.rowAt(place), place);
  }

  async go(row, place = this.source.placeOf(row)) {
    // At once: whoever presses a key three times goes on by three.
    this.place = place;
    this.row = row;
    try {
      const one = await this.source.case(row);
      if (this.row === row) this.open(one, row);
    } catch (error) {
      alertAbout(error);
    }
  }

  // To what looks most like this one and was not seen on the way.
  async next() {
    const from = this.row;
    try {
      // The first time it takes a while, and says so where the list will be.
      if (!this.source.knowsAlike()) await this.listAlike();
      const others = await this.source.alike(from);
      const other = others.find((row) => !this.walked.includes(row));
      if (other === undefined || this.row !== from) return;
      this.walked.push(from);
      await this.go(other);
    } catch (error) {
      alertAbout(error);
    }
  }

  back() {
    if (this.walked.length) this.go(this.walked.pop());
  }

  told({ said, seconds }) {
    const line = this.box.querySelector(".alike [role=status]");
    if (line) line.textContent = `${said} ${seconds.toFixed(0)} s`;
  }

  // How to compare and what to draw, as an address has it.
  address(query) {
    if (this.stage.way !== "beside") query.set("way", this.stage.way);
    const drawn = [...this.stage.layers].join();
    if (drawn !== "answers") query.set("draw", drawn);
  }

  read(query) {
    if (query.get("way") in WAYS) this.stage.way = query.get("way");
    if (query.has("draw")) this.stage.layers = new Set(query.get("draw").split(",").filter((one) => one in LAYERS));
  }

  open(one, row = this.source.rowOf(one)) {
    const held = this.box.contains(document.activeElement) ? document.activeElement.dataset.step : null;
    this.one = one;
    this.row = row;
    this.looking.abort();
    this.looking = new AbortController();
    this.stage.look(1, 0, 0);
    this.draw(one);
    if (!this.box.open) this.box.showModal();
    // What was pressed is another button now. Without the focus in the dialog, keys would lead nowhere.
    (this.box.querySelector(`[data-step="${held}"]`) ?? this.box.querySelector("h2")).focus({ preventScroll: true });
    this.box.scrollTop = 0;
    this.source.opened(one);
  }

  draw(one) {
    const step = (name, words, possible, onclick) => make("button.quiet", { type: "button", "data-step": name, "aria-disabled": String(!possible), onclick }, words);
    const by = (places, words) => step(places, words, this.place + places >= 0 && this.place + places < this.source.size(), () => this.show(this.place + places));
    const above = fromAbove(one);
    fill(this.box,
      make("div.head", {}, make("h2", { id: "case-title", tabindex: -1 }, one.case), make("div.actions", {}, hint("keys", KEYS), by(-1, "Previous"), by(1, "Next"), step("n", "More like this", true, () => this.next()), make("button", { type: "button", onclick: () => this.box.close() }, "Close"))),
      make("div.case-body", {},
        make("div.case-main", {}, this.stage.tools, this.stage.box, this.film(one), this.shrinking(one), this.alike()),
        make("div.case-side", {}, headingOf(one, { named: false }), requirementOf(one, this.source.texts, "p.asked"), answersOf(one), numbersOf(one, { explained: true }),
          [...one.lines, one.reason].filter(Boolean).map((line) => make("p", {}, line)),
          above ? make("figure", {}, above, make("figcaption", {}, one.measures["answer.0"] ? "The planned path from above." : "From above, with this steering held.")) : null,
          standing(this.source.table, one), this.facts(one), this.copying(one), this.marking(one), this.known(one))));
    this.compare(one);
  }

  compare(one, extra = {}) {
    const names = one.pictures.map((_, place) => (one.pictures.length === 1 ? "frame" : place === 0 ? "before" : one.pictures.length === 2 ? "after" : `after part ${place}`));
    const pictures = one.pictures.map((digest, place) => ({ src: pictureOf(this.source.run, digest), name: names[place], boxes: one.boxes, overlay: one.overlays[place], drawn: answersAt(one, place) }));
    const pair = decidingPair(one, pictures.map((_, place) => place));
    const found = {}, body = this.named(one), { signal } = this.looking;
    const layersOf = (layer, told) => (layer === "attention"
      ? (found.attention ??= awaited(`${this.source.here}/attention`, told, { body, signal, cancels: true }))
      : (found.seen ??= ask(`${this.source.here}/seen`, body)));
    this.stage.show(extra.pictures ?? pictures, extra.pair ?? pair, extra.pictures ? null : layersOf);
  }

  named({ requirement, system, case: name }) {
    return { requirement, system, case: name };
  }

  // What was changed and where: the few numbers that most people ask for.
  facts(one) {
    const part = one.answers[0]?.part ?? 1, metres = one.measures[`distance.${part}`];
    const change = one.parameters[`change.${part}`] ?? one.measures.transform ?? one.parameters.transform ?? one.parameters.transformation;
    const rows = [["Change", change], ["Distance", metres === undefined ? null : `${number(metres)} m`], ["Strength", one.measures.strength === undefined ? null : number(one.measures.strength)], ["Frame", one.parameters.frame], ["Sector", one.parameters.sector], ["Seed", one.parameters.seed]];
    const known = rows.filter(([, value]) => value !== null && value !== undefined && value !== "");
    return known.length ? make("dl.facts", {}, known.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, String(value))])) : null;
  }

  // The clip of a rule with a time, as the change has it; the pictures above are those of the frame that decides.
  film(one) {
    if (one.film.length < 2) return null;
    return make("div.film", { role: "group", "aria-label": "The clip" }, one.film.map((digest, place) => make("img", { src: pictureOf(this.source.run, digest), alt: `frame ${place + 1} of ${one.film.length} of the clip`, loading: "lazy" })));
  }

  // Found in the background while a case is looked at, and given up when another is.
  shrinking(one) {
    // The least change is looked for in single frames.
    if (one.status !== "violated" || one.film.length > 1 || !("rule" in one.parameters)) return null;
    const body = make("div", {}, make("p.small", { role: "status" }, "Soon …")), { signal } = this.looking;
    const box = make("section.least", { "aria-label": "The least change that still fails" }, make("h3", {}, "Least change that fails ", hint("the least change", "A search by halves, in the background: less and less of the change is made (farther away, lighter, fainter) until the model does what the rule asks. Click a step to compare it with the picture before.")), body);
    const begin = async () => {
      try {
        const found = await awaited(`${this.source.here}/least`, ({ said }) => { body.firstChild.textContent = said; }, { body: this.named(one), signal, cancels: true });
        fill(body, filmStrip(found, one, (step) => this.showStep(one, step)));
      } catch (error) {
        if (error.name !== "AbortError") fill(body, make("p.small", {}, worded(error.message)));
      }
    };
    const timer = setTimeout(begin, DWELL);
    signal.addEventListener("abort", () => clearTimeout(timer));
    return box;
  }

  // A step of the film in place of the whole change.
  showStep(one, step) {
    for (const button of this.box.querySelectorAll(".step")) button.setAttribute("aria-pressed", String(Number(button.dataset.amount) === step.amount));
    if (!step.amount) return this.compare(one);
    const part = Math.min(step.answers[0]?.part ?? 1, step.pictures.length - 1), words = `${Math.round(100 * step.amount)}% of the change`;
    const at = (place) => answersAt({ pictures: step.pictures, answers: step.answers }, place);
    const pictures = [part - 1, part].map((place) => ({ src: `/write/pictures/${step.pictures[place]}.png`, name: place === part ? words : "before", boxes: {}, drawn: at(place) }));
    return this.compare(one, { pictures, pair: [0, 1] });
  }

  // Other failures that look alike: at once where that is known already.
  alike() {
    const box = make("section.alike", { "aria-label": "Failures that look alike" }), row = this.row, head = make("h3", {}, "Alike ", hint("alike", "Failures whose scene and change look most alike to the street network, as on the map of kinds; the nearest first."));
    const list = this.listAlike = async () => {
      const line = make("p.small", { role: "status" }, "Looking at the failures …");
      fill(box, head, line);
      try {
        const rows = await this.source.alike(row, (now) => this.told(now));
        if (this.row !== row) return;
        fill(box, head, rows.length ? make("ul.strip.scroll", {}, rows.slice(0, NEIGHBOURS).map((other) => this.neighbour(other))) : make("p.small", {}, "This case is no failure with pictures: nothing is known to be like it."));
      } catch (error) {
        line.textContent = error.message;
      }
    };
    if (this.source.knowsAlike() || this.source.recorded) list();
    else fill(box, head, make("button.quiet.way", { type: "button", onclick: list }, "Find what is alike"));
    return box;
  }

  neighbour(row) {
    const picture = make("img", { alt: "", loading: "lazy" }), told = make("span", {}), button = make("button.step", { type: "button", onclick: () => { this.walked.push(this.row); this.go(row); } }, picture, told);
    this.source.detail(row).then((one) => {
      const after = decidingPair(one, one.pictures).at(-1);
      if (after) picture.src = pictureOf(this.source.run, after);
      button.title = `${one.case} of ${one.requirement}, ${one.system}`;
      told.textContent = [one.system, one.margin === null ? "" : measured(one.margin, one.unit)].filter(Boolean).join(" ");
      button.setAttribute("aria-label", `${told.textContent}: ${one.case} of ${one.requirement}`);
    }).catch(() => {});
    return make("li", {}, button);
  }

  copying(one) {
    const box = make("div.tried", {});
    ask(`${this.source.here}/test`, { cases: [this.named(one)] }).then((test) => {
      if (test.reason) return fill(box, make("p.small", {}, worded(test.reason)));
      const { button, told, shown } = copyButton(test, "Copy as test");
      button.dataset.copy = "";
      return fill(box, button, " ",
        hint("copy as test", "A suite in YAML with this one case: the same frame, change, seed and model. Run with `roadworthy run`, it comes out exactly as here, until the model is fixed."), " ", told, shown);
    }).catch((error) => fill(box, make("p.small", {}, error.message)));
    return box;
  }

  marking(one) {
    const note = make("textarea", { rows: 2, maxlength: 2000, id: "note", placeholder: "Why? (if you like)" });
    note.value = one.note;
    const rater = make("input", { id: "rater", maxlength: 80, placeholder: "your name, if several people mark", autocomplete: "off" });
    rater.value = localStorage.getItem("roadworthy-rater") ?? "";
    const told = make("span.small", { role: "status" });
    const buttons = Object.entries(MARKS).map(([mark, words]) => make("button.quiet.way", { type: "button", "data-mark": mark, onclick: () => save(one.mark === mark ? "" : mark) }, words));
    const show = () => buttons.forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.mark === one.mark)));
    const { row } = this;
    let last = 0;
    // One after the other: a note that is left by a click on a mark is stored before it.
    const save = (mark) => {
      const mine = ++last;
      one.mark = mark;
      one.note = note.value;
      told.textContent = "";
      show();
      const said = { requirement: one.requirement, system: one.system, case: one.case, mark, note: note.value, rater: rater.value.trim() };
      localStorage.setItem("roadworthy-rater", said.rater);
      this.saving = this.saving.then(async () => {
        try {
          await ask(`${this.source.here}/marks`, { marks: [said] });
          // Not before all of it is, and on its own card, whichever case is open by then.
          if (mine === last) told.textContent = "Stored.";
          this.source.changed(row, one);
        } catch (error) {
          told.textContent = "Not stored.";
          alertAbout(error);
        }
      });
    };
    this.save = (mark) => save(one.mark === mark ? "" : mark);
    note.addEventListener("change", () => save(one.mark));
    show();
    return make("fieldset.marking", {}, make("legend", {}, "What is it? ", hint("marks", "Your judgement of this case. It is stored beside the run, in marks.jsonl, with the time and your name if you give one; nothing that was said before is lost. Press again to take it back.")),
      make("div.ways", {}, buttons, told), make("label.small", { for: "note" }, "Note"), note, make("label.small", { for: "rater" }, "Marked by"), rater);
  }

  known(one) {
    const rows = [...Object.entries(one.parameters), ...Object.entries(one.measures)].map(([name, value]) => make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, String(value))));
    return make("details.more", {}, make("summary", {}, "All stored values of this case"), make("div.scroll", {}, make("table", {}, make("tbody", {}, rows))));
  }
}
