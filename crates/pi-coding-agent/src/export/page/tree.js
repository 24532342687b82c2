// The side bar: every entry of every branch as a row, of which only those in sight exist.

const ROW_HEIGHT = 24;
/** Branches within branches are not indented further than this. */
const MAX_INDENT = 16;
const FILTERS = {
  default: (row, node) => row.shown || node.label !== "",
  user: (row) => row.kind === "user",
  labelled: (row, node) => node.label !== "",
  all: () => true,
};

function makeTree(session, choose) {
  const box = find("tree");
  const rows = make("div", "rows");
  box.append(rows);
  const state = { visible: [], place: new Map(), path: new Set(), current: null, cursor: null, hits: new Set(), filter: "default" };

  const arrange = () => {
    ({ visible: state.visible, place: state.place } = visibleRows(session, FILTERS[state.filter]));
    rows.style.height = `${state.visible.length * ROW_HEIGHT}px`;
    draw();
  };
  const draw = () => {
    const first = Math.max(0, Math.floor(box.scrollTop / ROW_HEIGHT) - 10);
    const last = Math.min(state.visible.length, first + Math.ceil((box.clientHeight || 2000) / ROW_HEIGHT) + 20);
    rows.replaceChildren(...state.visible.slice(first, last).map((row, i) => rowElement(row, first + i, state)));
    const cursor = state.place.get(state.cursor);
    if (cursor === undefined) box.removeAttribute("aria-activedescendant");
    else box.setAttribute("aria-activedescendant", `row-${cursor}`);
  };
  const reveal = (node) => {
    // Rows that are left out stand for nothing: the nearest one above does.
    let at = node;
    while (at && !state.place.has(at)) at = at.parent;
    if (!at) return;
    const top = state.place.get(at) * ROW_HEIGHT;
    if (top < box.scrollTop || top + ROW_HEIGHT > box.scrollTop + box.clientHeight) {
      box.scrollTop = top - box.clientHeight / 2;
    }
  };
  const moveTo = (index) => {
    const row = state.visible[Math.max(0, Math.min(state.visible.length - 1, index))];
    if (!row) return;
    state.cursor = row.node;
    reveal(row.node);
    draw();
  };

  box.addEventListener("scroll", draw, { passive: true });
  let height = box.clientHeight;
  new ResizeObserver(() => {
    // It was out of sight, so nothing could be brought into it.
    if (height === 0) reveal(state.current);
    height = box.clientHeight;
    draw();
  }).observe(box);
  box.addEventListener("click", (event) => {
    const row = event.target.closest(".row");
    if (row) choose(state.visible[Number(row.dataset.index)].node);
  });
  box.addEventListener("keydown", (event) => {
    const at = state.place.get(state.cursor) ?? state.place.get(state.current) ?? 0;
    const page = Math.floor(box.clientHeight / ROW_HEIGHT) - 1;
    const steps = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: state.visible.length - 1 };
    if (Object.hasOwn(steps, event.key)) moveTo(steps[event.key]);
    else if (event.key === "Enter" && state.visible[at]) choose(state.visible[at].node);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  arrange();
  return {
    /** Marks a path, and the entry of it that is looked at. */
    show(path, current) {
      state.path = new Set(path);
      state.current = state.cursor = current;
      reveal(current);
      draw();
    },
    setHits(hits) {
      state.hits = new Set(hits);
      draw();
    },
    setFilter(name) {
      state.filter = name;
      arrange();
      reveal(state.current);
      draw();
    },
  };
}

/** Rows in the order of the tree; a row is indented once for every branching above it. */
function visibleRows(session, passes) {
  const total = session.nodes.length;
  const above = new Array(total);
  const kids = new Int32Array(total + 1);
  const shown = [];
  for (const node of session.order) {
    // `above` of a node that is left out is the nearest row over it.
    const parent = node.parent ? above[node.parent.index] : -1;
    const row = rowOf(node);
    if (passes(row, node)) {
      kids[parent + 1] += 1;
      above[node.index] = node.index;
      shown.push({ node, row, parent });
    } else {
      above[node.index] = parent;
    }
  }
  const indents = new Int32Array(total);
  const place = new Map();
  const visible = shown.map(({ node, row, parent }, index) => {
    const isBranch = kids[parent + 1] > 1;
    const indent = (parent < 0 ? 0 : indents[parent]) + (isBranch && parent >= 0 ? 1 : 0);
    indents[node.index] = indent;
    place.set(node, index);
    return { node, row, indent, isBranch };
  });
  return { visible, place };
}

function rowElement({ node, row, indent, isBranch }, index, state) {
  const element = make(
    "div",
    `row ${row.kind}`,
    make("span", "dot", isBranch ? "├" : "•"),
    node.label && make("span", "label", node.label),
    make("span", "row-text", row.text || row.kind),
  );
  element.id = `row-${index}`;
  element.dataset.index = index;
  element.setAttribute("role", "treeitem");
  element.setAttribute("aria-level", indent + 1);
  element.setAttribute("aria-selected", node === state.current);
  element.title = row.text;
  element.style.top = `${index * ROW_HEIGHT}px`;
  element.style.paddingLeft = `${10 + Math.min(indent, MAX_INDENT) * 14}px`;
  element.classList.toggle("off-path", !state.path.has(node));
  element.classList.toggle("current", node === state.current);
  element.classList.toggle("cursor", node === state.cursor);
  element.classList.toggle("hit", state.hits.has(node));
  return element;
}
