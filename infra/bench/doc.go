// Package bench says what a call costs. It has no code of its own: its tests
// count, its benchmarks measure.
//
//   - life_test.go plays the lives of tasks through the deployed functions, and
//     asserts what each step takes: calls to AWS, read and write units, requests.
//     testdata/counts.txt is the table, README.md the bill for a million.
//   - quota_test.go plays those of calls under quotas: testdata/quotas.txt.
//   - call_test.go measures one request through apigw: event JSON in, bytes out,
//     with the emulators behind the real SDK, and again with our own code alone.
//   - peer_test.go measures a trivial call beside the official SDK's own server.
//   - parked_test.go resumes a task among 100 parked ones and among 100,000.
//   - cold_test.go starts the functions as Lambda does, beside an empty one.
//
// What is counted is asserted, and holds on every machine. What is measured is a
// ratio of medians from one process that took turns; no test waits for a time.
// The rest is the harness: deployment_test.go, meter_test.go, tools_test.go.
package bench
