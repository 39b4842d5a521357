// A page that waits for a computation: tells how far it has come, is made again when it is over, and can cancel it.
import { alertAbout, ask, fill, make } from "/static/page.js";

const box = document.getElementById("working"), bar = box.querySelector("progress"), line = box.querySelector(".line");
const button = document.getElementById("cancel"), PAUSE = 400; // milliseconds

function cancelled() {
  bar.remove();
  fill(line, "Cancelled.");
  const again = make("button", { type: "button", onclick: () => location.reload() }, "Start again");
  const focused = document.activeElement === button;
  button.replaceWith(again);
  if (focused) again.focus();
}

async function look() {
  try {
    const now = await ask(`/working/${box.dataset.work}`);
    // By whoever looks at the same page elsewhere, too.
    if (now.cancelled) return cancelled();
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

button.addEventListener("click", async () => {
  try {
    await ask(`/working/${box.dataset.work}/cancel`, {});
  } catch (error) {
    alertAbout(error);
  }
});
button.hidden = false;
look();
