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
//     the events of API Gateway (target_test.go): ids that are guessed
//     (id_test.go), what a client keeps for the server (state_test.go), schemas
//     that take long (schema_test.go).
//
// With -short, and under the race detector, the crowds are smaller.
//
// Nothing here waits for real time: clocks stand until they are moved, and what
// is slow waits for a signal.
package attack
