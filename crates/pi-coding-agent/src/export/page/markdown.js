// Markdown as elements: paragraphs, headings, lists, quotes, tables, code.

const FENCE = /^( {0,3})(`{3,}|~{3,})\s*([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-+*]|\d{1,9}[.)])(?:( {1,4})(?=\S)| +|$)/;
const TABLE_RULE = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;

/** Lists and quotes within each other. */
const MAX_NESTING = 32;

/** A text as elements. `isTyped`: a person wrote it, and sees what was typed. */
function markdown(text, isTyped = false) {
  const lines = withoutEscapes(text).split("\n");
  const body = make("div", "markdown");
  body.append(blocks(lines, 0, isTyped));
  return body;
}

/** Each step takes lines from `at` on and says where the next one begins. */
function blocks(lines, depth, isTyped) {
  const out = document.createDocumentFragment();
  let at = 0;
  while (at < lines.length) {
    const line = expanded(lines[at]);
    if (line.trim() === "") {
      at += 1;
      continue;
    }
    const step =
      fence(lines, at) ||
      heading(line, at, isTyped) ||
      (RULE.test(line) && { element: make("hr"), next: at + 1 }) ||
      (depth < MAX_NESTING && QUOTE.test(line) && quote(lines, at, depth, isTyped)) ||
      (depth < MAX_NESTING && ITEM.test(line) && listOf(lines, at, depth, isTyped)) ||
      (line.startsWith("    ") && indented(lines, at)) ||
      table(lines, at, isTyped) ||
      paragraph(lines, at, isTyped);
    out.append(step.element);
    at = step.next;
  }
  return out;
}

/** Tabs at the beginning as four blanks. */
const expanded = (line) => (line.includes("\t") ? line.replace(/^[ \t]+/, (start) => start.replace(/\t/g, "    ")) : line);

function codeBlock(code, language) {
  const name = str(language).trim().split(/[\s,{]/)[0];
  const block = make("div", "code", make("pre", "", make("code", "", coloured(code, name))));
  if (name) block.prepend(make("div", "language", name));
  return block;
}

function fence(lines, at) {
  const opened = FENCE.exec(expanded(lines[at]));
  if (!opened) return null;
  const [, indent, mark, language] = opened;
  const closing = new RegExp(`^ {0,3}${mark[0]}{${mark.length},}[ \\t]*$`);
  const code = [];
  let next = at + 1;
  while (next < lines.length && !closing.test(lines[next])) {
    const line = lines[next];
    let skip = 0;
    while (skip < indent.length && line[skip] === " ") skip += 1;
    code.push(line.slice(skip));
    next += 1;
  }
  return { element: codeBlock(code.join("\n"), language), next: next + 1 };
}

function indented(lines, at) {
  const code = [];
  let next = at;
  while (next < lines.length) {
    const line = expanded(lines[next]);
    if (!line.startsWith("    ") && line.trim() !== "") break;
    code.push(line.slice(4));
    next += 1;
  }
  return { element: codeBlock(code.join("\n").replace(/\s+$/, ""), ""), next };
}

function heading(line, at, isTyped) {
  const found = HEADING.exec(line);
  return found && { element: make(`h${found[1].length}`, "", inline(found[2] ?? "", isTyped)), next: at + 1 };
}

function quote(lines, at, depth, isTyped) {
  const inner = [];
  let next = at;
  let isLazy = false;
  while (next < lines.length) {
    const line = expanded(lines[next]);
    if (QUOTE.test(line)) inner.push(line.replace(QUOTE, ""));
    else if (isLazy && line.trim() !== "" && !interrupts(line)) inner.push(line);
    else break;
    isLazy = inner[inner.length - 1].trim() !== "" && !FENCE.test(inner[inner.length - 1]);
    next += 1;
  }
  return { element: make("blockquote", "", blocks(inner, depth + 1, isTyped)), next };
}

/** Whether a line ends the paragraph before it. */
function interrupts(line) {
  const item = ITEM.exec(line);
  // Only a list that begins with 1 does, or a year at the start of a line would begin one.
  const isItem = item && item[0].trim() !== line.trim() && (/[-+*]/.test(item[2]) || Number.parseInt(item[2], 10) === 1);
  return isItem || FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line);
}

const kindOf = (marker) => (/\d/.test(marker) ? marker[marker.length - 1] : marker);

function listOf(lines, at, depth, isTyped) {
  const first = ITEM.exec(expanded(lines[at]))[2];
  const items = [];
  let isLoose = false;
  let next = at;
  while (next < lines.length) {
    const line = expanded(lines[next]);
    const found = ITEM.exec(line);
    if (!found || kindOf(found[2]) !== kindOf(first) || RULE.test(line)) break;
    const item = itemAt(lines, next, line, found);
    items.push({ ...item, marker: found[2] });
    next = item.next;
    const isFollowed = next < lines.length && ITEM.test(expanded(lines[next]));
    isLoose ||= item.isLoose || (item.hasGap && isFollowed);
  }
  const isOrdered = /\d/.test(first);
  const element = make(isOrdered ? "ol" : "ul", isLoose ? "loose" : "");
  if (isOrdered) element.start = Number.parseInt(first, 10);
  for (const item of items) element.append(itemElement(item, depth, isTyped));
  return { element, next };
}

/** The lines of one item, without their indentation. */
function itemAt(lines, at, line, found) {
  const width = found[3] === undefined ? found[1].length + found[2].length + 1 : found[0].length;
  const own = [line.slice(Math.min(width, found[0].length))];
  let next = at + 1;
  let blank = 0;
  let isLoose = false;
  while (next < lines.length) {
    const follows = expanded(lines[next]);
    if (follows.trim() === "") {
      blank += 1;
      next += 1;
      continue;
    }
    const isInside = follows.startsWith(" ".repeat(width));
    const isLazy = blank === 0 && !interrupts(follows) && !ITEM.test(follows);
    if (!isInside && !isLazy) break;
    // A gap in a nested list, or before one, is not this one's.
    if (blank > 0) isLoose ||= !ITEM.test(follows.slice(width)) && !follows.slice(width).startsWith(" ");
    own.push(...Array(blank).fill(""), isInside ? follows.slice(width) : follows.trimStart());
    blank = 0;
    next += 1;
  }
  return { lines: own, next, hasGap: blank > 0, isLoose };
}

function itemElement(item, depth, isTyped) {
  const element = make("li");
  const task = /^\[([ xX])\] /.exec(item.lines[0]);
  if (task) {
    element.className = "task";
    element.append(make("span", "box", task[1] === " " ? "☐ " : "☑ "));
    item.lines[0] = item.lines[0].slice(4);
  }
  if (isTyped && /[+*]/.test(item.marker)) element.style.listStyleType = `"${item.marker} "`;
  element.append(blocks(item.lines, depth + 1, isTyped));
  return element;
}

function cells(line) {
  const inner = line.trim().replace(/^\|/, "").replace(/(^|[^\\])\|$/, "$1");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replace(/\\\|/g, "|"));
}

function table(lines, at, isTyped) {
  const isHead = lines[at].includes("|") && at + 1 < lines.length && lines[at + 1].includes("-") && TABLE_RULE.test(lines[at + 1]);
  if (!isHead) return null;
  const head = cells(lines[at]);
  const rule = cells(lines[at + 1]);
  if (head.length !== rule.length) return null;
  const align = rule.map((cell) => (cell.endsWith(":") ? (cell.startsWith(":") ? "center" : "right") : ""));
  const row = (tag, texts) =>
    make("tr", "", head.map((_, column) => make(tag, align[column], inline(texts[column] ?? "", isTyped))));
  const body = make("tbody");
  let next = at + 2;
  while (next < lines.length && lines[next].trim() !== "" && !interrupts(expanded(lines[next]))) {
    body.append(row("td", cells(lines[next])));
    next += 1;
  }
  return { element: make("div", "table", make("table", "", make("thead", "", row("th", head)), body)), next };
}

function paragraph(lines, at, isTyped) {
  const text = [lines[at].trim()];
  let next = at + 1;
  while (next < lines.length) {
    const line = expanded(lines[next]);
    const underline = /^ {0,3}(=+|-+)[ \t]*$/.exec(line);
    if (underline) {
      return { element: make(underline[1][0] === "=" ? "h1" : "h2", "", inline(text.join("\n"), isTyped)), next: next + 1 };
    }
    if (line.trim() === "" || interrupts(line)) break;
    if (line.includes("|") && table(lines, next, isTyped)) break;
    text.push(line.trim());
    next += 1;
  }
  return { element: make("p", "", inline(text.map((line) => line.replace(/\\$/, "")).join("\n"), isTyped)), next };
}
