// A witness of a static check: boxes and bands in an image, drawn as SVG.

const SPACE = "http://www.w3.org/2000/svg";

function shape(tag, attributes, text) {
  const element = document.createElementNS(SPACE, tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

export function witnessPicture(witness, title) {
  const across = [0, witness.width], down = [0, witness.height];
  for (const box of witness.boxes) {
    across.push(box.x1, box.x2);
    down.push(box.y1, box.y2);
  }
  for (const band of witness.bands) (band.axis === "x" ? across : down).push(band.from, band.to);
  const [left, right, top, bottom] = [Math.min(...across), Math.max(...across), Math.min(...down), Math.max(...down)];
  const wide = Math.max(right - left, 1), tall = Math.max(bottom - top, 1);
  // Drawn in a frame of one size, whatever the size of the image: letters and lines stay as thick as they are.
  const W = 360, H = Math.min(260, Math.max(140, (W * tall) / wide)), pad = 12;
  const x = (value) => pad + ((value - left) / wide) * (W - 2 * pad);
  const y = (value) => pad + ((value - top) / tall) * (H - 2 * pad);
  const picture = shape("svg", { viewBox: `0 0 ${W} ${H}`, class: "witness", role: "img", "aria-label": `${title}: ${witness.text}` });
  picture.append(shape("rect", { x: x(0), y: y(0), width: x(witness.width) - x(0), height: y(witness.height) - y(0), class: "image" }));
  const labels = [];
  let color = 0;
  const label = (text, atX, atY, number) => {
    let place = atY;
    while (labels.some(([a, b]) => Math.abs(a - atX) < 90 && Math.abs(b - place) < 14)) place += 14;
    labels.push([atX, place]);
    picture.append(shape("text", { x: atX, y: place, class: `c${number}` }, text));
  };
  for (const band of witness.bands) {
    const number = (color++ % 6) + 1;
    const [from, to] = [band.from, band.to];
    const attributes = band.axis === "y"
      ? { x: pad, y: y(from), width: W - 2 * pad, height: Math.max(y(to) - y(from), 1) }
      : { x: x(from), y: pad, width: Math.max(x(to) - x(from), 1), height: H - 2 * pad };
    picture.append(shape("rect", { ...attributes, class: `band c${number}` }));
    if (band.axis === "y") label(band.name, pad + 6, Math.max((y(from) + y(to)) / 2 + 4, 14), number);
    else label(band.name, x(from) + 4, pad + 14, number);
  }
  for (const box of witness.boxes) {
    const number = (color++ % 6) + 1;
    picture.append(shape("rect", { x: x(box.x1), y: y(box.y1), width: Math.max(x(box.x2) - x(box.x1), 2), height: Math.max(y(box.y2) - y(box.y1), 2), class: `box c${number}` }));
    label(box.name, Math.min(x(box.x1) + 5, W - 70), Math.min(y(box.y1) + 15, H - 5), number);
  }
  return picture;
}
