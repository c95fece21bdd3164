// Package durability shows what a durable call survives. It has no code of its
// own: its tests run servers and workers as real processes against the emulators
// of DynamoDB and SQS, kill them, pause them and lose their calls, and look at
// what the client sees and at what the tools did.
//
//   - matrix_test.go runs one tool with steps, questions, a sleep and a large
//     result again and again, and each time lets one fault befall one call to AWS:
//     every kind of fault at every call, of the server, of the worker and of the
//     event source.
//   - storm_test.go runs a thousand tasks through random faults; -seed repeats them.
//   - pause_test.go stops a worker (SIGSTOP) past its lease, and lets it go on.
//   - legs_test.go runs 40 minutes of work in functions that end after two.
//   - parked_test.go counts what a parked task holds, and what a question costs.
//
// The rest is the harness: process_test.go is a function's process, seen from
// both sides; stage_test.go is what surrounds it: the emulators, one clock, the
// event source and the client; tools_test.go are the tools that are run.
//
// Nothing here waits for real time. One clock stands until the stage moves it,
// and every process is told the time with whatever it is given to do.
package durability
