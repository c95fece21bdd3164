// Package auth says who calls: it verifies bearer tokens as an OAuth 2.1 resource
// server, tells clients where to get them, and carries the caller through a
// request as a Principal.
//
// # What is trusted, and what is not
//
// This is the page for whoever puts a deployment on the internet.
//
// Modes. With TOOLHOST_AUTH=none everybody who reaches the endpoint may call
// every tool, and a task's id is all that it takes to read, answer or cancel the
// task: 122 random bits. That is right on a laptop or behind something that checks
// callers itself. With oauth a request needs a bearer token of one issuer, made
// for this resource. With iam it needs an AWS signature, and API Gateway and IAM
// policies decide.
//
// Trusted: AWS (Lambda, API Gateway's authorizer context, DynamoDB, SQS, Secrets
// Manager); whoever may invoke the functions directly, which nobody but API
// Gateway should; the issuer, entirely, about who its subjects are; the tools
// of the deployment, which run with the worker's rights and can keep state of
// their own in a process that serves one caller after another.
//
// Not trusted: clients, and all that they send: headers, ids, states, answers,
// capabilities, their names. Of the headers, those that mirror the body (Mcp-Method,
// Mcp-Name) can only lead to a refusal; what is granted is decided by the token and
// the body (R-H15). Nor are the jobs that hold a callback's URL trusted with more than
// to answer it once.
//
// A token is accepted if its signature is by a key that the issuer publishes, with
// an algorithm out of a fixed list of asymmetric ones; iss is the issuer, character
// by character; aud holds this resource; exp is there and not past, nbf and iat are
// not ahead, each within 30 seconds; and it names a subject or a client, and a
// tenant where TOOLHOST_TENANT_CLAIM asks for one. It may be 8 KB, and stands in the
// one Authorization header, never in the query. It is not logged, not stored, and not
// handed to tools (R-V5).
//
// Scopes are compared as they are: none implies another. An issuer that grants a
// broad one has to put those that it implies into the token, too.
//
// A task belongs to issuer, subject and tenant; to the client only where there is no
// subject (R-V1). To anybody else it is unknown, in the same bytes and by the same
// reads as a task that never was (R-G7). With iam the owner is a user or a role: all
// who take on one role are one owner, as the users of an identity pool may be.
//
// What an operator must see to: that the issuer puts this resource into aud (RFC
// 8707) and does not issue such tokens to strangers; that nobody else may invoke the
// functions, read the table, the queues or the secret; rotation of the keys
// (pkg/config); limits per caller, which are off by default; TLS on a domain of
// one's own. Revoking a token takes effect when it expires: keep them short.
package auth
