package tool_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"strings"
	"testing"
)

const echoSchema = `{"type":"object","z":1.0,"a":{"maximum":9007199254740993}}`

// serveByHand is a server without the SDK, which would not let it misbehave.
func serveByHand(kind string) {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		if reply := respond(kind, line); reply != "" {
			fmt.Println(reply)
			if kind == "deaf" && strings.Contains(reply, echoSchema) {
				never := make(chan os.Signal, 1)
				signal.Notify(never, os.Interrupt) // a bare select{} is a deadlock to a program without C
				<-never
			}
		}
	}
}

// serveHTTP is the same at a URL.
func serveHTTP(t *testing.T, kind, contentType string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		message, err := io.ReadAll(r.Body)
		reply := respond(kind, message)
		if kind == "dropped" && strings.Contains(string(message), "tools/call") {
			panic(http.ErrAbortHandler)
		}
		if err != nil || reply == "" {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", contentType)
		if contentType == "text/event-stream" {
			reply = "data: " + reply + "\n\n"
		}
		_, _ = io.WriteString(w, reply)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// respond is what a server says, "" for nothing. Its tool echo answers as the
// kind says.
func respond(kind string, message []byte) string {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Meta json.RawMessage `json:"_meta"`
		}
	}
	if json.Unmarshal(message, &m) != nil || m.ID == nil || kind == "silent" {
		return ""
	}
	result := func(text string) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, text) }
	switch m.Method {
	case "server/discover":
		return result(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`)
	case "tools/list":
		switch echo := `{"name":"echo","inputSchema":` + echoSchema + `}`; kind {
		case "duplicate":
			return result(`{"tools":[` + echo + `,` + echo + `]}`)
		case "misnamed":
			return result(`{"tools":[{"name":"no name","inputSchema":{"type":"object"}}]}`)
		case "schema":
			return result(`{"tools":[{"name":"echo","inputSchema":{"type":"string"}}]}`)
		case "endless":
			return result(`{"tools":[],"nextCursor":"again"}`)
		case "unlisted":
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no tools"}}`, m.ID)
		default:
			return result(`{"tools":[` + echo + `]}`)
		}
	case "tools/call":
		switch kind {
		case "mirror":
			return result(text(string(m.Params.Meta)))
		case "environment":
			return result(text(strings.Join(os.Environ(), "\n")))
		case "strange":
			return result(`{"content":[{"z":1.0,"type":"hologram"}],"structuredContent":{"z":1,"a":9007199254740993}}`)
		case "big":
			return result(`{"content":[{"type":"text","text":"` + strings.Repeat("x", 5<<20) + `"}]}`)
		case "huge":
			return result(`{"content":[{"type":"text","text":"` + strings.Repeat("x", 17<<20) + `"}]}`)
		case "task":
			return result(`{"resultType":"task","taskId":"1"}`)
		case "null":
			return result(`null`)
		case "garbage":
			return "listening on port 3000"
		}
	}
	return ""
}

func text(s string) string {
	quoted, err := json.Marshal(s)
	if err != nil {
		panic(err) // text always encodes
	}
	return `{"content":[{"type":"text","text":` + string(quoted) + `}]}`
}
