package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/tool"
)

// server is an existing server, written for the official SDK.
type server struct {
	mcp     *mcp.Server
	die     func()
	started chan struct{} // receives when the tool hang was called
	ended   chan error    // receives why the tool hang returned
	over    chan struct{} // closed when the test is over, which ends the tool hang
	calls   atomic.Int32
}

type sum struct {
	Sum int64 `json:"sum"`
}

func newServer() *server {
	s := &server{
		mcp:     mcp.NewServer(&mcp.Implementation{Name: "existing", Version: "1"}, &mcp.ServerOptions{PageSize: 3}),
		started: make(chan struct{}, 10), ended: make(chan error, 10), over: make(chan struct{}),
	}
	type terms struct {
		A int64 `json:"a"`
		B int64 `json:"b,omitempty"`
	}
	mcp.AddTool(s.mcp, &mcp.Tool{Name: "add", Title: "Add", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *mcp.CallToolRequest, in terms) (*mcp.CallToolResult, sum, error) {
			s.calls.Add(1)
			return nil, sum{in.A + in.B}, nil
		})
	plain := func(name string, h mcp.ToolHandlerFor[struct{}, any]) {
		mcp.AddTool(s.mcp, &mcp.Tool{Name: name}, func(ctx context.Context, req *mcp.CallToolRequest, in struct{}) (*mcp.CallToolResult, any, error) {
			s.calls.Add(1)
			return h(ctx, req, in)
		})
	}
	plain("refuse", func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, fmt.Errorf("not today")
	})
	plain("break", func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, &jsonrpc.Error{Code: -32050, Message: "broken", Data: json.RawMessage(`{"why":"it is"}`)}
	})
	plain("lack", func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, &jsonrpc.Error{Code: -32021, Message: "lacking", Data: json.RawMessage(`{"requiredCapabilities":{"roots":{}}}`)}
	})
	plain("show", func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Meta: mcp.Meta{"shown": true}, Content: []mcp.Content{
			&mcp.TextContent{Text: "a<b", Annotations: &mcp.Annotations{Priority: 1}},
			&mcp.ImageContent{Data: []byte("png"), MIMEType: "image/png"},
			&mcp.ResourceLink{URI: "file:///a", Name: "a"},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///b", Text: "b"}},
		}}, nil, nil
	})
	plain("tell", func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		for i := range 3 {
			p := &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: float64(i + 1), Total: 3, Message: "step"}
			if err := req.Session.NotifyProgress(ctx, p); err != nil {
				return nil, nil, err
			}
		}
		return &mcp.CallToolResult{}, nil, nil
	})
	plain("die", func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		s.die()
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	plain("hang", func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		s.started <- struct{}{}
		select {
		case <-ctx.Done():
		case <-s.over: // a cancel that overtook its call, on a connection of its own, is lost
		}
		s.ended <- ctx.Err()
		return nil, nil, ctx.Err()
	})
	plain("wizard", func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		return wizard(ctx, req, none{})
	})
	plain("elicit", func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		_, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
		return nil, nil, err
	})
	return s
}

// dials counts, and keeps the last connection so that it can be cut.
type dials struct {
	dial tool.Dial

	mu    sync.Mutex
	count int
	conn  mcp.Connection
}

func (d *dials) Dial(ctx context.Context) (mcp.Transport, error) {
	t, err := d.dial(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.count++
	if _, overHTTP := t.(*mcp.StreamableClientTransport); overHTTP || err != nil {
		return t, err
	}
	return &cuttable{t, d}, nil
}

type cuttable struct {
	mcp.Transport
	dials *dials
}

func (c *cuttable) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := c.Transport.Connect(ctx)
	c.dials.mu.Lock()
	defer c.dials.mu.Unlock()
	c.dials.conn = conn
	return conn, err
}

// cut ends the connection as the death of its server would.
func (d *dials) cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	_ = d.conn.Close()
}

func (d *dials) made() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.count
}
