// Package client calls tools on an MCP server, durable ones included.
//
// Call hides a call's whole life: it sends tools/call, answers the tool's
// questions through an Answerer, waits for the task that the server may have
// made of it, and returns the result. Start, Get, Wait, Answer and Cancel are
// the single steps, for programs that keep a task's id and come back later.
//
//	c := client.New("http://127.0.0.1:8080/mcp", client.Options{})
//	result, err := c.Call(ctx, "csv_profile", args, client.Watch{})
//
// It speaks the revision 2026-07-28 with the Tasks extension. Requests that are
// safe to repeat are repeated when the network or the server fails; a tools/call
// is not, because the server may have begun it.
package client
