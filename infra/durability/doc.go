// Package durability shows what a durable call survives. It has no code of its
// own: its tests run servers and workers as real processes against the emulators
// of DynamoDB and SQS, kill them, pause them and lose their calls, and look at
// what the client sees and at what the tools did.
//
//   - matrix_test.go plays the lives of a task again and again, and each time lets
//     one fault befall one call to AWS: every kind of fault (fault_test.go) at every
//     call, be it the server's, the worker's or the event source's; then two at a time.
//   - quota_test.go does the same to the calls of a creation under quotas.
//   - storm_test.go runs a thousand tasks through random faults; go test -seed N
//     repeats them.
//   - pause_test.go stops workers, or kills them: past their lease, in the middle of
//     a tool, before every claim.
//   - legs_test.go runs 40 minutes of work in functions that end after two, tools
//     that don't hear, and a week's sleep.
//   - delivery_test.go has deliveries that find no worker free, callbacks that come
//     early, and tools that know nothing of Toolhost.
//   - parked_test.go shows that a task that waits holds nothing.
//
// What they all look for: the client sees one terminal result, the right one, and
// never another; a step that was recorded is not done again, and one that was cut
// off before its record is, under the same idempotency token; no task is forgotten,
// which is to say that one that works has a message, without the help of a read
// that finds it overdue; and no message goes round for ever.
//
// The rest is the harness: process_test.go is a function's process, seen from
// both sides; stage_test.go is what surrounds it: the emulators, one clock, the
// event source and the client; tools_test.go are the tools, and the journal in
// which they note their effects.
//
// With -short, and under the race detector, the matrix takes every seventh point
// and the crowds are smaller.
//
// Nothing here waits for real time. One clock stands until the stage moves it,
// and every process is told the time with whatever it is given to do. What is not
// shown: that AWS behaves as its emulators do.
package durability
