// Command authorizer is the Lambda function that API Gateway asks who calls.
package main

import (
	"toolhost/functions/tools"
	"toolhost/pkg/stack"
)

func main() {
	stack.Run(tools.Registry(), func(s *stack.Stack) (any, error) {
		return s.Authorizer()
	})
}
