// Who labels: the first who is asked, and after each those who are asked about what is still unknown.
import { make } from "/static/page.js";

const NEEDED = "else street, where a change needs it";
const ALONE = { labels: NEEDED, depth: NEEDED, boxes: "else nobody" }; // after the data, when nobody else is named
const every = () => [...document.querySelectorAll(".chain")];
const asked = (chain) => [...chain.querySelectorAll("select")].map((one) => one.value).filter(Boolean);

// What the chains say, as the options of data have it.
export function chains() {
  return Object.fromEntries(every().map((chain) => [chain.dataset.what, asked(chain).join(",")]));
}

// Shows who is asked, and below them room for one more; nobody is asked alone.
function show(chain, names) {
  const [first, ...others] = chain.querySelectorAll("select"), what = chain.dataset.what;
  for (const one of others) one.remove();
  first.value = names[0];
  for (let number = 1; number <= names.length && names[0] !== "none"; number++) {
    const left = [...first.options].filter((one) => one.value !== "none" && !names.slice(0, number).includes(one.value));
    if (!left.length) break;
    chain.append(make("select", { "aria-label": `${what}, asked as number ${number + 1}` },
      make("option", { value: "" }, names.join() === "own" ? ALONE[what] : "else nobody"),
      left.map((one) => make("option", { value: one.value, disabled: one.disabled, selected: one.value === names[number] }, `else ${one.textContent}`))));
  }
}

// Shows what was chosen before, where this server offers it.
export function chooseChains(kept) {
  for (const chain of every()) {
    const offered = [...chain.querySelector("select").options].filter((one) => !one.disabled).map((one) => one.value);
    const names = (kept[chain.dataset.what] ?? "").split(",");
    show(chain, names.every((one) => offered.includes(one)) ? names : ["own"]);
  }
}

export function onChains() {
  for (const chain of every()) {
    chain.addEventListener("change", (event) => {
      const place = [...chain.querySelectorAll("select")].indexOf(event.target);
      show(chain, [...new Set(asked(chain))]);
      chain.querySelectorAll("select")[place]?.focus();
    });
  }
}
