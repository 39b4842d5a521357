// The list of runs: the worst picture of each as its card comes into sight, and how runs of the same suite went on.
import uPlot from "/static/uplot/uPlot.esm.js";
import { alertAbout, ask, fill, make } from "/static/page.js";
import { pictureOf } from "/static/case.js";

const LINES = 6, WORSE = 0.02; // of a chart; a share by which a rate is worse than before
const cards = [...document.querySelectorAll(".run-card[data-run]")];
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const percent = (share) => `${Math.round(100 * share)}%`;

const seen = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    const { run } = target.dataset;
    ask(`/runs/${encodeURIComponent(run)}/worst`).then(({ pictures }) => {
      if (!pictures.length) {
        const thumb = target.querySelector(".thumb");
        fill(thumb, make("small", {}, "no failure"));
        thumb.setAttribute("aria-label", "no failure: look at its cases");
      }
      else target.querySelector(".thumb").append(make("img", { src: pictureOf(run, pictures.at(-1)), alt: "Its worst case" }));
    }).catch(() => {});
  }
}, { rootMargin: "200px" });
for (const card of cards) if (!card.closest("#started")) seen.observe(card);

// Runs that asked the same of the same data, the eldest first; of one alone there is no trend.
function suites() {
  const found = new Map();
  for (const { dataset } of cards) {
    if (!dataset.suite || !dataset.started) continue;
    if (!found.has(dataset.asked)) found.set(dataset.asked, []);
    found.get(dataset.asked).push({ suite: dataset.suite, name: dataset.run, started: Date.parse(dataset.started) / 1000, rates: JSON.parse(dataset.rates) });
  }
  return [...found.values()].map((runs) => [runs[0].suite, runs.sort((one, other) => one.started - other.started)]).filter(([, runs]) => runs.length > 1);
}

const share = (run, name) => (run.rates[name]?.[1] ? run.rates[name][0] / run.rates[name][1] : null);

function trend(suite, runs) {
  const [before, last] = runs.slice(-2), names = [...new Set(runs.flatMap((run) => Object.keys(run.rates)))];
  const moved = names.map((name) => [name, share(before, name), share(last, name)]).filter(([, one, other]) => one !== null && other !== null);
  const told = (worse) => moved.filter(([, one, other]) => (worse ? other - one : one - other) > WORSE).sort((one, other) => Math.abs(other[2] - other[1]) - Math.abs(one[2] - one[1])).slice(0, 3).map(([name, one, other]) => `${name} ${percent(one)} → ${percent(other)}`);
  const place = make("div.plot");
  const box = make("div", {}, make("h3", {}, suite, " ", make("small", {}, `${runs.length} runs`)),
    ...[["Worse", told(true)], ["Better", told(false)]].filter(([, lines]) => lines.length).map(([word, lines]) => make("p.small", {}, make("b", {}, `${word}: `), lines.join(", "))), place);
  const shown = names.filter((name) => runs.some((run) => share(run, name))).sort((one, other) => (share(last, other) ?? 0) - (share(last, one) ?? 0)).slice(0, LINES);
  requestAnimationFrame(() => new uPlot({
    width: place.clientWidth || 400, height: 190, cursor: { y: false },
    scales: { x: { time: false, range: [-0.3, runs.length - 0.7] }, y: { range: [0, 1] } },
    axes: [{ stroke: () => color("--text-dim"), grid: { show: false }, splits: runs.map((_, at) => at), values: (_, places) => places.map((at) => new Date(1000 * runs[at].started).toISOString().slice(5, 16).replace("T", " ")), space: 90, font: "11px system-ui, sans-serif" },
      { stroke: () => color("--text-dim"), grid: { stroke: () => color("--line") }, values: (_, places) => places.map(percent), size: 46, font: "11px system-ui, sans-serif" }],
    series: [{ label: "run", value: (_, at) => runs[at]?.name ?? "–" }, ...shown.map((name, at) => ({ label: name, stroke: () => color(`--series-${at + 1}`), width: 2, points: { show: true, size: 6, fill: () => color("--surface") }, value: (_, value) => (value === null ? "–" : percent(value)) }))],
  }, [runs.map((_, at) => at), ...shown.map((name) => runs.map((run) => share(run, name)))], place));
  return box;
}

const found = suites(), trends = document.getElementById("trends");
if (trends && found.length) {
  trends.hidden = false;
  fill(trends, make("h2", {}, "Trends"), make("div.trends", {}, found.map(([suite, runs]) => trend(suite, runs))));
}

// What goes on is watched, and the list is made again when something of it is over.
const PAUSE = 3000; // milliseconds

async function again() {
  if (document.querySelector("dialog[open]")) return;
  const page = new DOMParser().parseFromString(await (await fetch("/runs", { headers: { accept: "text/html" } })).text(), "text/html");
  const [now, then] = [document.getElementById("started"), page.getElementById("started")];
  if (now && then) {
    now.replaceWith(then);
    watch();
  } else if (then) location.reload();
}

let source = null, waiting = null;
function watch() {
  source?.close();
  clearTimeout(waiting);
  for (const card of document.querySelectorAll("#started .run-card[data-run]")) seen.observe(card);
  for (const button of document.querySelectorAll("#started [data-do]")) {
    button.addEventListener("click", async () => {
      try {
        await ask(`/jobs/${button.closest("[data-job]").dataset.job}/${button.dataset.do}`, {});
        await again();
      } catch (error) {
        alertAbout(error);
      }
    });
  }
  const running = document.querySelector('#started [data-stage="running"]');
  if (!running) {
    if (document.querySelector('#started [data-stage="waiting"]')) waiting = setTimeout(again, PAUSE);
    return;
  }
  if (document.hidden) return;
  source = new EventSource(`/jobs/${running.dataset.job}/events`);
  source.addEventListener("message", (event) => {
    const job = JSON.parse(event.data);
    running.querySelector(".counted").textContent = `${job.done}${job.total ? ` of ${job.total}` : ""} cases`;
    const bar = running.querySelector("progress");
    if (bar && job.total) Object.assign(bar, { max: job.total, value: job.done });
    if (job.over || (!bar && job.total)) again();
  });
}
document.addEventListener("visibilitychange", () => (document.hidden ? source?.close() : again()));
watch();
