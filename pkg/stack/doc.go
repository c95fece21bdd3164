// Package stack puts a deployment together: configuration, AWS clients, store,
// queue, server and worker. It is the only package that does, for the functions
// on Lambda and for the local stack alike, so that both run the same code.
//
// A function's main is
//
//	stack.Run(tools.Registry(), func(s *stack.Stack) (any, error) { return s.MCP() })
//
// Nothing is retried that AWS's SDK does not retry by itself: three attempts
// more, with growing pauses, within the context's time.
package stack
