// The page Write: what is typed is read while it is typed, tried on a few frames, and run.
import { alertAbout, ask, fill, hint, make } from "/static/page.js";
import { Editor } from "/static/editor.js";
import { JobCard } from "/static/job.js";
import { showPreview } from "/static/preview.js";
import { showChecks } from "/static/checks.js";
import { chains, chooseChains, onChains } from "/static/chains.js";

const $ = (id) => document.getElementById(id);
const PAUSE = 200; // milliseconds without a key before what was typed is read
const CHECK_PAUSE = 700;

let kind = "rules";
let readings = { rules: null, bbsl: null };
const jobCard = new JobCard($("job"));

// ---- reading while typing

function reader(path, shown) {
  let timer, abort, number = 0;
  return (text, pause = PAUSE) => {
    clearTimeout(timer);
    abort?.abort();
    abort = new AbortController();
    const mine = ++number;
    timer = setTimeout(async () => {
      try {
        const answer = await ask(path, { text }, { signal: abort.signal });
        if (mine === number) shown(answer, text);
      } catch (error) {
        if (error.name !== "AbortError" && mine === number) shown({ state: "unread", reason: error.message, code: error.code }, text);
      }
    }, pause);
  };
}

const told = ({ start, stop, gives }) => `“${ruleEditor.text.slice(start, stop)}” ${gives ? `gives: ${gives}` : "gives nothing to the reading"}`;

const readRule = reader("/write/rule", (answer) => {
  readings.rules = answer;
  const bound = (answer.words ?? []).map((one) => ({ ...one, told: told(one) }));
  ruleEditor.show(answer.trouble ? [{ ...answer.trouble, role: "trouble" }] : [...(answer.marks ?? []), ...bound]);
  showRule(answer);
  fitModels();
  ready();
});

const readSpec = reader("/write/spec", (answer, text) => {
  readings.bbsl = answer;
  const troubles = (answer.troubles ?? []).map((one) => ({ ...one, role: "trouble" }));
  specEditor.show([...(answer.marks ?? []), ...troubles]);
  showSpec(answer);
  showFunctions(answer);
  if (answer.state === "read" && !answer.over_time) {
    $("spec-checks").replaceChildren(make("p.state.busy", {}, "Looking for gaps and overlaps …"));
    checkSpec(text, CHECK_PAUSE);
  } else {
    $("spec-checks").replaceChildren();
  }
  ready();
});

const checkSpec = reader("/write/check", (answer) => showChecks($("spec-checks"), answer));

const ruleEditor = new Editor($("rule-editor"), { changed: (text) => { keep("rules", text); readRule(text); } });
const specEditor = new Editor($("spec-editor"), { changed: (text) => { keep("bbsl", text); readSpec(text); } });

function keep(which, text) {
  localStorage.setItem(`roadworthy-draft-${which}`, text);
  readings[which] = null;
  ready();
}

// ---- what was read

function say(box, state, ...words) {
  box.className = `state ${state}`;
  fill(box, ...words);
}

function fixes(trouble, editor) {
  const buttons = trouble.fixes.map((one) => make("button.fix", { type: "button", onclick: () => { editor.text = one.text; editor.field.focus(); } }, one.label));
  const examples = trouble.examples ?? [];
  return [
    buttons.length ? make("p.fixes", {}, "Did you mean ", buttons, "?") : null,
    examples.length ? make("p.small", {}, buttons.length ? "Also understood here: " : "Understood here: ", examples.map((one) => `“${one}”`).join(", ")) : null,
  ];
}

