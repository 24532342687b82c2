// Reading what the page holds. Everything in it may be of any type: it is somebody's file.

/** An element with a class and children; strings become text, nothing becomes nothing. */
function make(tag, name, ...children) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

const find = (id) => document.getElementById(id);
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const list = (value) => (Array.isArray(value) ? value : []);
const fields = (value) => (isObject(value) ? value : {});
const number = (value) => (typeof value === "number" && Number.isFinite(value) ? value : 0);

/** Any value as text to show. */
function str(value) {
  if (typeof value === "string") return value;
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value, null, 2) : String(value);
}

/** The text of a message's content, which is a string or blocks. */
function textOf(content) {
  if (typeof content === "string") return content;
  const blocks = list(content).filter((block) => isObject(block) && block.type === "text");
  return blocks.map((block) => str(block.text)).join("\n");
}

function parseLine(line) {
  try {
    const value = JSON.parse(line);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** All entries as nodes in the order of the file, linked to a forest without cycles. */
function readSession() {
  const info = fields(parseLine(find("page-info").textContent));
  const session = { info, header: {}, nodes: [], roots: [], order: [], byId: new Map(), unreadable: number(info.unreadable) };
  for (const line of find("session-data").textContent.split("\n")) {
    if (line.trim() === "") continue;
    const entry = parseLine(line);
    if (entry && entry.type === "session") {
      session.header = entry;
    } else if (entry && typeof entry.id === "string" && entry.id !== "") {
      const node = { entry, id: entry.id, index: session.nodes.length, parent: null, kids: [], label: "", isEdited: false };
      session.nodes.push(node);
      session.byId.set(entry.id, node);
    } else {
      session.unreadable += 1;
    }
  }
  link(session);
  mark(session);
  return session;
}

/** Parents and children, and every node before its children. Sessions nest thousands deep. */
function link(session) {
  for (const node of session.nodes) {
    const parent = session.byId.get(node.entry.parentId);
    if (parent && parent !== node) {
      node.parent = parent;
      parent.kids.push(node);
    } else {
      session.roots.push(node);
    }
  }
  const seen = new Uint8Array(session.nodes.length);
  const walk = (root) => {
    const stack = [root];
    while (stack.length > 0) {
      const node = stack.pop();
      if (seen[node.index]) continue;
      seen[node.index] = 1;
      session.order.push(node);
      for (let i = node.kids.length - 1; i >= 0; i -= 1) stack.push(node.kids[i]);
    }
  };
  session.roots.forEach(walk);
  // Whoever is its own ancestor hangs below nothing.
  for (const node of session.nodes) {
    if (seen[node.index]) continue;
    node.parent.kids = node.parent.kids.filter((kid) => kid !== node);
    node.parent = null;
    session.roots.push(node);
    walk(node);
  }
}

/** Labels and edits, which are entries about other entries; the newest counts. */
function mark(session) {
  for (const { entry } of session.nodes) {
    const target = session.byId.get(entry.targetId);
    if (!target) continue;
    if (entry.type === "label") target.label = str(entry.label).trim();
    if (entry.type === "context_edit") target.isEdited = true;
  }
}

/** From the root to the newest leaf below `node`, through it. */
function pathThrough(node) {
  const path = [];
  for (let at = node; at; at = at.parent) path.push(at);
  path.reverse();
  for (let at = node; at.kids.length > 0; ) {
    at = at.kids[at.kids.length - 1];
    path.push(at);
  }
  return path;
}

/** Where the tokens and the money went, over every branch. */
function sumUp(session) {
  const sums = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, cost: 0, user: 0, assistant: 0, calls: 0, models: new Map() };
  const add = (usage) => {
    const spent = fields(usage);
    for (const key of ["input", "output", "cacheRead", "cacheWrite"]) sums[key] += number(spent[key]);
    sums.cost += number(fields(spent.cost).total);
  };
  let name = "";
  for (const { entry } of session.nodes) {
    if (entry.type === "session_info") name = str(entry.name);
    if (["compaction", "branch_summary", "usage"].includes(entry.type)) add(entry.usage);
    if (entry.type !== "message") continue;
    const message = fields(entry.message);
    if (message.role === "user") sums.user += 1;
    if (message.role === "toolResult") add(message.usage);
    if (message.role === "assistant") {
      sums.assistant += 1;
      sums.calls += list(message.content).filter((block) => fields(block).type === "toolCall").length;
      add(message.usage);
      const model = [message.provider, message.model].map(str).filter(Boolean).join("/");
      if (model) sums.models.set(model, (sums.models.get(model) || 0) + 1);
    }
  }
  return { ...sums, name };
}

/** All text of an entry that a search looks at, in lower case; made when first asked for. */
function searchText(node) {
  if (node.text === undefined) {
    const parts = [node.label];
    const add = (value) => parts.push(str(value));
    const { entry } = node;
    const message = fields(entry.message);
    for (const block of [...list(message.content), ...list(entry.content)].map(fields)) {
      if (block.type === "text") add(block.text);
      if (block.type === "thinking") add(block.thinking);
      if (block.type === "toolCall") {
        add(block.name);
        for (const value of Object.values(fields(block.arguments))) add(value);
      }
    }
    for (const value of [message.content, entry.content]) if (typeof value === "string") add(value);
    for (const key of ["command", "output", "errorMessage", "customType", "toolName"]) add(message[key]);
    for (const key of ["summary", "label", "name", "modelId", "customType"]) add(entry[key]);
    for (const value of Object.values(fields(message.sections))) add(value);
    add(fields(message.details).diff);
    node.text = parts.filter(Boolean).join("\n").toLowerCase();
  }
  return node.text;
}

const NUMBERS = new Intl.NumberFormat("en-US");
const count = (value) => NUMBERS.format(Math.round(value));
const plural = (value, word) => `${count(value)} ${word}${value === 1 ? "" : "s"}`;
const money = (value) => (value > 0 ? `$${value.toFixed(value < 0.1 ? 4 : 2)}` : "");

function duration(ms) {
  if (!(ms > 0)) return "";
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

function when(value) {
  const date = new Date(typeof value === "number" || typeof value === "string" ? value : Number.NaN);
  if (Number.isNaN(date.getTime())) return "";
  return date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}
