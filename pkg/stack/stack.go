package stack

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"toolhost/pkg/apigw"
	"toolhost/pkg/auth"
	"toolhost/pkg/callback"
	"toolhost/pkg/clock"
	"toolhost/pkg/config"
	"toolhost/pkg/httpmcp"
	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/protocol"
	"toolhost/pkg/queue"
	"toolhost/pkg/queue/sqsqueue"
	"toolhost/pkg/quota"
	"toolhost/pkg/server"
	"toolhost/pkg/store"
	"toolhost/pkg/store/dynamostore"
	"toolhost/pkg/tool"
	"toolhost/pkg/worker"
)

// Options are what differs where the process is not a function on Lambda. The
// zero value is right on Lambda.
type Options struct {
	// AWS says how AWS is reached; nil asks the environment.
	AWS *aws.Config
	// Clock is the time; nil means the machine's.
	Clock clock.Clock
	// Log gets everything; nil writes JSON to standard error at the configured level.
	Log *slog.Logger
	// Exit ends the process after a tool that ignores the end of its context;
	// nil leaves the tool alone.
	Exit func()
}

// Stack is a deployment's parts, wired.
type Stack struct {
	config config.Config
	tools  *tool.Registry
	store  store.Store
	queue  queue.Queue
	ledger store.Ledger
	keys   config.Keys
	clock  clock.Clock
	log    *slog.Logger
	exit   func()
}

// Open wires the parts. It reads the secret that the configuration names, and
// reaches nothing else.
func Open(ctx context.Context, c config.Config, tools *tool.Registry, o Options) (*Stack, error) {
	s := &Stack{config: c, tools: tools, keys: c.Keys, clock: o.Clock, log: o.Log, exit: o.Exit}
	if s.clock == nil {
		s.clock = clock.System
	}
	if s.log == nil {
		s.log = slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: c.LogLevel}))
	}
	access, err := connect(ctx, o.AWS)
	if err != nil {
		return nil, err
	}
	if c.KeysSecret != "" {
		if s.keys, err = fetchKeys(ctx, access, c.KeysSecret); err != nil {
			return nil, err
		}
	}
	tables := dynamodb.NewFromConfig(access)
	s.store, s.ledger = dynamostore.New(tables, c.Table, dynamostore.Options{}), dynamostore.NewLedger(tables, c.Table)
	s.queue = sqsqueue.New(sqs.NewFromConfig(access), c.QueueURL)
	return s, nil
}

// MCP is the function that serves MCP at /mcp and takes callbacks, behind API Gateway or a function
// URL, in the mode that the configuration says. fault.Invalid if there are no keys.
func (s *Stack) MCP() (apigw.Handler, error) {
	h, err := s.mcp()
	if err != nil {
		return nil, err
	}
	return s.gateway(h), nil
}

// Tasks is MCP for tasks/* alone: whatever else arrives is refused by its
// Mcp-Method header, which the server behind compares with the body (R-H1).
func (s *Stack) Tasks() (apigw.Handler, error) {
	h, err := s.mcp()
	if err != nil {
		return nil, err
	}
	return s.gateway(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method := strings.TrimSpace(r.Header.Get(protocol.HeaderMethod))
		if r.Method == http.MethodPost && !strings.HasPrefix(method, "tasks/") {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write(jsonrpc.Failure(nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "only tasks/* is served here")))
			return
		}
		h.ServeHTTP(w, r)
	})), nil
}

// Worker has the functions for the messages of the queue and of its dead-letter queue.
func (s *Stack) Worker() (*worker.Worker, error) {
	return worker.New(worker.Options{
		Tools: s.tools, Store: s.store, Queue: s.queue, Clock: s.clock, Log: s.log, Exit: s.exit,
		Keys: s.keys.Rotating, PublicURL: s.config.PublicURL, MaxResult: s.config.Limits.Result,
	})
}

func (s *Stack) mcp() (http.Handler, error) {
	if err := s.checkScopes(); err != nil {
		return nil, err
	}
	srv, err := server.New(server.Options{
		Tools: s.tools, Store: s.store, Queue: s.queue, Keys: s.keys.Rotating, IDKey: s.keys.Lasting, Clock: s.clock, Log: s.log,
		Name: "toolhost", Title: "Toolhost", Version: version(),
		Scoped: s.config.Auth == config.AuthOAuth,
		Quota: quota.New(quota.Options{Ledger: s.ledger, Store: s.store, Clock: s.clock,
			Creations: s.config.Quota.Creations, OpenTasks: s.config.Quota.OpenTasks}),
		Limits: server.Limits{
			MaxArguments: s.config.Limits.Arguments, MaxResult: s.config.Limits.Result, MaxAnswer: s.config.Limits.Answer,
			MaxListen: s.config.MaxListen, PollRate: s.config.PollRate,
		},
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	o := httpmcp.Options{MaxBody: s.config.Limits.Body, AllowedOrigins: s.config.Origins, AllowedHosts: s.config.Hosts, Clock: s.clock}
	if s.config.Auth == config.AuthOAuth {
		resource := s.resource()
		o.Challenge = func(scopes []string) string {
			return resource.Challenge(auth.InsufficientScope, "the token lacks a scope", scopes)
		}
		mux.Handle(auth.MetadataPath, resource)
		mux.Handle(auth.MetadataPath+"/mcp", resource)
	}
	mux.Handle("/mcp", s.identify(httpmcp.New(srv, o)))
	mux.Handle(callback.Path+"{token}", httpmcp.Callbacks(srv))
	return mux, nil
}

func (s *Stack) gateway(h http.Handler) apigw.Handler {
	if s.config.Streaming {
		return apigw.Streaming(h, s.log)
	}
	return apigw.Buffered(h, s.log)
}

// version is the commit that the binary was built from, or "0".
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, v := range info.Settings {
			if v.Key == "vcs.revision" && len(v.Value) >= 12 {
				return v.Value[:12]
			}
		}
	}
	return "0"
}
