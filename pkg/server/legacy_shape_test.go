package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/limits"
	"toolhost/pkg/protocol"
	"toolhost/pkg/server"
	"toolhost/pkg/tool"
)

// newest has all that older revisions do not know of a tool and of its result.
func newest() *tool.Registry {
	r := tool.New()
	for name, output := range map[string]string{"object": `{"type":"object"}`, "array": `{"type":"array"}`} {
		value := map[string]any{"object": map[string]any{"a": 1}, "array": []int{1}}[name]
		tool.AddRaw(r, &mcp.Tool{
			Name: name, Title: "T", Icons: []mcp.Icon{{Source: "https://icon.example"}}, Meta: mcp.Meta{"m": 1},
			InputSchema:  json.RawMessage(`{"type":"object","properties":{"any":true,"none":false,"text":{"type":"string"}}}`),
			OutputSchema: json.RawMessage(output),
		}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Meta: mcp.Meta{"m": 1}, StructuredContent: value}, nil
		}, tool.Options{})
	}
	return r
}

// R-B2, R-P5: a client gets what its revision has, and no more.
func TestLegacyShapes(t *testing.T) {
	s := alone(t, newest(), brokenStore{}, nil)
	ask := func(t *testing.T, revision, method, params string) answer {
		t.Helper()
		r := legacy(revision, method, params)
		got := s.Handle(t.Context(), r, nil)
		checkLegacySchemas(t, r.Body, got.Body)
		var a answer
		if err := json.Unmarshal(got.Body, &a); err != nil || a.Error != nil {
			t.Fatalf("%s", got.Body)
		}
		return a
	}
	members := func(t *testing.T, object json.RawMessage) (names []string) {
		t.Helper()
		var all map[string]any
		if err := json.Unmarshal(object, &all); err != nil {
			t.Fatal(err)
		}
		for name := range all {
			names = append(names, name)
		}
		slices.Sort(names)
		return names
	}
	for _, c := range []struct{ revision, tool, entry, result string }{
		{"2025-11-25", "object", "_meta execution icons inputSchema name outputSchema title", "_meta content isError structuredContent"},
		{"2025-11-25", "array", "_meta execution icons inputSchema name title", "_meta content isError"},
		{"2025-06-18", "object", "_meta inputSchema name outputSchema title", "_meta content isError structuredContent"},
		{"2025-06-18", "array", "_meta inputSchema name title", "_meta content isError"},
		{"2025-03-26", "object", "inputSchema name", "_meta content isError"},
		{"2025-03-26", "array", "inputSchema name", "_meta content isError"},
	} {
		t.Run(c.revision+"/"+c.tool, func(t *testing.T) {
			var list struct{ Tools []json.RawMessage }
			if err := json.Unmarshal(ask(t, c.revision, "tools/list", "").Result, &list); err != nil {
				t.Fatal(err)
			}
			for _, entry := range list.Tools {
				if !strings.Contains(string(entry), `"name":"`+c.tool+`"`) {
					continue
				}
				if got := strings.Join(members(t, entry), " "); got != c.entry {
					t.Errorf("the entry has %s, want %s", got, c.entry)
				}
				if !strings.Contains(string(entry), `"properties":{"any":{},"none":{"not":{}},"text":{"type":"string"}}`) {
					t.Errorf("properties that are no objects: %s", entry)
				}
			}
			result := ask(t, c.revision, "tools/call", `"name":"`+c.tool+`"`).Result
			if got := strings.Join(members(t, result), " "); got != c.result {
				t.Errorf("the result has %s, want %s", got, c.result)
			}
			if !strings.Contains(string(result), `"text":"`) {
				t.Errorf("the structured content does not stand as text: %s", result) // R-P9
			}
		})
	}
}

// R-H4: what a request of many messages may not do.
func TestBatchLimits(t *testing.T) {
	tools := fixtures()
	batch := func(s *server.Server, message string, n int) server.Response {
		body := "[" + strings.TrimSuffix(strings.Repeat(message+",", n), ",") + "]"
		return s.Handle(t.Context(), server.Request{Headers: protocol.ReadHeaders(legacyHeader("2025-03-26")), Body: []byte(body)}, nil)
	}
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	s := alone(t, tools, brokenStore{}, nil)
	if got := batch(s, ping, limits.MaxBatch); got.Status != 200 || strings.Count(string(got.Body), `"result":{}`) != limits.MaxBatch {
		t.Errorf("%d %.200s", got.Status, got.Body)
	}
	if got := batch(s, ping, limits.MaxBatch+1); got.Status != 400 || !strings.Contains(string(got.Body), fmt.Sprint(limits.MaxBatch)) {
		t.Errorf("%d %.200s", got.Status, got.Body)
	}
	large := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"big","arguments":{"bytes":3000000}}}`
	if got := batch(s, large, 2); got.Status != 400 || !strings.Contains(string(got.Body), "one by one") {
		t.Errorf("%d %.200s", got.Status, got.Body)
	}
}
