// One case closely: two pictures compared in four ways, everything that is known, and what people say of it.
import { alertAbout, ask, fill, hint, make, worded } from "/static/page.js";
import { outline, outlineSwitch } from "/static/change.js";
import { answersOf, boxesOver, decidingPair, headingOf, measured, number, numbersOf, pictureOf, requirementOf, UNITS } from "/static/case.js";

const WAYS = { beside: "Side by side", slider: "Slider", flicker: "Flicker", difference: "Difference" };
const MARKS = { fault: "True fault", "false alarm": "False alarm", unsure: "Unsure" };
const FLICKER = 600; // milliseconds

export class CaseDialog {
  constructor(box, source) {
    this.box = box;
    this.source = source;
    this.way = "beside";
    this.place = NaN; // of a case that is not among those chosen, nobody knows it
    this.timer = 0;
    this.saving = Promise.resolve();
    box.addEventListener("close", () => {
      clearInterval(this.timer);
      source.closed(this.place);
    });
    box.addEventListener("click", (event) => { if (event.target === box) box.close(); });
    box.addEventListener("keydown", (event) => {
      if (event.target.matches("input, textarea, select")) return;
      if (event.key === "ArrowLeft") this.show(this.place - 1);
      else if (event.key === "ArrowRight") this.show(this.place + 1);
    });
  }

  async show(place) {
    if (!(place >= 0 && place < this.source.size())) return;
    // At once: whoever presses a key three times goes on by three.
    this.place = place;
    try {
      const one = await this.source.case(place);
      if (this.place === place) this.open(one);
    } catch (error) {
      alertAbout(error);
    }
  }

  open(one) {
    const held = this.box.contains(document.activeElement) ? document.activeElement.dataset.step : null;
    this.draw(one);
    if (!this.box.open) this.box.showModal();
    // What was pressed is another button now. Without the focus in the dialog, keys would lead nowhere.
    (this.box.querySelector(`[data-step="${held}"]`) ?? this.box.querySelector("h2")).focus();
    this.source.opened(one);
  }

  draw(one) {
    const step = (by, words) => make("button.quiet", { type: "button", "data-step": by, "aria-disabled": String(!(this.place + by >= 0 && this.place + by < this.source.size())), onclick: () => this.show(this.place + by) }, words);
    const stage = make("div.stage", {});
    const several = one.pictures.length > 1;
    const ways = several ? make("div.ways", { role: "group", "aria-label": "How to compare" }, Object.entries(WAYS).map(([way, words]) =>
      make("button.quiet.way", { type: "button", "data-way": way, "aria-pressed": String(way === this.way), onclick: () => { this.way = way; this.draw(one); this.box.querySelector(`[data-way="${way}"]`).focus(); } }, words)), outlineSwitch()) : null;
    fill(this.box,
      make("div.head", {}, make("h2", { id: "case-title", tabindex: -1 }, one.case), make("div.actions", {}, step(-1, "Previous"), step(1, "Next"), make("button", { type: "button", onclick: () => this.box.close() }, "Close"))),
      headingOf(one, { named: false }), requirementOf(one, this.source.texts, "p.asked"),
      ways, stage, this.film(one), answersOf(one), numbersOf(one, { explained: true }),
      [...one.lines, one.reason].filter(Boolean).map((line) => make("p", {}, line)),
      this.shrinking(one), this.copying(one), this.marking(one), this.known(one));
    this.compare(stage, one);
  }

  // The clip of a rule with a time, as the change has it; the pictures above are those of the frame that decides.
  film(one) {
    if (one.film.length < 2) return null;
    return make("div.film", { role: "group", "aria-label": "The clip" }, one.film.map((digest, place) => make("img", { src: pictureOf(this.source.run, digest), alt: `frame ${place + 1} of ${one.film.length} of the clip`, loading: "lazy" })));
  }

