// Command mcp is the Lambda function behind the MCP endpoint.
package main

import (
	"toolhost/functions/tools"
	"toolhost/pkg/stack"
)

func main() {
	stack.Run(tools.Registry(), func(s *stack.Stack) (any, error) {
		return s.MCP()
	})
}
