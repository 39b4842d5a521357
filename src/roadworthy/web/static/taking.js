// What all tasks for people share: who they are, where answers go, and the end.
import { alertAbout, ask, fill, make } from "/static/page.js";

export const task = document.getElementById("task");
const url = task.dataset.url;
const key = `roadworthy-rater-${url}`;
let rater = "";

export const fileOf = (path) => `${url}/shown/${path.split("/").map(encodeURIComponent).join("/")}`;

// Stores an answer; tries until the server has it, so that none is lost while it is started again.
export async function answer(item, values) {
  for (let waited = 0; ; waited += 2000) {
    try {
      return await ask(`${url}/answer`, { rater, item, values });
    } catch (error) {
      if (error.code !== "gone" || waited > 120000) throw error;
      alertAbout(error);
      await new Promise((done) => setTimeout(done, 2000));
    }
  }
}

export function over(words, again) {
  const more = again ? make("button", { type: "button", onclick: again }, "Go on with the next part") : null;
  const link = make("a.button.quiet", { href: url }, "Close");
  fill(task, make("h1", {}, "Thank you"), make("p.prose", {}, words), make("div.actions", {}, more, link));
  (more ?? link).focus();
}

// Asks who it is, then runs a part with what the server deals out.
export function welcome(part) {
  const input = document.getElementById("rater");
  input.value = sessionStorage.getItem(key) ?? "";
  async function next() {
    try {
      const dealt = await ask(`${url}/begin`, { rater: input.value });
      rater = dealt.rater;
      sessionStorage.setItem(key, rater);
      document.getElementById("welcome").hidden = true;
      task.hidden = false;
      if (!dealt.items.length) over("There is nothing left for you to answer in this study.");
      else await part(dealt, next);
    } catch (error) {
      alertAbout(error);
    }
  }
  document.getElementById("who").addEventListener("submit", (event) => { event.preventDefault(); next(); });
}
