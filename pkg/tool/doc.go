// Package tool is what a tool's author sees: a registry of tools, typed handlers
// with the official SDK's own signature, and a context that lasts longer than a
// process.
//
//	reg := tool.New()
//	tool.Add(reg, &mcp.Tool{Name: "deploy", Description: "…"}, deploy, tool.Options{Task: tool.Required})
//
//	func deploy(ctx context.Context, req *mcp.CallToolRequest, in Input) (*mcp.CallToolResult, Output, error) {
//		plan, err := tool.Step(ctx, "plan", func(ctx context.Context) (Plan, error) { … })
//		if err != nil {
//			return nil, Output{}, err
//		}
//		sure, err := tool.Ask[Approval](ctx, "sure", "Deploy "+plan.Summary+"?")
//		if err != nil {
//			return nil, Output{}, err // also how the call is suspended
//		}
//		…
//	}
//
// A durable call replays: whenever it goes on, perhaps days later and in another
// process, the handler runs again from the top. Finished steps give their
// recorded value, answered questions their answer, so that it comes to where it
// was. What lies outside of steps must therefore be deterministic and free of
// effects. Ask and its kin suspend by an error: return it, wrapped or not. A
// handler that returns anything else after it fails the call, as do a question
// within a step, a name used twice, and a record of another version.
//
// The same calls work in a call without a task. Its questions become multi
// round-trip results, its steps just run, it sleeps for seconds at most, and
// makes no callbacks.
//
// A client that lost the answer to a call makes it again. It gets the same task
// if it gave both calls an idempotency key, as package server describes, and
// another task if it did not.
//
// Values derived from the context may be used by goroutines that the handler
// waits for. After its end they get errors.
//
// FromSession hosts the tools of an MCP server that exists already: in this
// process, at a URL, or a program in any language. infra/container deploys one.
//
// Package tooltest tests a tool and answers its questions. The package promises
// nothing about where a record is kept: Run takes a Call with all that is known
// and returns an Outcome, and does no I/O but what the Recorder does.
package tool
