// The official client's own way in: 401, the resource's metadata, the
// authorization server's, registration, a user's consent, a token, and the call
// again; with more scope when a tool asks for it (R-V1, R-V2, R-V5).
//
//   node authorize.mjs URL
//
// TAP goes to standard output.

import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { after, test } from "node:test";
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";

const url = new URL(process.argv[2]);
const modern = "2026-07-28";
const redirect = "http://127.0.0.1:1/callback";

// User is somebody with a browser, and the client that acts for them.
class User {
  constructor(name, registration) {
    this.name = name;
    this.registration = registration;
    this.asked = []; // the scopes of each consent
  }
  get redirectUrl() { return redirect; }
  get clientMetadata() {
    return { client_name: "authorization-check", redirect_uris: [redirect], token_endpoint_auth_method: "none" };
  }
  clientInformation() { return this.registration; }
  saveClientInformation(registration) { this.registration = registration; }
  tokens() { return this.saved; }
  saveTokens(tokens) { this.saved = tokens; }
  codeVerifier() { return this.verifier; }
  // Where the consent was asked for, so that its answer is taken to the same place.
  discoveryState() { return this.discovered; }
  saveDiscoveryState(state) { this.discovered = state; }
  saveCodeVerifier(verifier) { this.verifier = verifier; }
  async redirectToAuthorization(where) {
    this.asked.push(where.searchParams.get("scope"));
    assert.equal(where.searchParams.get("resource"), url.href);
    assert.equal(where.searchParams.get("code_challenge_method"), "S256");
    this.consent = await browse(where, this.name);
  }

  // connect makes a client that is let in.
  async connect() {
    let client = await this.attempt().catch((error) => {
      assert.ok(error instanceof UnauthorizedError, `${error}`);
    });
    if (!client) {
      await this.transport.finishAuth(this.consent);
      client = await this.attempt();
    }
    after(() => client.close());
    return client;
  }
  async attempt() {
    this.transport = new StreamableHTTPClientTransport(url, { authProvider: this });
    const client = new Client({ name: "authorization-check", version: "1.0.0" }, { versionNegotiation: { mode: { pin: modern } } });
    await client.connect(this.transport);
    return client;
  }
}

// browse does what a person does: follow, log in, agree. It ends at the client's
// own address, with what stands behind it.
async function browse(where, name) {
  const cookies = new Map();
  let form;
  for (let i = 0; i < 20; i++) {
    const answer = await fetch(where, {
      redirect: "manual",
      method: form ? "POST" : "GET",
      body: form,
      headers: { cookie: [...cookies].map(([k, v]) => `${k}=${v}`).join("; ") },
    });
    for (const line of answer.headers.getSetCookie()) {
      const [, k, v] = /^([^=]+)=([^;]*)/.exec(line);
      if (v) cookies.set(k, v);
      else cookies.delete(k);
    }
    form = undefined;
    const next = answer.headers.get("location");
    if (next) {
      where = new URL(next, where);
      if (where.href.startsWith(redirect)) return where.searchParams;
      continue;
    }
    const page = await answer.text();
    const [, prompt] = /name="prompt" value="(\w+)"/.exec(page) ?? assert.fail(`${answer.status} ${page}`);
    form = new URLSearchParams({ prompt, login: name, password: "any" });
  }
  assert.fail("the browser went in circles");
}

// send is one request as it is on the wire.
async function send(user, method, name, params = {}) {
  const answer = await fetch(url, {
    method: "POST",
    headers: {
      "Content-Type": "application/json", Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": modern, "Mcp-Method": method, ...(name && { "Mcp-Name": name }),
      ...(user?.saved && { Authorization: `Bearer ${user.saved.access_token}` }),
    },
    body: JSON.stringify({
      jsonrpc: "2.0", id: 1, method,
      params: {
        ...params,
        _meta: {
          "io.modelcontextprotocol/protocolVersion": modern,
          "io.modelcontextprotocol/clientInfo": { name: "authorization-check", version: "1.0.0" },
          "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } },
        },
      },
    }),
  });
  return { status: answer.status, challenge: answer.headers.get("www-authenticate"), text: await answer.text() };
}

const alice = new User("alice", { client_id: "known" });
const bob = new User("bob"); // whose client registers itself

