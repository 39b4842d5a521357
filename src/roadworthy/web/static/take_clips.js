// Clips of drives, rated from 1 to 5.
import { alertAbout, fill, make } from "/static/page.js";
import { answer, fileOf, over, task, welcome } from "/static/taking.js";

function film(path, label) {
  if (path.endsWith(".gif")) return make("img.film", { src: fileOf(path), alt: label });
  return make("video.film", { src: fileOf(path), controls: true, autoplay: true, playsinline: true, preload: "auto", "aria-label": label });
}

welcome((dealt) => {
  let place = dealt.items.findIndex((one) => one.given === null);
  if (place < 0) { over("You have rated all clips of your questionnaire."); return; }
  function example() {
    const begin = make("button", { type: "button", onclick: show }, "Begin to rate");
    fill(task, make("h1", {}, "This is what a clip looks like"), film(dealt.reference, "An example, which is not rated"), make("div.actions", {}, begin));
    begin.focus();
  }
  function show() {
    const one = dealt.items[place];
    const moving = film(one.file, `Clip ${place + 1}`);
    const button = make("button", { type: "submit" }, place + 1 < dealt.items.length ? "Next clip" : "Finish");
    let watched = moving.tagName !== "VIDEO";
    const note = make("p.small", { role: "status" }, watched ? "" : "Watch the clip to its end, then answer.");
    const choices = dealt.scale.map(({ score, label }) => make("label", {}, make("input", { type: "radio", name: "score", value: score, checked: score === one.given, onchange: () => ready() }), make("span", {}, String(score), make("small", {}, label))));
    const form = make("form.stack", { novalidate: true },
      make("div.head", {}, make("h1", {}, `Clip ${place + 1} of ${dealt.items.length}`), make("progress", { value: place, max: dealt.items.length, "aria-label": "Clips rated" })),
      moving, note, make("fieldset.scale", {}, make("legend", {}, dealt.question), make("div.scores.labelled", {}, choices)), make("div.actions", {}, button));
    const score = () => Number(new FormData(form).get("score")) || null;
    const ready = () => button.setAttribute("aria-disabled", String(!watched || score() === null));
    const seen = () => { watched = true; note.textContent = ""; ready(); };
    moving.addEventListener("ended", seen);
    moving.addEventListener("error", () => { seen(); note.textContent = "This browser cannot show the clip. Plan the study with --clip-format webm."; });
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (!watched || score() === null) return;
      try {
        await answer(one.id, { score: score() });
        one.given = score();
        place = dealt.items.findIndex((other) => other.given === null);
        if (place < 0) over("You have rated all clips of your questionnaire.");
        else show();
      } catch (error) {
        alertAbout(error);
      }
    });
    fill(task, form);
    ready();
    scrollTo(0, 0);
  }
  if (dealt.reference && dealt.items.every((one) => one.given === null)) example();
  else show();
});
