// Command toolhost is the one command for people: it runs the whole stack on a
// laptop, and calls, watches, answers and cancels tools on any MCP server.
//
//	toolhost dev                                 the stack, at http://127.0.0.1:8080/mcp
//	toolhost tools                               what can be called
//	toolhost call csv_profile --file sales.csv   call it, and stay to its result
//
// Results go to standard output, and all else to standard error. A person at a
// terminal is asked the tools' questions in forms; without one they are answered
// by --answers, or the command ends with a code that says so and the task waits.
// With --json standard output is one JSON value: the result, or
// {"error":{"message":…,"exit":…}} with what is known besides. 'toolhost --help'
// lists the exit codes.
package main
