// Package queuetest is the suite that every queue.Queue passes.
//
// A test opens its implementation, says in a Harness how its messages are
// received and deleted (which queue.Queue leaves to the event source), and
// calls Run. What an implementation can't do is declared with the reason, and
// shows as a skip that gives it.
//
// Nothing here sleeps: where the clock can't be moved, a test waits for the
// message itself. A message that comes twice, or out of order, is no fault.
package queuetest
