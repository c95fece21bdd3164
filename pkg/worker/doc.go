// Package worker runs tasks: it takes wake-ups from the queue, claims their
// tasks, runs the tools and writes back what happened.
//
// What it promises. One writer wins: a worker whose lease is another's, or
// whose task is over, saves nothing more and stops quietly (invariant 3). Every
// live task keeps a wake-up: the worker saves, then sends, and only then lets
// the old message go; whatever fails in between brings that message back
// (invariant 2). Messages that come too early are replaced by later ones, so
// the queue's receive count stays a count of crashes. A tool's context ends
// before the function's time and before the task's own, with room to save the
// outcome (invariant 6).
//
// What it does not promise: that a tool runs once. A worker that dies between
// an effect and its record makes the effect happen again; tool.Step says how to
// live with that.
//
//	w, err := worker.New(worker.Options{Tools: reg, Store: db, Queue: q, Exit: func() { os.Exit(1) }})
//	if err != nil { … }
//	lambda.Start(w.Handle)
//
// The files: batch.go answers the event source, act.go decides about a message,
// run.go runs a tool, heartbeat.go watches over the run, outcome.go turns its
// end into an event of the task, recorder.go keeps its steps, deadletter.go
// treats what was received too often.
package worker