function showRule(answer) {
  const box = $("rule-state"), reading = $("rule-reading");
  reading.replaceChildren();
  if (answer.state === "empty") {
    say(box, "", "Say what changes in the scene and how the vehicle should react. It is parsed as you type.");
    return showExamples(reading, $("rule-examples"), ruleEditor);
  }
  if (answer.state === "unread") return say(box, "bad", answer.reason);
  if (answer.state === "refused") return say(box, "bad", make("p", {}, answer.trouble.reason), ...fixes(answer.trouble, ruleEditor));
  if (answer.state === "untried") say(box, "warn", make("p", {}, "Understood, but nothing here can make this change: ", answer.reason));
  else say(box, "good", "Understood.");
  // First, what the words seem to ask for and is not tested.
  fill(reading, answer.notes.map((note) => make("p.state.warn", { role: "note" }, note)), answer.blocks.map((block, number) =>
    make("dl.reading", {},
      answer.blocks.length > 1 ? make("div.part", {}, `Part ${number + 1}`) : null,
      make("dt", {}, "In every frame"), make("dd.role-object", {}, block.changes.join(" and ")),
      make("dt", {}, "Then"), make("dd.role-outcome", {}, block.expectation),
      make("dt", {}, "Judged by"), make("dd", {}, make("code", {}, block.formula), " ",
        hint("formula", `x1 is what the model answers to ${block.before}, x2 what it answers to the changed picture. Speeds are in m/s, steering in degrees, positive to the right.`)))),
    make("details.more", {}, make("summary", {}, "What each word gave"), make("ul.plain.small", {}, (answer.words ?? []).map((one) => make("li", {}, told(one))))));
}

function showExamples(box, select, editor) {
  const offered = [...select.options].filter((option) => option.value !== "");
  fill(box, make("h2", {}, "Or start from one of these"), make("ul.plain.offered", {}, offered.map((option) =>
    make("li", {}, make("button.offer", { type: "button", onclick: () => { editor.text = option.dataset.text; editor.field.focus(); } },
      make("b", {}, option.textContent), make("span", {}, option.dataset.text))))));
}

function showSpec(answer) {
  const box = $("spec-state");
  if (answer.state === "empty") return say(box, "", "Declare functions that return boxes, then define the cases. It is parsed as you type.");
  if (answer.state === "unread") return say(box, "bad", answer.reason);
  if (answer.state === "refused") {
    return say(box, "bad", ...answer.troubles.slice(0, 5).map((one) =>
      make("div.trouble-line", {}, make("p", {}, make("b", {}, `Line ${one.line}: `), one.reason), ...fixes(one, specEditor))),
      answer.troubles.length > 5 ? make("p.small", {}, `… and ${answer.troubles.length - 5} more`) : null);
  }
  const cases = answer.labels.map((label) => `“${label}”`).join(", ");
  say(box, "good", `Understood: it applies ${answer.applies}, and its cases are ${cases}.`,
    answer.over_time ? " It speaks of several frames, so it is tested over tracks; static checks look at single frames only." : null);
}

// ---- choices

function fitModels() {
  const wanted = readings.rules?.outputs ?? [];
  for (const input of document.querySelectorAll('input[name="model"]')) {
    const known = (input.dataset.outputs ?? "").split(" ").filter(Boolean);
    const missing = known.length ? wanted.filter((one) => !known.includes(one)) : [];
    input.closest(".choice").querySelector(".why").textContent = missing.length ? `does not predict ${missing.join(" and ")}` : "";
    input.dataset.unable = missing.length ? "1" : "";
  }
}

const SOURCES = {
  object: "object under test",
  value: "a value:",
  boxes: "all boxes of:",
  exists: "whether there is a:",
  lead: "the nearest ahead, of:",
  lead_exists: "whether there is one ahead, of:",
  signal: "the recorded signal:",
};
const FITTING = {
  bool: ["object", "exists", "lead_exists", "value"],
  bb: ["object", "lead", "value"],
  setBB: ["boxes", "value"],
  interval: ["value"],
  real: ["signal", "value"],
};
const EXAMPLE_VALUES = { bool: "true", bb: "100, 60, 180, 120", setBB: "vehicle", interval: "100, 160", real: "speed" };
let bindings = {};

function showFunctions(answer) {
  if (answer.state !== "read") return;
  const box = $("functions");
  const active = document.activeElement?.dataset?.function;
  box.replaceChildren(...answer.functions.map((one) => functionRow(one, answer.object)));
  if (active) box.querySelector(`[data-function="${CSS.escape(active)}"]`)?.focus();
  if (!answer.functions.length) box.replaceChildren(make("p.empty", {}, "It has no external functions."));
  showClasses();
}

