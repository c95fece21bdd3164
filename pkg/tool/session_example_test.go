package tool_test

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/tool"
)

// An existing server of the official SDK, hosted as it is.
func ExampleFromSession() {
	existing := mcp.NewServer(&mcp.Implementation{Name: "existing"}, nil)
	mcp.AddTool(existing, &mcp.Tool{Name: "greet"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Hello!"}}}, nil, nil
	})

	reg := tool.New()
	session, err := tool.FromSession(context.Background(), reg, tool.InMemory(existing), func(d *mcp.Tool) tool.Options {
		d.Name = "existing." + d.Name
		return tool.Options{Task: tool.Optional, Timeout: time.Minute}
	})
	if err != nil {
		panic(err)
	}
	defer session.Close()

	greet, _ := reg.Lookup("existing.greet")
	fmt.Printf("%s\n", greet.Run(context.Background(), tool.Call{}).Result)
	// Output: {"resultType":"complete","content":[{"type":"text","text":"Hello!"}],"isError":false}
}

// A server in another language, which a function starts with itself.
func ExampleCommand() {
	register := func(r *tool.Registry) {
		ctx, cancel := context.WithTimeout(context.Background(), 9*time.Second) // Lambda gives an init 10 s
		defer cancel()
		if _, err := tool.FromSession(ctx, r, tool.Command("mcp-server-everything", "stdio"), nil); err != nil {
			panic(err)
		}
	}
	_ = register
}
