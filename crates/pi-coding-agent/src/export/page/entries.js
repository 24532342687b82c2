// One entry of a transcript as an element.

/** What is wanted to be seen of every entry. */
const view = { thinking: true };

/** An entry as an article, or null where there is nothing to see of it. `results` are those of its calls. */
function articleOf(node, results) {
  let body;
  try {
    body = bodyOf(node, results);
  } catch {
    body = { kind: "broken", parts: [make("div", "note", `This entry cannot be shown (${str(node.entry.type)}).`)] };
  }
  if (!body) return null;
  const article = make("article", `entry ${body.kind}`);
  article.dataset.entry = node.id;
  if (body.title) article.append(headOf(node, body));
  else if (node.label) article.append(labelOf(node));
  article.append(...body.parts.filter(Boolean));
  if (node.isEdited) article.append(make("div", "note", "Replaced or left out in what the model is told."));
  return article;
}

function headOf(node, body) {
  const link = make("a", "self", "#");
  link.href = `#${encodeURIComponent(node.id)}`;
  link.title = "Link to this entry";
  const time = when(node.entry.timestamp ?? fields(node.entry.message).timestamp);
  return make("header", "entry-head", make("span", "who", body.title), node.label && labelOf(node), make("span", "time", time), link);
}

const labelOf = (node) => make("span", "label", node.label);

function bodyOf(node, results) {
  const { entry } = node;
  switch (entry.type) {
    case "message":
      return messageBody(fields(entry.message), results);
    case "custom_message":
      return entry.display === false ? null : custom(entry);
    case "compaction":
      return summary("Compaction", `The conversation until here, ${plural(number(entry.tokensBefore), "token")}, was summarised`, entry.summary);
    case "branch_summary":
      return summary("Branch summary", "What happened on a branch that was left", entry.summary);
    case "model_change":
      return event("Model", [entry.provider, entry.modelId].map(str).filter(Boolean).join("/"));
    case "thinking_level_change":
      return event("Thinking", str(entry.thinkingLevel));
    case "active_tools_change":
      return event("Tools", list(entry.activeToolNames ?? entry.toolNames ?? entry.tools).map(str).join(", "));
    case "label":
      return event(entry.label ? "Label" : "Label removed", str(entry.label));
    case "session_info":
      return event("Name", str(entry.name));
    case "usage":
      return event("Usage", [str(entry.kind), spent(fields(entry.usage))].filter(Boolean).join(" · "));
    case "custom":
    case "context_edit":
      return null;
    default:
      return event(str(entry.type), "");
  }
}

const event = (title, text) => ({ kind: "event", parts: [make("span", "who", title), " ", make("span", "what", text)] });

function summary(title, lead, text) {
  return { kind: "summary", title, parts: [details(lead, true, markdown(str(text)))] };
}

function custom(message) {
  return { kind: "custom", title: str(message.customType) || "message", parts: contentOf(message.content) };
}

function messageBody(message, results) {
  switch (message.role) {
    case "user":
      return { kind: "user", title: "User", parts: typed(message.content) };
    case "assistant":
      return { kind: "assistant", title: "Assistant", parts: answer(message, results) };
    case "toolResult":
      return { kind: "result", title: "Tool result", parts: [resultAlone(message)] };
    case "bashExecution":
      return { kind: "shell", title: "Command", parts: [commandOf(message)] };
    case "system":
      return instructions(message);
    case "custom":
    case "hookMessage":
      return message.display === false ? null : custom(message);
    case "compactionSummary":
      return summary("Compaction", "Summary of the conversation until here", message.summary);
    case "branchSummary":
      return summary("Branch summary", "What happened on a branch that was left", message.summary);
    default:
      return { kind: "custom", title: str(message.role) || "message", parts: contentOf(message.content) };
  }
}

/** Text and pictures. */
function contentOf(content) {
  if (typeof content === "string") return [markdown(content)];
  return list(content).map(fields).map((block) => {
    if (block.type === "text") return markdown(str(block.text));
    return block.type === "image" ? picture(block) : null;
  });
}

