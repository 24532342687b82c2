// Finding text in every entry: first those of the path that is shown, then those of other branches.

const MAX_MARKS = 2000;

function makeSearch(session, tree, transcript, choose) {
  const input = find("search");
  const told = find("search-count");
  const state = { query: "", hits: [], at: -1, timer: 0 };

  const collect = () => {
    const query = input.value.trim().toLowerCase();
    state.query = query;
    state.at = -1;
    state.hits = query === "" ? [] : session.order.filter((node) => searchText(node).includes(query));
    const onPath = new Set(transcript.path());
    state.hits = [...state.hits.filter((node) => onPath.has(node)), ...state.hits.filter((node) => !onPath.has(node))];
    tree.setHits(state.hits);
    tell();
    mark();
  };
  const tell = () => {
    const place = state.at < 0 ? "" : `${count(state.at + 1)} of `;
    told.textContent = state.query === "" ? "" : state.hits.length === 0 ? "nothing found" : place + count(state.hits.length);
  };
  const go = (by) => {
    if (input.value.trim().toLowerCase() !== state.query) collect();
    if (state.hits.length === 0) return;
    state.at = state.at < 0 ? (by > 0 ? 0 : state.hits.length - 1) : (state.at + by + state.hits.length) % state.hits.length;
    tell();
    const node = state.hits[state.at];
    choose(node);
    const element = transcript.elementOf(node);
    if (!element) return;
    open(element, state.query);
    mark();
    const range = rangesIn(element, state.query, 1)[0];
    if (range) range.startContainer.parentElement.scrollIntoView({ block: "center" });
  };

  /** Marks what was found, where the browser can do so without changing the page. */
  const mark = () => {
    if (!globalThis.CSS?.highlights) return;
    CSS.highlights.delete("found");
    if (state.query.length < 2) return;
    const ranges = rangesIn(find("transcript"), state.query, MAX_MARKS);
    if (ranges.length > 0) CSS.highlights.set("found", new Highlight(...ranges));
  };

  input.addEventListener("input", () => {
    clearTimeout(state.timer);
    state.timer = setTimeout(collect, 120);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") {
      input.value = "";
      collect();
      input.blur();
    } else return;
    event.preventDefault();
  });
  find("search-next").addEventListener("click", () => go(1));
  find("search-previous").addEventListener("click", () => go(-1));
  let isDue = false;
  find("transcript").addEventListener("filled", () => {
    if (isDue || state.query === "") return;
    isDue = true;
    requestAnimationFrame(() => {
      isDue = false;
      mark();
    });
  });
  return { focus: () => (input.focus(), input.select()) };
}

/** Opens what hides a text that is looked for. */
function open(element, query) {
  const hides = (part) => part.textContent.toLowerCase().includes(query);
  for (const part of element.querySelectorAll("details")) if (hides(part)) part.open = true;
  for (const box of element.querySelectorAll(".folded")) if (!hides(box)) box.querySelector(".more").click();
}

function rangesIn(element, query, limit) {
  const ranges = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  while (ranges.length < limit && walker.nextNode()) {
    const text = walker.currentNode.data.toLowerCase();
    // Some letters grow when they change case; what follows them would be marked beside itself.
    if (text.length !== walker.currentNode.data.length) continue;
    for (let at = text.indexOf(query); at >= 0 && ranges.length < limit; at = text.indexOf(query, at + query.length)) {
      const range = document.createRange();
      range.setStart(walker.currentNode, at);
      range.setEnd(walker.currentNode, at + query.length);
      ranges.push(range);
    }
  }
  return ranges;
}
