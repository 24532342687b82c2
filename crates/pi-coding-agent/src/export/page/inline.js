// Markdown inside a line: emphasis, code, links. HTML is text like any other.

/** Marks that wait for their end. More is nobody's writing, and browsers lay out by recursion. */
const MAX_PENDING = 60;
const MAX_ADDRESS = 4096;

// eslint-disable-next-line no-useless-escape
const PUNCTUATION = /[\p{P}\p{S}]/u;
const CJK = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303f\uff00-\uffef]/u;
// A bare address ends before quotes, brackets and the punctuation of Chinese, Japanese and Korean.
const BARE_ADDRESS = /(?:https?:\/\/|www\.)[^\s<>"'`\u3000-\u303f\uff00-\uffef\u2018-\u201f]+/iy;
const EMAIL = /[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}/y;
// What cannot hold a mark or the start of an address, but at its own start.
const RUN = /[A-Za-z0-9]+|[\u0080-\uffff]+|[ \n,.;:'"()-]+/y;
const ANGLED = /<((?:https?:\/\/|mailto:)[^\s<>]*|[\w.+-]+@[\w.-]+)>/iy;

/** A paragraph's text as nodes. `keepsEscapes`: backslashes stay as they were typed. */
function inline(text, keepsEscapes = false) {
  return emphasised(tokens(text, keepsEscapes));
}

/** Text, marks of emphasis, and finished elements, in order; links are resolved on the way. */
function tokens(text, keepsEscapes) {
  const out = [];
  const brackets = [];
  const ticks = tickRuns(text);
  let plain = "";
  const flush = () => {
    if (plain) out.push({ text: plain });
    plain = "";
  };
  let i = 0;
  while (i < text.length) {
    const c = text[i];
    if (c === "\\" && /[!-/:-@[-`{-~]/.test(text[i + 1] ?? "")) {
      plain += keepsEscapes ? text.slice(i, i + 2) : text[i + 1];
      i += 2;
    } else if (c === "`") {
      const length = runLength(text, i);
      const end = ticks.closing(i, length);
      const inner = end < 0 ? null : text.slice(i + length, end).replace(/\n/g, " ");
      if (inner === null) {
        plain += text.slice(i, i + length);
        i += length;
      } else {
        flush();
        out.push({ element: make("code", "", /^ .*[^ ].* $/.test(inner) ? inner.slice(1, -1) : inner) });
        i = end + length;
      }
    } else if (c === "*" || c === "_" || (c === "~" && text[i + 1] === "~")) {
      flush();
      const length = runLength(text, i);
      out.push(delimiter(text, i, c, length));
      i += length;
    } else if (c === "[" || (c === "!" && text[i + 1] === "[")) {
      flush();
      brackets.push(out.length);
      out.push({ text: c === "[" ? "[" : "![", isBracket: true });
      i += c === "[" ? 1 : 2;
    } else if (c === "]" && brackets.length > 0) {
      flush();
      i = closeBracket(text, i, out, brackets);
    } else {
      const found = autolink(text, i);
      if (found) {
        flush();
        out.push({ element: found.element });
        i += found.length;
      } else {
        RUN.lastIndex = i;
        const run = RUN.exec(text)?.[0] ?? c;
        plain += run;
        i += run.length;
      }
    }
  }
  flush();
  return out;
}

function runLength(text, start) {
  let end = start;
  while (text[end] === text[start]) end += 1;
  return end - start;
}

/** Where runs of backticks of each length begin, so that looking for an end is not quadratic. */
function tickRuns(text) {
  const starts = new Map();
  for (const found of text.matchAll(/`+/g)) {
    const length = found[0].length;
    if (!starts.has(length)) starts.set(length, { at: [], next: 0 });
    starts.get(length).at.push(found.index);
  }
  return {
    closing(after, length) {
      const runs = starts.get(length);
      if (!runs) return -1;
      while (runs.next < runs.at.length && runs.at[runs.next] <= after) runs.next += 1;
      return runs.at[runs.next] ?? -1;
    },
  };
}

/** Whether a run of marks may open or close, as CommonMark has it, but beside CJK always. */
function delimiter(text, start, mark, length) {
  const before = [...text.slice(Math.max(0, start - 2), start)].pop() ?? " ";
  const after = [...text.slice(start + length, start + length + 2)].shift() ?? " ";
  const isBlank = (c) => /\s/.test(c);
  const stands = (c, other) => !isBlank(c) && (!PUNCTUATION.test(c) || isBlank(other) || PUNCTUATION.test(other) || CJK.test(c) || CJK.test(other));
  const left = stands(after, before);
  const right = stands(before, after);
  const isWord = mark === "_";
  return {
    mark,
    length,
    opens: left && (!isWord || !right || PUNCTUATION.test(before)),
    closes: right && (!isWord || !left || PUNCTUATION.test(after)),
  };
}

/** Ends the innermost bracket: a link if an address follows. Gives where to go on. */
function closeBracket(text, at, out, brackets) {
  const opened = brackets.pop();
  const target = text[at + 1] === "(" ? destination(text, at + 2) : null;
  if (!target) {
    out.push({ text: "]" });
    return at + 1;
  }
  const isImage = out[opened].text === "![";
  const inner = emphasised(out.splice(opened).slice(1));
  out.push({ element: linkTo(target.address, isImage && !inner.textContent ? "image" : inner) });
  // Links hold no links; a picture may stand in one.
  if (!isImage) brackets.length = 0;
  return target.end;
}

/** `address "title")`; pictures are not loaded, so their titles do not matter either. */
function destination(text, start) {
  const limit = text.slice(start, start + MAX_ADDRESS);
  const found = /^\s*(?:<([^<>\n]*)>|((?:[^\s()\\]|\\.|\([^\s()]*\))*))(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/.exec(limit);
  if (!found) return null;
  return { address: (found[1] ?? found[2]).replace(/\\([!-/:-@[-`{-~])/g, "$1"), end: start + found[0].length };
}

function autolink(text, at) {
  const matching = (pattern) => {
    pattern.lastIndex = at;
    return pattern.exec(text);
  };
  if (text[at] === "<") {
    const found = matching(ANGLED);
    if (!found) return null;
    const address = /^(https?|mailto):/i.test(found[1]) ? found[1] : `mailto:${found[1]}`;
    return { element: linkTo(address, found[1].replace(/^mailto:/i, "")), length: found[0].length };
  }
  if (/[\p{L}\p{N}_]/u.test(text[at - 1] ?? "") && !CJK.test(text[at - 1])) return null;
  const c = text[at];
  if (c === "h" || c === "w" || c === "H" || c === "W") {
    const found = matching(BARE_ADDRESS);
    if (found) {
      const address = trimmed(found[0]);
      const target = /^www\./i.test(address) ? `https://${address}` : address;
      if (safeAddress(target)) return { element: linkTo(target, address), length: address.length };
    }
  }
  if (!/[\w+]/.test(c)) return null;
  const found = matching(EMAIL);
  return found && { element: linkTo(`mailto:${found[0]}`, found[0]), length: found[0].length };
}

/** Without the punctuation of the sentence it stands in, and a bracket that is not its own. */
function trimmed(address) {
  let surplus = address.split(")").length - address.split("(").length;
  let end = address.length;
  for (;;) {
    const last = address[end - 1] ?? "";
    if (last === ")" && surplus > 0) surplus -= 1;
    else if (!/[.,:;!?*_~'"]/.test(last)) return address.slice(0, end);
    end -= 1;
  }
}

/** Resolves the marks of emphasis. */
function emphasised(items) {
  const stack = [];
  let pending = 0;
  // How far down there is no opener for a kind of closer.
  const bottoms = new Map();
  for (const item of items) {
    if (!item.mark) {
      stack.push(item);
      continue;
    }
    let left = item.length;
    const kind = `${item.mark}${item.opens}${item.length % 3}`;
    while (item.closes && left > 0) {
      const at = openerOf(stack, item, left, bottoms.get(kind) ?? 0);
      if (at < 0) {
        bottoms.set(kind, stack.length);
        break;
      }
      const opener = stack[at];
      const used = item.mark === "~" || (left >= 2 && opener.left >= 2) ? 2 : 1;
      const between = stack.splice(at + 1);
      pending -= between.filter((part) => part.mark).length;
      const inner = assemble(between);
      opener.left -= used;
      left -= used;
      const tag = item.mark === "~" ? "del" : used === 2 ? "strong" : "em";
      if (opener.left === 0) {
        stack.pop();
        pending -= 1;
      }
      stack.push({ element: make(tag, "", inner) });
    }
    if (left === 0) continue;
    const waits = item.opens && pending < MAX_PENDING;
    if (waits) pending += 1;
    stack.push(waits ? { ...item, left } : { text: item.mark.repeat(left) });
  }
  return assemble(stack);
}

function openerOf(stack, closer, left, bottom) {
  for (let i = stack.length - 1; i >= Math.min(bottom, stack.length); i -= 1) {
    const { mark, opens, closes, length, left: has } = stack[i];
    if (mark !== closer.mark || !opens) continue;
    if (mark === "~") {
      if (has === left) return i;
      continue;
    }
    const isOdd = (closes || closer.opens) && (length + closer.length) % 3 === 0 && (length % 3 !== 0 || closer.length % 3 !== 0);
    if (!isOdd) return i;
  }
  return -1;
}

function assemble(items) {
  const fragment = document.createDocumentFragment();
  for (const item of items) fragment.append(item.element ?? item.text ?? item.mark.repeat(item.left));
  return fragment;
}
