// Package client calls tools on an MCP server, durable ones included.
//
// Call hides a call's whole life: it sends tools/call, answers the tool's
// questions through an Answerer, waits for the task that the server may have
// made of it, and returns the result. Start, Wait, Get, Answer and Cancel are
// the single steps, for programs that keep a task's id and come back later.
//
//	c := client.New("http://127.0.0.1:8080/mcp", client.Options{})
//	result, err := c.Call(ctx, "csv_profile", args, client.Watch{})
//
// # Waiting
//
// Wait listens to its task (subscriptions/listen) where the server offers that.
// It polls (tasks/get) where not: the server refuses, does not acknowledge the
// task, or Options.Poll says so; and while a stream can't be had, or has told
// nothing yet. A stream that ends or breaks off is followed by another, after a
// growing pause if they are short; each begins with how the task is, so no state
// is lost. A task that is listened to is read all the same, once a minute or at
// four times its poll interval, whichever is longer. No question is put twice but
// one whose answer the server refused. Nothing of a Wait outlives it.
//
// # Revisions
//
// It speaks 2026-07-28 with the Tasks extension, or 2026-06-30, its draft name,
// where the server names that one or Options begin with it. A server that knows
// neither is reached by initialize in 2025-11-25 or the one that it answers with, 2025-03-26 at the
// earliest; which kind a server is is found out by the first request. There
//
//   - a session is kept, begun anew when the server has lost it, and ended by Close;
//   - tools/call that the server lets be tasks are: Call, Start, Wait, Get and
//     Cancel do the same with these, by polls;
//   - the server's own requests are served on the stream of a call or of a task's
//     result, and nowhere else: elicitation goes to the Answerer, with no Key; ping is answered;
//     sampling, roots and all others are told that there is no such method;
//   - Answer is an error, since such a server asks while Wait waits.
//
// # Repeats
//
// What is safe to repeat is repeated when the network or the server fails:
// everything but a tools/call, which the server may have begun. A call is sent
// again only if the server said that it had not looked at it: 429, a header
// mismatch, a revision that it does not speak, a session that it has lost.
//
// The errors to tell apart are Error (the server refused), FailedError (the task
// failed), ErrCancelled, ErrUnknownTask, and UnreachableError (no MCP server
// answered). A context that ends is returned as its own error; a task that was
// made goes on, unless Options.CancelOnEnd says otherwise.
package client
