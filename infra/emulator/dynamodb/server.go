package dynamodb

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"toolhost/infra/emulator"
	"toolhost/pkg/clock"
)

// Options are what a Server is made of.
type Options struct {
	// Clock dates tables and decides what Expire removes; nil is the system's.
	Clock clock.Clock
	// Faults decides the fate of each call, under the service name "dynamodb"; nil serves all.
	Faults *emulator.Faults
	// Dir keeps the state in a file in this directory, which is made if need
	// be: what was acknowledged outlives the process, however it ends. Empty
	// keeps everything in memory alone.
	Dir string
}

// Server is the emulator. It is safe for parallel use; every call is atomic.
type Server struct {
	clock  clock.Clock
	faults *emulator.Faults
	disk   *disk // nil: in memory alone

	mu     sync.RWMutex // guards tables and all that they hold
	tables map[string]*table

	metering sync.Mutex
	meter    map[string]Usage
}

var _ http.Handler = (*Server)(nil)

// handlers are all operations that are served.
var handlers = map[string]handler{
	"CreateTable":        handle("CreateTable", (*Server).createTable),
	"DescribeTable":      handle("DescribeTable", (*Server).describeTable),
	"DeleteTable":        handle("DeleteTable", (*Server).deleteTable),
	"ListTables":         handle("ListTables", (*Server).listTables),
	"UpdateTimeToLive":   handle("UpdateTimeToLive", (*Server).updateTimeToLive),
	"DescribeTimeToLive": handle("DescribeTimeToLive", (*Server).describeTimeToLive),
	"GetItem":            handle("GetItem", (*Server).getItem),
	"PutItem":            handle("PutItem", (*Server).putItem),
	"UpdateItem":         handle("UpdateItem", (*Server).updateItem),
	"DeleteItem":         handle("DeleteItem", (*Server).deleteItem),
	"Query":              handle("Query", (*Server).query),
	"Scan":               handle("Scan", (*Server).scan),
	"BatchGetItem":       handle("BatchGetItem", (*Server).batchGetItem),
	"BatchWriteItem":     handle("BatchWriteItem", (*Server).batchWriteItem),
}

// New makes an emulator, with the state that Options.Dir holds. Only one
// process at a time can have a directory.
func New(o Options) (*Server, error) {
	s := &Server{clock: o.Clock, faults: o.Faults, tables: map[string]*table{}, meter: map[string]Usage{}}
	if s.clock == nil {
		s.clock = clock.System
	}
	if s.faults == nil {
		s.faults = &emulator.Faults{}
	}
	if o.Dir == "" {
		return s, nil
	}
	var err error
	if s.disk, err = openDisk(o.Dir); err != nil {
		return nil, err
	}
	if s.tables, err = s.disk.load(); err != nil {
		return nil, errors.Join(err, s.disk.close())
	}
	return s, nil
}

// Close lets go of the directory. No call may follow.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.disk.close()
}

// ServeHTTP answers one call. To cut the connection, as a fault may want, it
// panics with http.ErrAbortHandler: net/http's server does the rest.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	operation, body, err := readCall(w, r)
	if err != nil {
		respond(w, nil, err)
		return
	}
	effect := s.faults.Decide("dynamodb", operation, body)
	switch effect {
	case emulator.Serve, emulator.Drop:
	case emulator.Throttle:
		respond(w, nil, throttled())
		return
	case emulator.Fail:
		respond(w, nil, internal("injected"))
		return
	case emulator.Lose:
		panic(http.ErrAbortHandler)
	default:
		respond(w, nil, internal(fmt.Sprintf("the injected fault %d means nothing to DynamoDB", effect)))
		return
	}
	var b bill
	reply, err := handlers[operation](s, body, &b)
	s.count(operation, &b)
	if effect == emulator.Drop {
		panic(http.ErrAbortHandler)
	}
	respond(w, reply, err)
}

// readCall is the operation that a request names, which is one of handlers, and its body.
func readCall(w http.ResponseWriter, r *http.Request) (operation string, body []byte, err error) {
	target := r.Header.Get("X-Amz-Target")
	operation, ours := strings.CutPrefix(target, "DynamoDB_20120810.")
	if _, served := handlers[operation]; !ours || !served || r.Method != http.MethodPost {
		return "", nil, refuse(serviceErrors+"UnknownOperationException", "This emulator does not serve %s %q", r.Method, target)
	}
	body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestSize))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return "", nil, &failure{
			status: http.StatusRequestEntityTooLarge, kind: serviceErrors + "RequestTooLargeException",
			message: fmt.Sprintf("The request has more than %d bytes", maxRequestSize),
		}
	}
	if err != nil {
		return "", nil, serialization(err)
	}
	return operation, body, nil
}

// errorReply is the body of an error.
type errorReply struct {
	Type    string `json:"__type"`
	Message string `json:"message"`
	Item    item   `json:",omitempty"`
}

func respond(w http.ResponseWriter, reply any, err error) {
	status := http.StatusOK
	if err != nil {
		f := (*failure)(nil)
		if !errors.As(err, &f) {
			errors.As(internal(err.Error()), &f)
		}
		status, reply = f.status, errorReply{Type: f.kind, Message: f.message, Item: f.item}
	}
	body, err := json.Marshal(reply)
	if err != nil {
		panic(err) // replies are our own types
	}
	h := w.Header()
	h.Set("Content-Type", "application/x-amz-json-1.0")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10))
	h.Set("X-Amzn-RequestId", rand.Text())
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has gone is no fault of the call
}
