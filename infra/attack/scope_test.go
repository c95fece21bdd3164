package attack

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"toolhost/pkg/protocol"
)

// TestScopes says in every way that a token has a scope that it has not.
func TestScopes(t *testing.T) { // R-V2, R-V5
	g := guard(t, nil)
	for what, claims := range map[string]map[string]any{
		"no scope": {"scope": nil}, "an empty one": {"scope": ""}, "a space": {"scope": " "}, "another": {"scope": "other"}, "in upper case": {"scope": "MCP"}, "longer": {"scope": "mcp2"}, "shorter": {"scope": "mc"},
		"with a tab": {"scope": "mcp\tdeploy"}, "with a line": {"scope": "mcp\ndeploy"}, "with a comma": {"scope": "mcp,deploy"}, "with a wide space": {"scope": "mcp\u00a0deploy"}, "with NUL": {"scope": "mcp\x00"},
		"quoted": {"scope": `"mcp"`}, "a JSON list as text": {"scope": `["mcp"]`}, "with a plus": {"scope": "mcp+deploy"}, "a wildcard": {"scope": "*"}, "alike": {"scope": "m\u0441p"}, "joined": {"scope": "m\u200dcp"},
		"a list of one text": {"scope": []string{"mcp deploy"}}, "a list of lists": {"scope": [][]string{{"mcp"}}}, "a list of numbers": {"scope": []int{1}}, "a mixed list": {"scope": []any{"mcp", 1}},
		"an object": {"scope": map[string]bool{"mcp": true}}, "true": {"scope": true}, "null": {"scope": json.RawMessage("null")}, "in scopes": {"scope": nil, "scopes": "mcp"}, "in roles": {"scope": nil, "roles": []string{"mcp"}},
		"in scp, behind another": {"scope": "other", "scp": "mcp"}, "in scp as one text": {"scope": nil, "scp": []string{"mcp deploy"}}, "many others": {"scope": strings.Repeat("x ", 2000)},
	} {
		a := g.try(what, "Authorization: Bearer "+g.good(claims))
		if challenge := a.header.Get("WWW-Authenticate"); a.status != http.StatusForbidden || !strings.Contains(challenge, `error="insufficient_scope"`) || !strings.Contains(challenge, `scope="mcp"`) {
			t.Errorf("%s: %s, %v", what, a, a.header)
		}
	}
	for what, claims := range map[string]map[string]any{
		"among others": {"scope": "a mcp b"}, "with spaces": {"scope": "  mcp  "}, "a list": {"scope": []string{"mcp"}}, "in scp": {"scope": nil, "scp": []string{"mcp"}},
	} {
		if a := g.try(what, "Authorization: Bearer "+g.good(claims)); a.status != 200 {
			t.Errorf("%s: %s", what, a)
		}
	}
}

