// Output of commands: colours and links of a terminal, everything else of it left out.

// CSI, OSC (ended by BEL or ST), other string sequences, two-byte escapes.
const ESCAPES =
  /(?:\u001b\[|\u009b)([0-?]*)[ -/]*([@-~])|(?:\u001b\]|\u009d)([^\u0007\u001b\u009c\n]*)(?:\u0007|\u001b\\|\u009c)?|\u001b[PX^_][^\u001b\n]*(?:\u001b\\)?|\u001b[ -/]*[0-~]?/g;

/** Text of a terminal as nodes. */
function terminal(text) {
  const out = document.createDocumentFragment();
  const style = { fg: null, bg: null, marks: new Set(), link: null };
  let from = 0;
  const put = (piece) => {
    const plain = visible(piece);
    if (plain) out.append(styled(plain, style));
  };
  const source = settled(text);
  for (const found of source.matchAll(ESCAPES)) {
    put(source.slice(from, found.index));
    from = found.index + found[0].length;
    if (found[2] === "m") applyCodes(style, found[1]);
    if (found[3] !== undefined) {
      const hyperlink = /^8;[^;]*;(.*)$/s.exec(found[3]);
      if (hyperlink) style.link = hyperlink[1] || null;
    }
  }
  put(source.slice(from));
  return out;
}

/** Lines that were overwritten from their start show what was written last. */
function settled(text) {
  const lines = str(text).replace(/\r+\n/g, "\n");
  if (!lines.includes("\r")) return lines;
  return lines
    .split("\n")
    .map((line) => line.replace(/\r+$/, "").split("\r").pop())
    .join("\n");
}

/** Without escapes, for what is not output of a terminal. */
const withoutEscapes = (text) => visible(settled(text).replace(ESCAPES, ""));

// eslint-disable-next-line no-control-regex
const visible = (text) => text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");

function styled(text, style) {
  const { fg, bg, marks, link } = style;
  if (!fg && !bg && marks.size === 0 && !link) return text;
  const span = make("span", [...marks].join(" "), text);
  const [ink, paper] = marks.has("inverse") ? [bg || "var(--pageBg)", fg || "var(--text)"] : [fg, bg];
  if (ink) span.style.color = ink;
  if (paper) span.style.backgroundColor = paper;
  return link ? linkTo(link, span) : span;
}

const MARKS = { 1: "bold", 2: "faint", 3: "italic", 4: "underline", 7: "inverse", 9: "struck" };
const UNMARKS = { 22: ["bold", "faint"], 23: ["italic"], 24: ["underline"], 27: ["inverse"], 29: ["struck"] };

function applyCodes(style, parameters) {
  const codes = parameters.split(/[;:]/).map((code) => Number.parseInt(code, 10) || 0);
  for (let i = 0; i < codes.length; i += 1) {
    const code = codes[i];
    if (code === 0) {
      style.fg = style.bg = null;
      style.marks.clear();
    } else if (MARKS[code]) {
      style.marks.add(MARKS[code]);
    } else if (UNMARKS[code]) {
      UNMARKS[code].forEach((name) => style.marks.delete(name));
    } else if (code === 38 || code === 48) {
      const where = code === 38 ? "fg" : "bg";
      if (codes[i + 1] === 5) {
        style[where] = indexed(codes[i + 2]);
        i += 2;
      } else if (codes[i + 1] === 2) {
        // With colons there may be a colour space before the three.
        const at = parameters.includes(":") && codes.length - i > 5 ? i + 3 : i + 2;
        style[where] = `rgb(${codes.slice(at, at + 3).map((part) => part || 0).join(",")})`;
        i = at + 2;
      }
    } else if (code === 39 || code === 49) {
      style[code === 39 ? "fg" : "bg"] = null;
    } else if (code >= 30 && code <= 37) style.fg = indexed(code - 30);
    else if (code >= 90 && code <= 97) style.fg = indexed(code - 82);
    else if (code >= 40 && code <= 47) style.bg = indexed(code - 40);
    else if (code >= 100 && code <= 107) style.bg = indexed(code - 92);
  }
}

/** A colour of the palette of 256. */
function indexed(index) {
  if (!(index >= 0 && index <= 255)) return null;
  if (index < 16) return `var(--ansi${index})`;
  if (index >= 232) return `rgb(${Array(3).fill(8 + (index - 232) * 10).join(",")})`;
  const cube = index - 16;
  const level = (step) => (step === 0 ? 0 : 55 + step * 40);
  return `rgb(${level(Math.floor(cube / 36))},${level(Math.floor(cube / 6) % 6)},${level(cube % 6)})`;
}
