// A run while it goes on: progress, stopping, going on, and what came of it.
import { alertAbout, ask, chip, fill, hint, make } from "/static/page.js";

const SAID = {
  waiting: "Waiting for its turn",
  running: "Running",
  finished: "Finished",
  failed: "Failed",
  cancelled: "Stopped",
  interrupted: "Interrupted",
};

const SILENCE = 4000; // milliseconds without an answer before that is said

export class JobCard {
  constructor(box, { linked = true, over = () => {} } = {}) {
    this.box = box;
    this.linked = linked;
    this.over = over;
    this.source = null;
    this.silence = null;
    this.id = null;
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) this.stop();
      else if (this.id) this.watch(this.id);
    });
  }

  watch(id) {
    this.id = id;
    this.stop();
    this.box.hidden = false;
    // A browser has few lines to one server: six tabs that nobody looks at would keep all of them.
    if (document.hidden) return;
    this.source = new EventSource(`/jobs/${id}/events`);
    this.source.addEventListener("message", (event) => {
      const job = JSON.parse(event.data);
      this.heard();
      this.show(job);
      if (job.over) {
        this.id = null;
        this.stop();
        this.over(job);
      }
    });
    this.source.addEventListener("gone", (event) => {
      this.id = null;
      this.stop();
      this.box.replaceChildren(make("p", {}, JSON.parse(event.data).error));
    });
    this.source.addEventListener("error", () => {
      // The browser tries again by itself; the run does not depend on it.
      this.silence ??= setTimeout(() => {
        this.box.querySelector(".line")?.replaceChildren("The server does not answer. The run continues without it.");
      }, SILENCE);
    });
  }

  heard() {
    clearTimeout(this.silence);
    this.silence = null;
  }

  stop() {
    this.heard();
    this.source?.close();
    this.source = null;
  }

  async post(id, what) {
    try {
      this.show(await ask(`/jobs/${id}/${what}`, {}));
      this.watch(id);
    } catch (error) {
      alertAbout(error);
    }
  }

  show(job) {
    const share = job.total ? job.done / job.total : null;
    const bar = make("progress", { max: 1, value: share === null && !job.over ? null : share ?? 1, "aria-label": "Progress of the run" });
    const counted = job.total ? `${job.done} of ${job.total} cases` : job.done ? `${job.done} cases` : "";
    const time = job.seconds >= 1 ? `${job.seconds.toFixed(0)} s` : "";
    const parts = [
      make("div.head", {}, make("h2", {}, "Run ", chip(job.stage, SAID[job.stage])), make("small", {}, [counted, time].filter(Boolean).join(" · "))),
      bar,
      make("p.line", { role: "status" }, job.message || (job.over ? "" : "It continues if you close this page.")),
      // The page of a run has all of it below.
      this.linked || !job.over ? outcomes(job) : null,
    ].filter(Boolean);
    // Buttons stay while they are the same: a press is lost on one that is replaced before it is let go.
    const offered = [job.id, job.over, job.can_continue].join();
    if (this.offered === offered && this.actions.parentElement === this.box) {
      for (const part of [...this.box.children]) if (part !== this.actions) part.remove();
      this.actions.before(...parts);
    } else {
      const focused = this.box.contains(document.activeElement) ? document.activeElement.id : "";
      this.offered = offered;
      this.actions = make("div.actions", {}, this.actionsOf(job));
      fill(this.box, ...parts, this.actions);
      if (focused) document.getElementById(focused)?.focus();
    }
    this.box.dataset.stage = job.stage;
  }

  actionsOf(job) {
    const actions = [];
    if (!job.over) actions.push(make("button.quiet", { type: "button", id: "cancel", onclick: () => this.post(job.id, "cancel") }, "Stop"));
    if (job.can_continue) actions.push(make("button", { type: "button", id: "resume", onclick: () => this.post(job.id, "resume") }, "Resume"));
    if (this.linked) actions.push(make("a.button.quiet", { href: job.url }, job.over ? "See the results" : "Open the run"));
    return actions;
  }
}

function outcomes(job) {
  if (!job.outcomes.length) return null;
  const several = new Set(job.outcomes.map((one) => one.requirement)).size > 1;
  const rows = job.outcomes.map((one) => {
    const counts = one.counts;
    const judged = (counts.passed ?? 0) + (counts.violated ?? 0) + (counts.error ?? 0);
    const share = judged ? ` (${((100 * (counts.violated ?? 0)) / judged).toFixed(1)}%)` : "";
    return make("li", {},
      chip(one.status, one.status), " ", several ? [make("b", {}, one.requirement), " on "] : "", make("b", {}, one.system),
      `: ${counts.violated ?? 0} violations of ${judged} judged${share}, ${counts["not applicable"] ?? 0} not applicable`,
      counts.error ? `, ${counts.error} errors` : "",
      counts["engine error"] ? `, in ${counts["engine error"]} an image engine failed` : "",
      // Runs of earlier versions have none.
      (one.notes ?? []).map((note) => make("div.small.note", {}, note)));
  });
  return make("div", {}, make("ul.plain.outcomes", {}, rows),
    make("p.small", {}, "What the numbers mean ", hint("violations, judged, not applicable",
      "Violations are cases in which the requirement does not hold. Judged are cases that say something about the model; those in which it crashed count as failed. Not applicable are cases that say nothing about it, because the change cannot be made there.")));
}