// TestMirroredTool names a tool that the caller may call where the gateway looks,
// and one that it may not where it counts.
func TestMirroredTool(t *testing.T) { // R-H1, R-H15, R-V2
	g := guard(t, nil)
	body := message(protocol.MethodToolsCall, map[string]any{"name": "deploy", "arguments": words{"x"}})
	legacy := `{"jsonrpc":"2.0","id":"q","method":"tools/call","params":{"name":"deploy","arguments":{"text":"x"}}}`
	batch := `[{"jsonrpc":"2.0","id":1,"method":"ping"},` + legacy + `]`
	head := func(revision, method, name string) http.Header {
		h := http.Header{"Content-Type": {"application/json"}}
		for k, v := range map[string]string{protocol.HeaderVersion: revision, protocol.HeaderMethod: method, protocol.HeaderName: name} {
			if v != "" {
				h.Set(k, v)
			}
		}
		return h
	}
	for what, attack := range map[string]struct {
		header http.Header
		body   string
		status int
	}{
		"itself":                          {head("2026-07-28", "tools/call", "deploy"), body, 403},
		"itself in base64":                {head("2026-07-28", "tools/call", "=?base64?ZGVwbG95?="), body, 403},
		"another":                         {head("2026-07-28", "tools/call", "echo"), body, 400},
		"none":                            {head("2026-07-28", "tools/call", ""), body, 400},
		"in upper case":                   {head("2026-07-28", "tools/call", "DEPLOY"), body, 400},
		"another method":                  {head("2026-07-28", "tools/list", ""), body, 400},
		"another method and the tool":     {head("2026-07-28", "tools/list", "deploy"), body, 400},
		"a task's method":                 {head("2026-07-28", "tasks/get", "deploy"), body, 400},
		"an early name of the revision":   {head("2026-06-30", "tools/call", "deploy"), strings.Replace(body, "2026-07-28", "2026-06-30", 1), 403},
		"legacy":                          {head("2025-11-25", "", ""), legacy, 403},
		"legacy, another tool":            {head("2025-11-25", "tools/call", "echo"), legacy, 403},
		"legacy, a task's method":         {head("2025-11-25", "tasks/get", "x"), legacy, 403},
		"legacy, another method":          {head("2025-06-18", "ping", ""), legacy, 403},
		"no version":                      {head("", "", ""), legacy, 403},
		"a modern header, a legacy body":  {head("2026-07-28", "tools/call", "echo"), legacy, 400},
		"a legacy header, a modern body":  {head("2025-11-25", "tools/call", "echo"), body, 400},
		"a batch":                         {head("2025-03-26", "", ""), batch, 200},
		"a batch, another tool":           {head("2025-03-26", "tools/call", "echo"), batch, 200},
		"a batch, a task's method":        {head("2025-03-26", "tasks/get", "x"), batch, 200},
		"as a legacy task":                {head("2025-11-25", "tools/call", "echo"), strings.Replace(legacy, `"name"`, `"task":{},"name"`, 1), 403},
		"a name twice, the second counts": {head("2025-11-25", "", ""), strings.Replace(legacy, `"name"`, `"name":"echo","name"`, 1), 400},
	} {
		a := g.send(what, http.MethodPost, g.url, attack.header, attack.body)
		if a.status != attack.status || attack.status == 403 && !strings.Contains(a.header.Get("WWW-Authenticate")+fmt.Sprint(a.header["X-Amzn-Remapped-Www-Authenticate"]), "deploy") {
			t.Errorf("%s: %s, %v", what, a, a.header)
		}
		if attack.status == 200 && !strings.Contains(string(a.body), "needs a token with the scopes: deploy") {
			t.Errorf("%s: %s", what, a)
		}
		if n := g.runs.Load(); n != 0 {
			t.Fatalf("%s: the tool ran", what)
		}
	}
	// One that it does not see (R-H14).
	if a := g.modern(protocol.MethodToolsList, nil); strings.Contains(string(a.body), "deploy") {
		t.Errorf("the tool is listed: %s", a)
	}
	g.token = g.good(map[string]any{"scope": "deploy mcp"})
	if a := g.call("deploy", words{"x"}); a.status != 200 || g.runs.Load() != 1 {
		t.Errorf("with its scope: %s", a)
	}
}

