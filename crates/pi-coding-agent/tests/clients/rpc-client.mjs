// A whole conversation through the published RpcClient. PI_CLIENTS names the folder whose
// node_modules has the package; the models are scripted by whoever runs this.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const clients = process.env.PI_CLIENTS;
const entry = `${clients}/node_modules/@earendil-works/pi-coding-agent/dist/index.js`;
const { RpcClient } = await import(pathToFileURL(entry).href);
const client = new RpcClient({
  cliPath: new URL("./pi.mjs", import.meta.url).pathname,
  cwd: process.cwd(),
  env: { ...process.env },
  provider: "fx-anthropic",
  model: "m-plain",
});
const events = [];
await client.start();
client.onEvent((event) => events.push(event));
const settled = () => client.waitForIdle();

// State and models.
let state = await client.getState();
assert.equal(state.model.id, "m-plain");
assert.equal(state.messageCount, 0);
const models = await client.getAvailableModels();
assert.ok(models.some((model) => model.provider === "fx-openai" && model.id === "m-think"));
assert.deepEqual(await client.getAvailableThinkingLevels(), ["off"]);

// A prompt with a tool call.
let idle = settled();
assert.equal(await client.prompt("Read a.txt"), "started");
await idle;
const kinds = events.map((event) => event.type);
for (const kind of ["agent_start", "tool_execution_start", "tool_execution_end", "agent_end"]) {
  assert.ok(kinds.includes(kind), `${kind} in ${kinds}`);
}
const result = events.find((event) => event.type === "tool_execution_end");
assert.equal(result.result.content[0].text, "alpha\n");
assert.equal(await client.getLastAssistantText(), "It says alpha.");
const messages = await client.getMessages();
assert.deepEqual(
  messages.map((message) => message.role),
  ["system", "user", "assistant", "toolResult", "assistant"],
);

// A command of the user, and numbers.
const bash = await client.bash("echo hi; exit 3");
assert.deepEqual([bash.output, bash.exitCode, bash.cancelled], ["hi\n", 3, false]);
const stats = await client.getSessionStats();
assert.deepEqual([stats.userMessages, stats.toolCalls], [1, 1]);

// Another model and level.
const chosen = await client.setModel("fx-openai", "m-think");
assert.equal(chosen.id, "m-think");
await client.setThinkingLevel("high");
assert.equal((await client.getState()).thinkingLevel, "high");
assert.ok((await client.cycleThinkingLevel()).level);
assert.ok((await client.cycleModel()).model.id);
await client.setModel("fx-anthropic", "m-plain");
await client.setSteeringMode("all");
await client.setFollowUpMode("all");
await client.setAutoCompaction(false);
await client.setAutoRetry(true);
state = await client.getState();
assert.deepEqual(
  [state.steeringMode, state.followUpMode, state.autoCompactionEnabled],
  ["all", "all", false],
);

// Queues and an abort.
await client.steer("unsaid");
await client.followUp("unsaid too");
assert.deepEqual(await client.clearQueue(), { steering: ["unsaid"], followUp: ["unsaid too"] });
assert.equal(await client.prompt("Wait"), "started");
while (!existsSync("started")) await new Promise((done) => setTimeout(done, 10));
await assert.rejects(client.prompt("Too early"), /already processing/);
await client.abort();
assert.equal((await client.getState()).isStreaming, false);
await client.abortRetry();
await client.abortBash();

// The tree, a fork, a copy, another session and back.
const first = (await client.getState()).sessionFile;
const forks = await client.getForkMessages();
assert.deepEqual(forks.map((fork) => fork.text), ["Read a.txt", "Wait"]);
const tree = await client.getTree();
assert.equal(typeof tree.leafId, "string");
const { entries } = await client.getEntries();
assert.ok(entries.length > 5);
const fork = await client.fork(forks[1].entryId);
assert.deepEqual([fork.text, fork.cancelled], ["Wait", false]);
assert.equal((await client.clone()).cancelled, false);
assert.equal((await client.newSession()).cancelled, false);
assert.deepEqual(await client.getMessages(), []);
await client.setSessionName("  named  ");
assert.equal((await client.getState()).sessionName, "named");
assert.equal((await client.switchSession(first)).cancelled, false);
assert.equal((await client.getState()).sessionFile, first);

// Commands, a page, a summary that is not needed.
const commands = await client.getCommands();
assert.deepEqual(commands.map((command) => command.name), ["review", "skill:pdf"]);
const { path } = await client.exportHtml("page.html");
assert.match(readFileSync(path, "utf8"), /<!doctype html>/i);
await assert.rejects(client.compact(), /./);

idle = settled();
assert.equal(await client.prompt("/review it"), "started");
await idle;
assert.equal(await client.getLastAssistantText(), "Reviewed.");
await client.stop();
console.log("done");
