// Command tasks is the Lambda function that serves tasks/get, tasks/update and
// tasks/cancel alone, where a custom domain routes them by header. Its role may
// do less, and its load does not touch the calls that start work.
package main

import (
	"toolhost/functions/tools"
	"toolhost/pkg/stack"
)

func main() {
	stack.Run(tools.Registry(), func(s *stack.Stack) (any, error) {
		return s.Tasks()
	})
}
