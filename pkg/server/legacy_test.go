package server_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"toolhost/pkg/protocol"
)

// The exchanges of testdata/legacy are as those of TestExchanges, by clients that
// began with initialize: they send a version header and nothing else. Those in
// all/ are played under every legacy revision, the others under the one that
// their folder names; each body is held to the schema of 2025-11-25 (R-P5).
func TestLegacyExchanges(t *testing.T) {
	files, err := filepath.Glob("testdata/legacy/*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no exchanges", err)
	}
	for _, file := range files {
		revisions := []string{filepath.Base(filepath.Dir(file))}
		if revisions[0] == "all" {
			revisions = protocol.Legacy
		}
		for _, revision := range revisions {
			name := strings.TrimSuffix(filepath.Base(file), ".txtar")
			t.Run(revision+"/"+name, func(t *testing.T) { play(t, file, revision, revision == revisions[0]) })
		}
	}
}

// legacyHeader are the headers of a client that agreed on the revision.
func legacyHeader(revision string) http.Header {
	return http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		http.CanonicalHeaderKey(protocol.HeaderVersion): {revision}}
}

var legacyResults = map[string]string{
	protocol.MethodInitialize:  "legacy/InitializeResult",
	protocol.MethodPing:        "legacy/EmptyResult",
	protocol.MethodToolsList:   "legacy/ListToolsResult",
	protocol.MethodToolsCall:   "legacy/CallToolResult",
	protocol.MethodTasksGet:    "legacy/GetTaskResult",
	protocol.MethodTasksResult: "legacy/CallToolResult",
	protocol.MethodTasksCancel: "legacy/CancelTaskResult",
}

// checkLegacySchemas holds a response, or each of a batch, to the schema of
// 2025-11-25, and sees to it that nothing newer leaves the server.
func checkLegacySchemas(t *testing.T, request, response []byte) {
	t.Helper()
	var requests, responses []json.RawMessage
	if json.Unmarshal(response, &responses) != nil {
		requests, responses = []json.RawMessage{request}, []json.RawMessage{response}
	} else if err := json.Unmarshal(request, &requests); err != nil {
		t.Fatal(err)
	}
	type message struct {
		ID     json.RawMessage            `json:"id"`
		Method string                     `json:"method"`
		Params map[string]json.RawMessage `json:"params"`
		Result json.RawMessage            `json:"result"`
		Error  *struct{ Code int }        `json:"error"`
	}
	asked := map[string]message{}
	for _, r := range requests {
		var m message
		_ = json.Unmarshal(r, &m) // a broken one gets an error
		asked[string(m.ID)] = m
	}
	for _, r := range responses {
		var m message
		if err := json.Unmarshal(r, &m); err != nil {
			t.Fatal(err)
		}
		if m.Error != nil {
			conform(t, "legacy/JSONRPCErrorResponse", r)
			if c := m.Error.Code; c <= -32020 && c >= -32099 || c <= -32001 && c >= -32004 {
				t.Errorf("the code %d left the server", c)
			}
			continue
		}
		conform(t, "legacy/JSONRPCResultResponse", r)
		definition := legacyResults[asked[string(m.ID)].Method]
		if bytes.HasPrefix(m.Result, []byte(`{"task":`)) {
			definition = "legacy/CreateTaskResult"
		}
		conform(t, definition, m.Result)
		for _, newer := range []string{`"resultType"`, `"ttlMs"`, `"cacheScope"`, protocol.MetaServerInfo, protocol.ExtensionTasks} {
			if bytes.Contains(m.Result, []byte(newer)) {
				t.Errorf("%s in %s", newer, m.Result)
			}
		}
	}
}
