package server

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"toolhost/pkg/callback"
	"toolhost/pkg/clock"
	"toolhost/pkg/fault"
	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/limits"
	"toolhost/pkg/protocol"
	"toolhost/pkg/queue"
	"toolhost/pkg/quota"
	"toolhost/pkg/store"
	"toolhost/pkg/tool"
)

// Options is what a server is made of. Tools, Store, Queue and Keys are needed.
type Options struct {
	Tools *tool.Registry
	Store store.Store
	Queue queue.Queue
	// Keys protect what a client keeps for us. The first seals, all open; each is
	// at least 16 random bytes.
	Keys [][]byte
	// IDKey makes the ids of idempotent calls, for good: under another one a
	// repeated call is a new task. nil refuses such calls.
	IDKey []byte
	// Scoped asks for the scopes of tools: callers come with tokens.
	Scoped bool
	// Quota bounds what one caller may create; nil: nothing does.
	Quota *quota.Quota
	// Clock is the time; nil means the machine's.
	Clock clock.Clock
	// Log gets internal errors with the reference that the client was given; nil
	// discards them.
	Log *slog.Logger

	// Name, Title and Version name the server to clients.
	Name, Title, Version string
	// Instructions tell a model how to use the server's tools together.
	Instructions string

	Limits Limits
}

// Limits are the numbers that an operator may change. Zero means the default.
type Limits struct {
	MaxArguments int // bytes of a call's arguments
	MaxResult    int // bytes of a result
	MaxAnswer    int // bytes of an answer to one question
	PageSize     int // tools in one tools/list answer
	// MaxRounds is how often one call may ask before it has a result or is a task.
	MaxRounds int
	// Margin is what a synchronous call leaves of its function's time.
	Margin time.Duration
	// PollRate is how often a second a caller may read one task; negative: no limit.
	PollRate int
	// MaxListen is how long a client listens at once; negative: listening is not
	// offered.
	MaxListen time.Duration
	// ListTTL is how long clients may keep what discover and tools/list said.
	ListTTL time.Duration
}

// Server answers requests. It is safe for concurrent use.
type Server struct {
	tools        *tool.Registry
	store        store.Store
	queue        queue.Queue
	clock        clock.Clock
	log          *slog.Logger
	info         protocol.ServerInfo
	instructions string
	limits       Limits
	scoped       bool
	seal         sealer
	callbacks    callback.Keys
	ids          idMaker
	manners      manners
	quota        *quota.Quota
}

// New makes a server. fault.Invalid if something needed is missing.
func New(o Options) (*Server, error) {
	const op = "server.New"
	if o.Tools == nil || o.Store == nil || o.Queue == nil {
		return nil, fault.New(fault.Invalid, op, "a server needs tools, a store and a queue")
	}
	seal, err := newSealer(o.Keys)
	if err != nil {
		return nil, err
	}
	callbacks, err := callback.NewKeys(o.Keys)
	if err != nil {
		return nil, err
	}
	ids, err := newIDMaker(o.IDKey)
	if err != nil {
		return nil, err
	}
	s := &Server{
		scoped: o.Scoped, tools: o.Tools, store: o.Store, queue: o.Queue, quota: o.Quota, clock: o.Clock, log: o.Log, seal: seal, callbacks: callbacks, ids: ids,
		info:         protocol.ServerInfo{Name: or(o.Name, "toolhost"), Title: o.Title, Version: or(o.Version, "0")},
		instructions: o.Instructions,
		limits: Limits{
			MaxArguments: or(o.Limits.MaxArguments, limits.MaxArguments),
			MaxResult:    or(o.Limits.MaxResult, limits.MaxResult),
			MaxAnswer:    or(o.Limits.MaxAnswer, limits.MaxAnswer),
			PageSize:     or(o.Limits.PageSize, limits.PageSize),
			MaxRounds:    or(o.Limits.MaxRounds, limits.MaxRounds),
			Margin:       or(o.Limits.Margin, time.Second),
			PollRate:     or(o.Limits.PollRate, limits.PollRate),
			MaxListen:    or(o.Limits.MaxListen, limits.MaxListen),
			ListTTL:      or(o.Limits.ListTTL, 5*time.Minute),
		},
	}
	s.manners.rate = s.limits.PollRate
	if s.clock == nil {
		s.clock = clock.System
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	return s, nil
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// Request is one POST.
type Request struct {
	Headers protocol.Headers
	Body    []byte
	// Live says that what is sent before the response reaches the client at once.
	Live bool
}

// Response is the answer to one POST.
type Response struct {
	Status int
	// Body is JSON: a JSON-RPC response, or what Callback says. nil if there is none.
	Body []byte
	// RetryAfter is when a throttled request may be sent again; zero if it was not.
	RetryAfter time.Duration
	// Scopes are all that the tool needs whose caller lacks one; with status 403.
	Scopes []string
}

// Notify sends a notification, a whole JSON-RPC message, before the response.
type Notify func(message []byte)

// Handle answers one POST made by the caller in ctx (auth.From). notify may be
// nil: then nothing is sent before the response.
func (s *Server) Handle(ctx context.Context, r Request, notify Notify) Response {
	if or(r.Headers.Version.Value, protocol.Revision20250326) == protocol.Revision20250326 {
		if messages, isBatch := jsonrpc.Batch(r.Body); isBatch {
			return s.batch(ctx, r, messages, notify)
		}
	}
	return s.handle(ctx, &call{headers: r.Headers, live: r.Live, notify: notify}, r.Body)
}

// handle answers one message.
func (s *Server) handle(ctx context.Context, c *call, body []byte) (response Response) {
	defer func() {
		if defect := recover(); defect != nil {
			response = s.refuse(ctx, c, panicked(defect))
		}
	}()
	result, err := s.answer(ctx, c, body)
	switch {
	case err != nil:
		return s.refuse(ctx, c, err)
	case c.message.ID == nil:
		return Response{Status: http.StatusAccepted}
	}
	return s.succeed(ctx, c, result)
}

// saveTime is how long a save and the wake-up after it may take.
const saveTime = 15 * time.Second

// lasting is ctx for a save and the wake-up that follows it. A client that hangs
// up between the two must not leave a task that nothing wakes (invariant 2).
func lasting(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), saveTime)
}
