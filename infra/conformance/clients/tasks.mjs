// The official client of the Tasks extension, over the official TypeScript
// client's own transport, with nothing in between: @modelcontextprotocol/ext-tasks
// and @modelcontextprotocol/client. Both check what they read against their own
// schemas, so what passes here has passed theirs (R-P1 to R-P5).
//
//   node tasks.mjs URL
//
// Case 47; cases 35 and 39 where they are named. TAP goes to standard output.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createApplicationInputHandler, createTaskSessionFromClient } from "@modelcontextprotocol/ext-tasks/client";
import { isTaskStatusNotificationV2 } from "@modelcontextprotocol/ext-tasks/core/v2";

const url = new URL(process.argv[2]);
const modern = "2026-07-28";
const clientInfo = { name: "clients-check", version: "1.0.0" };
const patience = { timeout: 60_000 };
const terminal = ["completed", "failed", "cancelled"];

// connect opens a client that is held to one revision, or with 'legacy'
// negotiates it by initialize.
async function connect(mode, capabilities) {
  const client = new Client(clientInfo, { versionNegotiation: { mode }, capabilities });
  await client.connect(new StreamableHTTPClientTransport(url));
  after(() => client.close());
  return client;
}

// rawDispatch sends what the client's own codec does not know, tasks/* and
// results that are tasks, over the client's transport, which sets the headers.
function rawDispatch({ transport }) {
  const waiting = new Map();
  const { onmessage } = transport;
  transport.onmessage = (message, extra) => {
    const resolve = waiting.get(message.id);
    if (!resolve) return onmessage(message, extra);
    waiting.delete(message.id);
    resolve(message.error ? { kind: "error", error: message.error } : { kind: "result", result: message.result });
  };
  let sent = 0;
  return (request, { signal } = {}) =>
    new Promise((resolve, reject) => {
      const id = `raw-${++sent}`;
      waiting.set(id, resolve);
      transport.send({ jsonrpc: "2.0", id, ...request }, { requestSignal: signal }).catch(reject);
    });
}

// open makes a session that answers every question out of the given answers,
// by the property that is asked for.
async function open(answers = {}) {
  const client = await connect({ pin: modern }, { elicitation: { form: {} } });
  const framing = { protocolVersion: modern, clientInfo, clientCapabilities: { elicitation: { form: {} } } };
  const dispatch = rawDispatch(client);
  const asked = [];
  const session = createTaskSessionFromClient(client, {
    endpointId: url.href,
    rawDispatch: dispatch,
    v2RequestFraming: framing,
    onInputRequest: createApplicationInputHandler({
      elicitation({ params }, { delivery }) {
        const [property] = Object.keys(params.requestedSchema.properties);
        asked.push(`${delivery} ${property}`);
        return property in answers ? { action: "accept", content: { [property]: answers[property] } } : { action: "decline" };
      },
      sampling: () => assert.fail("sampling was not declared"),
      roots: () => assert.fail("roots were not declared"),
    }),
  });
  after(() => session.close());
  // send frames a request as the session does.
  const send = (method, params) =>
    dispatch({
      method,
      params: {
        ...params,
        _meta: {
          "io.modelcontextprotocol/protocolVersion": framing.protocolVersion,
          "io.modelcontextprotocol/clientInfo": framing.clientInfo,
          "io.modelcontextprotocol/clientCapabilities": { ...framing.clientCapabilities, extensions: { "io.modelcontextprotocol/tasks": {} } },
        },
      },
    });
  return { session, asked, send };
}

const text = (result) => result.content.map((c) => c.text).join("");

// until asks again at the server's own interval.
async function until(controller, done) {
  for (;;) {
    const task = await controller.snapshot();
    if (done(task)) return task;
    assert(!terminal.includes(task.status), `the task ended: ${JSON.stringify(task.raw)}`);
    await new Promise((resolve) => setTimeout(resolve, task.suggestedPollIntervalMs));
  }
}

// R-N1, R-H7: what discover and tools/list say is what the client accepts.
test("lists", patience, async () => {
  const client = await connect({ pin: modern }, {});
  assert.equal(client.getProtocolEra(), "modern");
  assert.deepEqual(client.getServerCapabilities().extensions["io.modelcontextprotocol/tasks"], {});
  const { tools } = await client.listTools();
  assert(tools.some((tool) => tool.name === "slow_compute"));
});

