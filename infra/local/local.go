package local

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"golang.org/x/sync/errgroup"

	"toolhost/infra/emulator"
	"toolhost/infra/emulator/lambda"
	"toolhost/pkg/clock"
	"toolhost/pkg/fault"
	"toolhost/pkg/limits"
	"toolhost/pkg/tool"
)

// Options say what runs. Registry is needed.
type Options struct {
	Registry *tool.Registry
	// Port is that of the MCP endpoint; 0 is any that is free.
	Port int
	// Dir keeps tasks, messages and keys for the next start; "" keeps them in
	// memory. One process at a time may use it.
	Dir string
	// Clock is the time of everything but Lambda's timeouts; nil is the machine's.
	Clock clock.Clock
	// Faults decides the fate of calls to DynamoDB and SQS; nil serves them all.
	Faults *emulator.Faults
	// Workers is how many tasks run at once; 0 is 4.
	Workers int
	// WorkerTimeout is the worker function's; 0 is limits.WorkerTimeout.
	WorkerTimeout time.Duration
	// Throttled, if set, is asked before each invocation of the worker.
	Throttled func() bool
	// Environment is set for every function besides what a deployment sets.
	Environment map[string]string
	// Log gets what the functions and the emulators log; nil discards it.
	Log *slog.Logger
}

const (
	stage   = "v1"
	workers = 4
	// grace is what tools and requests have to end after ctx has.
	grace = limits.CancelGrace + 5*time.Second
)

// Stack is a running deployment.
type Stack struct {
	*Services
	// URL is the MCP endpoint.
	URL string

	ended chan struct{}
	err   error
	stop  context.CancelFunc
}

// Start starts a deployment that runs until ctx ends or Close is called.
func Start(ctx context.Context, o Options) (*Stack, error) {
	if o.Registry == nil {
		return nil, fault.New(fault.Invalid, "local.Start", "there are no tools")
	}
	if o.Clock == nil {
		o.Clock = clock.System
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Workers == 0 {
		o.Workers = workers
	}
	if o.WorkerTimeout == 0 {
		o.WorkerTimeout = limits.WorkerTimeout
	}
	listener, err := listen(ctx, "", o.Port)
	if err != nil {
		return nil, err
	}
	services, err := Emulate(ctx, ServiceOptions{Dir: o.Dir, Clock: o.Clock, Faults: o.Faults})
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	// The process that had received these has ended: the directory was free.
	services.SQS.Reveal(services.Queue)
	services.SQS.Reveal(services.DeadLetterQueue)
	public := "http://" + listener.Addr().String()
	s := &Stack{Services: services, URL: public + "/mcp", ended: make(chan struct{})}
	f, err := open(ctx, o, services, public)
	if err != nil {
		return nil, errors.Join(err, listener.Close(), services.Close())
	}
	ctx, s.stop = context.WithCancel(ctx)
	go s.run(ctx, o, listener, f)
	return s, nil
}

// Wait returns when the stack has ended, with what went wrong, if anything did.
func (s *Stack) Wait() error {
	<-s.ended
	return s.err
}

// Close ends the stack and waits for its end.
func (s *Stack) Close() error {
	s.stop()
	return s.Wait()
}

// run serves until ctx ends or a part of the stack fails, then ends everything:
// first what calls, then what runs, last the emulators.
func (s *Stack) run(ctx context.Context, o Options, listener net.Listener, f functions) {
	defer close(s.ended)
	g, ctx := errgroup.WithContext(ctx)
	server := &http.Server{
		Handler:           &gateway{route: f.route, authorizer: f.authorizer, timeout: limits.WorkerTimeout, clock: o.Clock, log: o.Log},
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ErrorLog:          slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn),
	}
	g.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	g.Go(func() error {
		<-ctx.Done()
		patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		return errors.Join(server.Shutdown(patience), server.Close())
	})
	queue := awssqs.NewFromConfig(*s.AWS())
	for _, m := range []*lambda.Mapping{
		{QueueURL: s.QueueURL, Function: f.worker, Timeout: o.WorkerTimeout, MaximumConcurrency: o.Workers, Throttled: o.Throttled,
			FunctionARN: arn("worker")},
		{QueueURL: s.DeadLetterURL, Function: f.deadLetter, Timeout: deadLetterTimeout, MaximumConcurrency: 2, FunctionARN: arn("deadletter")},
	} {
		m.Queue, m.BatchSize, m.ReportBatchItemFailures = queue, 1, true
		m.Grace, m.Clock, m.Log = grace, o.Clock, o.Log
		m.Function = ending(ctx, m.Function)
		g.Go(func() error {
			if err := m.Run(ctx); !errors.Is(err, context.Canceled) {
				return err
			}
			return nil // it was ended before it had begun
		})
	}
	err := g.Wait()
	if s.err = errors.Join(err, s.Services.Close()); s.err != nil {
		o.Log.Error("the local stack ended with an error", "error", s.err)
	}
}

// ending makes f's invocations end when ctx does, so that their tasks are
// released instead of waited for.
func ending(ctx context.Context, f lambda.Function) lambda.Function {
	return func(invocation context.Context, payload []byte) ([]byte, error) {
		invocation, cancel := context.WithCancel(invocation)
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		return f(invocation, payload)
	}
}

func arn(function string) string {
	return "arn:aws:lambda:" + region + ":" + account + ":function:toolhost-" + function
}