function functionRow(one, object) {
  const fitting = FITTING[one.type] ?? ["value"];
  const stands = object && (object.function === one.name || object.exists.includes(one.name));
  const binding = (bindings[one.name] ??= { source: stands ? "object" : fitting.find((source) => source !== "object"), value: "" });
  if (!fitting.includes(binding.source)) binding.source = fitting[0];
  const id = `function-${one.name}`;
  const value = make("input", { "data-function": one.name, "aria-label": `Value of ${one.name}`, placeholder: binding.source === "value" ? EXAMPLE_VALUES[one.type] ?? "" : "vehicle", value: binding.value,
    oninput: (event) => { binding.value = event.target.value; ready(); } });
  value.hidden = binding.source === "object";
  const source = make("select", { id, onchange: (event) => { binding.source = event.target.value; value.hidden = binding.source === "object"; value.placeholder = binding.source === "value" ? EXAMPLE_VALUES[one.type] : binding.source === "signal" ? "speed" : "vehicle"; showClasses(); ready(); } },
    fitting.map((each) => make("option", { value: each, selected: each === binding.source }, SOURCES[each])));
  const type = one.parameters.length ? `(${one.parameters.join(", ")}): ${one.type}` : `: ${one.type}`;
  return make("div.function", {}, make("label", { for: id }, make("code", {}, one.name), make("small", {}, type)), source, value);
}

function showClasses() {
  const names = new Set((readings.bbsl?.functions ?? []).map((one) => one.name));
  $("classes-field").hidden = !Object.entries(bindings).some(([name, one]) => names.has(name) && one.source === "object");
}

function chosen(name) {
  return [...document.querySelectorAll(`input[name="${name}"]:checked`)].filter((input) => !input.dataset.unable).map((input) => input.value);
}

function wanted() {
  const shared = {
    kind, data: $("data").value, ...chains(), frames: Number($("frames").value), seed: Number($("seed").value),
    allow: Number($("allow").value) / 100, name: $("name").value.trim(),
  };
  if (kind === "rules") {
    return { ...shared, text: ruleEditor.text, models: chosen("model"), same_steering: Number($("same-steering").value), same_speed: Number($("same-speed").value) / 100 };
  }
  const names = (readings.bbsl?.functions ?? []).map((one) => one.name);
  return { ...shared, text: specEditor.text, models: chosen("detector"), classes: $("classes").value,
    bindings: Object.fromEntries(names.map((name) => [name, bindings[name]])) };
}

// What keeps a run from being started; empty when nothing does.
function obstacle() {
  const reading = readings[kind];
  if (!reading) return "…";
  if (reading.state === "empty") return kind === "rules" ? "Write a rule first." : "Write a specification first.";
  if (reading.state !== "read") return "Fix the marked text first.";
  const ask = wanted();
  if (!ask.models.length) return "Choose a model that predicts what the rule is about.";
  if (!$("choices").checkValidity()) return "A number is out of its range.";
  if (kind === "bbsl") {
    for (const [name, one] of Object.entries(ask.bindings)) if (one.source !== "object" && !one.value.trim()) return `Give ${name} a value.`;
  }
  return "";
}

function ready() {
  const reason = obstacle();
  for (const id of ["preview", "start"]) $(id).setAttribute("aria-disabled", reason ? "true" : "false");
  const box = $("form-state");
  box.className = "state";
  box.textContent = reason === "…" ? "" : reason;
  return !reason;
}

// ---- tabs

function choose(which, focus = false) {
  kind = which;
  for (const one of ["rules", "bbsl"]) {
    const tab = $(`tab-${one}`), selected = one === which;
    tab.setAttribute("aria-selected", selected);
    tab.tabIndex = selected ? 0 : -1;
    $(`panel-${one}`).hidden = !selected;
    $(`models-${one}`).hidden = !selected;
    if (selected && focus) tab.focus();
  }
  $("bindings").hidden = which !== "bbsl";
  for (const one of document.querySelectorAll(".for-rules")) one.hidden = which !== "rules";
  $("previews").hidden = true;
  history.replaceState(null, "", which === "rules" ? "/write" : "/write?kind=bbsl");
  (which === "rules" ? ruleEditor : specEditor).fit();
  ready();
}

