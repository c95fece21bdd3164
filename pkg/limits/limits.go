// Package limits holds every number that the parts of the system must agree
// on, with the relations between them tested. What an operator may change is
// in pkg/config, with these as defaults.
package limits

import "time"

// Time.
const (
	// WorkerTimeout is Lambda's own limit; template.yaml sets it.
	WorkerTimeout = 900 * time.Second
	// LegMargin is what a leg leaves of the function's time to save and send.
	LegMargin = 30 * time.Second
	// Lease is how long a claim holds without a renewal; it is renewed at a third.
	Lease = 30 * time.Second
	// Slack is how far two machines' clocks may differ.
	Slack = 5 * time.Second
	// Visibility hides a claimed message until the lease and the slack are over.
	Visibility = Lease + Slack
	// QueueVisibility counts only for what dies before its claim: AWS's advice of
	// six times the function's timeout.
	QueueVisibility = 6 * WorkerTimeout
	// CancelPoll is how often a running tool's task is read for a cancel (R-X3).
	CancelPoll = 2 * time.Second
	// ReportEvery is the least time between two writes of progress.
	ReportEvery = time.Second
	// CancelGrace is what a tool has to return after its context has ended.
	CancelGrace = 10 * time.Second
	// ExpiryMargin is how long before its TTL a task's running tool is ended, so
	// that the outcome can still be saved and read.
	ExpiryMargin = 30 * time.Second
	// ListenPace and MaxListenPace bound the time between two looks at a task that
	// a client listens to.
	ListenPace    = time.Second
	MaxListenPace = 5 * time.Second
	// MaxListen is how long a client listens at once: API Gateway ends a stream
	// after 15 minutes.
	MaxListen = WorkerTimeout - LegMargin
	// KeepAlive is the time between two comments on an event stream (R-L5).
	KeepAlive = 10 * time.Second
	// ResultWait is how long a legacy tasks/result waits for the task's end: less
	// than the 29 s that API Gateway gives a buffered answer.
	ResultWait = 20 * time.Second
	// MaxDelay is the longest that SQS delays a message.
	MaxDelay = 900 * time.Second
	// OverdueAfter is how long after its last dispatch an idle task is woken by a
	// read; doubled with each such wake-up up to OverdueMost.
	OverdueAfter = 15 * time.Minute
	OverdueMost  = 6 * time.Hour
	// StoredExpiryLag is how long behind the logical expiry the database's own is,
	// and PartExpiryLag that of a task's steps and blobs.
	StoredExpiryLag = 24 * time.Hour
	PartExpiryLag   = 48 * time.Hour
	// CreationTime is what a creation has from the reservation of its quota until its
	// task is put: then the reservation is taken from it.
	CreationTime = time.Minute
	// RequestStateTTL bounds how long a multi round-trip call may wait for its answers.
	RequestStateTTL = time.Hour
)

// A tool's defaults.
const (
	TTL             = 24 * time.Hour
	Retention       = 24 * time.Hour
	PollInterval    = time.Second
	MaxPollInterval = 15 * time.Second
	Attempts        = 3
)

// Counts.
const (
	// MaxReceives is how often a message is received before the dead-letter queue.
	MaxReceives = 10
	// MaxRedrives is how often a message returns from the dead-letter queue before
	// its task is failed.
	MaxRedrives = 3
	// MaxHops bounds the messages that one task sends for itself: three weeks of
	// 15-minute hops.
	MaxHops = 2000
	// MaxBatch is how many messages one request may hold under 2025-03-26.
	MaxBatch = 50
	// MaxQuestions is how many of a task's questions may be open at once.
	MaxQuestions = 64
	// MaxOpenTasks is how many tasks of a caller may be open at once, and
	// MaxCreations how many it may make in a minute; 0: any.
	MaxOpenTasks = 0
	MaxCreations = 0
	// MostOpenTasks is the highest MaxOpenTasks: a refusal reads them all.
	MostOpenTasks = 1000
	// MaxRounds is how often one call may ask before it has a result or is a task.
	MaxRounds = 32
	// PollRate is how often a second a caller may read one task of one process.
	PollRate = 20
	// MaxWatched is how many tasks one client may listen to at once: as many as one
	// read returns.
	MaxWatched = 100
	// MaxSteps is how many steps a task may record.
	MaxSteps = 1000
	// MaxJSONDepth bounds the nesting of a request.
	MaxJSONDepth = 64
	// PageSize is how many tools one tools/list answer holds.
	PageSize = 100
)

// Bytes.
const (
	// MaxBody is the largest HTTP request: arguments of MaxArguments with every
	// character escaped, and the envelope. Lambda's own end is 6 MB.
	MaxBody = 4 << 20
	// MaxArguments is the largest arguments object, as JSON.
	MaxArguments = 1 << 20
	// MaxResult is the largest result, as JSON within the JSON string in which
	// Lambda hands a buffered response on: every quote counts twice.
	MaxResult = 4 << 20
	// MaxAnswer is the largest answer to one question, as JSON.
	MaxAnswer = 256 << 10
	// MaxRequestState is the largest state of a multi round-trip call: with
	// arguments and answers it comes back in one request.
	MaxRequestState = 2 << 20
	// MaxStep is the largest recorded value of a step, as JSON.
	MaxStep = 4 << 20
	// MaxStatusMessage is the longest status message; longer ones are cut.
	MaxStatusMessage = 1 << 10
	// InlineItem is the size of a task item above which payloads move out of it:
	// a save costs one write unit a KB.
	InlineItem = 1 << 10
	// BlobPiece is the largest piece of a payload: below the 400 KB item limit.
	BlobPiece = 350 << 10
)