// R-N7: the server decides; a call that needs no task is answered at once.
test("sync", patience, async () => {
  const { session } = await open();
  const execution = await session.callTool("greet", { name: "Ada" });
  assert.equal(execution.kind, "immediate");
  const { outcome } = await execution.settle();
  assert.equal(text(outcome.result), "Hello, Ada!");
});

// R-C1, R-G1, R-G3.
test("task", patience, async () => {
  const { session } = await open();
  const execution = await session.callTool("slow_compute", { seconds: 2, label: "sum" });
  assert.equal(execution.kind, "task");
  const seen = [];
  const { outcome } = await execution.settle({ onEvent: (e) => void (e.type === "task" && seen.push(e.task.status)) });
  assert.equal(outcome.status, "completed");
  assert.equal(text(outcome.result), 'Computed "sum" for 2 seconds.');
  assert(seen.includes("working"));
});

// R-G2, R-U1, R-U4: two questions that are open at once, both answered.
test("questions", patience, async () => {
  const { session, asked } = await open({ name: "Ada", confirm: true });
  const { outcome } = await (await session.callTool("multi_input")).settle();
  assert.equal(text(outcome.result), "Ada, confirmed: true.");
  assert.deepEqual(asked.sort(), ["task-update confirm", "task-update name"]);
});

// R-U2, R-U3, R-U5: answered one by one, once more, and under a key that was never given.
test("partial", patience, async () => {
  const { session, send } = await open();
  const { result } = await send("tools/call", { name: "multi_input", arguments: {} });
  const controller = session.task(result.taskId);
  const keys = (task) => Object.keys(task.raw.inputRequests ?? {}).sort();
  const name = { name: { action: "accept", content: { name: "Ada" } } };
  assert.deepEqual(keys(await until(controller, (task) => task.status === "input_required")), ["confirm", "name"]);
  await controller.update(name);
  assert.deepEqual(keys(await controller.snapshot()), ["confirm"]);
  await controller.update({ ...name, stranger: { action: "cancel" } });
  assert.deepEqual(keys(await controller.snapshot()), ["confirm"]);
  await controller.update({ confirm: { action: "accept", content: { confirm: false } } });
  const outcome = await controller.result();
  assert.equal(text(outcome.result), "Ada, confirmed: false.");
});

// R-U9: no for an answer.
test("decline", patience, async () => {
  const { session, asked } = await open();
  const { outcome } = await (await session.callTool("confirm_delete", { filename: "a.txt" })).settle();
  assert.equal(text(outcome.result), "a.txt was kept.");
  assert.deepEqual(asked, ["task-update confirm"]);
});

// R-G3: a tool's own error is a result.
test("tool-error", patience, async () => {
  const { session } = await open();
  const { outcome } = await (await session.callTool("failing_job")).settle();
  assert.equal(outcome.status, "completed");
  assert.equal(outcome.result.isError, true);
});

// R-G4, R-V4: a panic is a JSON-RPC error that says nothing of the inside.
test("failure", patience, async () => {
  const { session } = await open();
  const { outcome } = await (await session.callTool("protocol_error_job")).settle();
  assert.equal(outcome.status, "failed");
  assert.equal(outcome.error.code, -32603);
  assert(!/as it always does|\.go:/.test(JSON.stringify(outcome.task.raw)));
});

// R-C4: a question before the task, then the task.
test("composition", patience, async () => {
  const { session, asked } = await open({ name: "Ada" });
  const execution = await session.callTool("test_tool_with_task");
  assert.equal(execution.kind, "task");
  const { outcome } = await execution.settle();
  assert.equal(text(outcome.result), "Hello, Ada!");
  assert.deepEqual(asked, ["request-retry name"]);
});

// R-X1, R-X2, R-X3: while it runs, while it waits, and after its end.
test("cancel", patience, async () => {
  const { session, send } = await open();
  const execution = await session.callTool("slow_compute", { seconds: 300 });
  const running = session.task(execution.handle.taskId);
  await execution.cancel();
  const { outcome } = await execution.settle();
  assert.equal(outcome.status, "cancelled");
  await until(running, (task) => task.status === "cancelled");
  await running.cancel();

  const { result } = await send("tools/call", { name: "confirm_delete", arguments: { filename: "b.txt" } });
  const waiting = session.task(result.taskId);
  await until(waiting, (task) => task.status === "input_required");
  await waiting.cancel();
  assert.equal((await waiting.snapshot()).status, "cancelled");
});

