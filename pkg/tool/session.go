package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Dial makes the transport to a server, and the server itself where it is not
// there yet; see Command, URL and InMemory. It is called again for a fresh one
// whenever the last can't be used any more. ctx ends with the call that happens
// to need the connection: what lasts must not hang on it.
type Dial func(ctx context.Context) (mcp.Transport, error)

// Command dials a server by starting a program that speaks MCP on its standard
// input and output. Of this process's environment it gets what a program needs to
// run (PATH, HOME and the like) and nothing else, so none of a function's
// credentials; a Dial of your own with an mcp.CommandTransport can give it more.
// What it writes to standard error goes to this process's.
func Command(name string, arguments ...string) Dial {
	return func(context.Context) (mcp.Transport, error) {
		c := exec.Command(name, arguments...) // #nosec G204 -- the author of the function chose it
		c.Stderr, c.Env = os.Stderr, []string{}
		for _, name := range []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR"} {
			if value, set := os.LookupEnv(name); set {
				c.Env = append(c.Env, name+"="+value)
			}
		}
		return &mcp.CommandTransport{Command: c, TerminateDuration: terminate}, nil
	}
}

// terminate is how long a program has to leave after its input ended, and once
// more after SIGTERM.
const terminate = 2 * time.Second

// URL dials a server over Streamable HTTP. A Dial of your own with an
// mcp.StreamableClientTransport can add a token or another HTTP client.
func URL(endpoint string) Dial {
	return func(context.Context) (mcp.Transport, error) {
		return &mcp.StreamableClientTransport{Endpoint: endpoint}, nil
	}
}

// InMemory dials a server of the SDK in this process.
func InMemory(server *mcp.Server) Dial {
	return func(ctx context.Context) (mcp.Transport, error) {
		theirs, ours := mcp.NewInMemoryTransports()
		if _, err := server.Connect(ctx, theirs, nil); err != nil {
			return nil, err
		}
		return ours, nil
	}
}

// Session is the connection to a server whose tools FromSession registered.
type Session struct {
	dial   Dial
	client *mcp.Client
	// turn is held by whoever looks for a usable link, or makes one. A channel,
	// because waiting for it must end with the waiter's context.
	turn    chan struct{}
	link    *link // guarded by turn, as closed
	closed  bool
	closing sync.WaitGroup
}

// link is one connection to one life of the server.
type link struct {
	*mcp.ClientSession
	wire  *wire
	tools []json.RawMessage
}

// FromSession registers all the tools of an existing MCP server, which needs no
// change. It connects at once, to list them, and keeps the connection for the
// calls, which share it. Definitions, schemas, results and progress pass as they
// are.
//
// options says how each tool is run. It may also change the definition, say the
// name where those of two servers are the same; calls still reach the server
// under its own. With nil every tool is Optional, and a task whose worker died
// during its only attempt fails rather than run again, unless the server's
// annotations call the tool read-only or idempotent.
//
//   - A server that asks by a result with InputRequests parks the task, and is
//     called again with the answers and its requestState. It is told what the
//     caller's client can do. One that sends requests of its own during a call, as
//     servers before 2026-07-28 do, is told that nobody answers: a question would
//     have to wait in a process.
//   - The server's own errors pass, as errors or as tool errors (R-P8).
//   - A server that dies during a call makes a tool error, and is never called a
//     second time for it: the call may have taken effect. A connection that turns
//     out to be gone before the call was sent is replaced, once.
//   - A call that ends by its context (a cancel, Options.Timeout, the end of a
//     function's time) is cancelled at the server, and returns at once.
//   - After a death, a cancelled call or an answer beyond all limits the next call
//     gets a fresh connection, and with Command a fresh process. State that the
//     server keeps in memory between calls is therefore not to be relied upon.
//
// Nothing of the caller but its arguments, answers and capabilities reaches the
// server; neither its identity nor its token. ctx bounds the listing. An error
// leaves the registry as it was.
func FromSession(ctx context.Context, r *Registry, dial Dial, options func(*mcp.Tool) Options) (*Session, error) {
	if options == nil {
		options = carefully
	}
	s := &Session{dial: dial, turn: make(chan struct{}, 1)}
	s.client = mcp.NewClient(&mcp.Implementation{Name: "toolhost", Version: "1"}, &mcp.ClientOptions{
		Capabilities:   &mcp.ClientCapabilities{},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	})
	err := s.register(ctx, r, options)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("tool.FromSession: %w", err), s.Close())
	}
	return s, nil
}

