// Package config reads what a function is told through its environment: once,
// at start, into one struct. Nothing else in the project reads the environment,
// but for the AWS SDK, which has variables of its own (AWS_REGION,
// AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL_SQS, …).
//
//	TOOLHOST_TABLE           required   DynamoDB table
//	TOOLHOST_QUEUE_URL       required   SQS queue of wake-ups
//	TOOLHOST_KEYS_SECRET                Secrets Manager name or ARN of the keys
//	TOOLHOST_KEYS                       the keys themselves, where there is no Secrets Manager
//	TOOLHOST_PUBLIC_URL                 where the deployment is reached from outside, without /mcp: callbacks arrive below it; without it tools make none
//	TOOLHOST_AUTH            required   who may call: none means everybody, oauth a bearer token's holder, iam whom API Gateway lets in
//	TOOLHOST_ISSUER                     the authorization server whose tokens are accepted, as it stands in iss; needed for oauth
//	TOOLHOST_JWKS_URL                   where it publishes its keys, if that is not to be found by its metadata
//	TOOLHOST_AUDIENCE                   what stands in aud of a token for this deployment; without it, the public URL with /mcp
//	TOOLHOST_SCOPES                     scopes that every request needs, separated by spaces; tools may need more
//	TOOLHOST_TENANT_CLAIM               the claim that holds a caller's tenant; a token without it is then refused
//	TOOLHOST_STREAMING       false      whether the gateway invokes the function for a response stream
//	TOOLHOST_ORIGINS                    web origins that may call, separated by commas; * for all
//	TOOLHOST_HOSTS                      host names under which the server may be addressed, separated by commas; empty for all
//	TOOLHOST_LOG_LEVEL       info       debug, info, warn or error
//	TOOLHOST_MAX_LISTEN      14m30s     how long a client may listen to its tasks at once, while a function runs for it alone; 0 leaves it to polling
//	TOOLHOST_POLL_RATE       20         how often a second a caller may read one task of one process before it is throttled; 0 for no limit
//	TOOLHOST_MAX_BODY        4194304    bytes of a request
//	TOOLHOST_MAX_ARGUMENTS   1048576    bytes of a call's arguments
//	TOOLHOST_MAX_RESULT      4194304    bytes of a result
//	TOOLHOST_MAX_ANSWER      262144     bytes of an answer to one question
//	TOOLHOST_MAX_CREATIONS   0          tasks that a caller may make in a minute; 0 for no limit
//	TOOLHOST_MAX_OPEN_TASKS  0          tasks of a caller that may be open at once, up to 1000; 0 for no limit
//
// The four sizes in bytes can be lowered, not raised: what else there is of limits
// is made for them. A result's holds for tasks, too, where the worker has it set.
//
// # Keys
//
// Rotating keys protect what others keep for the server: request states and
// callbacks. The first protects, all are accepted. The lasting key makes the ids
// of idempotent calls, and protects nothing that is not checked otherwise; under
// another one a repeated call would become a second task.
//
// Keys are either one plain string of at least 32 characters, as a generated
// secret is, whose bytes are both; or a JSON object of base64 strings of at
// least 32 bytes:
//
//	{"rotating": ["<new>", "<old>"], "lasting": "<the first ever>"}
//
// To rotate, put the object in place with the new key second, so that every
// function learns to accept it; a function reads its keys when it starts. When
// all have started anew (a change of any variable does it), put the new key
// first. Drop the old one when nothing that it protects can be alive: after the
// longest TTL of any tool.
package config