// TestCallers lets callers reach for each other's tasks, states and keys through
// the whole deployment: near ones, too, of another tenant or client.
func TestCallers(t *testing.T) { // R-V1, R-V3, R-G7, R-H9; cases 11, 13
	g := guard(t, map[string]string{"TOOLHOST_TENANT_CLAIM": "tenant"})
	as := func(subject, tenant, client any) {
		g.token = g.good(map[string]any{"sub": subject, "tenant": tenant, "client_id": client})
	}
	arguments := words{"hello"}
	answers := map[string]any{"who": map[string]any{"action": "accept", "content": map[string]string{"name": "Eve"}}}
	begin := func() string {
		t.Helper()
		return g.modern(protocol.MethodToolsCall, map[string]any{"name": "ask", "arguments": arguments, "_meta": keyed("order 1")}).read(t).Result.TaskID
	}
	as("ada", "one", "app")
	id := begin()
	if id == "" || begin() != id {
		t.Fatalf("a repeated call is not one task: %q", id)
	}
	before := g.until(id, "input_required")
	state := g.call("quiz", arguments).read(t).Result.RequestState
	unknown := "00000000000000000000000000000000"
	tried := 0
	for _, thief := range [][3]any{
		{"bob", "one", "app"}, {"ada", "two", "app"}, {"ADA", "one", "app"}, {"ada ", "one", "app"}, {"ada", "One", "app"}, {"ada\x00", "one", "app"}, {"ada\x00one", "one", "app"}, {"", "one", "ada"}, {nil, "one", "ada"}, {nil, "one", "app"},
		{"a", "da", "app"}, {"*", "one", "app"}, {"ada/..", "one", "app"}, {"аda", "one", "app"}, {"ada", "one\x00", "app"}, {strings.Repeat("a", 3000), "one", "app"},
	} {
		as(thief[0], thief[1], thief[2])
		for _, try := range []struct {
			method string
			params map[string]any
		}{
			{protocol.MethodTasksGet, nil}, {protocol.MethodTasksCancel, nil}, {protocol.MethodTasksUpdate, map[string]any{"inputResponses": answers}},
		} {
			ask := func(id string) answer {
				return g.modern(try.method, changed(named(id), try.params))
			}
			got, want := ask(id), ask(unknown)
			if tried++; got.status != 200 || got.code() != -32602 || string(got.body) != string(want.body) {
				t.Errorf("%q: %s: %s, want %s", thief, try.method, got, want)
			}
		}
		a := g.send("listen", http.MethodPost, g.url, headers(protocol.Revision20260728, protocol.MethodListen, ""), message(protocol.MethodListen, watched(id)))
		if tried++; strings.Contains(string(a.body), id) {
			t.Errorf("%q hears %s", thief, a)
		}
		for _, method := range []string{protocol.MethodTasksGet, protocol.MethodTasksResult, protocol.MethodTasksCancel} {
			if a, b := g.legacy(method, named(id)), g.legacy(method, named(unknown)); string(a.body) != string(b.body) || a.code() != -32602 {
				t.Errorf("%q: legacy %s: %s, want %s", thief, method, a, b)
			}
		}
		if a := g.modern(protocol.MethodToolsCall, map[string]any{"name": "quiz", "arguments": arguments, "requestState": state, "inputResponses": answers}); a.code() != -32602 {
			t.Errorf("%q continues a call: %s", thief, a)
		}
		if mine := begin(); mine == id || mine == "" { // the same key
			t.Errorf("%q makes %q with the key of another", thief, mine)
		}
	}
	as("ada", "one", "another app") // the subject is the owner, through whatever client (R-V1)
	if after := g.modern(protocol.MethodTasksGet, named(id)); string(after.body) != string(before.body) {
		t.Errorf("the task was moved from %s to %s", before.body, after.body)
	}
	if a := g.modern(protocol.MethodToolsCall, map[string]any{"name": "ask", "arguments": words{"other"}, "_meta": keyed("order 1")}); a.code() != -32602 {
		t.Errorf("a key with other arguments: %s", a)
	}
	for _, tenant := range []any{nil, "", 1, []string{"one"}, map[string]any{}, true, json.RawMessage("null")} {
		if a := g.try("a tenant", "Authorization: Bearer "+g.good(map[string]any{"tenant": tenant})); a.status != 401 {
			t.Errorf("the tenant %v: %s", tenant, a)
		}
	}
	noText := string(encoded(t, g.claims(map[string]any{"tenant": nil})))
	if a := g.try("a tenant", "Authorization: Bearer "+g.of(g.head(nil), `{"tenant":"\ud800",`+noText[1:])); a.status != 401 {
		t.Errorf("a tenant that is no text: %s", a)
	}
	t.Logf("%d tries", tried)
}

func keyed(key string) map[string]any {
	var all map[string]any
	if err := json.Unmarshal([]byte(meta), &all); err != nil {
		panic(err)
	}
	all[protocol.MetaIdempotencyKey] = key
	return all
}
