package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"

	"toolhost/functions/tools"
	"toolhost/infra/conformance/fixtures"
	"toolhost/infra/local"
	"toolhost/pkg/client"
	"toolhost/pkg/clock"
	"toolhost/pkg/tool"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"toolhost": main})
}

// serve starts a local stack that runs until the test binary ends.
func serve(registry *tool.Registry, c clock.Clock) string {
	s, err := local.Start(context.Background(), local.Options{Registry: registry, Clock: c})
	if err != nil {
		panic(err)
	}
	return s.URL
}

var (
	// fixtureURL serves the conformance fixtures and tools with odd schemas,
	// toolsURL the tools of this repository.
	fixtureURL = sync.OnceValue(func() string {
		r := fixtures.Registry()
		addOdd(r)
		return serve(r, nil)
	})
	toolsURL = sync.OnceValue(func() string { return serve(tools.Registry(), nil) })
)

// oddSchema has property names that are hard to make flags of.
const oddSchema = `{"type":"object","$defs":{"size":{"type":"integer"}},"properties":{
	"my key":{"type":"string","description":"has a space; costs ${5} and %s"},
	"user-id":{"type":"string"},"userName":{"type":"string"},"snake_case":{"type":"string"},
	"help":{"type":"string"},"json":{"type":"boolean"},"url":{"type":"string"},"arg-url":{"type":"string"},
	"a=b":{"type":"string"},"":{"type":"string"},"größe":{"$ref":"#/$defs/size"},
	"maybe":{"anyOf":[{"type":"number"},{"type":"null"}]},"flag":{"type":"boolean"},"no-flag":{"type":"boolean"},"on":{"type":"boolean"},
	"tags":{"type":"array","items":{"type":"string"}},"numbers":{"type":"array","items":{"type":"number"}},
	"nested":{"type":"object","properties":{"x":{"type":"integer"}}},"anything":{},"either":{"type":["string","integer"]},
	"picture":{"type":"string","contentEncoding":"base64","contentMediaType":"image/png"},"true":true}}`

// addOdd adds tools that answer with what they were given.
func addOdd(r *tool.Registry) {
	echo := func(name, description, schema string) {
		tool.AddRaw(r, &mcp.Tool{Name: name, Description: description, InputSchema: json.RawMessage(schema)},
			func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "given " + string(req.Params.Arguments)}}}, nil
			}, tool.Options{})
	}
	echo("odd", "Says what it was given.", oddSchema)
	echo("endless_help", strings.Repeat("It goes on and on. ", 2000), `{"type":"object","properties":{"k":{"type":"string","description":"`+strings.Repeat("word ", 1000)+`"}}}`)
	echo("plain_file", "Takes text alone.", `{"type":"object","properties":{"file":{"type":"string"}}}`)
}

// servers are none that speak MCP.
func servers(env *testscript.Env) {
	for name, handler := range map[string]http.HandlerFunc{
		"HTML_URL": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html>welcome</html>")
		},
		"GATEWAY_URL": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
		"ESCAPE_URL": func(w http.ResponseWriter, r *http.Request) {
			var request struct{ ID json.RawMessage }
			_ = json.NewDecoder(r.Body).Decode(&request)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"x","description":"a\u001b[31m\u0007b"}]}}`, request.ID)
		},
	} {
		s := httptest.NewServer(handler)
		env.Defer(s.Close)
		env.Setenv(name, s.URL+"/mcp")
	}
}

func TestTranscripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("TOOLHOST_URL", fixtureURL())
			env.Setenv("TOOLS_URL", toolsURL())
			servers(env)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			// keep NAME puts the last command's output into a variable.
			"keep": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
			},
			// until STATUS ID waits for a task's status.
			"until": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(until(ts.Getenv("TOOLHOST_URL"), args[0], args[1]))
			},
			// expiring serves on a clock of its own, which advance moves.
			"expiring": func(ts *testscript.TestScript, _ bool, _ []string) {
				c := clock.NewMovable()
				moved.Store(ts.Getenv("WORK"), c)
				ts.Setenv("TOOLHOST_URL", serve(fixtures.Registry(), c))
			},
			"advance": func(ts *testscript.TestScript, _ bool, args []string) {
				c, _ := moved.Load(ts.Getenv("WORK"))
				d, err := time.ParseDuration(args[0])
				ts.Check(err)
				c.(*clock.Manual).Advance(d)
			},
			// latin NAME makes a file that is not UTF-8, large MB NAME a large one.
			"latin": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte("caf\xe9"), 0o600))
			},
			"large": func(ts *testscript.TestScript, _ bool, args []string) {
				mb, err := strconv.Atoi(args[0])
				ts.Check(err)
				ts.Check(os.WriteFile(ts.MkAbs(args[1]), bytes.Repeat([]byte("a,b\n"), mb<<18), 0o600))
			},
			// code CODE COMMAND expects the exit code of a command.
			"code": func(ts *testscript.TestScript, _ bool, args []string) {
				err := ts.Exec(args[1], args[2:]...)
				want := "exit status " + args[0]
				if args[0] == "0" && err == nil {
					return
				}
				if err == nil || err.Error() != want {
					ts.Fatalf("got %v, want %s", err, want)
				}
			},
		},
	})
}

// until waits for a task's status.
func until(url, status, id string) error {
	c := client.New(url, client.Options{})
	for late := time.Now().Add(patience); time.Now().Before(late); {
		task, err := c.Get(context.Background(), id)
		if err != nil || task.Status == status {
			return err
		}
	}
	return fmt.Errorf("task %s is not %s", id, status)
}

// moved are the clocks of expiring stacks by their script's directory.
var moved sync.Map
