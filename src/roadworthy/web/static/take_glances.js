// An image for a moment, noise, and one of two answers; times are those of the plan.
import { alertAbout, fill, make } from "/static/page.js";
import { answer, fileOf, over, task, welcome } from "/static/taking.js";

const LEFT = ["f", "arrowleft"], RIGHT = ["j", "arrowright"];
const frame = () => new Promise((done) => requestAnimationFrame(done));

// Waits to the frame of the screen that is nearest to so many milliseconds after a moment.
async function until(start, milliseconds) {
  let now = start;
  while (now - start < milliseconds - 8) now = await frame();
  return now;
}

async function loaded(path) {
  const image = make("img", { src: fileOf(path), alt: "" });
  await image.decode();
  return image;
}

welcome(async (dealt, next) => {
  const stage = make("div.glance", { role: "img", "aria-label": "The image" });
  const buttons = dealt.choices.map((words, side) => make("button", { type: "button", disabled: true }, make("span", {}, words), make("small", {}, side ? " J or →" : " F or ←")));
  const count = make("h1", {}), bar = make("progress", { value: 0, max: 1, "aria-label": "Images shown" });
  const told = make("p.state", { role: "status" });
  const busy = (words) => { told.className = "state busy"; told.textContent = words; };

  // Waits for an answer, or for the time to be over.
  function chosen(most) {
    return new Promise((done) => {
      const start = performance.now();
      const end = (side) => {
        clearTimeout(timer);
        removeEventListener("keydown", pressed);
        buttons.forEach((button) => { button.disabled = true; button.onclick = null; });
        done({ answer: side === null ? "" : dealt.choices[side], time: side === null ? null : (performance.now() - start) / 1000 });
      };
      const pressed = (event) => {
        const key = event.key.toLowerCase();
        if (LEFT.includes(key) || RIGHT.includes(key)) { event.preventDefault(); end(RIGHT.includes(key) ? 1 : 0); }
      };
      buttons.forEach((button, side) => { button.disabled = false; button.onclick = () => end(side); });
      addEventListener("keydown", pressed);
      const timer = setTimeout(() => end(null), most);
    });
  }

  async function trial(one) {
    const [image, mask] = await Promise.all([loaded(one.file), loaded(dealt.masks[Math.floor(Math.random() * dealt.masks.length)])]);
    fill(stage, make("span.cross", { "aria-hidden": "true" }, "+"));
    let now = await frame();
    now = await until(now, dealt.fixation_ms);
    fill(stage, image);
    now = await until(await frame(), one.image_ms);
    fill(stage, mask);
    now = await until(await frame(), dealt.mask_ms);
    fill(stage);
    return chosen(dealt.answer_ms);
  }

  async function ready(words) {
    const go = make("button", { type: "button" }, words);
    fill(stage, go);
    go.focus();
    await new Promise((done) => go.addEventListener("click", done, { once: true }));
    go.blur();
  }

  fill(task, make("div.head", {}, count, bar), stage, make("div.choices", {}, buttons), told);
  try {
    if (dealt.practice.length) {
      count.textContent = "Practice";
      await ready("Begin the practice");
      for (const one of dealt.practice) {
        const said = await trial(one);
        const right = said.answer === one.answer;
        told.className = `state ${right ? "good" : "warn"}`;
        told.textContent = said.answer === "" ? `Too late. It was: ${one.answer}` : right ? `Right: ${one.answer}` : `It was: ${one.answer}`;
        await new Promise((done) => setTimeout(done, 900));
      }
      told.textContent = "";
    }
    count.textContent = `${dealt.items.length} images`;
    bar.max = dealt.items.length;
    await ready(dealt.practice.length ? "Now it counts: begin" : "Begin");
    // Stored while the next image is shown: nobody waits, and the order stays.
    let stored = Promise.resolve();
    for (const [place, one] of dealt.items.entries()) {
      count.textContent = `Image ${place + 1} of ${dealt.items.length}`;
      const said = await trial(one);
      told.className = "state";
      told.textContent = said.answer === "" ? "Too late: answer faster" : "";
      stored = stored.then(() => answer(one.id, said));
      bar.value = place + 1;
    }
    busy("Storing …");
    await stored;
    over("All images of this part are answered.", next);
  } catch (error) {
    alertAbout(error instanceof Error ? error : new Error("An image could not be shown."));
  }
});
