// Calls of tools with what came of them.

/** Lines shown of an output before somebody asks for more. */
const SHOWN_LINES = 16;

/** A call and its result as a card. */
function toolCard(call, result) {
  const name = str(call.name) || "tool";
  const given = fields(call.arguments);
  const message = fields(result && result.entry.message);
  const state = result ? (message.isError ? "failed" : "done") : "pending";
  const known = TOOLS[name];
  const head = make("div", "tool-head", known ? known.title(given) : make("span", "tool-name", name));
  if (result && number(message.durationMs) > 0) head.append(make("span", "meta", duration(message.durationMs)));
  const card = make("div", `card ${state}`, head);
  if (result) card.dataset.entry = result.id;
  const body = make("div", "tool-body");
  const own = known && known.body ? known.body(given, message) : null;
  if (own) body.append(own);
  if (!known) body.append(rest(given, []));
  if (result) body.append(resultOf(name, given, message, own !== null));
  else body.append(make("div", "note", "No result"));
  card.append(body);
  return card;
}

/** A result whose call is not in sight. */
function resultAlone(message) {
  const head = make("div", "tool-head", make("span", "tool-name", str(message.toolName) || "tool"), make("span", "meta", "result"));
  const body = make("div", "tool-body", resultOf(str(message.toolName), {}, message, false));
  return make("div", `card ${message.isError ? "failed" : "done"}`, head, body);
}

function resultOf(name, given, message, isShown) {
  const out = document.createDocumentFragment();
  const text = textOf(message.content).replace(/\s+$/, "");
  // What an edit or a write did is shown already; that it failed is not.
  const isTold = isShown && !message.isError && (name === "edit" || name === "write");
  if (text && !isTold) {
    const language = name === "read" && !message.isError ? extensionOf(given.path ?? given.file_path) : "";
    out.append(folded(text, name === "bash", language));
  }
  for (const block of list(message.content).map(fields)) if (block.type === "image") out.append(picture(block));
  if (!text && !isTold && !list(message.content).some((block) => fields(block).type === "image")) {
    out.append(make("div", "note", "(no output)"));
  }
  return out;
}

/** A long text is cut, at its start where the end matters, until somebody wants all of it. */
function folded(text, keepsEnd, language) {
  const lines = text.split("\n");
  const show = (part) => make("pre", "output", language ? coloured(withoutEscapes(part), language) : terminal(part));
  if (lines.length <= SHOWN_LINES + 2) return show(text);
  const part = keepsEnd ? lines.slice(-SHOWN_LINES) : lines.slice(0, SHOWN_LINES);
  const short = show(part.join("\n"));
  const more = make("button", "more", `Show all ${plural(lines.length, "line")}`);
  more.type = "button";
  const box = make("div", "folded", keepsEnd ? [more, short] : [short, more]);
  more.addEventListener("click", () => box.replaceWith(show(text)));
  return box;
}

const titled = (name, ...parts) => [make("span", "tool-name", name), " ", ...parts];
const shownPath = (given) => make("span", "path", withoutEscapes(str(given.path ?? given.file_path)) || "…");
const detail = (text) => make("span", "detail", text);

/** A number that may have come as text; null for what is none. */
function lineNumber(value) {
  const parsed = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof parsed === "number" && Number.isFinite(parsed) ? parsed : null;
}

/** `:5-14`, or nothing when the whole file was asked for. */
function rangeOf(given) {
  const [offset, limit] = [lineNumber(given.offset), lineNumber(given.limit)];
  if (offset === null && limit === null) return "";
  const start = offset ?? 1;
  return limit === null ? `:${start}` : `:${start}-${start + limit - 1}`;
}

/** Arguments that have no place of their own. */
function rest(given, known) {
  const others = Object.entries(given).filter(([key, value]) => !known.includes(key) && value !== null && value !== undefined);
  if (others.length === 0) return null;
  const rows = others.map(([key, value]) => [make("dt", "", key), make("dd", "", withoutEscapes(str(value)))]);
  return make("dl", "arguments", rows.flat());
}

function searchTitle(name, given, ...parts) {
  const where = str(given.path);
  const limit = lineNumber(given.limit);
  return titled(name, ...parts, detail(` in ${where || "."}`), limit === null ? null : detail(` limit ${limit}`));
}

const TOOLS = {
  bash: {
    title: (given) => {
      const timeout = lineNumber(given.timeout);
      const command = make("code", "command", withoutEscapes(str(given.command)) || "…");
      return [make("span", "prompt", "$ "), command, timeout === null ? null : detail(` (timeout ${timeout} s)`)];
    },
    body: (given) => rest(given, ["command", "timeout"]),
  },
  read: {
    title: (given) => titled("read", shownPath(given), make("span", "range", rangeOf(given))),
    body: (given) => rest(given, ["path", "file_path", "offset", "limit"]),
  },
  write: {
    title: (given) => titled("write", shownPath(given)),
    body: (given) => folded(str(given.content), false, extensionOf(given.path ?? given.file_path) || "text"),
  },
  edit: {
    title: (given) => titled("edit", shownPath(given)),
    body: (given, message) => {
      const diff = str(fields(message.details).diff);
      return make("pre", "output diff", diffLines(withoutEscapes(diff || replacements(given))));
    },
  },
  grep: {
    title: (given) => {
      const glob = str(given.glob);
      return searchTitle("grep", given, make("code", "command", `/${str(given.pattern)}/`), glob ? detail(` (${glob})`) : null);
    },
    body: (given) => rest(given, ["pattern", "path", "glob", "limit"]),
  },
  find: {
    title: (given) => searchTitle("find", given, make("code", "command", str(given.pattern))),
    body: (given) => rest(given, ["pattern", "path", "limit"]),
  },
  ls: {
    title: (given) => titled("ls", make("span", "path", str(given.path) || ".")),
    body: (given) => rest(given, ["path", "limit"]),
  },
};
Object.setPrototypeOf(TOOLS, null);

/** What an edit wanted, where nothing says what it did. */
function replacements(given) {
  const edits = list(given.edits).length > 0 ? list(given.edits) : [given];
  const marked = (text, sign) => (text ? text.split("\n").map((line) => `${sign}${line}`) : []);
  const lines = edits.map(fields).flatMap((edit) => [...marked(str(edit.oldText), "-"), ...marked(str(edit.newText), "+"), ""]);
  return lines.join("\n").replace(/\n+$/, "");
}
