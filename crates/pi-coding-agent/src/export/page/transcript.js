// The entries of one path. They are made when they come near the window, some at a time.

const CHUNK = 25;
/** Up to this many entries all are made in idle moments, so that the browser's own search finds them. */
const MAX_IDLE = 4000;

function makeTranscript(session, choose) {
  const box = find("transcript");
  const state = { path: [], chunks: [], place: new Map(), current: null };
  const observer = new IntersectionObserver(
    (seen) => seen.filter((one) => one.isIntersecting).forEach((one) => fill(state.chunks[Number(one.target.dataset.chunk)])),
    { rootMargin: "1500px 0px" },
  );

  const fill = (chunk) => {
    if (!chunk || chunk.isFilled) return;
    chunk.isFilled = true;
    observer.unobserve(chunk.element);
    for (const node of chunk.nodes) {
      const article = articleOf(node, chunk.results);
      const fork = forkOf(session, node, choose);
      if (fork) chunk.element.append(fork);
      if (article) chunk.element.append(article);
    }
    chunk.element.style.minHeight = "";
    find("transcript").dispatchEvent(new CustomEvent("filled"));
  };

  /** Shows a path from its beginning. */
  const show = (path) => {
    observer.disconnect();
    Object.assign(state, { path, chunks: [], place: new Map(), current: null });
    const { results, merged } = pair(path);
    const items = path.filter((node) => !merged.has(node));
    for (let at = 0; at < items.length; at += CHUNK) {
      const element = make("section", "chunk");
      element.dataset.chunk = state.chunks.length;
      const nodes = items.slice(at, at + CHUNK);
      element.style.minHeight = `${nodes.length * 90}px`;
      state.chunks.push({ element, nodes, results, isFilled: false });
    }
    for (const chunk of state.chunks) for (const node of chunk.nodes) state.place.set(node, chunk);
    for (const [node, call] of merged) state.place.set(node, state.place.get(call));
    box.replaceChildren(...state.chunks.map((chunk) => chunk.element));
    state.chunks.forEach((chunk) => observer.observe(chunk.element));
    fill(state.chunks[0]);
    if (items.length <= MAX_IDLE) fillIdly(state.chunks);
  };

  const fillIdly = (chunks) => {
    const next = window.requestIdleCallback ?? ((work) => setTimeout(work, 50));
    let at = 0;
    const step = () => {
      if (chunks !== state.chunks) return;
      const until = performance.now() + 12;
      while (at < chunks.length && performance.now() < until) fill(chunks[at++]);
      if (at < chunks.length) next(step);
    };
    next(step);
  };

  const elementOf = (node) => {
    const chunk = state.place.get(node);
    if (!chunk) return null;
    fill(chunk);
    const id = CSS.escape(node.id);
    return chunk.element.querySelector(`[data-entry="${id}"]`);
  };

  return {
    show,
    has: (node) => state.place.has(node),
    path: () => state.path,
    /** Brings an entry to the top, or the nearest one that can be seen. */
    reveal(node) {
      const at = state.path.indexOf(node);
      let element = null;
      for (let i = at; i >= 0 && !element; i -= 1) element = elementOf(state.path[i]);
      for (const other of box.querySelectorAll(".current")) other.classList.remove("current");
      if (!element) return null;
      element.classList.add("current");
      element.scrollIntoView({ block: "start" });
      // What was made on the way has pushed it elsewhere.
      requestAnimationFrame(() => element.scrollIntoView({ block: "start" }));
      return element;
    },
    elementOf,
    fillAll: () => state.chunks.forEach(fill),
  };
}

/** Each call's result: the next one of that id, as some providers count calls anew in every answer. */
function pair(path) {
  const results = new Map();
  const merged = new Map();
  const waiting = new Map();
  for (const node of path) {
    if (node.entry.type !== "message") continue;
    const message = fields(node.entry.message);
    if (message.role === "assistant") {
      for (const block of list(message.content)) {
        if (isObject(block) && block.type === "toolCall") waiting.set(block.id, { block, node });
      }
    } else if (message.role === "toolResult") {
      const call = waiting.get(message.toolCallId);
      if (!call) continue;
      waiting.delete(message.toolCallId);
      results.set(call.block, node);
      merged.set(node, call.node);
    }
  }
  return { results, merged };
}

/** Where the conversation goes several ways: which one this is, and the others. */
function forkOf(session, node, choose) {
  const siblings = node.parent ? node.parent.kids : session.roots;
  if (siblings.length < 2) return null;
  const at = siblings.indexOf(node);
  const step = (by, sign, title) => {
    const button = make("button", "step", sign);
    button.type = "button";
    button.title = title;
    button.disabled = !siblings[at + by];
    button.addEventListener("click", () => choose(siblings[at + by]));
    return button;
  };
  const told = make("span", "", `Branch ${at + 1} of ${siblings.length}`);
  return make("nav", "fork", step(-1, "‹", "The branch before"), told, step(1, "›", "The next branch"));
}
