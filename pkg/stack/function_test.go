package stack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// asFunction makes this test's binary the main of a function.
const asFunction = "TOOLHOST_TEST_AS_FUNCTION"

func TestMain(m *testing.M) {
	if os.Getenv(asFunction) != "" {
		Run(registry(), func(s *Stack) (any, error) { return s.MCP() })
	}
	os.Exit(m.Run())
}

// runtime is Lambda's runtime API: it hands out one event and takes its answer.
type runtime struct {
	event  []byte
	answer chan *http.Request // with the whole body read
}

func (rt *runtime) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/invocation/next") && rt.event != nil:
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", "request-1")
		w.Header().Set("Lambda-Runtime-Deadline-Ms", fmt.Sprint(time.Now().Add(time.Minute).UnixMilli()))
		_, _ = w.Write(rt.event)
		rt.event = nil
	case strings.HasSuffix(r.URL.Path, "/invocation/request-1/response"):
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		w.WriteHeader(http.StatusAccepted)
		rt.answer <- r
	case strings.HasSuffix(r.URL.Path, "/extension/register"):
		w.Header().Set("Lambda-Extension-Identifier", "extension-1")
	default: // the next event, of the function or of its extension, never comes
		<-r.Context().Done()
	}
}

// A function as Lambda runs it: a process that asks the runtime API for events
// and posts its answers there.
func TestProcess(t *testing.T) {
	start := func(t *testing.T, rt *runtime, environment ...string) (*exec.Cmd, *bytes.Buffer) {
		s := httptest.NewServer(rt)
		var log bytes.Buffer
		c := exec.CommandContext(t.Context(), os.Args[0])
		c.Stderr = &log
		c.Env = append([]string{asFunction + "=1", "AWS_LAMBDA_RUNTIME_API=" + strings.TrimPrefix(s.URL, "http://"), "AWS_REGION=eu-west-1",
			"TOOLHOST_QUEUE_URL=http://127.0.0.1:1/q", "TOOLHOST_AUTH=none", "TOOLHOST_KEYS=" + key}, environment...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = c.Process.Kill()
			_ = c.Wait()
			s.CloseClientConnections()
			s.Close()
		})
		return c, &log
	}
	for _, streaming := range []bool{false, true} {
		t.Run(fmt.Sprintf("streaming=%v", streaming), func(t *testing.T) {
			raw, _ := json.Marshal(events.APIGatewayProxyRequest{
				HTTPMethod: "POST", Path: "/mcp", Resource: "/mcp", Body: request("tools/list"),
				Headers: map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
					"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"},
			})
			rt := &runtime{event: raw, answer: make(chan *http.Request, 1)}
			start(t, rt, "TOOLHOST_TABLE=t", fmt.Sprintf("TOOLHOST_STREAMING=%v", streaming))
			r := <-rt.answer
			body, _ := io.ReadAll(r.Body)
			prelude, rest, streamed := bytes.Cut(body, make([]byte, 8))
			wantType := "application/json"
			if streaming {
				wantType = "application/vnd.awslambda.http-integration-response"
			}
			if got := r.Header.Get("Content-Type"); got != wantType || streamed != streaming {
				t.Errorf("content type %s, prelude %v", got, streamed)
			}
			if len(r.TransferEncoding) != 1 || r.TransferEncoding[0] != "chunked" {
				t.Errorf("transfer encoding %v", r.TransferEncoding)
			}
			if !bytes.Contains(prelude, []byte(`"statusCode":200`)) || !bytes.Contains(append(prelude, rest...), []byte("echo")) {
				t.Errorf("got %q %q", prelude, rest)
			}
		})
	}
	t.Run("what is missing is said, and the process ends", func(t *testing.T) {
		c, log := start(t, &runtime{})
		if err := c.Wait(); err == nil {
			t.Error("it ended well")
		}
		if !strings.Contains(log.String(), "TOOLHOST_TABLE") {
			t.Errorf("got %s", log)
		}
	})
}
