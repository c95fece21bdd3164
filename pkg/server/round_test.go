package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/server"
	"toolhost/pkg/tool"
)

// A state that could not come back in one request is never handed out (case 25).
func TestRequestStateLimit(t *testing.T) {
	tools := tool.New()
	tool.Add(tools, &mcp.Tool{Name: "curious"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		for i := 0; ; i++ {
			if _, err := tool.AskRaw(ctx, tool.Question{Key: fmt.Sprint("q", i), Method: "elicitation/create",
				Params: json.RawMessage(`{"mode":"form","message":"More?","requestedSchema":{"type":"object","properties":{"more":{"type":"string"}}}}`)}); err != nil {
				return nil, nil, err
			}
		}
	}, tool.Options{})
	h := startWith(t, tools, server.Limits{})
	s, err := server.New(h.options)
	h.must(err)
	answer, params := strings.Repeat("x", 250<<10), `"name":"curious",`
	for round := range 20 {
		response := s.Handle(t.Context(), request("tools/call", params), nil)
		var a struct {
			Result struct {
				ResultType, RequestState string
				IsError                  bool
			}
		}
		h.must(json.Unmarshal(response.Body, &a))
		if a.Result.IsError {
			if !strings.Contains(string(response.Body), "the limit is 2097152") {
				t.Errorf("%s", response.Body)
			}
			return
		}
		if a.Result.ResultType != "input_required" {
			t.Fatalf("round %d: %.300s", round, response.Body)
		}
		params = fmt.Sprintf(`"name":"curious","requestState":%q,"inputResponses":{"q%d":{"action":"accept","content":{"more":%q}}},`,
			a.Result.RequestState, round, answer)
	}
	t.Error("twenty rounds, and no limit")
}
