// Package attack plays callers who want what is not theirs, or who want the
// server to fall. It has no code of its own.
//
//   - isolation_test.go interleaves the calls of several callers on one warm
//     server and one warm worker, and looks for anything of one that reaches
//     another: in answers, events, a tool's context, the table, the queue, the log
//     (R-V3). deployment_test.go is that server and worker, errand_test.go the
//     tools, marker_test.go how the secrets are known again.
//
//   - The other tests attack a whole deployment on this machine over HTTP, through
//     the events of API Gateway (target_test.go, raw_test.go): what a client may
//     guess or keep (id_test.go, state_test.go), what it sends (json_test.go,
//     schema_test.go, log_test.go), how it sends that (raw_test.go, path_test.go,
//     slow_test.go), who it says that it is (token_test.go, scope_test.go,
//     caller_test.go; forge_test.go writes the tokens).
//
// After each attack the answer is looked at: no 5xx, nothing of the server's
// inside, JSON-RPC with the right code and the id wherever a message could be
// read; and a good request is answered as ever. After each test, so is the log.
//
// Not shown: what API Gateway does to such requests before a function sees them;
// the gateway here is Go's HTTP server.
//
// With -short, and under the race detector, the crowds are smaller.
//
// Nothing here waits for real time: clocks stand until they are moved, and what
// is slow waits for a signal.
package attack
