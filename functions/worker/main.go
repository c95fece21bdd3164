// Command worker is the Lambda function that runs tasks.
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
		return w.Handle, nil
	})
}
