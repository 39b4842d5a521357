// Cases as the server sends them: of each requirement the worst first, an infinite margin last.
async (act) => {
  const { Table, shortChange, placeOf } = await import("/static/table.js");
  const packed = (values) => btoa(String.fromCharCode(...new Uint8Array(values.buffer)));
  const texts = (values) => {
    const names = [...new Set(values)].filter((one) => one !== null);
    return { names, codes: packed(Int32Array.from(values, (one) => (one === null ? -1 : names.indexOf(one)))) };
  };
  const rows = [
    ["R1", "dave2", "town-1", "violated", "town-000001", "add(element=pedestrian, side=left)", -3, 0.3, 12],
    ["R2", "dave2", "town-1", "violated", "town-000001", "night(amount=0.5)", -9, 0.95, NaN],
    ["R1", "epoch", "town-2", "violated", "town-000002", "add(element=pedestrian)", -1, 0.1, 20],
    ["R2", "epoch", "wood-7", "violated", "wood-000007", "night(amount=0.7)", -8, 0.2, NaN],
    ["R1", "dave2", "wood-7", "violated", "wood-000007", null, -Infinity, 0.1, NaN],
    ["R1", "dave2", "wood-8", "passed", "wood-000008", "add(element=pedestrian)", 2, 0.2, 30],
  ];
  const column = (at) => rows.map((row) => row[at]);
  const categories = Object.fromEntries(["requirement", "system", "case", "status", "cluster", "change"].map((name, at) => [name, texts(column(at))]));
  const numbers = Object.fromEntries(["margin", "visual_change", "distance"].map((name, at) => [name, packed(Float32Array.from(column(6 + at)))]));
  const requirements = { R1: { text: "Slow down for people", tags: ["urban"], unit: " m/s" }, R2: { text: "Steer alike", tags: ["urban", "dark"], unit: "°" } };
  const marks = [{ requirement: "R2", system: "dave2", case: "town-1", mark: "fault", note: "" }];
  const table = new Table({ rows: rows.length, total: rows.length, requirements, categories, numbers, marks });
  const shown = () => table.chosen().map((row) => row + 1).join(" ");
  const order = (name, group = "") => table.sections(name, group).map(({ heading, rows: of }) => `${heading && `${heading.split(":")[0]}: `}${of.map((row) => row + 1).join(" ")}`).join(" | ");
  const measure = (name) => table.measures().find((one) => one.name === name);
  return new Function("table", "shown", "order", "measure", "shortChange", "placeOf", `return (${act})`)(table, shown, order, measure, shortChange, placeOf);
}