  compare(stage, one) {
    clearInterval(this.timer);
    const names = one.pictures.map((_, place) => (one.pictures.length === 1 ? "frame" : place === 0 ? "before" : one.pictures.length === 2 ? "after" : `after part ${place}`));
    const images = one.pictures.map((digest, place) => make("img", { src: pictureOf(this.source.run, digest), alt: names[place] }));
    if (!images.length) return fill(stage, make("p.empty", {}, "No pictures were stored for this case: runs store those of failures, or all with --images all."));
    if (images.length === 1 || this.way === "beside") {
      fill(stage, make("div.frames", {}, images.map((image, place) => make("figure", {}, make("div.boxed", {}, image, boxesOver(image, one.boxes, one.overlays[place])),
        images.length > 1 ? make("figcaption", {}, names[place]) : null))));
      return outline(images, { everywhere: () => stage.append(make("p.small.changed", {}, "Most of the picture changed, so nothing is outlined.")) });
    }
    const [under, over] = decidingPair(one, images);
    over.classList.add("over");
    fill(stage, make("div.layers", {}, under, over));
    // The difference itself shows where it is.
    if (this.way !== "difference") outline([under, over]);
    if (this.way === "difference") {
      stage.firstChild.classList.add("difference");
      stage.append(make("p.small", {}, "Black where nothing changed; brightened so that small changes show."));
    } else if (this.way === "slider") {
      const move = (event) => { over.style.clipPath = `inset(0 0 0 ${event.target.value}%)`; };
      const slider = make("input", { type: "range", min: 0, max: 100, value: 50, "aria-label": "How much of the picture before is shown", oninput: move });
      move({ target: slider });
      stage.append(slider);
    } else {
      this.timer = setInterval(() => { over.style.visibility = over.style.visibility === "hidden" ? "" : "hidden"; }, FLICKER);
    }
  }

  shrinking(one) {
    // The least change is looked for in single frames.
    if (!this.source.shrinks || one.status !== "violated" || one.film.length > 1) return null;
    const box = make("div.least", {});
    const button = make("button.quiet.way", { type: "button", onclick: async () => {
      fill(box, make("p.state.busy", {}, "Trying less and less of the change …"));
      try {
        const found = await ask(`/look/${encodeURIComponent(this.source.run)}/least`, { requirement: one.requirement, system: one.system, case: one.case });
        const answers = Object.entries(found.answers).map(([output, values]) => `${output} ${values.map((value) => number(value)).join(" → ")}${UNITS[output] ?? ""}`);
        fill(box, make("p", {}, found.amount >= 1 ? "No smaller change fails." : `${Math.round(100 * found.amount)}% of the change is enough: `, make("code", {}, found.changes.join("; "))),
          make("div.frames", {}, found.pictures.map((digest, place) => make("figure", {}, make("div.boxed", {}, make("img", { src: `/write/pictures/${digest}.png`, alt: place ? "after the least change" : "before" })), make("figcaption", {}, place ? "after the least change" : "before")))),
          make("p.small", {}, `${answers.join(", ")}, margin ${measured(found.margin, one.unit)}`));
        outline([...box.querySelectorAll("img")]);
      } catch (error) {
        fill(box, make("p.state.bad", {}, error.message));
      }
    } }, "Find the least change that still fails");
    return make("div.tried", {}, button, " ", hint("the least change", "A search by halves: less and less of the change is made (farther away, lighter, fainter) until the model does what the rule asks. What is left shows best what the model cannot do."), box);
  }

  copying(one) {
    const box = make("div.tried", {});
    const query = new URLSearchParams({ requirement: one.requirement, system: one.system, case: one.case });
    ask(`/look/${encodeURIComponent(this.source.run)}/test?${query}`).then((test) => {
      if (test.reason) return fill(box, make("p.small", {}, worded(test.reason)));
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
      return fill(box, make("button.quiet.way", { type: "button", onclick: copy }, "Copy as test"), " ",
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
    const place = this.place;
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
          await ask(`/look/${encodeURIComponent(this.source.run)}/marks`, said);
          // Not before all of it is, and on its own card, whichever case is open by then.
          if (mine === last) told.textContent = "Stored.";
          this.source.changed(place, one);
        } catch (error) {
          told.textContent = "Not stored.";
          alertAbout(error);
        }
      });
    };
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
