// A page that waits for a computation: tells how far it has come, and is made again when it is over.
import { ask, make } from "/static/page.js";

const box = document.getElementById("working"), bar = box.querySelector("progress"), line = box.querySelector(".line");
const PAUSE = 400; // milliseconds

async function look() {
  try {
    const now = await ask(`/working/${box.dataset.work}`);
    if (now.over) return location.reload();
    line.replaceChildren(`${now.said} `, make("small", {}, `${now.seconds.toFixed(0)} s`));
    if (now.share === null) bar.removeAttribute("value");
    else bar.value = now.share;
  } catch (error) {
    // Started again meanwhile: the page asks for it once more.
    if (error.status === 404) return location.reload();
    line.replaceChildren(error.message);
  }
  setTimeout(look, PAUSE);
}

look();
