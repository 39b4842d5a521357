// The page Suites: the text of a suite and the cards of what is in it, which say the same; checked while it is edited.
import { alertAbout, ask, fill, make, worded } from "/static/page.js";
import { Editor } from "/static/editor.js";
import { JobCard } from "/static/job.js";
import { KINDS, askFor, kindOf, sayingOf } from "/static/entries.js";
import { choosePlace } from "/static/places.js";
import { holeSuite } from "/static/holes.js";
import { painted, spanOf, withEntry, withSection, withoutEntry, written, wrong } from "/static/yaml.js";

const $ = (id) => document.getElementById(id);
const PAUSE = 250, DRAFT = "roadworthy-draft-suite"; // milliseconds
const EMPTY = { state: "empty", troubles: [], said: {}, lines: {}, entries: {} };
const jobCard = new JobCard($("job"));
let read = EMPTY, timer, checking;

const editor = new Editor($("suite-editor"), { changed: (text) => { localStorage.setItem(DRAFT, text); colour(text); check(text, PAUSE); } });

function colour(text, troubles = []) {
  editor.show([...painted(text), ...troubles.map((one) => spanOf(text, one)).filter(Boolean).map((one) => ({ ...one, role: "trouble" }))]);
}

function check(text, pause = 0) {
  clearTimeout(timer);
  checking?.abort();
  checking = new AbortController();
  const { signal } = checking;
  timer = setTimeout(async () => {
    try {
      const answer = await ask("/suites/check", { text }, { signal });
      read = { ...EMPTY, ...answer, text };
      show(text);
    } catch (error) {
      if (error.name === "AbortError") return;
      say("bad", error.message);
      if (error.code) alertAbout(error);
    }
  }, pause);
}

// What is changed by clicking is changed where it stands now, not where it stood before the last key.
async function upToDate() {
  for (let tries = 0; read.text !== editor.text && tries < 200; tries++) await new Promise((done) => setTimeout(done, 50));
}

// Names with what they refer to, whichever way the suite writes them.
function named(given, key) {
  if (typeof given === "string") given = [given];
  if (Array.isArray(given)) return Object.fromEntries(given.map((one) => [String(one), { [key]: String(one) }]));
  return Object.fromEntries(Object.entries(given ?? {}).map(([name, one]) => [name, typeof one === "object" && one ? one : { [key]: String(one) }]));
}

function show(text) {
  colour(text, read.troubles);
  const models = Object.values(named(read.said.models, "model")).map((one) => one.model);
  const data = Object.values(named(read.said.data, "data")).map((one) => one.data);
  for (const one of document.querySelectorAll("#models .pick[data-reference]")) one.setAttribute("aria-pressed", models.includes(one.dataset.reference));
  for (const one of document.querySelectorAll("#data .pick[data-reference]")) one.setAttribute("aria-pressed", data.includes(one.dataset.reference));
  showEntries();
  $("download").href = `data:text/yaml;charset=utf-8,${encodeURIComponent(text)}`;
  $("start").setAttribute("aria-disabled", read.state !== "read");
  if (read.state === "empty") return say("", "Choose models and data, and add a requirement. Or start from an example.");
  if (read.state === "read") return say("good", `Understood: ${many(Object.keys(read.entries).length, "requirement")}, ${many(models.length, "model")}.`);
  say("bad", ...read.troubles.map((one) => trouble(text, one)));
}

const many = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

function say(state, ...words) {
  $("suite-state").className = `state ${state}`;
  fill($("suite-state"), ...words);
}

function placeOf(text, start) {
  const lines = text.slice(0, start).split("\n");
  return `${lines.length}:${[...lines.at(-1)].length + 1}`;
}