// carefully is FromSession's default.
func carefully(t *mcp.Tool) Options {
	if a := t.Annotations; a != nil && (a.ReadOnlyHint || a.IdempotentHint) {
		return Options{Task: Optional}
	}
	return Options{Task: Optional, Attempts: 1}
}

func (s *Session) register(ctx context.Context, r *Registry, options func(*mcp.Tool) Options) error {
	l, err := s.use(ctx)
	if err != nil {
		return err
	}
	tools := make([]*Tool, 0, len(l.tools))
	for _, text := range l.tools {
		d, err := readDefinition(text)
		if err != nil {
			return fmt.Errorf("the server lists what is no tool: %w", err)
		}
		name := d.Name
		o := options(d)
		t, err := define(d, o)
		if err != nil {
			return fmt.Errorf("tool %q: %w", name, err)
		}
		t.raw = true
		t.handle = func(ctx context.Context, req *mcp.CallToolRequest, _ json.RawMessage) (*mcp.CallToolResult, error) {
			return s.call(ctx, name, req.Params)
		}
		tools = append(tools, t)
	}
	return r.add(tools...)
}

// readDefinition decodes a tool but for its schemas.
func readDefinition(text json.RawMessage) (*mcp.Tool, error) {
	d := new(mcp.Tool)
	var schemas struct {
		Input  json.RawMessage `json:"inputSchema"`
		Output json.RawMessage `json:"outputSchema"`
	}
	if err := errors.Join(json.Unmarshal(text, d), json.Unmarshal(text, &schemas)); err != nil {
		return nil, err
	}
	d.InputSchema, d.OutputSchema = nil, nil
	if isGiven(schemas.Input) {
		d.InputSchema = schemas.Input
	}
	if isGiven(schemas.Output) {
		d.OutputSchema = schemas.Output
	}
	return d, nil
}

// Close ends the connection, and the program that Command started, once the
// calls that it serves have ended. Later calls are tool errors.
func (s *Session) Close() error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.closed = true
	if s.link != nil {
		s.release(s.link)
		s.link = nil
	}
	s.closing.Wait()
	return nil
}

var errClosed = errors.New("the session is closed")

// use is a link that can be used, a fresh one if need be.
func (s *Session) use(ctx context.Context) (*link, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	switch {
	case s.closed:
		return nil, errClosed
	case s.link != nil && s.link.wire.isUsable():
		return s.link, nil
	case s.link != nil:
		s.release(s.link)
		s.link = nil
	}
	l, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	s.link = l
	return l, nil
}

// release lets a link go when its calls have ended. The holder of the turn calls it.
func (s *Session) release(l *link) {
	s.closing.Go(func() { _ = l.Close() }) // how a server ends that is not needed is its own business
}

func (s *Session) connect(ctx context.Context) (*link, error) {
	transport, err := s.dial(shared{ctx})
	if err != nil {
		return nil, fmt.Errorf("the server can't be dialled: %w", err)
	}
	t := newTap(transport)
	session, err := s.client.Connect(shared{ctx}, t, nil)
	if err != nil {
		return nil, fmt.Errorf("the server can't be connected to: %w", err)
	}
	l := &link{ClientSession: session, wire: t.wire}
	// On each connection: the SDK learns here which arguments go into headers.
	if l.tools, err = l.list(ctx); err != nil {
		s.release(l)
		return nil, fmt.Errorf("the server's tools can't be listed: %w", err)
	}
	return l, nil
}

// shared is a context without its values: they belong to one call, and a
// connection lasts longer.
type shared struct{ context.Context }

func (shared) Value(any) any { return nil }

// list is every page of the server's tools.
func (l *link) list(ctx context.Context) ([]json.RawMessage, error) {
	var tools []json.RawMessage
	seen := map[string]bool{}
	for cursor := ""; ; {
		x := &exchange{}
		if _, err := l.ListTools(context.WithValue(ctx, exchangeKey{}, x), &mcp.ListToolsParams{Cursor: cursor}); err != nil {
			return nil, err
		}
		var page struct {
			Tools []json.RawMessage `json:"tools"`
			Next  string            `json:"nextCursor"`
		}
		if err := json.Unmarshal(x.result, &page); err != nil {
			return nil, err
		}
		tools = append(tools, page.Tools...)
		if page.Next == "" {
			return tools, nil
		}
		if seen[page.Next] {
			return nil, fmt.Errorf("the cursor %q came twice", page.Next)
		}
		seen[page.Next] = true
		cursor = page.Next
	}
}
