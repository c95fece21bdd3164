package tool_test

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/tool"
)

// fetch is any slow call that can be repeated.
func fetch(_ context.Context, city string) (int, error) { return len(city), nil }

type Cities struct {
	Cities []string `json:"cities"`
}

// Steps may run in parallel, in goroutines that the handler waits for.
func ExampleStep_parallel() {
	handler := func(ctx context.Context, _ *mcp.CallToolRequest, in Cities) (*mcp.CallToolResult, []int, error) {
		out := make([]int, len(in.Cities))
		errs := make(chan error, len(in.Cities))
		for i, city := range in.Cities {
			go func() {
				n, err := tool.Step(ctx, "fetch/"+city, func(ctx context.Context) (int, error) { return fetch(ctx, city) })
				out[i] = n
				errs <- err
			}()
		}
		for range in.Cities {
			if err := <-errs; err != nil {
				return nil, nil, err
			}
		}
		return nil, out, nil
	}
	reg := tool.New()
	tool.Add(reg, &mcp.Tool{Name: "temperatures"}, handler, tool.Options{Task: tool.Optional})

	found, _ := reg.Lookup("temperatures")
	out := found.Run(context.Background(), tool.Call{Arguments: []byte(`{"cities":["Oslo","Bergen"]}`)})
	fmt.Printf("%s\n", out.Result)
	// Output: {"resultType":"complete","content":[{"type":"text","text":"[4,6]"}],"structuredContent":[4,6],"isError":false}
}
