package server_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"toolhost/pkg/protocol"
)

// compiler knows the published schemas: "mcp", "tasks" and "legacy", each with $defs.
var compiler = sync.OnceValue(func() *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	for name, file := range map[string]string{"mcp": "mcp-2026-07-28", "tasks": "ext-tasks", "legacy": "mcp-2025-11-25"} {
		text, err := os.ReadFile("testdata/schema/" + file + ".schema.json")
		if err != nil {
			panic(err)
		}
		schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			panic(err)
		}
		if root, ok := schema.(map[string]any); ok {
			delete(root, "$id") // it is known here by its short name
		}
		if err := c.AddResource("https://schema.example/"+name, schema); err != nil {
			panic(err)
		}
	}
	return c
})

// conform holds JSON to one definition, such as "mcp/CallToolResult" (R-P5).
func conform(t *testing.T, definition string, text json.RawMessage) {
	t.Helper()
	file, name, _ := strings.Cut(definition, "/")
	schema, err := compiler().Compile("https://schema.example/" + file + "#/$defs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		t.Errorf("%s is no %s: %v", text, definition, err)
	}
}

// requests and results of each method.
var definitions = map[string]struct{ request, result string }{
	protocol.MethodDiscover:    {"mcp/DiscoverRequest", "mcp/DiscoverResult"},
	protocol.MethodToolsList:   {"mcp/ListToolsRequest", "mcp/ListToolsResult"},
	protocol.MethodToolsCall:   {"mcp/CallToolRequest", "mcp/CallToolResult"},
	protocol.MethodTasksGet:    {"tasks/GetTaskRequest", "tasks/GetTaskResult"},
	protocol.MethodTasksUpdate: {"tasks/UpdateTaskRequest", "tasks/UpdateTaskResult"},
	protocol.MethodTasksCancel: {"tasks/CancelTaskRequest", "tasks/CancelTaskResult"},
	protocol.MethodListen:      {"mcp/SubscriptionsListenRequest", "mcp/SubscriptionsListenResult"},
}

// errors of 2026-07-28 that have a definition of their own.
var errorDefinitions = map[int]string{
	-32700: "mcp/ParseError", -32600: "mcp/InvalidRequestError", -32601: "mcp/MethodNotFoundError",
	-32602: "mcp/InvalidParamsError", -32603: "mcp/InternalError",
	-32020: "mcp/HeaderMismatchError", -32021: "mcp/MissingRequiredClientCapabilityError", -32022: "mcp/UnsupportedProtocolVersionError",
}

// checkNotification holds what precedes a response to the schemas.
func checkNotification(t *testing.T, message []byte) {
	t.Helper()
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Notifications json.RawMessage `json:"notifications"`
			Result        json.RawMessage `json:"result"`
		} `json:"params"`
	}
	if err := json.Unmarshal(message, &m); err != nil || m.ID != nil { // R-L7: no request on a stream
		t.Fatalf("no notification: %s, %v", message, err)
	}
	switch m.Method {
	case protocol.NotificationProgress:
		conform(t, "mcp/ProgressNotification", message)
	case protocol.NotificationAcknowledged:
		conform(t, "mcp/SubscriptionsAcknowledgedNotification", message)
		conform(t, "tasks/TaskSubscriptionAcknowledgedNotifications", m.Params.Notifications)
	case protocol.NotificationTasks:
		conform(t, "tasks/TaskStatusNotification", message)
		if m.Params.Result != nil {
			conform(t, "mcp/CallToolResult", m.Params.Result)
		}
	default:
		t.Errorf("the notification %s", message) // R-L4
	}
}

// checkSchemas holds a response, and a request that got a result, to the schemas.
func checkSchemas(t *testing.T, request, response []byte) {
	t.Helper()
	var asked struct {
		Method string `json:"method"`
	}
	var got struct {
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	_ = json.Unmarshal(request, &asked)
	if err := json.Unmarshal(response, &got); err != nil {
		t.Fatal(err)
	}
	if got.Error != nil {
		conform(t, "mcp/JSONRPCErrorResponse", response)
		var e struct {
			Code int `json:"code"`
		}
		_ = json.Unmarshal(got.Error, &e)
		definition, known := errorDefinitions[e.Code]
		early := e.Code <= -32001 && e.Code >= -32004
		switch mcp := e.Code <= -32020 && e.Code >= -32099; {
		case mcp && !known, early && !bytes.Contains(request, []byte(protocol.Revision20260630)):
			t.Errorf("the code %d left the server", e.Code) // R-P8
		case mcp: // defined as a whole response
			conform(t, definition, response)
		case known:
			conform(t, definition, got.Error)
		}
		return
	}
	conform(t, "mcp/JSONRPCResultResponse", response)
	definition := definitions[asked.Method]
	conform(t, definition.request, request)
	var result struct {
		Type   string          `json:"resultType"`
		Meta   json.RawMessage `json:"_meta"`
		Result json.RawMessage `json:"result"`
		Status string          `json:"status"`
		Error  json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(got.Result, &result); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(result.Meta, []byte(protocol.MetaServerInfo)) {
		t.Errorf("a result without serverInfo: %s", got.Result) // R-H7
	}
	switch {
	case asked.Method == protocol.MethodToolsCall && result.Type == "task": // R-P2
		definition.result = "tasks/CreateTaskResult"
	case asked.Method == protocol.MethodToolsCall && result.Type == "input_required":
		definition.result = "mcp/InputRequiredResult"
	case result.Type != "complete": // R-P7
		t.Errorf("resultType %q on %s", result.Type, asked.Method)
	}
	conform(t, definition.result, got.Result)
	if result.Result != nil {
		conform(t, "mcp/CallToolResult", result.Result) // R-G3
	}
	if result.Error != nil {
		conform(t, "mcp/Error", result.Error) // R-G4
	}
}
