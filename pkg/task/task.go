package task

import (
	"strings"
	"time"

	"toolhost/pkg/limits"
)

// Status is what a client sees of a task's state.
type Status string

// The statuses of the Tasks extension.
const (
	Working       Status = "working"
	InputRequired Status = "input_required"
	Completed     Status = "completed"
	Failed        Status = "failed"
	Cancelled     Status = "cancelled"
)

// Statuses lists every status, in the order of a task's life.
var Statuses = []Status{Working, InputRequired, Completed, Failed, Cancelled}

// Terminal reports whether no event can move a task of this status.
func (s Status) Terminal() bool { return s == Completed || s == Failed || s == Cancelled }

// Owner is who made the call; a task belongs to it for good (R-V1). The
// anonymous caller is the zero Owner.
type Owner struct {
	Issuer  string
	Subject string
	Tenant  string
	// Client is the OAuth client, and set only where there is no subject.
	Client string
}

// Group names the owner to the queue, which shares itself fairly between groups.
func (o Owner) Group() string {
	return strings.Join([]string{o.Issuer, o.Subject, o.Tenant, o.Client}, "\x00")
}

// Payload is a JSON value of any size. It is either here (Inline) or, when a
// store moved it out of the item, in a blob.
type Payload struct {
	Inline []byte // the JSON; nil when stored apart or absent
	Blob   string // id of the blob, "" when inline
	Parts  int    // pieces of the blob
	Size   int    // bytes of the JSON
}

// NewPayload holds json inline.
func NewPayload(json []byte) Payload { return Payload{Inline: json, Size: len(json)} }

// Absent reports whether there is no value at all.
func (p Payload) Absent() bool { return p.Inline == nil && p.Blob == "" }

// Lease says which worker runs the task, and until when nobody else may.
type Lease struct {
	// Run is the claim number: it rises with every claim and fences (invariant 3).
	Run int64
	// Holder is the claim's random id, by which a worker knows its own claim
	// again even if the reply to it was lost.
	Holder string
	Until  time.Time
}

// Input is a question to the client, in the order asked. An answered one keeps
// its key for the task's life, so that no key is used twice (R-U4).
type Input struct {
	Key    string
	Method string // "elicitation/create", "sampling/createMessage" or "roots/list"
	// Params are the request's params; dropped once answered.
	Params Payload
	// Response is the client's result, absent while outstanding.
	Response Payload
	// Delivered is set once a worker that can see the answer has claimed the task.
	Delivered bool
}

// Outstanding reports whether the client still has to answer.
func (i Input) Outstanding() bool { return i.Response.Absent() }

// Callback is an outside job's answer to a waiting tool.
type Callback struct {
	Name   string
	Body   Payload
	Digest string // of the body: the same one may arrive twice
	// Delivered is set once a worker that can see the body has claimed the task.
	Delivered bool
}

// Task is the whole state of one durable call. Its methods read; the events in
// this package are the only way to change it.
type Task struct {
	ID string
	// Birth is a random id that never changes: the same ID with another birth is
	// another task (invariant 4).
	Birth    string
	Revision int64 // as loaded; a store's Save compares it and stores the next

	Status        Status
	StatusMessage string

	Owner       Owner
	Tool        string
	ToolVersion string
	Arguments   Payload
	// Prepared is what the tool learned before it became a task (R-C4).
	Prepared     Payload
	Capabilities []byte // the client's declared capabilities, as JSON
	Protocol     string // the revision of the creating request
	Trace        string // W3C traceparent, or ""
	// Fingerprint tells the call from others with the same idempotency key; "" if
	// it has none.
	Fingerprint string

	Claims      int64 // claims so far
	Attempts    int   // attempts that died or asked for a retry since the last orderly stop
	MaxAttempts int
	Lease       *Lease
	// CancelRequested asks the running tool to stop.
	CancelRequested bool
	// WakeAt is when a sleeping task goes on; zero: at once.
	WakeAt time.Time
	// Awaiting is the name of the callback that the tool waits for, or "".
	Awaiting string
	// Recorded is set once a run may have recorded a step: without it a resumed
	// run need not look for any.
	Recorded bool
	// DispatchedAt is when a wake-up was last sent, Nudges how often a read had to.
	DispatchedAt time.Time
	Nudges       int

	CreatedAt       time.Time
	UpdatedAt       time.Time
	TTL             time.Duration
	Retention       time.Duration
	PollInterval    time.Duration
	MaxPollInterval time.Duration

	Inputs    []Input
	Callbacks []Callback

	// Outcome is the result of a completed task, or the JSON-RPC error object of
	// a failed one.
	Outcome Payload
}

// ExpiresAt is when the task is gone for everybody (R-G8).
func (t Task) ExpiresAt() time.Time { return t.CreatedAt.Add(t.TTL) }

// Expired reports whether the task is gone at now, whatever the database says.
func (t Task) Expired(now time.Time) bool { return !now.Before(t.ExpiresAt()) }

// Leased reports whether a worker may be running the task at now, allowing for
// clocks that differ (invariant 7).
func (t Task) Leased(now time.Time) bool {
	return t.Lease != nil && now.Before(t.Lease.Until.Add(limits.Slack))
}

// HeldBy reports whether the lease is the holder's own, live or not.
func (t Task) HeldBy(holder string) bool {
	return t.Lease != nil && holder != "" && t.Lease.Holder == holder
}

// LastAttempt reports whether the attempt that runs, or died, is the last one.
func (t Task) LastAttempt() bool { return t.Attempts+1 >= t.MaxAttempts }

// Outstanding are the questions that the client has still to answer (R-G2).
func (t Task) Outstanding() []Input {
	var out []Input
	for _, in := range t.Inputs {
		if in.Outstanding() {
			out = append(out, in)
		}
	}
	return out
}

// Input finds a question by its key.
func (t Task) Input(key string) (Input, bool) {
	for _, in := range t.Inputs {
		if in.Key == key {
			return in, true
		}
	}
	return Input{}, false
}

// Callback finds a callback that has arrived by its name.
func (t Task) Callback(name string) (Callback, bool) {
	for _, c := range t.Callbacks {
		if c.Name == name {
			return c, true
		}
	}
	return Callback{}, false
}

// Parked reports whether the task waits for the outside: it then needs no
// message in the queue (invariant 5).
func (t Task) Parked() bool { return t.Status == InputRequired || t.Awaiting != "" }

// Overdue reports whether a wake-up was probably lost: the task should be
// running or queued, and was last dispatched longer ago than the delays and
// redeliveries of a claimed message can take (invariant 2). A message whose
// worker died before its claim is hidden for longer, by the queue's own
// visibility; one wake-up more then only brings the task forward.
func (t Task) Overdue(now time.Time) bool {
	if t.Status != Working || t.Parked() || t.Leased(now) || t.Expired(now) || now.Before(t.WakeAt) {
		return false
	}
	since := t.DispatchedAt
	if t.WakeAt.After(since) {
		since = t.WakeAt
	}
	if t.Lease != nil && t.Lease.Until.After(since) {
		since = t.Lease.Until
	}
	after := limits.OverdueAfter << min(t.Nudges, 8)
	return !now.Before(since.Add(min(after, limits.OverdueMost)))
}
