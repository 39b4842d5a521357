// What static checks found out about a specification, with witnesses.
import { chip, fill, hint, make } from "/static/page.js";
import { witnessPicture } from "/static/witness.js";

const MEANING = {
  exhaustive: "Every input is in a case: the vehicle always knows what to do.",
  exclusionary: "No input is in two cases: the vehicle never gets two orders at once.",
  "non-redundant": "Every case can occur: none is superfluous.",
};
const SAID = { proved: "proved", refuted: "refuted", "none up to n": "no counter-example found", unknown: "unknown" };

export function showChecks(box, answer) {
  if (answer.state !== "checked") {
    box.replaceChildren(make("p.state.warn", {}, answer.reason));
    return;
  }
  if (answer.vacuous) {
    box.replaceChildren(make("p.state.bad", {}, "The precondition can never hold, so the specification says nothing."));
    return;
  }
  const properties = answer.properties.map((one) =>
    make("li", {}, chip(one.ok ? "passed" : one.status === "unknown" ? "open" : "violated", SAID[one.status]), " ", one.name, " ", hint(one.name, MEANING[one.name])));
  const against = answer.findings.filter((one) => !one.ok);
  const shown = (against.length ? against : answer.findings.filter((one) => one.witness)).slice(0, 6);
  fill(box,
    make("h2", {}, "Static checks ", hint("static checks", "z3 looks at all boxes there could be, not only at those of some data. What it proves holds for every input; what it refutes it shows by a witness, which was evaluated again to be sure.")),
    make("ul.plain.properties", {}, properties),
    shown.length ? make("h3", {}, against.length ? "Counter-examples" : "An example of each case") : null,
    make("div.witnesses", {}, shown.map((one) =>
      make("figure", {}, one.witness ? witnessPicture(one.witness, one.sentence) : null,
        make("figcaption", {}, one.sentence,
          one.witness ? make("small", {}, one.witness.cases.length ? ` · here: ${one.witness.cases.join(", ")}` : " · here: no case") : "",
          one.witness?.notes.length ? make("small", {}, ` · ${one.witness.notes.join(", ")}`) : "")))));
}