function trouble(text, one) {
  const span = spanOf(text, one), meant = /did you mean '([^']+)'/.exec(one.message)?.[1];
  const go = () => { editor.field.focus(); editor.field.setSelectionRange(span.start, span.stop); };
  const told = [span ? make("b", {}, placeOf(text, span.start)) : null, worded(wrong(one))].flat().filter(Boolean);
  const fix = span && meant ? make("button.fix", { type: "button", onclick: () => { editor.text = text.slice(0, span.start) + text.slice(span.start, span.stop).replace(/[^\s'"]+$/, meant) + text.slice(span.stop); } }, meant) : null;
  return make("div", {}, span ? make("button.trouble", { type: "button", onclick: go }, ...told) : make("p", {}, ...told), fix);
}

function showEntries() {
  const said = read.said.requirements && typeof read.said.requirements === "object" ? read.said.requirements : {};
  const starts = Object.entries(read.entries).sort((one, other) => one[1] - other[1]);
  fill($("entries"), starts.length ? starts.map(([id, line], at) => {
    const entry = said[id], next = starts[at + 1]?.[1] ?? Infinity;
    const why = read.troubles.find((one) => one.line >= line && one.line < next);
    return make(`div.entry${why ? ".wrong" : ""}`, { role: "listitem", "data-kind": kindOf(entry) },
      make("p", {}, make("b", {}, id), " ", make("small", {}, KINDS[kindOf(entry)]?.title ?? "")),
      make("div", {}, make("button.quiet", { type: "button", "aria-label": `Edit ${id} in the text`, onclick: () => goTo(line) }, "Edit"), " ",
        make("button.quiet", { type: "button", "aria-label": `Remove ${id}`, onclick: () => upToDate().then(() => change(withoutEntry(editor.text, read, id))) }, "Remove")),
      make("p.say", {}, sayingOf(entry)), why ? make("p.why", {}, worded(wrong(why))) : null);
  }) : make("p.empty", { role: "listitem" }, "None yet: choose a kind below."));
}

function goTo(line) {
  const { start } = spanOf(editor.text, { line, column: 0, width: 0 });
  editor.field.focus();
  editor.field.setSelectionRange(start, start + (editor.text.split("\n")[line - 1] ?? "").length);
  $("suite-editor").scrollIntoView({ block: "nearest" });
}

function change(text) {
  if (text === null) return alertAbout(new Error("Write each requirement on lines of its own to change them by clicking; the text can be edited as it is."));
  editor.text = text;
  check(text);
}

for (const [key, inner] of [["models", "model"], ["data", "data"]]) {
  for (const one of document.querySelectorAll(`#${key} .pick[data-reference]`)) {
    one.addEventListener("click", async () => {
      await upToDate();
      const { name, reference } = one.dataset, all = named(read.said[key], inner);
      const there = Object.keys(all).find((id) => all[id][inner] === reference);
      if (there) delete all[there];
      else all[name in all ? `${name}-2` : name] = key === "data" ? { data: reference, sample: Number($("sample").value) } : { model: reference };
      const short = key === "models" && Object.entries(all).every(([id, { model, ...rest }]) => id === model && !Object.keys(rest).length);
      const single = Object.fromEntries(Object.entries(all).map(([id, { model, ...rest }]) => [id, key === "models" && !Object.keys(rest).length ? model : all[id]]));
      change(withSection(editor.text, read, key, short ? Object.keys(all) : single));
    });
  }
}

$("sample").addEventListener("change", async () => {
  await upToDate();
  const all = named(read.said.data, "data");
  if (!Object.keys(all).length || !$("sample").checkValidity()) return;
  for (const one of Object.values(all)) if (!one.frames) one.sample = Number($("sample").value);
  change(withSection(editor.text, read, "data", all));
});

function free(id) {
  let name = id;
  for (let number = 2; name in read.entries; number++) name = `${id}-${number}`;
  return name;
}

fill($("kinds"), Object.entries(KINDS).map(([kind, { title, about, cost }]) =>
  make("button.kind", { type: "button", "data-kind": kind, onclick: async () => {
    const made = await askFor(kind, $("asking"));
    await upToDate();
    if (made) change(withEntry(editor.text, read, free(made.id), made.entry));
  } }, make("b", {}, title), make("small", {}, about), make("small.cost", {}, cost))));

$("start").addEventListener("click", async () => {
  if (read.state !== "read") return;
  $("start").disabled = true;
  try {
    const job = await ask("/suites/start", { text: editor.text });
    jobCard.watch(job.id);
    $("job").scrollIntoView({ behavior: "smooth", block: "nearest" });
  } catch (error) {
    alertAbout(error);
  } finally {
    $("start").disabled = false;
  }
});

$("suite-examples").addEventListener("change", (event) => {
  const text = event.target.selectedOptions[0].dataset.text;
  event.target.value = "";
  if (text) change(text);
});
$("open")?.addEventListener("click", async () => {
  const path = await choosePlace($("asking"), "Open a suite", (found) => found.suites);
  if (path) await opened(ask("/suites/open", { path }));
});

async function opened(answer) {
  try {
    change((await answer).text);
  } catch (error) {
    alertAbout(error);
  }
}

// A suite names files that the run has kept: here their rules and specifications stand in it, for the page opens none.
async function unfolded(run) {
  await upToDate();
  const files = Object.entries(read.said.requirements ?? {}).filter(([, one]) => one?.rules || /\.bbsl$/.test(one?.bbsl ?? ""));
  if (!files.length || files.some(([id]) => !(id in read.entries))) return;
  const place = `/runs/${encodeURIComponent(run)}/files/suite-files/`, { requirements } = await ask(`/look/${encodeURIComponent(run)}/table`);
  for (const [id, { rules, only, bbsl, ...rest }] of files) {
    const own = Object.entries(requirements).filter(([name]) => name.startsWith(`${id}/`)), answer = bbsl ? await fetch(place + bbsl) : null;
    const made = bbsl ? (answer.ok ? [[id, { bbsl: await answer.text(), ...rest }]] : []) : own.map(([name, { text }]) => [name.replaceAll("/", "-"), { rule: text, ...rest }]);
    if (!made.length) continue;
    change(withoutEntry(editor.text, read, id));
    for (const [name, entry] of made) {
      await upToDate();
      change(withEntry(editor.text, read, name, entry));
    }
    await upToDate();
  }
}

// What to begin with for a model or data that was just added: what often goes wrong.
function starterFor(references) {
  const picked = (key) => [...document.querySelectorAll(`#${key} .pick[data-reference]`)].filter((one) => references.includes(one.dataset.reference));
  const models = picked("models"), data = picked("data"), first = (key) => document.querySelector(`#${key} .pick[data-reference]`);
  if (!models.length) models.push(first("models"));
  if (!data.length) data.push(first("data"));
  const drives = models.some((one) => ["", "regression", "path"].includes(one.dataset.task));
  const names = (some, inner) => Object.fromEntries(some.map(({ dataset }) => [dataset.name, inner(dataset.reference)]));
  const lines = [`suite: ${written([...models, ...data].map((one) => one.dataset.name).join(" on "))}`, `models: ${written(names(models, (one) => one))}`,
    `data: ${written(names(data, (one) => ({ data: one, sample: 60 })))}`, "defaults: {accept: 5%}", "requirements:",
    ...(drives ? [
      "  pedestrian: If a pedestrian appears on the roadside, then the ego-vehicle should slow down at least 30%.",
      "  lines: If lane lines are removed from the road, then the steering angle of ego-vehicle should keep the same.",
      "  fog: If it becomes foggy, then the ego-vehicle should slow down at least 20%.",
      "  rain: If it rains heavily, then the ego-vehicle should slow down at least 20%."] : [
      "  steady: {reliability: [brightness, defocus-blur, frost, jpeg], preserve: prediction}"])];
  return `${lines.join("\n")}\n`;
}

const wanted = new URLSearchParams(location.search);
if (wanted.has("run")) {
  await opened(fetch(`/runs/${encodeURIComponent(wanted.get("run"))}/files/suite.yaml`).then(async (answer) => {
    if (!answer.ok) throw new Error("This run has no suite that could be shown.");
    return { text: await answer.text() };
  }));
  await unfolded(wanted.get("run")).catch(alertAbout);
} else if (wanted.has("hole")) {
  change(holeSuite(wanted));
} else if (wanted.has("made")) {
  change(sessionStorage.getItem("roadworthy-made-suite") ?? "");
} else if (wanted.has("with")) {
  change(starterFor(wanted.getAll("with")));
} else {
  $("suite-text").value = localStorage.getItem(DRAFT) ?? "";
  colour(editor.text);
  check(editor.text);
}
