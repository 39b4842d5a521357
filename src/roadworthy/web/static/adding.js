// Models and data that are added on the page: a file that is dropped, or a path below the server's folders.
import { alertAbout, ask, fill, make } from "/static/page.js";
import { choosePlace } from "/static/places.js";

const box = document.getElementById("adding"), list = document.getElementById("added"), state = document.getElementById("adding-state"), drop = document.getElementById("drop");
const token = document.querySelector('meta[name="csrf-token"]').content, ENDINGS = drop.dataset.endings.split(" ");
const at = (name, rest) => `/added/${encodeURIComponent(name)}/${rest}`;

let known = [];

function say(kind, ...words) {
  state.className = `state ${kind}`;
  fill(state, ...words);
}

async function show(items) {
  try {
    items ??= (await ask("/added")).items;
  } catch (error) {
    return alertAbout(error);
  }
  known = items;
  fill(list, items.map((one) => card(one)));
}

// A suite for it, with the model or the data that was added beside it.
function suiteOf(one) {
  const other = known.findLast(({ kind, ready }) => ready && kind !== one.kind);
  return `/suites?${new URLSearchParams([one, other].filter(Boolean).map(({ reference }) => ["with", reference]))}`;
}

function card(one) {
  const { about } = one, link = one.kind === "data" ? `/write?data=${encodeURIComponent(one.reference)}` : `/write?model=${encodeURIComponent(one.reference)}`;
  return make("div.added", { "data-name": one.name, role: "listitem" },
    one.ready ? make("img", { src: at(one.name, "seen.jpg"), alt: one.kind === "data" ? "Some of its frames" : "What it answers to some frames", loading: "lazy" }) : null,
    make("div", {}, make("h3", {}, one.name, " ", make("small", {}, one.kind === "data" ? "data" : "model")),
      make("p.small", {}, one.ready ? one.summary : "Nobody has said yet what its numbers mean.", about.recognised ? ` · ${about.recognised}` : ""),
      about.input ? make("p.small", {}, `${typeof about.input === "string" ? about.input : ""} ${(about.outputs ?? []).join(", ")}`) : null,
      (about.notes ?? []).map((note) => make("p.small.note", {}, note)),
      one.ready ? null : describing(one),
      make("div.actions", {}, one.ready ? make("a.button", { href: suiteOf(one) }, "Test it") : null, one.ready ? make("a.button.quiet", { href: link }, "Write a rule") : null,
        make("button.quiet", { type: "button", "aria-label": `Remove ${one.name}`, onclick: () => removed(one.name) }, "Remove"))));
}

async function removed(name) {
  try {
    await show((await ask(at(name, "remove"), {})).items);
    say("", `${name} is removed.`);
  } catch (error) {
    alertAbout(error);
  }
}

// ---- what a file does not say of itself

const TASKS = { regression: "steers or drives: numbers such as steering and speed", classification: "says what an image shows", detection: "finds objects", segmentation: "says what each pixel shows", depth: "says how far each pixel is" };
const HEADS = ["separate", "yolov5", "yolov8", "darknet", "rows", "ssd"];