// R-L1 to R-L4: a task is told of as it changes, and the listen ends with it.
test("listen", patience, async () => {
  const { send } = await open();
  const client = await connect({ pin: modern }, { extensions: { "io.modelcontextprotocol/tasks": {} } });
  const told = [];
  client.fallbackNotificationHandler = async (notification) => {
    assert(isTaskStatusNotificationV2({ jsonrpc: "2.0", ...notification }), JSON.stringify(notification));
    told.push(notification.params);
  };
  const { result } = await send("tools/call", { name: "slow_compute", arguments: { seconds: 2, label: "heard" } });
  const subscription = await client.listen({ taskIds: [result.taskId] });
  assert.equal(await subscription.closed, "graceful");
  assert.equal(told[0].status, "working");
  assert.equal(text(told.at(-1).result), 'Computed "heard" for 2 seconds.');
});

// A reference outlives the session that made it: any other one goes on.
test("resume", patience, async () => {
  const first = await open();
  let kept;
  await (await first.session.callTool("slow_compute", { seconds: 2, label: "kept" })).handoff((reference) => void (kept = reference));
  const second = await open();
  const { outcome } = await (await second.session.resumeTask(JSON.parse(JSON.stringify(kept)))).settle();
  assert.equal(text(outcome.result), 'Computed "kept" for 2 seconds.');
});

// R-G7, R-U6, R-X4.
test("unknown", patience, async () => {
  const { session } = await open();
  const nobody = session.task("no-such-task");
  for (const ask of [() => nobody.snapshot(), () => nobody.update({}), () => nobody.cancel()]) {
    await assert.rejects(ask, (error) => error.code === -32602);
  }
});

// Case 39; R-N2, R-N3, R-N4: a client without the extension gets whole results,
// or the error that names what it lacks.
test("undeclared", patience, async () => {
  const client = await connect({ pin: modern }, { elicitation: { form: {} } });
  assert.equal(text(await client.callTool({ name: "slow_compute", arguments: { seconds: 1, label: "plain" } })), 'Computed "plain" for 1 seconds.');
  for (const name of ["failing_job", "protocol_error_job", "confirm_delete", "multi_input", "test_tool_with_task", "hello_world"]) {
    await assert.rejects(client.callTool({ name, arguments: {} }), (error) => {
      assert.equal(error.code, -32021, name);
      assert.deepEqual(error.data.requiredCapabilities.extensions, { "io.modelcontextprotocol/tasks": {} });
      return true;
    });
  }
});

// Case 35; R-H3, R-H6: what the older tasks had is ignored or gone.
test("older-shapes", patience, async () => {
  const { send } = await open();
  const { result } = await send("tools/call", { name: "greet", arguments: { name: "Ada" }, task: { ttl: 60_000 } });
  assert.equal(result.resultType, "complete");
  assert.equal(text(result), "Hello, Ada!");
  for (const method of ["tasks/list", "tasks/result"]) {
    await assert.rejects(send(method, { taskId: "any" }), (error) => {
      assert.equal(error.data.status, 404);
      assert.equal(JSON.parse(error.data.text).error.code, -32601);
      return true;
    });
  }
});

// R-B2, R-B3: a client of 2025-11-25, where the same package speaks the older
// tasks; and one that knows no tasks at all.
test("legacy", patience, async () => {
  const client = await connect("legacy", {});
  assert.equal(client.getProtocolEra(), "legacy");
  const { tools } = await client.listTools();
  assert.equal(tools.find((tool) => tool.name === "slow_compute").execution.taskSupport, "optional");
  assert.equal(text(await client.callTool({ name: "greet", arguments: { name: "Ada" } })), "Hello, Ada!");

  const session = createTaskSessionFromClient(client, { endpointId: url.href });
  after(() => session.close());
  const call = async (name, params, declared = tools.find((tool) => tool.name === name)) =>
    session.callTool(name, params, { task: { preference: "prefer" }, declaration: { ...declared, taskSupport: declared.execution.taskSupport } });
  const execution = await call("slow_compute", { seconds: 2, label: "old" });
  assert.equal(execution.kind, "task");
  const { outcome } = await execution.settle();
  assert.equal(text(outcome.result), 'Computed "old" for 2 seconds.');

  const long = await call("slow_compute", { seconds: 300 });
  await long.cancel();
  assert.equal((await long.settle()).outcome.status, "cancelled");
});