const ATTACHED = /<file name="([^"\n]*)">\n([^]*?)\n?<\/file>\n?/g;

/** What a person wrote, the files they attached folded. */
function typed(content) {
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : list(content).map(fields);
  return blocks.flatMap((block) => {
    if (block.type === "image") return [picture(block)];
    if (block.type !== "text") return [];
    const parts = [];
    const text = str(block.text);
    let from = 0;
    const put = (piece) => piece.trim() && parts.push(markdown(piece, true));
    for (const found of text.matchAll(ATTACHED)) {
      put(text.slice(from, found.index));
      from = found.index + found[0].length;
      const code = make("pre", "output", coloured(withoutEscapes(found[2]), extensionOf(found[1])));
      parts.push(details(make("span", "path", found[1]), false, code));
    }
    put(text.slice(from));
    return parts;
  });
}

function answer(message, results) {
  const content = typeof message.content === "string" ? [{ type: "text", text: message.content }] : list(message.content);
  const parts = content.map(fields).map((block) => {
    if (block.type === "text") return str(block.text).trim() && markdown(str(block.text).trim());
    if (block.type === "thinking") return thinkingOf(block);
    if (block.type === "toolCall") return toolCard(block, results.get(block));
    return block.type === "image" ? picture(block) : null;
  });
  parts.push(endingOf(message));
  const model = [message.provider, message.model].map(str).filter(Boolean).join("/");
  const told = [model, spent(fields(message.usage)), duration(number(message.durationMs))].filter(Boolean);
  if (told.length > 0) parts.push(make("footer", "meta", told.join(" · ")));
  return parts;
}

function thinkingOf(block) {
  const text = str(block.thinking).trim();
  if (!text) return block.redacted ? make("div", "note", "Thinking that the provider keeps to itself") : null;
  return details("Thinking", view.thinking, make("div", "thinking-text", markdown(text)), "thinking");
}

/** What an answer that did not end well says about it. */
function endingOf(message) {
  const error = withoutEscapes(str(message.errorMessage));
  switch (message.stopReason) {
    case "error":
      return make("div", "error", error || "The answer failed.");
    case "aborted":
      return make("div", "error", error && error !== "Request was aborted" ? `Aborted: ${error}` : "Aborted");
    case "length":
      return make("div", "error", error || "The answer was cut off at the output limit.");
    default:
      return error ? make("div", "error", error) : null;
  }
}

function spent(usage) {
  const [input, output] = [number(usage.input) + number(usage.cacheRead) + number(usage.cacheWrite), number(usage.output)];
  if (input + output === 0) return "";
  return [`${count(input)} in, ${count(output)} out`, money(number(fields(usage.cost).total))].filter(Boolean).join(", ");
}

function commandOf(message) {
  const head = make("div", "tool-head", make("span", "prompt", "$ "), make("code", "command", withoutEscapes(str(message.command))));
  const output = str(message.output).replace(/\s+$/, "");
  const notes = [
    message.cancelled && "Cancelled",
    number(message.exitCode) !== 0 && `Exit code ${message.exitCode}`,
    message.truncated && `Output shortened${message.fullOutputPath ? `; all of it was in ${str(message.fullOutputPath)}` : ""}`,
    message.excludeFromContext && "Not shown to the model",
  ].filter(Boolean);
  const body = make("div", "tool-body", output ? folded(output, true, "") : make("div", "note", "(no output)"));
  const isFailed = message.cancelled || number(message.exitCode) !== 0;
  return make("div", `card ${isFailed ? "failed" : "done"}`, head, body, notes.map((note) => make("div", "note", note)));
}

