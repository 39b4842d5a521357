// Numbers as people read them. Speeds come in m/s, and are shown in the unit that was chosen once for all pages; an address may
// name it, so that who follows it sees the same numbers.
const KEY = "roadworthy-speed", KMH = 3.6, SPEED = /\bm\/s(?![²³])/;
let inKmh = (new URLSearchParams(location.search).get("unit") ?? localStorage.getItem(KEY)) === "km/h";
export const speedUnit = () => (inKmh ? "km/h" : "m/s");
let asked = false; // whether something on this page depends on it

// By what a number is multiplied to be shown, and the unit that it then has; margins of searches are squares.
export function factorOf(unit) {
  if (!SPEED.test(unit ?? "")) return 1;
  asked = true;
  return inKmh ? (unit.includes("²") ? KMH * KMH : KMH) : 1;
}
export const unitOf = (unit) => (inKmh ? unit?.replace(SPEED, "km/h") : unit);

export const isInfinite = (value) => Math.abs(value) >= 1e300;

// Every number that is measured, in the same form on every page.
export function number(value) {
  if (value === null || value === undefined) return "–";
  if (isInfinite(value)) return value > 0 ? "∞" : "−∞";
  // What is not 0 is not shown as 0: a violation by a hair is one.
  const small = value !== 0 && Math.abs(value) < 0.005;
  return (small ? Number(value).toPrecision(1) : Number(value).toFixed(2)).replace("-", "−");
}

// The same of a number in a unit, without the unit.
export const scaled = (value, unit) => number(value === null || value === undefined || isInfinite(value) ? value : value * factorOf(unit));

// A number with what it measures; an infinite one measures nothing.
export function measured(value, unit) {
  return `${scaled(value, unit)}${isInfinite(value) ? "" : unitOf(unit)}`;
}

// Speeds that the server wrote.
const written = document.querySelectorAll("[data-speed]");
for (const one of written) one.textContent = scaled(Number(one.dataset.speed), " m/s");
for (const one of document.querySelectorAll("[data-speed-unit]")) one.textContent = unitOf(one.textContent);

const button = document.getElementById("unit");
const show = () => { document.getElementById("unit-now").textContent = speedUnit(); };
button.addEventListener("click", () => {
  inKmh = !inKmh;
  localStorage.setItem(KEY, speedUnit());
  show();
  // What has been written is written anew: an address has all that was chosen, and what was typed is kept.
  const address = new URL(location);
  address.searchParams.delete("unit");
  if (asked || written.length) location.replace(address);
});
show();
