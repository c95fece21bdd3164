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
// It speaks the revision 2026-07-28 with the Tasks extension, or, if Options say
// so, 2026-06-30, its draft name. A server that knows only older revisions is
// reached by initialize: its tools can be listed and called, and it may ask during
// a call; it has no tasks. What is safe to
// repeat is repeated when the network or the server fails: everything but a
// tools/call, which the server may have begun. A call is sent again only if the
// server said that it had not looked at it (429, or a header mismatch).
//
// The errors to tell apart are Error (the server refused), FailedError (the task
// failed), ErrCancelled, ErrUnknownTask, and UnreachableError (no MCP server
// answered). A context that ends is returned as its own error; a task that was
// made goes on.
package client