function describing(one) {
  const { input, output } = one.about.asked, of = (name) => `about-${one.name}-${name}`;
  const field = (name, label, control) => make("div.field", {}, make("label", { for: of(name) }, label), Object.assign(control, { id: of(name) }));
  const choice = (values, chosen) => make("select", {}, values.map((value) => make("option", { value, selected: String(value) === String(chosen) }, TASKS[value] ?? value)));
  const text = (value, placeholder = "") => make("input", { value: value ?? "", placeholder, autocomplete: "off" });
  const given = (name) => form.querySelector(`#${CSS.escape(of(name))}`)?.value.trim() ?? "";
  const task = choice(Object.keys(TASKS), output.task ?? "regression"), own = make("div.fields");
  const signals = [].concat(output.signals ?? ["steering"]);
  const parts = {
    regression: () => [field("signals", "Its numbers, in their order", text(signals.join(", "), "steering, speed")), field("angle", "Steering is in", choice(["deg", "rad"], output.units?.steering)),
      field("positive", "Positive steering is", choice(["right", "left"], output.units?.steering_positive)), field("speed", "Speed is in", choice(["m/s", "km/h", "mph"], output.units?.speed))],
    classification: () => [field("classes", "Classes, in their order", text([].concat(output.classes ?? []).join(", "), "car, pedestrian")), field("activation", "At its end", choice(["softmax", "none", "sigmoid"], output.activation))],
    detection: () => [field("classes", "Classes, in their order", text([].concat(output.classes ?? []).join(", "), "pedestrian, car, or coco-80")), field("head", "Layout of its boxes", choice(HEADS, output.head)), field("score", "Least score", text(output.score_threshold ?? 0.25))],
    segmentation: () => [field("classes", "Classes, in their order", text([].concat(output.classes ?? []).join(", "), "road, sidewalk, … or cityscapes-19"))],
    depth: () => [field("values", "Its numbers are", choice(["inverse", "metres"], output.values))],
  };
  const showOwn = () => fill(own, ...parts[task.value]());
  task.addEventListener("change", showOwn);
  const list = (value) => value.split(",").map((part) => part.trim()).filter(Boolean), numbers = (value) => list(value).map(Number);
  const error = make("p.state.bad", { hidden: true, role: "alert" });
  const button = make("button", { type: "submit" }, "Try it");
  const form = make("form.describing", { novalidate: true, onsubmit: async (event) => {
    event.preventDefault();
    const classes = list(given("classes"));
    const said = {
      regression: () => ({ signals: list(given("signals")), units: { ...(given("signals").includes("steering") ? { steering: given("angle"), steering_positive: given("positive") } : {}), ...(given("signals").includes("speed") ? { speed: given("speed") } : {}) } }),
      classification: () => ({ classes, activation: given("activation") }),
      detection: () => ({ classes: classes.length === 1 ? classes[0] : classes, head: given("head"), score_threshold: Number(given("score")) }),
      segmentation: () => ({ classes: classes.length === 1 ? classes[0] : classes }),
      depth: () => ({ values: given("values") }),
    }[task.value]();
    const seen = { ...input, color: given("color"), fit: given("fit") };
    if (input.range !== undefined || given("range") !== "0, 1") seen.range = numbers(given("range"));
    if (given("crop")) seen.crop = numbers(given("crop"));
    for (const key of ["width", "height"]) if (given(key)) seen[key] = Number(given(key));
    button.disabled = true;
    error.hidden = true;
    say("busy", `Looking at what ${one.name} answers …`);
    try {
      await ask(at(one.name, "description"), { input: seen, output: { task: task.value, ...said } });
      await show();
      say("good", `${one.name} can be used now. See in its picture whether its answers make sense.`);
    } catch (problem) {
      say("", "");
      error.hidden = false;
      error.textContent = problem.message;
      button.disabled = false;
    }
  } }, make("div.fields", {}, field("task", "What it does", task)), own,
    make("div.fields", {}, ...(input.width ? [] : [field("width", "Width", text("")), field("height", "Height", text(""))]), field("color", "Colours", choice(["rgb", "bgr", "yuv", "gray"], input.color)), field("range", "Black and white become", text((input.range ?? [0, 1]).join(", "), "0, 1")),
      field("crop", "Cut off above and below", text((input.crop ?? []).join(", "), "0.4, 0.1 or pixels")), field("fit", "Shape", choice(["stretch", "letterbox", "corner", "cover"], input.fit))),
    error, make("div.actions", {}, button));
  showOwn();
  return form;
}

// ---- the ways in

async function add(name, request) {
  try {
    const one = await request();
    await show();
    say(one.ready ? "good" : "warn", one.ready ? `${one.name} is added.` : `${one.name} is there. Say below what its numbers mean: the file does not.`);
    const added = list.querySelector(`[data-name="${CSS.escape(one.name)}"]`);
    added?.scrollIntoView({ block: "nearest", behavior: "smooth" });
    added?.querySelector("form select")?.focus({ preventScroll: true });
  } catch (error) {
    say("bad", `${name}: ${error.message}`);
  }
}

// With the share that is there already, which fetch does not tell.
function sent(file) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("PUT", `/added/files/${encodeURIComponent(file.name)}`);
    request.setRequestHeader("x-csrf-token", token);
    request.setRequestHeader("accept", "application/json");
    request.setRequestHeader("content-type", "application/octet-stream");
    request.upload.addEventListener("progress", ({ loaded, total }) => say("busy", loaded < total ? `Sending ${file.name}: ${Math.round((100 * loaded) / total)}% ` : `Looking at ${file.name} …`));
    request.addEventListener("load", () => {
      const answer = (() => { try { return JSON.parse(request.responseText); } catch { return {}; } })();
      if (request.status < 300) resolve(answer);
      else reject(new Error(answer.error ?? `The server answered ${request.status}.`));
    });
    request.addEventListener("error", () => reject(new Error("The server does not answer, or ended the connection.")));
    request.send(file);
  });
}

async function take(files) {
  for (const file of files) {
    const most = Number(drop.dataset.most), ending = `.${file.name.split(".").pop().toLowerCase()}`;
    if (!ENDINGS.includes(ending)) say("bad", `${file.name}: expected a network (.onnx) or a film (${ENDINGS.slice(1).join(", ")}).`);
    else if (file.size > most) say("bad", `${file.name} is larger than ${Math.round(most / 2 ** 20)} MiB: start the server with --under and its folder.`);
    else {
      say("busy", `Sending ${file.name} …`);
      await add(file.name, () => sent(file));
    }
  }
}

drop.querySelector("input").addEventListener("change", (event) => take([...event.target.files]).then(() => { event.target.value = ""; }));
for (const kind of ["dragenter", "dragover"]) document.addEventListener(kind, (event) => {
  if (!event.dataTransfer?.types.includes("Files")) return;
  event.preventDefault();
  drop.classList.add("over");
});
document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) drop.classList.remove("over"); });
document.addEventListener("drop", (event) => {
  if (!event.dataTransfer?.files.length) return;
  event.preventDefault();
  drop.classList.remove("over");
  box.scrollIntoView({ block: "nearest" });
  take([...event.dataTransfer.files]);
});

document.getElementById("add-path")?.addEventListener("click", async () => {
  const path = await choosePlace(document.getElementById("asking"), "Add a network, a film or a folder of pictures", (found) => found.files, true);
  if (!path) return;
  say("busy", `Looking at ${path} …`);
  await add(path, () => ask("/added", { path }));
});

show();
