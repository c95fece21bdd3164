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
// # Older clients
//
// Clients that begin with initialize are served too, under 2025-11-25, 2025-06-18
// and 2025-03-26 (R-B1 to R-B5). No session remembers them: the version header of
// each request says what was agreed on, and without one it is 2025-03-26. A row of
// the method table has a handler for each era. A legacy one is the modern one in
// the shapes of the client's revision; its errors have no code that is newer than
// that, and once the version is known HTTP 200.
//
// What such a client can do was told to another process, so it is asked nothing: a
// tool that has to ask gets a tool error that says so. The Tasks extension does not
// exist for it. Under 2025-11-25 it may instead ask for a task with params.task:
// that is a task like any other, in that revision's view, with three differences.
// A tool error shows as failed. A cancel is final with its answer. tasks/result
// waits for limits.ResultWait, then answers with an error (-32603, the task in its
// data) after which the client may ask again. Both views show the same tasks to
// their owner.
//
// # Listening
//
// subscriptions/listen tells of tasks by notifications/tasks instead of having
// them polled: which of those named the caller may watch, each as it is, and from
// then on each change that is seen, exactly as tasks/get would show it. It ends
// with its result once all are terminal, or when the time is up: then the client
// listens again, and is first told how things are. States that follow each other
// faster than the server looks are told as the last of them. There is nothing
// else to subscribe to: a deployment's tools don't change while it runs.
//
// A task is looked at as often as it would be polled, but at least every 5 s and
// at most every second, all tasks of a listen in one read: 12 to 60 read units a
// minute and task, and none once it is terminal. That is little beside the
// function, which runs for one listener all the while: at 512 MB about 2.4 cents
// an hour, where a poll every 15 s costs a tenth of a cent. Limits.MaxListen
// shortens it or turns it off. A deployment without response streaming has no
// listen: the method is not found (-32601), and clients poll. A client whose
// Accept header leaves out text/event-stream gets HTTP 406.
//
// # Polling
//
// A caller that reads one task more than Limits.PollRate times a second gets HTTP
// 429 with Retry-After, before anything is read. That is far above any interval
// that a task advertises, and counted in each process alone.
//
// # Quotas
//
// With Options.Quota a call that would become a task, in either era's way, is held
// to what its caller may make (pkg/quota). Over it the answer is -32603 with HTTP
// 429, or 200 for legacy clients, and data that names the limit and its value;
// nothing is put or sent. Retry-After says when the next minute begins; when a task
// ends nobody knows. An idempotent call is looked up first: one that repeats another
// takes nothing. A creation that fails later gives its slot back, and its task, if
// it was put and has no idempotency key, ends as failed: nobody has its id.
//
// # Callbacks
//
// Callback takes what an outside job posts for a task; tool.NewCallback says
// what a tool has to do with it. The token in the URL is all that the job needs,
// so it is to be kept as a secret.
package server
