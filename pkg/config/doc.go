// Package config reads what a function is told through its environment: once,
// at start, into one struct. Nothing else in the project reads the environment,
// but for the AWS SDK, which has variables of its own (AWS_REGION,
// AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL_SQS, …).
//
//	TOOLHOST_TABLE          required   DynamoDB table
//	TOOLHOST_QUEUE_URL      required   SQS queue of wake-ups
//	TOOLHOST_KEYS_SECRET               Secrets Manager name or ARN of the keys
//	TOOLHOST_KEYS                      the keys themselves, where there is no Secrets Manager
//	TOOLHOST_AUTH           required   who may call: none means everybody
//	TOOLHOST_STREAMING      false      whether the gateway invokes the function for a response stream
//	TOOLHOST_ORIGINS                   web origins that may call, separated by commas; * for all
//	TOOLHOST_HOSTS                     host names under which the server may be addressed, separated by commas; empty for all
//	TOOLHOST_LOG_LEVEL      info       debug, info, warn or error
//	TOOLHOST_MAX_BODY       4194304    bytes of a request
//	TOOLHOST_MAX_ARGUMENTS  1048576    bytes of a call's arguments
//	TOOLHOST_MAX_RESULT     4194304    bytes of a result
//	TOOLHOST_MAX_ANSWER     262144     bytes of an answer to one question
//
// # Keys
//
// Keys seal what clients keep for the server (request states), sign callbacks
// and make the ids of idempotent calls. They are either one plain string of at
// least 32 characters, as a generated secret is, whose bytes are the key; or a
// JSON list of base64 strings of at least 32 bytes, the newest first. The first
// seals, all open. To rotate a generated secret, put a list in its place:
//
//	["<32 random bytes, base64>", "<the old string's bytes, base64>"]
//
// and drop the old one when nothing that it sealed or signed can be alive: after
// the longest TTL of any tool.
package config
