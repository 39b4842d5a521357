// The blind study: a pair of images, two scales from 1 to 7.
import { alertAbout, fill, make } from "/static/page.js";
import { answer, fileOf, over, task, welcome } from "/static/taking.js";

const ENDS = { authenticity: ["pretty unreal", "pretty real"], reasonability: ["pretty unreasonable", "pretty reasonable"] };

function scale(question, words, [low, high], given, changed) {
  const choices = [];
  for (let score = low; score <= high; score++) {
    const input = make("input", { type: "radio", name: question, value: score, checked: score === given, onchange: changed, "aria-label": `${score}${score === low ? `, ${ENDS[question][0]}` : score === high ? `, ${ENDS[question][1]}` : ""}` });
    choices.push(make("label", {}, input, make("span", {}, String(score))));
  }
  return make("fieldset.scale", {}, make("legend", {}, words), make("div.scores", {}, choices), make("div.ends.small", {}, make("span", {}, ENDS[question][0]), make("span", {}, "neutral"), make("span", {}, ENDS[question][1])));
}

welcome((dealt, next) => {
  let place = Math.max(0, dealt.items.findIndex((one) => Object.values(one.given).some((score) => score === null)));
  function show() {
    const one = dealt.items[place];
    const button = make("button", { type: "submit" }, place + 1 < dealt.items.length ? "Next pair" : "Finish");
    const questions = Object.entries(dealt.questions).map(([name, words]) => scale(name, words, dealt.scale, one.given[name], () => ready()));
    const form = make("form.stack", { novalidate: true },
      make("div.head", {}, make("h1", {}, `Pair ${place + 1} of ${dealt.items.length}`), make("progress", { value: place, max: dealt.items.length, "aria-label": "Pairs rated" })),
      make("div.frames", {}, make("figure", {}, make("img", { src: fileOf(one.original), alt: "The original image" }), make("figcaption", {}, "original")), make("figure", {}, make("img", { src: fileOf(one.changed), alt: "The changed image" }), make("figcaption", {}, "changed"))),
      make("div.scroll", {}, make("table.answers", {}, make("thead", {}, make("tr", {}, ["The model answers", "original", "changed"].map((words, number) => make(number ? "th.number" : "th", { scope: "col" }, words)))),
        make("tbody", {}, one.answers.map((said) => make("tr", {}, make("th", { scope: "row" }, `${said.output}, ${said.unit}`), make("td.number", {}, String(said.original)), make("td.number", {}, String(said.changed))))))),
      questions,
      make("div.actions", {}, place ? make("button.quiet", { type: "button", onclick: () => { place--; show(); } }, "Back") : null, button));
    const said = () => Object.fromEntries(Object.keys(dealt.questions).map((name) => [name, Number(new FormData(form).get(name)) || null]));
    const ready = () => button.setAttribute("aria-disabled", String(Object.values(said()).includes(null)));
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const values = said();
      if (Object.values(values).includes(null)) return;
      try {
        await answer(one.id, values);
        one.given = values;
        place++;
        if (place < dealt.items.length) show();
        else over("All pairs of this part are rated.", next);
      } catch (error) {
        alertAbout(error);
      }
    });
    fill(task, form);
    ready();
    form.querySelector("input[type=radio]:checked, input[type=radio]").focus({ preventScroll: true });
    scrollTo(0, 0);
  }
  show();
});
