package stack

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/apigw"
	"toolhost/pkg/config"
	"toolhost/pkg/fault"
	"toolhost/pkg/limits"
	"toolhost/pkg/tool"
)

const key = "0123456789abcdef0123456789abcdef"

func registry() *tool.Registry {
	reg := tool.New()
	tool.Add(reg, &mcp.Tool{Name: "echo", Description: "Echoes."},
		func(_ context.Context, _ *mcp.CallToolRequest, in struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ok"}}}, nil, nil
		}, tool.Options{})
	return reg
}

func configured() config.Config {
	return config.Config{Table: "t", QueueURL: "http://127.0.0.1:1/q", Keys: config.Keys{Rotating: [][]byte{[]byte(key)}, Lasting: []byte(key)}, Auth: config.AuthNone,
		Limits: config.Limits{Body: limits.MaxBody, Arguments: limits.MaxArguments, Result: limits.MaxResult, Answer: limits.MaxAnswer}}
}

// at is AWS at an endpoint.
func at(endpoint string) *aws.Config {
	return &aws.Config{Region: "eu-west-1", BaseEndpoint: &endpoint, Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")}
}

func opened(t *testing.T, c config.Config, endpoint string) *Stack {
	t.Helper()
	s, err := Open(t.Context(), c, registry(), Options{AWS: at(endpoint)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// call invokes a function with one POST and returns status and body.
func call(t *testing.T, f apigw.Handler, method, body string) (int, string) {
	t.Helper()
	raw, _ := json.Marshal(events.APIGatewayProxyRequest{
		HTTPMethod: "POST", Path: "/mcp", Resource: "/mcp", Body: body,
		Headers: map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": "x"},
	})
	a, err := f(t.Context(), raw)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	all, err := io.ReadAll(a)
	if err != nil {
		t.Fatal(err)
	}
	var answer events.APIGatewayProxyResponse
	if err := json.Unmarshal(all, &answer); err != nil {
		t.Fatalf("%v in %q", err, all)
	}
	return answer.StatusCode, answer.Body
}

func request(method string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"taskId":"x","_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`
}

func TestFunctions(t *testing.T) {
	t.Run("mcp serves every method", func(t *testing.T) {
		f, err := opened(t, configured(), "http://127.0.0.1:1").MCP()
		if err != nil {
			t.Fatal(err)
		}
		status, body := call(t, f, "tools/list", request("tools/list"))
		if status != http.StatusOK || !strings.Contains(body, `"echo"`) {
			t.Errorf("%d %s", status, body)
		}
	})
	t.Run("tasks serves its own alone", func(t *testing.T) {
		db := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "{}") }))
		defer db.Close()
		f, err := opened(t, configured(), db.URL).Tasks()
		if err != nil {
			t.Fatal(err)
		}
		for _, method := range []string{"tools/list", "tools/call", "server/discover", "subscriptions/listen", ""} {
			if status, body := call(t, f, method, request("tools/list")); status != http.StatusNotFound || !strings.Contains(body, "-32601") {
				t.Errorf("%q: %d %s", method, status, body)
			}
		}
		// The header alone opens nothing: it has to be the body's (R-H1, R-H15).
		if status, body := call(t, f, "tasks/get", request("tools/list")); status != http.StatusBadRequest {
			t.Errorf("another method in the body: %d %s", status, body)
		}
		if status, body := call(t, f, "tasks/get", request("tasks/get")); status != http.StatusOK || !strings.Contains(body, "-32602") {
			t.Errorf("an unknown task: %d %s", status, body)
		}
	})
	t.Run("streaming is as configured", func(t *testing.T) {
		c := configured()
		c.Streaming = true
		f, err := opened(t, c, "http://127.0.0.1:1").MCP()
		if err != nil {
			t.Fatal(err)
		}
		a, _ := f(t.Context(), json.RawMessage(`{}`))
		defer a.Close()
		if a.ContentType() != apigw.StreamType {
			t.Errorf("got %s", a.ContentType())
		}
	})
	t.Run("no keys, no endpoint", func(t *testing.T) {
		c := configured()
		c.Keys = config.Keys{}
		if _, err := opened(t, c, "http://127.0.0.1:1").MCP(); !fault.Is(err, fault.Invalid) {
			t.Errorf("got %v", err)
		}
	})
}

func TestKeys(t *testing.T) {
	// secrets answers as Secrets Manager would.
	secrets := func(t *testing.T, status int, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Amz-Target") != "secretsmanager.GetSecretValue" {
				t.Errorf("%s was called", r.Header.Get("X-Amz-Target"))
			}
			w.Header().Set("Content-Type", "application/x-amz-json-1.1")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	c := configured()
	c.Keys, c.KeysSecret = config.Keys{}, "toolhost/keys"
	t.Run("are read from the secret", func(t *testing.T) {
		s := opened(t, c, secrets(t, http.StatusOK, `{"SecretString":"`+key+`"}`))
		if !reflect.DeepEqual(s.keys, configured().Keys) {
			t.Errorf("got %q", s.keys)
		}
	})
	for name, answer := range map[string]struct {
		status int
		body   string
	}{
		"a bad secret": {http.StatusOK, `{"SecretString":"tiny"}`},
		"no secret":    {http.StatusBadRequest, `{"__type":"ResourceNotFoundException","message":"gone"}`},
	} {
		t.Run(name+" stops the start and names the variable", func(t *testing.T) {
			_, err := Open(t.Context(), c, registry(), Options{AWS: at(secrets(t, answer.status, answer.body))})
			if err == nil || !strings.Contains(err.Error(), "TOOLHOST_KEYS_SECRET") || strings.Contains(err.Error(), "tiny") {
				t.Errorf("got %v", err)
			}
		})
	}
}
