package sqs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"

	"github.com/google/uuid"

	"toolhost/infra/emulator"
	"toolhost/pkg/clock"
)

// Options say how a Server behaves. The zero value is a server in memory on
// the machine's clock.
type Options struct {
	// Clock is the time of delays, timeouts and retention; nil is the machine's.
	Clock clock.Clock
	// Faults decides the fate of every request; nil serves them all.
	Faults *emulator.Faults
	// Dir is the directory that keeps queues and messages; "" keeps them in
	// memory. One server at a time may use it.
	Dir string
	// Account is the AWS account in URLs and ARNs; "" is 000000000000.
	Account string
	// Region is the AWS region in ARNs; "" is us-east-1.
	Region string
	// InFlightLimit is how many messages of a queue may be received and not
	// yet deleted; 0 is SQS's 120,000.
	InFlightLimit int
	// Shuffle, when not 0, is the seed of the order in which visible messages
	// are handed out.
	Shuffle uint64
}

// Server is an SQS endpoint.
type Server struct {
	options Options
	journal *journal
	closed  chan struct{}
	close   sync.Once

	mu     sync.Mutex
	queues map[string]*queue
	last   uint64 // the newest message's sequence number
	random *rand.Rand
}

// New starts a server, with what Options.Dir holds. Its errors are those of
// opening the directory's file: not ours, of another format, or in use by
// another server.
func New(options Options) (*Server, error) {
	if options.Clock == nil {
		options.Clock = clock.System
	}
	if options.Faults == nil {
		options.Faults = new(emulator.Faults)
	}
	if options.Account == "" {
		options.Account = "000000000000"
	}
	if options.Region == "" {
		options.Region = "us-east-1"
	}
	if options.InFlightLimit == 0 {
		options.InFlightLimit = 120_000
	}
	s := &Server{
		options: options,
		closed:  make(chan struct{}),
		queues:  map[string]*queue{},
		random:  rand.New(rand.NewPCG(options.Shuffle, 0)),
	}
	if options.Dir != "" {
		var err error
		if s.journal, err = openJournal(options.Dir); err != nil {
			return nil, err
		}
		if err := s.journal.load(s); err != nil {
			return nil, errors.Join(err, s.journal.close())
		}
	}
	return s, nil
}

// Close ends long polls and closes the directory's file. Requests that come
// later fail.
func (s *Server) Close() error {
	s.close.Do(func() { close(s.closed) })
	return s.journal.close()
}

// maxRequest bounds a request's body: a batch of 1 MiB whose every byte is escaped.
const maxRequest = 8 << 20

// call is what an operation may know of its request beside the input.
type call struct {
	ctx       context.Context
	host      string
	duplicate bool // the Duplicate fault
}

type operation func(*Server, call, []byte) (any, error)

var operations = map[string]operation{
	"CreateQueue":                  decoded((*Server).createQueue),
	"GetQueueUrl":                  decoded((*Server).getQueueURL),
	"ListQueues":                   decoded((*Server).listQueues),
	"DeleteQueue":                  decoded((*Server).deleteQueue),
	"PurgeQueue":                   decoded((*Server).purgeQueue),
	"GetQueueAttributes":           decoded((*Server).getQueueAttributes),
	"SetQueueAttributes":           decoded((*Server).setQueueAttributes),
	"SendMessage":                  decoded((*Server).sendMessage),
	"SendMessageBatch":             decoded((*Server).sendMessageBatch),
	"ReceiveMessage":               decoded((*Server).receiveMessage),
	"DeleteMessage":                decoded((*Server).deleteMessage),
	"DeleteMessageBatch":           decoded((*Server).deleteMessageBatch),
	"ChangeMessageVisibility":      decoded((*Server).changeVisibility),
	"ChangeMessageVisibilityBatch": decoded((*Server).changeVisibilityBatch),
}

// leftOut are SQS's operations that Toolhost has no use for.
var leftOut = map[string]bool{
	"AddPermission": true, "RemovePermission": true,
	"StartMessageMoveTask": true, "CancelMessageMoveTask": true, "ListMessageMoveTasks": true,
	"ListDeadLetterSourceQueues": true,
	"TagQueue":                   true, "UntagQueue": true, "ListQueueTags": true,
}

// decoded makes an operation of one with a typed input. Members that the input
// does not have are refused.
func decoded[In any](do func(*Server, call, *In) (any, error)) operation {
	return func(s *Server, c call, body []byte) (any, error) {
		in := new(In)
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(in); err != nil {
			if member, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
				return nil, unsupportedOperation.errorf("The emulator does not have the member %s.", member)
			}
			return nil, serializationError.errorf("The request is not valid: %v.", err)
		}
		if decoder.More() {
			return nil, serializationError.errorf("The request is more than one JSON value.")
		}
		return do(s, c, in)
	}
}

// ServeHTTP answers one request of the JSON protocol.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, named := strings.CutPrefix(r.Header.Get("X-Amz-Target"), "AmazonSQS.")
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		answer(w, nil, serializationError.errorf("The request can't be read: %v.", err))
		return
	}
	c := call{ctx: r.Context(), host: r.Host}
	effect := s.options.Faults.Decide("sqs", name, body)
	switch effect {
	case emulator.Throttle:
		answer(w, nil, requestThrottled.errorf("Request is throttled."))
		return
	case emulator.Fail:
		answer(w, nil, internalFailure.errorf("We encountered an internal error. Please try again."))
		return
	case emulator.Lose:
		panic(http.ErrAbortHandler) // net/http's way to cut the connection
	case emulator.Duplicate:
		c.duplicate = true
	}
	var out any
	do, known := operations[name]
	switch {
	case !named || r.Method != http.MethodPost:
		err = unknownOperation.errorf("The emulator speaks SQS's JSON protocol only: POST with X-Amz-Target.")
	case leftOut[name]:
		err = unsupportedOperation.errorf("The emulator does not have the operation %s.", name)
	case !known:
		err = unknownOperation.errorf("The operation %s is unknown.", name)
	default:
		out, err = do(s, c, body)
	}
	// Nothing is acknowledged before it is kept.
	if kept := s.journal.commit(); kept != nil {
		err = internalFailure.errorf("The change could not be kept: %v.", kept)
	}
	if effect == emulator.Drop {
		panic(http.ErrAbortHandler)
	}
	answer(w, out, err)
}

// answer writes a result or a failure.
func answer(w http.ResponseWriter, out any, err error) {
	header := w.Header()
	header.Set("Content-Type", "application/x-amz-json-1.0")
	header.Set("X-Amzn-Requestid", uuid.NewString())
	status := http.StatusOK
	if err != nil {
		f, fault := failureOf(err), "Receiver"
		if f.sender() {
			fault = "Sender"
		}
		header.Set("X-Amzn-Query-Error", f.query+";"+fault)
		status = f.status
		out = struct {
			Type    string `json:"__type"`
			Message string `json:"message"`
		}{f.shape, f.message}
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(out) // a caller that has gone learns nothing
}
