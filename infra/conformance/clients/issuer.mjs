// A real authorization server, oidc-provider, for the check of authorization.
// It knows one client and registers any other, logs in whoever asks by name, and
// issues JWTs for whatever resource is asked for. It prints its issuer and serves until it is
// ended.
//
//   node issuer.mjs

import { createServer } from "node:http";
import { generateKeyPairSync } from "node:crypto";
import Provider from "oidc-provider";

const server = createServer();
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const issuer = `http://127.0.0.1:${server.address().port}`;

const key = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" });
const provider = new Provider(issuer, {
  jwks: { keys: [{ ...key, kid: "first", use: "sig", alg: "ES256" }] },
  clientDefaults: { id_token_signed_response_alg: "ES256" },
  enabledJWA: { idTokenSigningAlgValues: ["ES256"] },
  // One that registers is held to the scopes that it first asked for.
  clients: [{
    client_id: "known", application_type: "native", token_endpoint_auth_method: "none",
    redirect_uris: ["http://127.0.0.1:1/callback"],
  }],
  scopes: ["openid", "offline_access", "mcp", "deploy"],
  cookies: { keys: ["of no worth"] },
  findAccount: (_, name) => ({ accountId: name, claims: () => ({ sub: name }) }),
  features: {
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: (_, resource) => ({
        scope: "mcp deploy",
        audience: resource,
        accessTokenFormat: "jwt",
        jwt: { sign: { alg: "ES256" } },
      }),
    },
  },
});
server.on("request", provider.callback());
console.log(issuer);