test("unauthorized", async () => {
  const { status, challenge } = await send(undefined, "tools/list");
  assert.equal(status, 401);
  const [, at] = /^Bearer .*resource_metadata="([^"]+)"/.exec(challenge);
  const metadata = await (await fetch(at)).json();
  assert.equal(metadata.resource, url.href);
  assert.equal(metadata.authorization_servers.length, 1);
});

test("way-in", async () => {
  const client = await alice.connect();
  assert.deepEqual(alice.asked, ["mcp"]);
  const { tools, cacheScope } = await client.listTools();
  assert.deepEqual(tools.map((t) => t.name), ["csv_profile", "batch_http_check"]);
  if (cacheScope !== undefined) assert.equal(cacheScope, "private");
});

test("owner", async () => {
  await bob.connect();
  const made = JSON.parse((await send(alice, "tools/call", "csv_profile", { name: "csv_profile", arguments: { file: "a,b\n1,2\n".repeat(50_000) } })).text);
  assert.equal(made.result.resultType, "task", JSON.stringify(made));
  const { taskId } = made.result;
  const mine = await send(alice, "tasks/get", taskId, { taskId });
  assert.equal(JSON.parse(mine.text).result.taskId, taskId);
  const unknown = taskId.replace(/.$/, (c) => (c === "0" ? "1" : "0"));
  for (const method of ["tasks/get", "tasks/cancel"]) {
    const foreign = await send(bob, method, taskId, { taskId });
    const none = await send(bob, method, unknown, { taskId: unknown });
    assert.deepEqual(foreign, none);
    assert.equal(JSON.parse(foreign.text).error.code, -32602);
  }
});

test("step-up", async () => {
  const refused = await send(alice, "tools/call", "deploy_approval", { name: "deploy_approval", arguments: {} });
  assert.equal(refused.status, 403);
  assert.match(refused.challenge, /error="insufficient_scope"/);
  assert.match(refused.challenge, /scope="mcp deploy"/);

  // The client does it by itself: it is refused, asks for more, and is let in.
  const client = await alice.connect();
  const call = () => client.callTool({ name: "deploy_approval", arguments: { service: "web", version: "1.4.2", environment: "staging" } });
  await assert.rejects(call, UnauthorizedError);
  assert.equal(alice.asked.at(-1), "mcp deploy");
  await alice.transport.finishAuth(alice.consent);
  // This tool is a task; a client that has none is told so, no longer that it may not.
  await assert.rejects(call, (error) => error.code === -32021 || assert.fail(`${error.code} ${error}`));
  const { tools } = await client.listTools();
  assert.equal(tools.length, 3);
});

test("another-audience", async () => {
  // A good token of the same issuer, for another resource.
  const issuer = await authorizationServer();
  const verifier = randomBytes(32).toString("base64url");
  const asked = new URL(issuer.authorization_endpoint);
  asked.search = new URLSearchParams({
    client_id: bob.registration.client_id, redirect_uri: redirect, response_type: "code", scope: "mcp", resource: "https://other.example/mcp",
    code_challenge: createHash("sha256").update(verifier).digest("base64url"), code_challenge_method: "S256",
  });
  const code = (await browse(asked, "bob")).get("code");
  const answer = await fetch(issuer.token_endpoint, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code", client_id: bob.registration.client_id, redirect_uri: redirect, code, code_verifier: verifier,
    }),
  });
  const saved = await answer.json();
  assert.ok(saved.access_token, JSON.stringify(saved));
  await refuses({ saved });
});

test("forged", async () => {
  const [head, body, signature] = bob.saved.access_token.split(".");
  const claims = { ...JSON.parse(Buffer.from(body, "base64url")), sub: "alice" };
  await refuses({ saved: { access_token: [head, Buffer.from(JSON.stringify(claims)).toString("base64url"), signature].join(".") } });
});

async function refuses(user) {
  const { status, challenge } = await send(user, "tools/list");
  assert.equal(status, 401);
  assert.match(challenge, /^Bearer .*resource_metadata="/);
}

async function authorizationServer() {
  const [, at] = /resource_metadata="([^"]+)"/.exec((await send(undefined, "tools/list")).challenge);
  const [issuer] = (await (await fetch(at)).json()).authorization_servers;
  return (await fetch(`${issuer}/.well-known/oauth-authorization-server`)).json();
}
