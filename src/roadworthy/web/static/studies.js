// The page Studies: draws a blind study from a run.
import { ask } from "/static/page.js";

const form = document.getElementById("draw"), state = document.getElementById("draw-state");
const value = (id) => document.getElementById(id).value;

// The page of a run leads here with its name.
const wanted = new URLSearchParams(location.search).get("run");
const offered = [...(document.getElementById("run")?.options ?? [])].find((option) => option.dataset.run === wanted);
if (offered) {
  offered.selected = true;
  form.scrollIntoView({ block: "center" });
  document.getElementById("run").focus({ preventScroll: true });
}

form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const chosen = document.getElementById("run").selectedOptions[0];
  if (!chosen) return;
  state.className = "state busy";
  state.textContent = "Drawing …";
  try {
    const { url } = await ask("/studies/draw", {
      run: chosen.dataset.run, system: chosen.dataset.system, pairs: value("pairs") ? Number(value("pairs")) : null,
      groups: Number(value("groups")), raters: Number(value("raters")), seed: Number(value("seed")), balanced: document.getElementById("balanced").checked,
    });
    location.assign(url);
  } catch (error) {
    state.className = "state bad";
    state.textContent = error.message;
  }
});
