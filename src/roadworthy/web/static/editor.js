// A text field whose words are coloured: the text is painted behind it, and its own letters are transparent.

export class Editor {
  constructor(box, { changed }) {
    this.box = box;
    this.field = box.querySelector("textarea");
    this.paintBox = box.querySelector(".paint");
    this.marks = [];
    this.before = "";
    this.changed = changed;
    this.field.addEventListener("input", () => this.typed());
    this.field.addEventListener("mousemove", ({ clientX, clientY }) => this.tell(clientX, clientY));
    new ResizeObserver(() => this.fit()).observe(box);
    box.classList.add("painted");
  }

  get text() {
    return this.field.value;
  }

  set text(text) {
    this.field.value = text;
    this.typed();
  }

  typed() {
    this.shift();
    this.paint();
    this.changed(this.text);
  }

  // Marks before and after what was typed stay where their words are, until the server has read the text again.
  shift() {
    const old = this.before, text = this.text;
    let head = 0;
    while (head < old.length && head < text.length && old[head] === text[head]) head++;
    let tail = 0;
    while (tail < old.length - head && tail < text.length - head && old.at(-1 - tail) === text.at(-1 - tail)) tail++;
    const moved = text.length - old.length;
    this.marks = this.marks.flatMap((one) => {
      if (one.stop <= head) return [one];
      if (one.start >= old.length - tail) return [{ ...one, start: one.start + moved, stop: one.stop + moved }];
      return [];
    });
    this.before = text;
  }

  show(marks) {
    this.marks = marks;
    this.before = this.text;
    this.paint();
  }

  paint() {
    const text = this.text;
    const cuts = new Set([0, text.length]);
    for (const { start, stop } of this.marks) cuts.add(Math.min(start, text.length)).add(Math.min(stop, text.length));
    const places = [...cuts].sort((a, b) => a - b);
    const pieces = [];
    for (let number = 0; number + 1 < places.length; number++) {
      const [start, stop] = [places[number], places[number + 1]];
      const over = this.marks.filter((one) => one.start <= start && one.stop >= stop);
      const roles = over.filter((one) => one.role).map((one) => `role-${one.role}`);
      const piece = document.createElement("span");
      if (roles.length) piece.className = roles.join(" ");
      const told = over.find((one) => one.told);
      if (told) piece.dataset.told = told.told;
      piece.textContent = text.slice(start, stop);
      pieces.push(piece);
    }
    // A last empty line has no height without something in it.
    this.paintBox.replaceChildren(...pieces, "\n");
    this.fit();
  }

  // The pieces lie behind the field, which gets the pointer.
  tell(x, y) {
    const at = (one) => [...one.getClientRects()].some((box) => x >= box.left && x < box.right && y >= box.top && y < box.bottom);
    this.field.title = [...this.paintBox.children].find(at)?.dataset.told ?? "";
  }

  fit() {
    this.field.style.height = "auto";
    this.field.style.height = `${Math.max(this.field.scrollHeight, this.paintBox.scrollHeight)}px`;
  }

  insert(symbol) {
    this.field.focus();
    const { selectionStart: start, selectionEnd: end } = this.field;
    this.field.setRangeText(symbol, start, end, "end");
    this.typed();
  }
}