/** The system prompt and the tools, or what changed of them. */
function instructions(message) {
  const parts = [];
  const text = textOf(message.content);
  if (text) parts.push(details("System prompt", false, make("pre", "output wrapped", withoutEscapes(text))));
  const sections = Object.entries(fields(message.sections));
  const kept = sections.filter(([, section]) => typeof section === "string");
  if (kept.length > 0) {
    const shown = kept.flatMap(([name, section]) => [make("h4", "", name), make("pre", "output wrapped", withoutEscapes(section))]);
    parts.push(details(`System prompt: ${kept.map(([name]) => name).join(", ")}`, false, shown));
  }
  const gone = sections.filter(([, section]) => section === null).map(([name]) => name);
  if (gone.length > 0) parts.push(make("div", "note", `Removed from the system prompt: ${gone.join(", ")}`));
  const added = list(message.toolsAdded).map(fields);
  if (added.length > 0) parts.push(details(`Tools: ${added.map((tool) => str(tool.name)).join(", ")}`, false, added.map(toolOf)));
  const removed = list(message.toolsRemoved).map((tool) => str(fields(tool).name));
  if (removed.length > 0) parts.push(make("div", "note", `Tools removed: ${removed.join(", ")}`));
  return parts.length > 0 ? { kind: "system", parts } : null;
}

function toolOf(tool) {
  const properties = Object.entries(fields(fields(tool.parameters).properties));
  const required = list(fields(tool.parameters).required);
  const rows = properties.map(([name, schema]) => [
    make("dt", "", name, required.includes(name) ? "" : make("span", "detail", " optional")),
    make("dd", "", [str(fields(schema).type), str(fields(schema).description)].filter(Boolean).join(": ")),
  ]);
  return make("div", "tool-definition", make("h4", "", str(tool.name)), make("p", "", str(tool.description)), make("dl", "arguments", rows.flat()));
}

function details(lead, isOpen, content, name = "") {
  const element = make("details", name, make("summary", "", lead), content);
  element.open = isOpen;
  return element;
}

/** What a row of the tree says about an entry, and which filters let it through. */
function rowOf(node) {
  const { entry } = node;
  const line = (text) => withoutEscapes(text.slice(0, 400)).replace(/\s+/g, " ").trim().slice(0, 160);
  const row = (kind, text, shown = true) => ({ kind, text: line(text), shown });
  // Marks of Markdown say nothing in one line.
  const bare = (text) => text.slice(0, 600).replace(/^\s*(?:#{1,6}|>|[-+*]|```\w*)\s+|\*\*|`|(?<!\w)[*_]|[*_](?!\w)/gm, "");
  if (entry.type === "message") {
    const message = fields(entry.message);
    const text = textOf(message.content);
    switch (message.role) {
      case "user":
        return row("user", text || "(picture)");
      case "assistant": {
        const calls = list(message.content).map(fields).filter((block) => block.type === "toolCall");
        const isBroken = message.stopReason === "error" || message.stopReason === "aborted";
        if (text.trim() || isBroken) return row("assistant", text.trim() ? bare(text) : str(message.errorMessage) || str(message.stopReason));
        return row("tool", calls.map((call) => `${str(call.name)} ${str(Object.values(fields(call.arguments))[0])}`).join(", "), false);
      }
      case "toolResult":
        return row("tool", `${str(message.toolName)}: ${text}`, false);
      case "bashExecution":
        return row("tool", `$ ${str(message.command)}`);
      case "custom":
      case "hookMessage":
        return row("custom", `${str(message.customType)}: ${text}`, message.display !== false);
      default:
        return row("event", str(message.role), false);
    }
  }
  if (entry.type === "compaction") return row("summary", "compaction");
  if (entry.type === "branch_summary") return row("summary", `branch summary: ${bare(str(entry.summary))}`);
  if (entry.type === "custom_message") return row("custom", `${str(entry.customType)}: ${bare(textOf(entry.content))}`, entry.display !== false);
  const value = entry.modelId ?? entry.thinkingLevel ?? entry.label ?? entry.name ?? entry.customType ?? "";
  return row("event", `${str(entry.type)} ${str(value)}`, false);
}
