// The kinds of requirements that a suite can have: what each is, what is asked for one, and what its entry says.
import { ask, fill, make } from "/static/page.js";
import { Editor } from "/static/editor.js";

const CHANGES = ["brightness", "contrast", "defocus-blur", "frost", "gaussian-noise", "jpeg", "colour-jitter", "rgb-shift"];
const CRITERIA = ["neuron", "top-k", "k-multisection", "boundary", "lsa", "0.7*neuron + 0.3*top-k"];
const SPEC = "exfunction\n  vehicle(): bb\n  near(): interval\nendexfunction\n\ncase stop\n  PROJ_y(vehicle()) ≈ near() or PROJ_y(vehicle()) < near()\nendcase\n\ncase go\n  PROJ_y(vehicle()) > near()\nendcase\n";

export const KINDS = {
  rule: { title: "Rule", about: "If this changes in the scene, then the car should …", cost: "1 case a frame" },
  reliability: { title: "Reliability", about: "What people still see, the model must still see", cost: "4 cases a frame" },
  coverage: { title: "Coverage search", about: "Images that make the network do something new", cost: "1 case a try" },
  bbsl: { title: "Specification", about: "Cases over bounding boxes, in BBSL", cost: "1 case an object" },
  driving: { title: "Driving", about: "Thresholds of driving quality, in the simulator", cost: "1 drive a model" },
};

export function kindOf(entry) {
  if (typeof entry === "string") return entry.endsWith(".rules") ? "rules" : entry.endsWith(".bbsl") ? "bbsl" : "rule";
  return ["rule", "rules", "coverage", "reliability", "bbsl", "driving"].find((key) => entry && key in entry) ?? "";
}

export function sayingOf(entry) {
  if (typeof entry === "string") return entry;
  const kind = kindOf(entry), { accept, models } = entry ?? {};
  const inner = { rule: () => entry.rule, rules: () => `rules of ${entry.rules}`, bbsl: () => entry.text ?? String(entry.bbsl).match(/case \w+/g)?.join(", ") ?? "",
    reliability: () => [].concat(entry.reliability).join(", "), coverage: () => `${entry.coverage}, ${entry.tries ?? 500} tries`,
    driving: () => Object.entries(entry.driving ?? {}).map(([name, most]) => `${name} ≤ ${most}`).join(", ") || "no crash, no line crossed" }[kind]?.() ?? "";
  return [inner, accept ? `at most ${typeof accept === "object" ? accept.rate : accept} may fail` : "", models ? `for ${[].concat(models).join(", ")}` : ""].filter(Boolean).join(" · ");
}

const field = (id, label, control) => make("div.field", {}, make("label", { for: id }, label), control);
const select = (id, values, chosen) => make("select", { id }, values.map((one) => make("option", { selected: one === chosen }, one)));
const number = (id, value, attributes) => make("input", { id, type: "number", value, required: true, ...attributes });
const percent = () => field("ask-accept", "May fail, %", number("ask-accept", 0, { min: 0, max: 99, step: "any" }));
const accepted = (box) => { const most = Number(box.querySelector("#ask-accept").value); return most ? { accept: `${most}%` } : {}; };

function written(box, path, text, shown) {
  const state = make("div.state", { "aria-live": "polite" });
  const area = make("textarea", { id: "ask-text", rows: 4, spellcheck: "false", "aria-label": "What must hold" });
  const holder = make(`div.editor${path.endsWith("spec") ? ".mono" : ""}`, {}, make("div.paint", { "aria-hidden": "true" }), area);
  let timer, last = null;
  const editor = new Editor(holder, { changed: () => { clearTimeout(timer); last = null; timer = setTimeout(read, 200); } });
  async function read() {
    const typed = editor.text;
    try {
      const answer = await ask(path, { text: typed });
      if (typed !== editor.text) return;
      last = answer;
      const troubles = answer.troubles ?? (answer.trouble ? [answer.trouble] : []);
      editor.show([...(answer.marks ?? []), ...troubles.map((one) => ({ ...one, role: "trouble" }))]);
      const good = answer.state === "read";
      state.className = `state ${good ? "good" : answer.state === "empty" ? "" : "bad"}`;
      const fixes = troubles.flatMap((one) => one.fixes.map((fix) => make("button.fix", { type: "button", onclick: () => { editor.text = fix.text; } }, fix.label)));
      fill(state, good ? shown(answer) : troubles[0]?.reason ?? answer.reason ?? "Write what must hold.", fixes.length ? " Did you mean " : null, ...fixes);
    } catch (error) {
      fill(state, error.message);
    }
  }
  box.append(holder, state);
  editor.text = text;
  // Only what is understood can be added.
  return { editor, now: () => (last?.state === "read" ? last : null) };
}

