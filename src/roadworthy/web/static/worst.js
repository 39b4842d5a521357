// The worst violations on the page of a run; each leads to the page Look.
import { fillCard } from "/static/case.js";
import { make } from "/static/page.js";

const box = document.getElementById("worst");
const run = box.dataset.run, texts = JSON.parse(box.dataset.texts);
for (const one of JSON.parse(box.dataset.cases)) {
  const card = make("article.tile", { role: "listitem" });
  const query = new URLSearchParams({ requirement: one.requirement, system: one.system, case: one.case });
  fillCard(card, run, one, texts, make("a", { href: `/look/${encodeURIComponent(run)}?${query}` }));
  box.append(card);
}
