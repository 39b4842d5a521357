// Controls and pictures without a name that a screen reader could say.
() => [...document.querySelectorAll("a, button, input, select, textarea, summary, img, [role=img], progress")]
  .filter((one) => one.checkVisibility())
  .filter((one) => !(one.getAttribute("aria-label") || one.getAttribute("alt") || [...(one.labels ?? [])].some((label) => label.textContent.trim()) ||
    (!["INPUT", "SELECT", "TEXTAREA", "PROGRESS"].includes(one.tagName) && one.textContent.trim())))
  .map((one) => one.outerHTML.slice(0, 120))
