package durability

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"toolhost/pkg/auth"
	"toolhost/pkg/callback"
	"toolhost/pkg/clock"
	"toolhost/pkg/httpmcp"
	"toolhost/pkg/queue/sqsqueue"
	"toolhost/pkg/quota"
	"toolhost/pkg/server"
	"toolhost/pkg/store"
	"toolhost/pkg/store/dynamostore"
	"toolhost/pkg/worker"
)

// A function is a process of this test binary, in one of these roles.
const (
	roleWorker = "worker" // takes invocations, as a sandbox of Lambda does
	roleServer = "server" // serves MCP over HTTP
)

// setting is what a process is told when it starts, in this variable.
const variable = "TOOLHOST_DURABILITY"

type setting struct {
	Role, Endpoint, Table, Queue string
	Now                          time.Time
	Skew                         time.Duration // of the machine's clock
	Quota                        int           // open tasks of a caller, and ten times as many creations a minute; 0: any
	Journal                      string        // the file in which the tools note what they did
}

// told is a line to a process, on its standard input.
type told struct {
	Now time.Time
	// Event invokes a worker with the JSON of an SQS event, for at most Timeout of
	// real time, as a handler of the dead-letter queue if DeadLetter.
	Event      json.RawMessage `json:",omitempty"`
	Timeout    time.Duration   `json:",omitempty"`
	DeadLetter bool            `json:",omitempty"`
}

// tells is a line from a process, on its standard output: one of these.
type tells struct {
	URL    string          `json:",omitempty"` // a server is ready
	Answer json.RawMessage `json:",omitempty"` // an invocation has ended
	Waits  time.Duration   `json:",omitempty"` // something in the process waits for the clock
}

func TestMain(m *testing.M) {
	raw := os.Getenv(variable)
	if raw == "" {
		os.Exit(m.Run())
	}
	var s setting
	if err := json.Unmarshal([]byte(raw), &s); err != nil {
		panic(err)
	}
	if err := s.run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run is the process, until its standard input ends or it is killed.
func (s setting) run() error {
	lines := json.NewEncoder(os.Stdout)
	var writing sync.Mutex
	tell := func(l tells) {
		writing.Lock()
		defer writing.Unlock()
		_ = lines.Encode(l) // a parent that is gone is found out at standard input
	}
	machine := &watched{clock.NewManual(s.Now.Add(s.Skew)), tell}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	access := s.access()
	db := dynamostore.New(dynamodb.NewFromConfig(access), s.Table, dynamostore.Options{})
	mq := sqsqueue.New(sqs.NewFromConfig(access), s.Queue)
	tools := hosted(journal(s.Journal), machine)

	var work, bury lambda.Handler
	switch s.Role {
	case roleWorker:
		w, err := worker.New(worker.Options{Tools: tools, Store: db, Queue: mq, Clock: machine, Log: log,
			Keys: keys, PublicURL: publicURL, Exit: func() { os.Exit(1) }})
		if err != nil {
			return err
		}
		work, bury = lambda.NewHandler(w.Handle), lambda.NewHandler(w.DeadLetter)
	case roleServer:
		srv, err := server.New(server.Options{Tools: tools, Store: db, Queue: mq, Clock: machine, Log: log, Keys: keys, IDKey: keys[0],
			Quota: s.quota(db, machine)})
		if err != nil {
			return err
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		mux := http.NewServeMux()
		mux.Handle("/mcp", httpmcp.New(srv, httpmcp.Options{}))
		mux.Handle(callback.Path+"{token}", httpmcp.Callbacks(srv))
		go http.Serve(listener, machine.told(mux)) // ends with the process
		tell(tells{URL: "http://" + listener.Addr().String()})
	}
	for in := json.NewDecoder(os.Stdin); ; {
		var l told
		if err := in.Decode(&l); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		machine.to(l.Now.Add(s.Skew))
		if l.Event == nil {
			continue
		}
		handler := work
		if l.DeadLetter {
			handler = bury
		}
		go func() { // the clock goes on meanwhile
			ctx, cancel := context.WithTimeout(context.Background(), l.Timeout)
			defer cancel()
			answer, err := handler.Invoke(ctx, l.Event)
			if err != nil {
				answer, _ = json.Marshal(map[string]string{"errorMessage": err.Error()})
			}
			tell(tells{Answer: answer})
		}()
	}
}

// quota is the setting's, on the deployment's table.
func (s setting) quota(db store.Store, c clock.Clock) *quota.Quota {
	return quota.New(quota.Options{Ledger: dynamostore.NewLedger(dynamodb.NewFromConfig(s.access()), s.Table), Store: db, Clock: c,
		OpenTasks: s.Quota, Creations: 10 * s.Quota})
}

// The secrets of the deployment, and where it says that it is.
var keys = [][]byte{make([]byte, 32)}

const publicURL = "https://toolhost.example"

// access reaches the emulators as the SDK would, but repeats at once.
func (s setting) access() aws.Config {
	return aws.Config{
		Region: "us-east-1", BaseEndpoint: &s.Endpoint,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
		Retryer: func() aws.Retryer {
			return retry.NewStandard(func(o *retry.StandardOptions) {
				o.RateLimiter = ratelimit.None
				o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
			})
		},
	}
}

// watched tells of every wait that begins.
type watched struct {
	*clock.Manual
	tell func(tells)
}

// After implements clock.Clock.
func (w *watched) After(d time.Duration) (<-chan time.Time, func()) {
	c, stop := w.Manual.After(d)
	w.tell(tells{Waits: d})
	return c, stop
}

// to moves the clock to a time, unless that is past.
func (w *watched) to(now time.Time) { w.Advance(max(now.Sub(w.Now()), 0)) }

// headerNow tells a server the time with each request.
const headerNow = "Test-Now"

// told is a server's handler whose requests tell the time, and are all Ann's.
func (w *watched) told(h http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		now, err := time.Parse(time.RFC3339Nano, r.Header.Get(headerNow))
		if err != nil {
			panic(err) // a request that is not the stage's
		}
		w.to(now)
		h.ServeHTTP(rw, r.WithContext(auth.With(r.Context(), auth.Principal{Issuer: "https://issuer.example", Subject: "ann"})))
	})
}

