package lambda

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"toolhost/infra/emulator"
	"toolhost/infra/emulator/sqs"
	"toolhost/pkg/clock"
)

// stage is a queue "jobs" with a visibility timeout of a minute and, after
// three receives, a dead-letter queue "dead", all on a standing clock.
type stage struct {
	t      *testing.T
	server *sqs.Server
	client *awssqs.Client
	clock  *clock.Manual
	faults *emulator.Faults
	url    string
	log    *bytes.Buffer // read after the mapping ended
}

const visibility = time.Minute

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, clock: clock.NewManual(time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)), faults: new(emulator.Faults), log: new(bytes.Buffer)}
	var err error
	s.server, err = sqs.New(sqs.Options{Clock: s.clock, Faults: s.faults, Region: "eu-central-1", Account: "123456789012"})
	s.must(err)
	endpoint := httptest.NewServer(s.server)
	t.Cleanup(func() {
		s.must(s.server.Close())
		endpoint.Close()
	})
	s.client = awssqs.New(awssqs.Options{
		Region: "eu-central-1", BaseEndpoint: &endpoint.URL, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
	})
	s.queue("dead", nil)
	s.url = s.queue("jobs", map[string]string{"VisibilityTimeout": fmt.Sprint(visibility.Seconds()),
		"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:eu-central-1:123456789012:dead","maxReceiveCount":3}`})
	return s
}

func (s *stage) queue(name string, attributes map[string]string) string {
	s.t.Helper()
	out, err := s.client.CreateQueue(s.t.Context(), &awssqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	s.must(err)
	return *out.QueueUrl
}

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) send(bodies ...string) {
	s.t.Helper()
	for _, body := range bodies {
		_, err := s.client.SendMessage(s.t.Context(), &awssqs.SendMessageInput{QueueUrl: &s.url, MessageBody: &body})
		s.must(err)
	}
}

// run runs a mapping and returns a function that ends it and gives Run's error.
func (s *stage) run(m Mapping) (stop func() error) {
	s.t.Helper()
	m.Queue, m.QueueURL, m.Clock = s.client, s.url, s.clock
	m.Log = slog.New(slog.NewTextHandler(s.log, nil))
	if m.Timeout == 0 {
		m.Timeout = visibility
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	s.t.Cleanup(func() { _ = stop() })
	return stop
}

// depth waits until so many messages are visible and in flight.
func (s *stage) depth(queue string, visible, inflight int) {
	s.t.Helper()
	s.until(func() bool {
		v, _, i := s.server.Depth(queue)
		return v == visible && i == inflight
	})
}

func (s *stage) until(done func() bool) {
	s.t.Helper()
	for limit := time.Now().Add(10 * time.Second); !done(); runtime.Gosched() {
		if time.Now().After(limit) {
			v, d, i := s.server.Depth("jobs")
			s.t.Fatalf("waited in vain; %d visible, %d delayed, %d in flight", v, d, i)
		}
	}
}

// idle waits until the mapping polls and nothing is there.
func (s *stage) idle() {
	s.t.Helper()
	s.until(func() bool { return s.clock.Waiting() > 0 })
}
