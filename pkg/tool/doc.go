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
// Options.Task says whether a call may become a durable task, which outlives its
// request and its process.
//
// # What a handler must know
//
// A durable call replays: whenever it goes on, perhaps days later and in another
// process, the handler runs again from the top. Finished steps return their
// recorded value and answered questions their answer, so that it soon is where it
// was. What stands outside of steps must therefore come out the same each time,
// and change nothing.
//
// Ask, Sleep, Wait and their kin suspend the call by returning an error. Return
// that error, as it is or wrapped. A handler that returns anything else then
// fails the call. So do a question inside a step, a name used twice in one run,
// and a record that another Version of the tool began.
//
// A step's value is recorded once. Its effect may happen twice: if the process
// dies between the effect and the record, the next one runs the step again. See
// IdempotencyToken.
//
// The context ends when the host's time is up, or the task is cancelled. Return
// then, with an error; if it was the time, the next run goes on after the last
// finished step.
//
// In a call without a task the same functions work, as far as one request goes:
// questions become multi round-trip results, steps just run, Sleep takes 10 s at
// most, and NewCallback fails.
//
// Goroutines may use the context, or one derived from it, as long as the handler
// waits for them. Once it has returned, they get errors.
//
// # Examples
//
// Three files of this package are a tutorial, each a tool with its tests:
// example_approval_test.go, an approval that waits a week;
// example_callback_test.go, a job that others do and that calls back; and
// example_batch_test.go, a batch of three hours with checkpoints.
//
// # Around it
//
// Package tooltest tests a tool: it answers its questions, moves its clock, and
// kills its process.
//
// FromSession hosts the tools of an MCP server that exists already: in this
// process, at a URL, or a program in any language. infra/container deploys one.
//
// A client that lost the reply to a call makes the call again. It gets the same
// task if both calls had the same idempotency key, as package server describes,
// and another task otherwise.
//
// For hosts: Tool.Run takes a Call, which holds all that is known of it, and
// returns an Outcome. It does no I/O of its own but through Call.Steps, so the
// package promises nothing about where a record is kept.
package tool
