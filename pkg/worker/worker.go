package worker

import (
	"context"
	"log/slog"
	"time"

	"toolhost/pkg/callback"
	"toolhost/pkg/clock"
	"toolhost/pkg/fault"
	"toolhost/pkg/limits"
	"toolhost/pkg/queue"
	"toolhost/pkg/store"
	"toolhost/pkg/tool"
)

// Options is what a worker is made of. Tools, Store and Queue are required.
type Options struct {
	Tools *tool.Registry
	Store store.Store
	Queue queue.Queue
	// Clock is the time; nil means the machine's.
	Clock clock.Clock
	// Log gets one line a message and one a run: ids, causes, outcomes and
	// durations, never arguments, results or answers. nil discards them.
	Log *slog.Logger
	// PublicURL is where callbacks reach the server, without a slash at its end; ""
	// means that tools can make none.
	PublicURL string
	// Keys make the tokens of callbacks, as server.Options.Keys do; needed if there
	// is a PublicURL.
	Keys [][]byte
	// MaxResult is the largest result in bytes, if it is lower than limits.MaxResult;
	// 0 is that. A larger one becomes a tool error that says so.
	MaxResult int
	// Lease is how long a claim holds without a renewal; 0 means limits.Lease. It
	// is at least twice limits.CancelPoll, the time of the first heartbeat.
	Lease time.Duration
	// Exit is called, after the task has been settled, when a tool ignores the
	// end of its context. On Lambda it ends the process, because a frozen and
	// thawed function would go on running the tool; the message then comes back
	// to a task that is settled. nil leaves the tool's goroutine to itself, which
	// is right in a process that others share.
	Exit func()
}

// Worker handles the messages of the task queue and of its dead-letter queue.
// It is safe for concurrent use, and keeps nothing of one task for the next (R-V3).
type Worker struct {
	tools *tool.Registry
	store store.Store
	queue queue.Queue
	clock clock.Clock
	log   *slog.Logger
	lease time.Duration
	// maxResult is 0 if there is none but the tool package's own.
	maxResult int
	exit      func()
	// callback makes the URL of a task's callback; nil if there is no public URL.
	callback func(callback.Callback) (url, token string)
}

// New makes a worker. fault.Invalid if a required option is missing, a key or the
// lease too short.
func New(o Options) (*Worker, error) {
	if o.Tools == nil || o.Store == nil || o.Queue == nil {
		return nil, fault.New(fault.Invalid, "worker.New", "a worker needs tools, a store and a queue")
	}
	if o.Lease != 0 && o.Lease < 2*limits.CancelPoll {
		return nil, fault.New(fault.Invalid, "worker.New", "a lease of %v is too short to be renewed", o.Lease)
	}
	w := &Worker{tools: o.Tools, store: o.Store, queue: o.Queue, clock: o.Clock, log: o.Log, lease: o.Lease, maxResult: o.MaxResult, exit: o.Exit}
	if o.PublicURL != "" {
		keys, err := callback.NewKeys(o.Keys)
		if err != nil {
			return nil, err
		}
		w.callback = func(c callback.Callback) (url, token string) {
			token = keys.Token(c)
			return o.PublicURL + callback.Path + token, token
		}
	}
	if w.clock == nil {
		w.clock = clock.System
	}
	if w.log == nil {
		w.log = slog.New(slog.DiscardHandler)
	}
	if w.lease == 0 {
		w.lease = limits.Lease
	}
	if w.exit == nil {
		w.exit = func() {}
	}
	return w, nil
}

// saveTime is how long a save may take once its run's context has ended.
const saveTime = 15 * time.Second

// lasting is ctx for a save that must happen even if ctx has just ended.
func lasting(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), saveTime)
}

// visibility hides a claimed message until its lease and the slack are over, so
// that a killed worker's message is back when another may take over.
func (w *Worker) visibility() time.Duration { return w.lease + limits.Slack }
