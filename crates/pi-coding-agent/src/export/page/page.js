// Putting the parts together.

const session = readSession();
const sums = sumUp(session);

showHead();
const transcript = makeTranscript(session, choose);
const tree = makeTree(session, choose);
const search = makeSearch(session, tree, transcript, choose);
begin();
listen();
document.documentElement.dataset.ready = "yes";

/** What the session is and what it came to. */
function showHead() {
  const { header, info } = session;
  const name = sums.name.trim();
  const title = name || `Session ${str(header.id)}`;
  document.title = `${title} - pi`;
  find("title").textContent = title;
  const rows = [
    ["Session", str(header.id)],
    ["Directory", str(header.cwd)],
    ["Started", when(header.timestamp)],
    ["Forked from", str(header.parentSession)],
    [sums.models.size === 1 ? "Model" : "Models", [...sums.models.keys()].join(", ")],
    ["Messages", sums.user + sums.assistant > 0 && `${count(sums.user)} user, ${count(sums.assistant)} assistant, ${plural(sums.calls, "tool call")}`],
    ["Tokens", tokensTold()],
    ["Cost", money(sums.cost)],
  ];
  const shown = rows.filter(([, value]) => value);
  find("facts").append(...shown.flatMap(([term, value]) => [make("dt", "", term), make("dd", "", withoutEscapes(value))]));
  if (session.unreadable > 0) {
    const text = `${plural(session.unreadable, "line")} of the session could not be read and ${session.unreadable === 1 ? "is" : "are"} left out.`;
    find("notices").append(make("div", "error", text));
  }
  if (session.nodes.length === 0) find("notices").append(make("div", "note", "There is nothing in this session yet."));
  find("made-by").textContent = `Exported by pi ${str(info.version)}`;
}

function tokensTold() {
  const { input, output, cacheRead, cacheWrite } = sums;
  if (input + output + cacheRead + cacheWrite === 0) return "";
  const parts = [`${count(input)} input`, `${count(output)} output`];
  if (cacheRead > 0) parts.push(`${count(cacheRead)} cache read`);
  if (cacheWrite > 0) parts.push(`${count(cacheWrite)} cache write`);
  return parts.join(", ");
}

/** The entry the address names, else the end of the conversation. */
function begin() {
  const named = fromAddress();
  const leaf = session.byId.get(session.info.leaf) ?? session.nodes[session.nodes.length - 1];
  if (named) choose(named);
  else if (leaf) {
    const path = [];
    for (let at = leaf; at; at = at.parent) path.push(at);
    path.reverse();
    transcript.show(path);
    tree.show(path, leaf);
  }
}

function fromAddress() {
  try {
    return session.byId.get(decodeURIComponent(location.hash.slice(1)));
  } catch {
    return undefined;
  }
}

/** Shows an entry: on the path that is there, or on the one through it. */
function choose(node) {
  if (!transcript.path().includes(node)) transcript.show(pathThrough(node));
  tree.show(transcript.path(), node);
  transcript.reveal(node);
  history.replaceState(null, "", `#${encodeURIComponent(node.id)}`);
  document.body.classList.remove("side-open");
}

function listen() {
  const toggle = (id, change) => {
    const button = find(id);
    const set = () => {
      const isOn = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", isOn);
      change(isOn);
    };
    button.addEventListener("click", set);
    return set;
  };
  const thinking = toggle("toggle-thinking", (isOn) => {
    view.thinking = isOn;
    for (const part of document.querySelectorAll("details.thinking")) part.open = isOn;
  });
  const details = toggle("toggle-tools", (isOn) => document.body.classList.toggle("without-details", !isOn));
  const side = () => document.body.classList.toggle(matchMedia("(max-width: 900px)").matches ? "side-open" : "side-closed");
  find("toggle-side").addEventListener("click", side);
  find("filter").addEventListener("change", (event) => tree.setFilter(event.target.value));
  find("download").addEventListener("click", download);
  window.addEventListener("hashchange", () => {
    const node = fromAddress();
    if (node) choose(node);
  });
  window.addEventListener("beforeprint", () => transcript.fillAll());
  const seek = () => {
    document.body.classList.remove("side-closed");
    document.body.classList.add("side-open");
    search.focus();
  };
  const keys = { "/": seek, t: thinking, o: details, b: side };
  document.addEventListener("keydown", (event) => {
    const isTyping = /^(?:INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  });
}

/** The session as the file it was, for programs. */
function download() {
  const text = find("session-data").textContent.trim();
  const link = make("a");
  link.href = URL.createObjectURL(new Blob([`${text}\n`], { type: "application/x-ndjson" }));
  link.download = `${str(session.header.id).replace(/[^\w.-]/g, "_") || "session"}.jsonl`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