for (const which of ["rules", "bbsl"]) {
  $(`tab-${which}`).addEventListener("click", () => choose(which));
  $(`tab-${which}`).addEventListener("keydown", (event) => {
    if (["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) {
      event.preventDefault();
      choose(which === "rules" ? "bbsl" : "rules", true);
    }
  });
}

// ---- actions

for (const [id, editor] of [["rule-examples", ruleEditor], ["spec-examples", specEditor]]) {
  $(id).addEventListener("change", (event) => {
    const option = event.target.selectedOptions[0];
    if (option.value === "") return;
    for (const [name, source, value] of JSON.parse(option.dataset.bindings ?? "[]")) bindings[name] = { source, value };
    if (option.dataset.bindings) $("classes").value = option.dataset.text.includes("pedestrian") ? "pedestrian" : "vehicle";
    editor.text = option.dataset.text;
    event.target.value = "";
    remember();
    editor.field.focus();
  });
}

for (const symbol of ["≈", "⊂", "⊆", "∈", "∪", "∩", "≤", "≥", "∀", "∃"]) {
  $("symbols").append(make("button.symbol", { type: "button", "aria-label": `Insert ${symbol}`, onclick: () => specEditor.insert(symbol) }, symbol));
}

$("preview").addEventListener("click", async () => {
  if (!ready()) return;
  const box = $("previews");
  box.hidden = false;
  box.replaceChildren(make("h2", {}, "Preview"), make("p.state.busy", {}, "Making the pictures …"));
  box.scrollIntoView({ behavior: "smooth", block: "nearest" });
  try {
    showPreview(box, await ask("/write/preview", { ask: wanted(), count: 4 }));
  } catch (error) {
    box.replaceChildren(make("h2", {}, "Preview"), make("p.state.bad", {}, error.message));
    if (error.code) alertAbout(error);
  }
});

// What is chosen is there again when the page is opened again, as what was typed is.
const CHOSEN = "roadworthy-choices";
const boxes = () => [...document.querySelectorAll('#choices input[type="checkbox"]')];
const fields = () => [...document.querySelectorAll('#choices .field > :is(input, select)[id]')];

function remember() {
  const kept = { fields: Object.fromEntries(fields().map((one) => [one.id, one.value])), chains: chains(), bindings };
  for (const name of ["model", "detector"]) kept[name] = boxes().filter((one) => one.name === name && one.checked).map((one) => one.value);
  localStorage.setItem(CHOSEN, JSON.stringify(kept));
}

function recall() {
  let kept;
  try {
    kept = JSON.parse(localStorage.getItem(CHOSEN) ?? "{}");
  } catch {
    kept = {};
  }
  bindings = kept.bindings ?? {};
  for (const one of fields()) {
    const value = kept.fields?.[one.id];
    // Another server may not have the data.
    if (value !== undefined && (!one.options || [...one.options].some((option) => option.value === value))) one.value = value;
  }
  chooseChains(kept.chains ?? {});
  for (const name of ["model", "detector"]) {
    const some = boxes().filter((one) => one.name === name), there = (kept[name] ?? []).filter((value) => some.some((one) => one.value === value && !one.disabled));
    if (there.length) for (const one of some) one.checked = there.includes(one.value);
  }
}

onChains();
for (const kind of ["input", "change"]) $("choices").addEventListener(kind, () => { ready(); remember(); });
$("choices").addEventListener("submit", async (event) => {
  event.preventDefault();
  if (!ready()) return;
  $("start").disabled = true;
  try {
    const job = await ask("/jobs", wanted());
    jobCard.watch(job.id);
    $("job").scrollIntoView({ behavior: "smooth", block: "nearest" });
  } catch (error) {
    alertAbout(error);
  } finally {
    $("start").disabled = false;
  }
});

// Ctrl+Enter previews from wherever one types.
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) $("preview").click();
});

$("rule-text").value = localStorage.getItem("roadworthy-draft-rules") ?? "";
$("spec-text").value = localStorage.getItem("roadworthy-draft-bbsl") ?? "";
recall();
// What was just added is what one wants to try.
const [addedData, addedModel] = ["data", "model"].map((name) => new URLSearchParams(location.search).get(name));
if ([...$("data").options].some((one) => one.value === addedData)) $("data").value = addedData;
if (boxes().some((one) => one.value === addedModel)) for (const one of boxes()) one.checked = one.value === addedModel || (one.name === "detector" && one.checked);
choose(new URLSearchParams(location.search).get("kind") === "bbsl" ? "bbsl" : "rules");
ruleEditor.paint();
specEditor.paint();
readRule(ruleEditor.text, 0);
readSpec(specEditor.text, 0);
