// Package tooltest tests a tool as its host runs it, in a few lines: a call is
// made, its questions are answered, its clock is moved, and its process dies
// where the test says.
//
//	c := tooltest.Start(t, reg, "deploy", map[string]any{"env": "prod"})
//	c.KillAfter("plan")                              // the process dies there, and the call goes on in another
//	c.Asked("approve")                               // it is parked on just this question
//	c.Accept("approve", map[string]any{"ok": true})
//	got := c.Text()                                  // it has completed
//
// Asleep and Advance are for sleeps, Awaits and Callback for callbacks. KillBefore
// shows what a step does twice, StopAfter how a call goes on that takes longer
// than its host may run.
//
// A Call is durable unless it was started with Sync. It runs when the test wants
// to know something of it, always through Tool.Run, from the top, with the
// record of the runs before.
package tooltest