const FORMS = {
  rule(box) {
    const examples = make("select", { "aria-label": "An example", onchange: (event) => { if (event.target.value) editor.text = event.target.value; } },
      make("option", { value: "" }, "an example …"), document.getElementById("rule-examples").content.cloneNode(true));
    box.append(examples);
    const { editor, now } = written(box, "/write/rule", "", (answer) => `Understood: ${answer.blocks.map((one) => one.expectation).join("; ")}.`);
    box.append(percent());
    return () => now() && ({ id: "rule", entry: { rule: editor.text.replace(/\s+/g, " ").trim(), ...accepted(box) } });
  },
  reliability(box) {
    box.append(make("fieldset", {}, make("legend", {}, "What changes the images"), make("div.boxes", {}, CHANGES.map((one) => make("label.choice", {}, make("input", { type: "checkbox", value: one, checked: one === "brightness" }), make("span", {}, one))))),
      make("div.fields", {}, field("ask-preserve", "What must stay", select("ask-preserve", ["both", "correctness", "prediction"], "prediction")), field("ask-versions", "Versions of each frame", number("ask-versions", 4, { min: 1, max: 100 }))));
    return () => {
      const chosen = [...box.querySelectorAll("input:checked")].map((one) => one.value);
      return { id: chosen.length === 1 ? chosen[0] : "changes", entry: { reliability: chosen.length === 1 ? chosen[0] : chosen, preserve: box.querySelector("#ask-preserve").value, versions: Number(box.querySelector("#ask-versions").value) } };
    };
  },
  coverage(box) {
    box.append(make("div.fields", {}, field("ask-criterion", "What counts as new", select("ask-criterion", CRITERIA, "neuron")), field("ask-tries", "Tries", number("ask-tries", 200, { min: 1, max: 10000 })),
      field("ask-transforms", "Changes", select("ask-transforms", ["simple", "composite", "deeptest"], "simple"))));
    return () => ({ id: "search", entry: { coverage: box.querySelector("#ask-criterion").value, tries: Number(box.querySelector("#ask-tries").value), transforms: box.querySelector("#ask-transforms").value } });
  },
  bbsl(box) {
    const spec = written(box, "/write/spec", SPEC, (answer) => `Understood: its cases are ${answer.labels.join(", ")}.`);
    box.append(make("div.fields", {}, field("ask-classes", "Objects under test", make("input", { id: "ask-classes", value: "vehicle" })), field("ask-near", "Intervals, in image rows", make("input", { id: "ask-near", value: "100, 160" })), percent()));
    return () => {
      const found = spec.now(), functions = found?.functions ?? [];
      if (!found) return null;
      const tied = [found.object?.function, ...(found.object?.exists ?? [])];
      const values = Object.fromEntries(functions.filter((one) => !tied.includes(one.name)).map((one) => [one.name,
        { interval: box.querySelector("#ask-near").value.split(",").map(Number), bool: true, real: 0, setBB: { boxes: "vehicle" }, bb: { lead: "vehicle" } }[one.type]]));
      const classes = box.querySelector("#ask-classes").value.split(",").map((one) => one.trim());
      return { id: "specification", entry: { bbsl: spec.editor.text, ...(Object.keys(values).length ? { values } : {}), ...(found.object ? { object: found.object.function, classes: classes.length === 1 ? classes[0] : classes } : {}), ...accepted(box) } };
    };
  },
  driving(box) {
    box.append(make("div.fields", {}, field("ask-road", "Road", select("ask-road", ["world:meadow", "world:town", "world:mountain"], "world:meadow")), field("ask-metres", "Metres", number("ask-metres", 400, { min: 50, max: 20000 })),
      field("ask-lateral", "Standard deviation in the lane, m", number("ask-lateral", 0.6, { min: 0.01, max: 10, step: "any" })), field("ask-steering", "Most steering, °", number("ask-steering", 20, { min: 1, max: 90, step: "any" }))));
    const value = (id) => Number(box.querySelector(id).value);
    return () => ({ id: "lane", entry: { driving: { "SD(LP)": value("#ask-lateral"), "Max(SA)": value("#ask-steering") }, simulator: box.querySelector("#ask-road").value, metres: value("#ask-metres") } });
  },
};

// Asks for a requirement of a kind; resolves to its id and entry, or to null.
export function askFor(kind, dialog) {
  const box = make("div.stack"), { title, about } = KINDS[kind];
  return new Promise((resolve) => {
    const form = make("form", { method: "dialog", novalidate: true, onsubmit: (event) => {
      event.preventDefault();
      const entry = form.reportValidity() && made();
      if (!entry) return;
      resolve(entry);
      dialog.close();
    } }, make("h2", { id: "asking-title" }, title), make("p.small", {}, about), box,
      make("div.actions", {}, make("button", { type: "submit" }, "Add"), make("button.quiet", { type: "button", onclick: () => dialog.close() }, "Cancel")));
    dialog.replaceChildren(form);
    dialog.addEventListener("close", () => resolve(null), { once: true });
    dialog.showModal();
    const made = FORMS[kind](box);
    box.querySelector("textarea, input, select")?.focus();
  });
}
