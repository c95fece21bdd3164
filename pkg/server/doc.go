// Package server answers MCP requests: one table from method to handler, tasks
// as the wire shows them, and errors of all kinds as JSON-RPC.
//
// It knows no transport. A Request is the mirrored headers and the body of one
// POST, a Response a status and a body; what a call sends before its response
// goes through Notify. Version, capabilities and caller come from the request
// alone, so any process can answer any request, and nothing of a call runs on
// after Handle has returned.
//
// Checks run in one order (R-N12): JSON-RPC shape, version present, version
// header, version supported, capabilities, other headers, method, client
// capability, params.
//
//	s, err := server.New(server.Options{Tools: reg, Store: st, Queue: q, Keys: keys})
//	response := s.Handle(ctx, server.Request{Headers: h, Body: body}, nil)
//
// # Calls that may be made again
//
// A client that lost the answer to a tools/call can't know whether it became a
// task. If it gave the call an idempotency key it may make it again:
//
//	"_meta": {"toolhost/idempotencyKey": "order 4711", …}
//
// Calls of one authenticated caller with the same key, tool and arguments are one
// task, at once or one after the other, for as long as that task lives; a later
// one answers with the task's status of then. With another tool or other
// arguments the key is refused (-32602), as is one that is no string of 1 to 256
// bytes, and that of an anonymous caller: all of them are one. A call that is
// answered within its request has no task, and its key is ignored.
//
// # Callbacks
//
// Callback takes what an outside job posts for a task; tool.NewCallback says
// what a tool has to do with it. The token in the URL is all that the job needs,
// so it is to be kept as a secret.
package server
