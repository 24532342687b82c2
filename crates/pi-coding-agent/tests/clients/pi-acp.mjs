// A conversation of an editor with the published pi-acp, which drives the binary in
// PI_ACP_PI_COMMAND. PI_CLIENTS names the folder whose node_modules has the package.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const agent = spawn(process.execPath, [`${process.env.PI_CLIENTS}/node_modules/pi-acp/dist/index.js`], {
  stdio: ["pipe", "pipe", "inherit"],
});
const waiting = new Map();
const updates = [];
let next = 1;
createInterface({ input: agent.stdout }).on("line", (line) => {
  const message = JSON.parse(line);
  if (message.method === "session/update") return updates.push(message.params.update);
  if (message.method) {
    // Whatever an editor is asked, it does not offer.
    return send({ id: message.id, error: { code: -32601, message: "not offered" } });
  }
  const { resolve, reject } = waiting.get(message.id);
  waiting.delete(message.id);
  message.error ? reject(new Error(JSON.stringify(message.error))) : resolve(message.result);
});
const send = (message) => agent.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
const call = (method, params) =>
  new Promise((resolve, reject) => {
    waiting.set(next, { resolve, reject });
    send({ id: next++, method, params });
  });
const said = () =>
  updates
    .filter((update) => update.sessionUpdate === "agent_message_chunk")
    .map((update) => update.content.text)
    .join("");

const capabilities = { fs: { readTextFile: false, writeTextFile: false } };
const hello = await call("initialize", { protocolVersion: 1, clientCapabilities: capabilities });
assert.equal(hello.protocolVersion, 1);
const { sessionId } = await call("session/new", { cwd: process.cwd(), mcpServers: [] });
assert.ok(sessionId);

const prompt = (text) => call("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
assert.equal((await prompt("Read a.txt")).stopReason, "end_turn");
assert.match(said(), /It says alpha\./);
const calls = updates.filter((update) => update.sessionUpdate.startsWith("tool_call"));
assert.ok(calls.some((update) => update.status === "completed"), JSON.stringify(calls));
assert.match(JSON.stringify(calls), /alpha/);

// A cancelled turn, and one after it.
const { existsSync } = await import("node:fs");
const slow = prompt("Wait");
while (!existsSync("started")) await new Promise((done) => setTimeout(done, 10));
send({ method: "session/cancel", params: { sessionId } });
assert.equal((await slow).stopReason, "cancelled");
assert.equal((await prompt("Go on")).stopReason, "end_turn");
assert.match(said(), /Reviewed\./);

agent.stdin.end();
const code = await new Promise((done) => agent.on("exit", done));
assert.ok(code === 0 || code === null, `${code}`);
console.log("done");
