// Package sqs emulates Amazon SQS's standard queues for laptops and tests. It
// is an http.Handler that speaks SQS's JSON protocol to any AWS SDK whose
// endpoint points at it:
//
//	server, err := sqs.New(sqs.Options{Clock: clock.NewMovable(), Dir: ".toolhost"})
//	…
//	go http.Serve(listener, server)
//	client := awssqs.New(awssqs.Options{BaseEndpoint: &url, Region: "us-east-1", Credentials: …})
//
// It promises
//
//   - SQS's limits, error codes and MD5 sums;
//   - that an operation, a member, an attribute or a queue type that it does
//     not have is refused by its name, never ignored;
//   - that delays, visibility timeouts, long polls and retention follow the
//     clock that it is given, and wake when that clock is moved;
//   - that with a directory no acknowledged change is lost when the process is
//     killed;
//   - that faults (emulator.Faults) reach every operation. Faults.Counts is
//     also the meter: requests by "sqs/Operation".
//
// Where SQS leaves itself free, the emulator decides as follows. Messages come
// in the order in which they became visible, or shuffled by a seed. A delete
// with the receipt handle of an earlier receive succeeds and deletes nothing;
// a visibility change with one is MessageNotInflight. Every change takes
// effect at once: the minute that SQS takes over a purge, a deleted queue's
// name or an attribute is not imitated. CreateQueue of an existing name
// compares the attributes that it is given. A message group on a standard
// queue is accepted and handed on, but no fairness comes of it. A message
// stays where it is while its dead-letter queue does not exist.
//
// It has no FIFO queues, policies, tags, encryption or message move tasks, and
// it checks no signatures.
package sqs