// process is a function's process, seen from outside.
type process struct {
	t       *testing.T
	command *exec.Cmd
	telling sync.Mutex
	stdin   *json.Encoder
	URL     string // a server's
	answers chan json.RawMessage
	waits   chan time.Duration
	dying   atomic.Bool
	gone    chan struct{} // closed once the process is dead
	log     *logged
}

// spawn starts a process. It ends with the test, if not before.
func spawn(t *testing.T, s setting) *process {
	t.Helper()
	raw, err := json.Marshal(s)
	must(t, err)
	p := &process{t: t, command: exec.Command(os.Args[0]), answers: make(chan json.RawMessage, 1),
		waits: make(chan time.Duration, 100_000), gone: make(chan struct{}), log: &logged{}}
	p.command.Env = append(os.Environ(), variable+"="+string(raw), "GOMAXPROCS=1", "GOGC=off") // it is short-lived
	p.command.Stderr = p.log
	in, err := p.command.StdinPipe()
	must(t, err)
	out, err := p.command.StdoutPipe()
	must(t, err)
	p.stdin = json.NewEncoder(in)
	must(t, p.command.Start())
	ready := make(chan string, 1)
	go func() {
		defer close(p.gone)
		for lines := json.NewDecoder(bufio.NewReader(out)); ; {
			var l tells
			if lines.Decode(&l) != nil {
				break // dead
			}
			switch {
			case l.URL != "":
				ready <- l.URL
			case l.Answer != nil:
				p.answers <- l.Answer
			default:
				p.waits <- l.Waits
			}
		}
		_ = p.command.Wait() // killed, most often
	}()
	t.Cleanup(p.kill)
	if s.Role == roleServer {
		select {
		case p.URL = <-ready:
		case <-p.gone:
			t.Fatalf("a server does not start\n%s", p.log)
		}
	}
	return p
}

// kill ends the process at once, and returns when it is dead.
func (p *process) kill() {
	p.dying.Store(true)
	_ = p.command.Process.Kill() // or it is dead already
	<-p.gone
}

func (p *process) dead() bool {
	if p.dying.Load() { // the connections of a killed process may end before it
		<-p.gone
	}
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

// tell gives the process a line; one that is dead hears nothing.
func (p *process) tell(l told) {
	p.telling.Lock()
	defer p.telling.Unlock()
	_ = p.stdin.Encode(l)
}

// invoke begins an invocation; end waits for its answer, nil if the process
// died of it.
func (p *process) invoke(l told) (end func() json.RawMessage) {
	p.tell(l)
	return func() json.RawMessage {
		select {
		case a := <-p.answers:
			return a
		case <-p.gone:
			return nil
		}
	}
}

// stop pauses the process, and resume lets it go on.
func (p *process) stop()   { must(p.t, p.command.Process.Signal(syscall.SIGSTOP)) }
func (p *process) resume() { must(p.t, p.command.Process.Signal(syscall.SIGCONT)) }

// awaits returns once something in the process waits for d by the clock, or the
// process is dead.
func (p *process) awaits(d time.Duration) {
	p.t.Helper()
	limit := time.After(patience)
	for {
		select {
		case got := <-p.waits:
			if got == d {
				return
			}
		case <-p.gone:
			return
		case a := <-p.answers: // it will not wait any more
			p.answers <- a
			return
		case <-limit:
			p.t.Fatalf("nothing waits for %v\n%s", d, p.log)
		}
	}
}

// patience bounds what a test waits for a process, which is never done.
const patience = time.Minute

// logged collects what a process logs.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
