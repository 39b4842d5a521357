// What the page knows of the text of a suite: its colours, where things stand in it, and how to write values.

const WORDS = /(?<comment>(?:^|\s)#.*$)|^(?<dash>\s*- )|(?<keyword>(?:^|(?<=[{,]\s*)|(?<=^\s*))[\w][\w .@/-]*(?=:(?:\s|$)))|(?<quantity>(?<=[\s[{,:])-?\d+(?:\.\d+)?%?(?=[\s,\]}]|$))/gm;

// The roles of words, as the editor paints them.
export function painted(text) {
  return [...text.matchAll(WORDS)].filter((one) => !one.groups.dash).map((one) => {
    const role = Object.keys(one.groups).find((name) => one.groups[name] !== undefined);
    return { start: one.index, stop: one.index + one[0].length, role };
  });
}

// Where a problem stands that the server tells by line and column, counted in characters.
export function spanOf(text, { line, column, width, message = "" }) {
  if (!line) return null;
  const within = INSIDE.exec(message);
  if (within) {
    // Of a specification in a block, the place in it is told.
    const inner = text.split("\n")[line + Number(within[1]) - 1] ?? "", first = text.split("\n")[line] ?? "";
    [line, column, width] = [line + Number(within[1]), /^\s*/.exec(first)[0].length + Number(within[2]) - 1, /\^+/.exec(message)?.[0].length ?? inner.length];
  }
  const lines = text.split("\n"), words = [...(lines[line - 1] ?? "")];
  const before = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  const start = before + words.slice(0, column).join("").length;
  return { start, stop: start + Math.max(1, words.slice(column, column + width).join("").length) };
}

// A value as YAML writes it on one line.
export function written(value) {
  if (Array.isArray(value)) return `[${value.map(written).join(", ")}]`;
  if (value && typeof value === "object") return `{${Object.entries(value).map(([key, one]) => `${written(key)}: ${written(one)}`).join(", ")}}`;
  if (typeof value !== "string") return String(value);
  const plain = /^[A-Za-z_/.][\w/.:+*()-]*(?: [\w/.+*()-]+)*$/.test(value) && !/: |^(?:yes|no|on|off|true|false|null|y|n)$/i.test(value) && !value.endsWith(":");
  return plain || /^\d+(?:\.\d+)?%$/.test(value) ? value : JSON.stringify(value);
}

const INSIDE = /^<specification>:(\d+):(\d+): /;

// What is wrong, in one line.
export const wrong = ({ message }) => message.split("\n")[0].replace(INSIDE, "");

// The lines of a part that begins on a line, up to where the next one begins or the text ends.
function ends(text, line, others) {
  const next = Math.min(...others.filter((one) => one > line), text.split("\n").length + 1);
  return next - 1;
}

function spliced(text, from, to, lines) {
  const all = text.split("\n");
  all.splice(from - 1, to - from + 1, ...lines);
  return all.join("\n");
}

// Puts a section such as models in place of what is there, or before the requirements.
export function withSection(text, read, key, value) {
  const own = read.lines[key], lines = [`${key}: ${written(value)}`];
  if (own) return spliced(text, own, trimmed(text, own, ends(text, own, Object.values(read.lines))), lines);
  const before = read.lines.requirements;
  return before ? spliced(text, before, before - 1, lines) : `${text.trimEnd()}${text.trim() ? "\n" : ""}${lines[0]}\n`;
}

// Blank lines and comments below a part belong to what follows.
function trimmed(text, from, to) {
  const all = text.split("\n");
  while (to > from && /^\s*(#.*)?$/.test(all[to - 1])) to--;
  return to;
}

// Adds an entry below the last requirement; null where they do not stand on lines of their own.
export function withEntry(text, read, id, value) {
  const lines = entryLines(id, value), own = read.lines.requirements;
  if (!own) return `${text.trimEnd()}${text.trim() ? "\n" : ""}requirements:\n${lines.join("\n")}\n`;
  const starts = Object.values(read.entries);
  if (starts.includes(own)) return null;
  const end = trimmed(text, own, ends(text, own, Object.values(read.lines)));
  const indent = starts.length ? /^\s*/.exec(text.split("\n")[starts[0] - 1])[0] : "  ";
  return spliced(text, end + 1, end, lines.map((line) => (line ? indent + line.slice(2) : "")));
}

export function withoutEntry(text, read, id) {
  const own = read.entries[id], others = [...Object.values(read.entries), ...Object.values(read.lines)];
  if (own === read.lines.requirements) return null;
  return spliced(text, own, trimmed(text, own, ends(text, own, others)), []);
}

function entryLines(id, value) {
  if (typeof value === "string") return [`  ${written(id)}: ${sentence(value)}`];
  return [`  ${written(id)}:`, ...Object.entries(value).flatMap(([key, one]) => {
    if (typeof one === "string" && one.includes("\n")) return [`    ${key}: |`, ...one.trimEnd().split("\n").map((line) => (line ? `      ${line}` : ""))];
    return [`    ${key}: ${key === "rule" ? sentence(one) : written(one)}`];
  })];
}

// A sentence stands as it is where YAML reads it as that.
const sentence = (text) => (/^[A-Za-z][^:#\n]*$/.test(text) ? text : JSON.stringify(text));
