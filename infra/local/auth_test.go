package local

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/auth"
	"toolhost/pkg/auth/authtest"
	"toolhost/pkg/protocol"
	"toolhost/pkg/tool"
)

// guarded is a deployment that asks for tokens of an issuer. Every request needs
// the scope mcp, and the tool write the scope write.
func guarded(t *testing.T) (*Stack, *authtest.Issuer) {
	t.Helper()
	issuer, f := authtest.New(t), newFixture()
	tool.Add(f.reg, &mcp.Tool{Name: "write"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "written"}}}, nil, nil
	}, tool.Options{Scopes: []string{"write"}})
	return start(t, Options{Registry: f.reg, Environment: map[string]string{
		"TOOLHOST_AUTH": "oauth", "TOOLHOST_ISSUER": issuer.URL, "TOOLHOST_SCOPES": "mcp"}}), issuer
}

// asking is a modern request, with a token unless that is "".
func asking(t *testing.T, url, token, method, name string, params map[string]any) *http.Request {
	t.Helper()
	if params == nil {
		params = map[string]any{}
	}
	params["_meta"] = map[string]any{protocol.MetaProtocolVersion: protocol.Revision20260728, protocol.MetaClientCapabilities: json.RawMessage(
		`{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`)}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	r := post(t, url, string(body))
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	r.Header.Set(protocol.HeaderVersion, protocol.Revision20260728)
	r.Header.Set(protocol.HeaderMethod, method)
	if name != "" {
		r.Header.Set(protocol.HeaderName, name)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

func TestUnauthorized(t *testing.T) { // R-V2, R-V5, cases 3 and 27
	s, issuer := guarded(t)
	good := issuer.Token("alice", s.URL, "mcp")
	request := func(token string) *http.Request { return asking(t, s.URL, token, protocol.MethodToolsList, "", nil) }
	twice := request(good)
	twice.Header.Add("Authorization", "Bearer "+good)
	inQuery := request("")
	inQuery.URL.RawQuery = "access_token=" + good
	basic := request("")
	basic.Header.Set("Authorization", "Basic "+good)
	for name, r := range map[string]*http.Request{
		"no token": request(""), "no token that is one": request("x"), "a token of another's": request(issuer.Token("alice", "https://other.example/mcp", "mcp")),
		"a token in the query": inQuery, "two tokens": twice, "another scheme": basic,
		"a token with something behind it": request(good + "x"),
	} {
		t.Run(name, func(t *testing.T) {
			response, body := fetch(t, r)
			want(t, "status", response.StatusCode, http.StatusUnauthorized)
			want(t, "challenge", response.Header.Get("WWW-Authenticate"),
				`Bearer resource_metadata="`+strings.TrimSuffix(s.URL, "/mcp")+auth.MetadataPath+`/mcp", scope="mcp"`)
			if strings.Contains(body, good) || !json.Valid([]byte(body)) {
				t.Error(body)
			}
		})
	}
	t.Run("a good token is let in", func(t *testing.T) {
		response, body := fetch(t, request(good))
		want(t, "status", response.StatusCode, http.StatusOK)
		if strings.Contains(body, `"write"`) || !strings.Contains(body, `"cacheScope":"private"`) {
			t.Error(body)
		}
	})
	t.Run("the advertised description is there, and so is the other form of it", func(t *testing.T) {
		for _, path := range []string{auth.MetadataPath, auth.MetadataPath + "/mcp"} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(s.URL, "/mcp")+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			response, body := fetch(t, r)
			want(t, "status", response.StatusCode, http.StatusOK)
			want(t, "description", body, `{"resource":"`+s.URL+`","authorization_servers":["`+issuer.URL+
				`"],"scopes_supported":["mcp","write"],"bearer_methods_supported":["header"]}`)
		}
	})
	t.Run("a page may ask before it has a token", func(t *testing.T) {
		r := request("")
		r.Method = http.MethodOptions
		r.Header.Set("Origin", "http://localhost:3000")
		r.Header.Set("Access-Control-Request-Method", "POST")
		response, _ := fetch(t, r)
		want(t, "status", response.StatusCode, http.StatusNoContent)
	})
	t.Run("a callback needs its own token alone", func(t *testing.T) {
		response, _ := fetch(t, post(t, strings.TrimSuffix(s.URL, "/mcp")+"/callbacks/none", "{}"))
		want(t, "status", response.StatusCode, http.StatusNotFound)
	})
	t.Run("nothing is at /mcp/", func(t *testing.T) {
		response, body := fetch(t, asking(t, s.URL+"/", good, protocol.MethodToolsList, "", nil))
		want(t, "status", response.StatusCode, http.StatusNotFound)
		if !strings.Contains(body, "the MCP endpoint is /mcp") {
			t.Error(body)
		}
	})
}

func TestForbidden(t *testing.T) { // R-V2, R-H15, case 3
	s, issuer := guarded(t)
	challenge := func(scopes string) string {
		return `Bearer resource_metadata="` + strings.TrimSuffix(s.URL, "/mcp") + auth.MetadataPath +
			`/mcp", error="insufficient_scope", error_description="the token lacks a scope", scope="` + scopes + `"`
	}
	call := map[string]any{"name": "write", "arguments": map[string]any{}}
	t.Run("a scope that every request needs", func(t *testing.T) {
		response, _ := fetch(t, asking(t, s.URL, issuer.Token("alice", s.URL, "write"), protocol.MethodToolsList, "", nil))
		want(t, "status", response.StatusCode, http.StatusForbidden)
		want(t, "challenge", response.Header.Get("WWW-Authenticate"), challenge("mcp"))
	})
	mcpOnly := issuer.Token("alice", s.URL, "mcp")
	t.Run("a scope that the tool needs", func(t *testing.T) {
		response, _ := fetch(t, asking(t, s.URL, mcpOnly, protocol.MethodToolsCall, "write", call))
		want(t, "status", response.StatusCode, http.StatusForbidden)
		want(t, "challenge", response.Header.Get("WWW-Authenticate"), challenge("mcp write"))
	})
	t.Run("with it, the tool runs", func(t *testing.T) {
		_, body := fetch(t, asking(t, s.URL, issuer.Token("alice", s.URL, "mcp write"), protocol.MethodToolsCall, "write", call))
		if !strings.Contains(body, "written") {
			t.Error(body)
		}
	})
	t.Run("headers that name another tool than the body grant nothing", func(t *testing.T) {
		response, body := fetch(t, asking(t, s.URL, mcpOnly, protocol.MethodToolsCall, "greet", call))
		want(t, "status", response.StatusCode, http.StatusBadRequest)
		if strings.Contains(body, "written") {
			t.Error(body)
		}
	})
	t.Run("an older client, whose headers name nothing, is refused by the function", func(t *testing.T) {
		r := post(t, s.URL, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"write","arguments":{}}}`)
		r.Header = http.Header{"Content-Type": {"application/json"}, "Mcp-Protocol-Version": {"2025-11-25"}, "Authorization": {"Bearer " + mcpOnly}}
		response, body := fetch(t, r)
		want(t, "status", response.StatusCode, http.StatusForbidden)
		// A REST API renames this header of a function's; the body says it too.
		want(t, "challenge", response.Header.Get("X-Amzn-Remapped-Www-Authenticate"), challenge("mcp write"))
		if !strings.Contains(body, `"requiredScopes":["write"]`) || !strings.Contains(body, `"id":7`) {
			t.Error(body)
		}
	})
	t.Run("nothing is known of a token while its issuer can't be reached", func(t *testing.T) {
		s, issuer := guarded(t)
		issuer.Down.Store(true)
		response, body := fetch(t, asking(t, s.URL, issuer.Token("alice", s.URL, "mcp"), protocol.MethodToolsList, "", nil))
		want(t, "status", response.StatusCode, http.StatusInternalServerError)
		if strings.Contains(body, issuer.URL) {
			t.Error(body)
		}
	})
}

// A task of one caller's is to another what no task is.
func TestForeign(t *testing.T) { // R-V1, R-G7, case 13
	s, issuer := guarded(t)
	alice, bob := issuer.Token("alice", s.URL, "mcp"), issuer.Token("bob", s.URL, "mcp")
	_, body := fetch(t, asking(t, s.URL, alice, protocol.MethodToolsCall, "deploy", map[string]any{"name": "deploy", "arguments": map[string]any{"name": "x"}}))
	var made struct{ Result struct{ TaskID string } }
	if err := json.Unmarshal([]byte(body), &made); err != nil || made.Result.TaskID == "" {
		t.Fatal(body)
	}
	const none = "00000000-0000-4000-8000-000000000000"
	ask := func(token, method, id string) (int, string) {
		params, name := map[string]any{"taskId": id}, id
		switch method {
		case protocol.MethodTasksUpdate:
			params["inputResponses"] = map[string]any{"approve": map[string]any{"action": "decline"}}
		case protocol.MethodListen:
			params, name = map[string]any{"notifications": map[string]any{"taskIds": []string{id}}}, ""
		}
		response, body := fetch(t, asking(t, s.URL, token, method, name, params))
		return response.StatusCode, body
	}
	for _, method := range []string{protocol.MethodTasksGet, protocol.MethodTasksUpdate, protocol.MethodTasksCancel, protocol.MethodListen} {
		status, foreign := ask(bob, method, made.Result.TaskID)
		unknownStatus, unknown := ask(bob, method, none)
		want(t, method+": status", status, unknownStatus)
		want(t, method+": answer", foreign, unknown)
	}
	if status, body := ask(alice, protocol.MethodTasksGet, made.Result.TaskID); status != http.StatusOK || strings.Contains(body, "cancelled") {
		t.Error(status, body)
	}
}

func TestSettings(t *testing.T) {
	for name, environment := range map[string]map[string]string{
		"AWS signatures":           {"TOOLHOST_AUTH": "iam"},
		"tokens without an issuer": {"TOOLHOST_AUTH": "oauth"},
	} {
		t.Run(name, func(t *testing.T) {
			if s, err := Start(t.Context(), Options{Registry: newFixture().reg, Environment: environment}); err == nil {
				t.Error("it started", s.Close())
			}
		})
	}
}
