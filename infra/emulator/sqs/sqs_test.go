package sqs

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"toolhost/infra/emulator"
	"toolhost/pkg/clock"
)

var start = time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)

// endpoint is an emulator with a standing clock, behind HTTP, and the SDK's
// client of it. The client tries every call once.
type endpoint struct {
	t      *testing.T
	server *Server
	http   *httptest.Server
	client *awssqs.Client
	clock  *clock.Manual
	faults *emulator.Faults
}

func serve(t *testing.T, options Options) *endpoint {
	t.Helper()
	e := &endpoint{t: t, clock: clock.NewManual(start), faults: new(emulator.Faults)}
	options.Clock, options.Faults = e.clock, e.faults
	var err error
	if e.server, err = New(options); err != nil {
		t.Fatal(err)
	}
	e.http = httptest.NewServer(e.server)
	e.client = clientOf(e.http.URL)
	t.Cleanup(func() {
		if err := e.server.Close(); err != nil {
			t.Error(err)
		}
		e.http.Close()
	})
	return e
}

func clientOf(url string) *awssqs.Client {
	return awssqs.New(awssqs.Options{
		Region: "us-east-1", BaseEndpoint: &url, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
	})
}

// queue creates a queue and returns its URL.
func (e *endpoint) queue(name string, attributes map[string]string) string {
	e.t.Helper()
	out, err := e.client.CreateQueue(e.t.Context(), &awssqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	e.must(err)
	return *out.QueueUrl
}

func (e *endpoint) send(url, body string) string {
	e.t.Helper()
	out, err := e.client.SendMessage(e.t.Context(), &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: &body})
	e.must(err)
	return *out.MessageId
}

// receive returns up to ten messages with all that belongs to them, without waiting.
func (e *endpoint) receive(url string) []types.Message {
	e.t.Helper()
	out, err := e.client.ReceiveMessage(e.t.Context(), wholly(url))
	e.must(err)
	return out.Messages
}

// one receives exactly one message.
func (e *endpoint) one(url string) types.Message {
	e.t.Helper()
	got := e.receive(url)
	if len(got) != 1 {
		e.t.Fatalf("received %d messages, want 1", len(got))
	}
	return got[0]
}

func (e *endpoint) none(url string) {
	e.t.Helper()
	if got := e.receive(url); len(got) != 0 {
		e.t.Fatalf("received %q, want nothing", *got[0].Body)
	}
}

func wholly(url string) *awssqs.ReceiveMessageInput {
	return &awssqs.ReceiveMessageInput{
		QueueUrl: &url, MaxNumberOfMessages: 10, MessageAttributeNames: []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	}
}

func (e *endpoint) delete(url string, handle *string) {
	e.t.Helper()
	_, err := e.client.DeleteMessage(e.t.Context(), &awssqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: handle})
	e.must(err)
}

func (e *endpoint) hide(url string, handle *string, seconds int32) error {
	_, err := e.client.ChangeMessageVisibility(e.t.Context(), &awssqs.ChangeMessageVisibilityInput{
		QueueUrl: &url, ReceiptHandle: handle, VisibilityTimeout: seconds,
	})
	return err
}

func (e *endpoint) must(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

// depth checks how many messages are visible, delayed and in flight.
func (e *endpoint) depth(queue string, visible, delayed, inflight int) {
	e.t.Helper()
	v, d, i := e.server.Depth(queue)
	if v != visible || d != delayed || i != inflight {
		e.t.Fatalf("depth of %s is %d visible, %d delayed, %d in flight; want %d, %d, %d", queue, v, d, i, visible, delayed, inflight)
	}
}

// waiting returns when a long poll waits for the clock.
func (e *endpoint) waiting() {
	e.t.Helper()
	until(e.t, func() bool { return e.clock.Waiting() > 0 })
}

func until(t *testing.T, done func() bool) {
	t.Helper()
	for limit := time.Now().Add(10 * time.Second); !done(); runtime.Gosched() {
		if time.Now().After(limit) {
			t.Fatal("waited in vain")
		}
	}
}

// refused checks the error code that the SDK reports.
func refused(t *testing.T, err error, code string) {
	t.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) {
		t.Fatalf("got %v, want %s", err, code)
	}
	if got := strings.TrimPrefix(api.ErrorCode(), legacy); got != code {
		t.Fatalf("got %v, want %s", err, code)
	}
}

// raw posts a request that the SDK would not make, and returns the status and
// the answer's __type and message.
func (e *endpoint) raw(operation, body string) (status int, shape, message string) {
	e.t.Helper()
	r, err := http.NewRequestWithContext(e.t.Context(), http.MethodPost, e.http.URL, strings.NewReader(body))
	e.must(err)
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	r.Header.Set("X-Amz-Target", "AmazonSQS."+operation)
	response, err := http.DefaultClient.Do(r)
	e.must(err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	e.must(err)
	var answer struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
	}
	e.must(json.Unmarshal(text, &answer))
	return response.StatusCode, answer.Type, answer.Message
}

// poll is a long poll in the background.
type poll struct {
	messages []types.Message
	err      error
}

func (e *endpoint) poll(ctx context.Context, url string, seconds int32) <-chan poll {
	result := make(chan poll, 1)
	go func() {
		in := wholly(url)
		in.WaitTimeSeconds = seconds
		out, err := e.client.ReceiveMessage(ctx, in)
		if err != nil {
			result <- poll{err: err}
			return
		}
		result <- poll{messages: out.Messages}
	}()
	return result
}
