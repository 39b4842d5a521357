// The worst violations on the page of a run; each leads to the page Look.
import { outlineSwitch } from "/static/change.js";
import { fillCard } from "/static/case.js";
import { make } from "/static/page.js";

const box = document.getElementById("worst");
const run = box.dataset.run, texts = JSON.parse(box.dataset.texts);
const cases = JSON.parse(box.dataset.cases);
for (const one of cases) {
  const card = make("div.tile", { role: "listitem" });
  const query = new URLSearchParams({ requirement: one.requirement, system: one.system, case: one.case });
  fillCard(card, run, one, texts, make("a", { href: `/look/${encodeURIComponent(run)}?${query}` }));
  box.append(card);
}
// Of single pictures nothing can be outlined.
if (cases.some((one) => one.pictures.length > 1)) document.getElementById("worst-switch").append(outlineSwitch());
