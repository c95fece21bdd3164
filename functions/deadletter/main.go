// Command deadletter is the Lambda function for messages that were received too
// often: it fails their tasks, or sends them again.
package main

import (
	"toolhost/functions/tools"
	"toolhost/pkg/stack"
)

func main() {
	stack.Run(tools.Registry(), func(s *stack.Stack) (any, error) {
		w, err := s.Worker()
		if err != nil {
			return nil, err
		}
		return w.DeadLetter, nil
	})
}
