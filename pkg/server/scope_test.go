package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/auth"
	"toolhost/pkg/protocol"
	"toolhost/pkg/server"
	"toolhost/pkg/tool"
)

// scoped is a server whose tools need scopes: free none, and the others what
// they are called.
func scoped(t *testing.T, ran *int) (*host, *server.Server) {
	tools := tool.New()
	for _, name := range []string{"free", "read", "write", "read_write", "also_free"} {
		var scopes []string
		for s := range strings.SplitSeq(name, "_") {
			if s == "read" || s == "write" {
				scopes = append(scopes, s)
			}
		}
		tool.Add(tools, &mcp.Tool{Name: name}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
			*ran++
			return text("ran"), nil, nil
		}, tool.Options{Task: tool.Optional, Scopes: scopes, Instant: func(json.RawMessage) bool { return true }})
	}
	h := startWith(t, tools, server.Limits{PageSize: 2})
	h.options.Scoped = true
	s, err := server.New(h.options)
	h.must(err)
	return h, s
}

// ask makes a request of the server as a caller with the scopes.
func ask(t *testing.T, s *server.Server, scopes, method string, params map[string]any) (server.Response, answer) {
	t.Helper()
	params["_meta"] = map[string]any{protocol.MetaProtocolVersion: protocol.Revision20260728, protocol.MetaClientCapabilities: json.RawMessage(everything)}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	p := auth.Principal{Issuer: "https://issuer.example", Subject: "ada", Scopes: strings.Fields(scopes)}
	r := s.Handle(auth.With(t.Context(), p), server.Request{Headers: protocol.ReadHeaders(mirror(body)), Body: body}, nil)
	var a answer
	if err := json.Unmarshal(r.Body, &a); err != nil {
		t.Fatal(err)
	}
	return r, a
}

func TestScopes(t *testing.T) { // R-V2, R-H14, R-H15
	var ran int
	h, s := scoped(t, &ran)

	t.Run("a_caller_sees_what_it_may_call_on_pages_of_their_own", func(t *testing.T) {
		for scopes, want := range map[string]string{
			"": "free also_free", "read": "free read also_free", "write": "free write also_free",
			"read write other": "free read write read_write also_free", "rea": "free also_free", "READ": "free also_free",
		} {
			var names []string
			params := map[string]any{}
			for page := 0; page < 5; page++ {
				_, a := ask(t, s, scopes, protocol.MethodToolsList, params)
				var list struct {
					Tools      []struct{ Name string }
					NextCursor string
					CacheScope string
				}
				h.must(json.Unmarshal(a.Result, &list))
				if list.CacheScope != protocol.CachePrivate || len(list.Tools) > 2 || len(list.Tools) == 0 {
					t.Errorf("page %d: %s", page, a.Result)
				}
				for _, tool := range list.Tools {
					names = append(names, tool.Name)
				}
				if list.NextCursor == "" {
					break
				}
				params = map[string]any{"cursor": list.NextCursor}
			}
			if got := strings.Join(names, " "); got != want {
				t.Errorf("with %q: %s, want %s", scopes, got, want)
			}
		}
	})

	t.Run("a_call_without_a_scope_runs_nothing_and_names_all_that_are_needed", func(t *testing.T) {
		ran = 0
		r, a := ask(t, s, "read", protocol.MethodToolsCall, map[string]any{"name": "read_write", "arguments": none{}})
		if r.Status != http.StatusForbidden || !slices.Equal(r.Scopes, []string{"read", "write"}) || a.code() != -32600 ||
			string(a.Error.Data) != `{"requiredScopes":["read","write"]}` || !strings.Contains(a.Error.Message, "read write") || ran != 0 || h.waiting() != 0 {
			t.Errorf("%d %v %s, ran %d times", r.Status, r.Scopes, r.Body, ran)
		}
		if r, _ := ask(t, s, "write read", protocol.MethodToolsCall, map[string]any{"name": "read_write", "arguments": none{}}); r.Status != http.StatusOK || ran != 1 {
			t.Errorf("%d %s", r.Status, r.Body)
		}
	})

	t.Run("so_it_is_for_older_clients_and_in_batches", func(t *testing.T) {
		ran = 0
		ctx := auth.With(t.Context(), auth.Principal{Subject: "ada", Scopes: []string{"read"}})
		for _, revision := range protocol.Legacy {
			body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write","arguments":{}}}`
			r := s.Handle(ctx, server.Request{Headers: protocol.ReadHeaders(legacyHeader(revision)), Body: []byte(body)}, nil)
			if r.Status != http.StatusForbidden || !slices.Equal(r.Scopes, []string{"write"}) || !strings.Contains(string(r.Body), `"id":1`) {
				t.Errorf("%s: %d %s", revision, r.Status, r.Body)
			}
			list := s.Handle(ctx, server.Request{Headers: protocol.ReadHeaders(legacyHeader(revision)), Body: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)}, nil)
			if strings.Contains(string(list.Body), "write") {
				t.Errorf("%s: %s", revision, list.Body)
			}
		}
		batch := fmt.Sprintf(`[%s]`, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"write","arguments":{}}}`)
		r := s.Handle(ctx, server.Request{Headers: protocol.ReadHeaders(legacyHeader(protocol.Revision20250326)), Body: []byte(batch)}, nil)
		if !strings.Contains(string(r.Body), `"requiredScopes":["write"]`) || ran != 0 {
			t.Errorf("%s, ran %d times", r.Body, ran)
		}
	})

	t.Run("where_nobody_is_asked_for_a_token_scopes_mean_nothing", func(t *testing.T) {
		o := h.options
		o.Scoped = false
		open, err := server.New(o)
		h.must(err)
		ran = 0
		_, list := ask(t, open, "", protocol.MethodToolsList, map[string]any{})
		r, _ := ask(t, open, "", protocol.MethodToolsCall, map[string]any{"name": "write", "arguments": none{}})
		if r.Status != http.StatusOK || ran != 1 || !strings.Contains(string(list.Result), `"cacheScope":"public"`) {
			t.Errorf("%d %s, %s", r.Status, r.Body, list.Result)
		}
	})
}
