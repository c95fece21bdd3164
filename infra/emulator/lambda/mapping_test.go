package lambda

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"toolhost/infra/emulator"
	"toolhost/pkg/fault"
)

// bodies are those of a payload's records.
func bodies(payload []byte) string {
	var e events.SQSEvent
	if err := json.Unmarshal(payload, &e); err != nil {
		return err.Error()
	}
	var all []string
	for _, r := range e.Records {
		all = append(all, r.Body)
	}
	return strings.Join(all, ",")
}

func ok(context.Context, []byte) ([]byte, error) { return nil, nil }

func TestMapping(t *testing.T) {
	t.Run("what the function succeeds with is deleted", func(t *testing.T) {
		s := newStage(t)
		s.send("a", "b")
		got := make(chan string, 2)
		stop := s.run(Mapping{Function: func(_ context.Context, payload []byte) ([]byte, error) {
			got <- bodies(payload)
			return []byte(`"whatever"`), nil // not read without ReportBatchItemFailures
		}})
		if one, two := <-got, <-got; one != "a" || two != "b" {
			t.Fatal(one, two)
		}
		s.depth("jobs", 0, 0)
		s.must(stop())
	})

	t.Run("partial failures stay hidden for the rest of their timeout, the others are deleted", func(t *testing.T) {
		s := newStage(t)
		s.send("a", "b", "c")
		got := make(chan string, 2)
		s.run(Mapping{BatchSize: 10, ReportBatchItemFailures: true, Function: func(_ context.Context, payload []byte) ([]byte, error) {
			var e events.SQSEvent
			if err := json.Unmarshal(payload, &e); err != nil {
				return nil, err
			}
			got <- bodies(payload)
			var response events.SQSEventResponse
			for _, r := range e.Records {
				if r.Body == "b" && r.Attributes["ApproximateReceiveCount"] == "1" {
					response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: r.MessageId})
				}
			}
			return json.Marshal(response)
		}})
		if all := <-got; all != "a,b,c" {
			t.Fatal(all)
		}
		s.depth("jobs", 0, 1)
		s.idle()
		s.clock.Advance(visibility)
		if again := <-got; again != "b" {
			t.Fatal(again)
		}
		s.depth("jobs", 0, 0)
	})

	t.Run("answers that fail nothing", func(t *testing.T) {
		for _, answer := range []string{"", "null", "{}", `{"batchItemFailures":null}`, `{"batchItemFailures":[]}`, `{"BatchItemFailures":[{"itemIdentifier":"x"}]}`} {
			s := newStage(t)
			s.send("a")
			stop := s.run(Mapping{ReportBatchItemFailures: true, Function: func(context.Context, []byte) ([]byte, error) { return []byte(answer), nil }})
			s.depth("jobs", 0, 0)
			s.must(stop())
		}
	})

	for name, answer := range map[string]string{
		"malformed":         `{"batchItemFailures":[`,
		"no object":         `"ok"`,
		"no list":           `{"batchItemFailures":{}}`,
		"unknown id":        `{"batchItemFailures":[{"itemIdentifier":"00000000-0000-0000-0000-000000000000"}]}`,
		"empty id":          `{"batchItemFailures":[{"itemIdentifier":""}]}`,
		"null id":           `{"batchItemFailures":[{"itemIdentifier":null}]}`,
		"id that's no text": `{"batchItemFailures":[{"itemIdentifier":1}]}`,
		"bad key":           `{"batchItemFailures":[{"ItemIdentifier":"x"}]}`,
	} {
		t.Run("the whole batch fails on an answer that is wrong: "+name, func(t *testing.T) {
			s := newStage(t)
			s.send("a", "b")
			called := make(chan struct{}, 1)
			stop := s.run(Mapping{BatchSize: 2, ReportBatchItemFailures: true, Function: func(context.Context, []byte) ([]byte, error) {
				called <- struct{}{}
				return []byte(answer), nil
			}})
			<-called
			s.must(stop())
			s.depth("jobs", 0, 2)
		})
	}

	for name, function := range map[string]Function{
		"an error": func(context.Context, []byte) ([]byte, error) { return nil, errors.New("no") },
		"a panic":  func(context.Context, []byte) ([]byte, error) { panic("no") },
		"a timeout": func(ctx context.Context, _ []byte) ([]byte, error) {
			<-ctx.Done()
			return nil, nil // too late
		},
	} {
		t.Run("after "+name+" nothing is deleted, and the third makes it a dead letter", func(t *testing.T) {
			s := newStage(t)
			s.send("a", "b")
			calls := make(chan string, 10)
			stop := s.run(Mapping{BatchSize: 2, Timeout: 20 * time.Millisecond, Function: func(ctx context.Context, payload []byte) ([]byte, error) {
				calls <- bodies(payload)
				return function(ctx, payload)
			}})
			for range 3 {
				<-calls
				s.idle()
				s.depth("jobs", 0, 2)
				s.clock.Advance(visibility)
			}
			s.depth("dead", 2, 0)
			s.must(stop())
			if len(calls) != 0 || !strings.Contains(s.log.String(), "the batch failed") {
				t.Fatal(len(calls), s.log)
			}
		})
	}

	t.Run("a function that ignores its timeout is let go of", func(t *testing.T) {
		s := newStage(t)
		s.send("slow", "quick")
		release, got := make(chan struct{}), make(chan string, 2)
		stop := s.run(Mapping{Timeout: 20 * time.Millisecond, Grace: visibility, Function: func(_ context.Context, payload []byte) ([]byte, error) {
			body := bodies(payload)
			got <- body
			if body == "slow" {
				<-release
			}
			return nil, nil
		}})
		if one, two := <-got, <-got; one != "slow" || two != "quick" {
			t.Fatal(one, two)
		}
		s.depth("jobs", 0, 1)
		close(release)
		s.must(stop())
		s.depth("jobs", 0, 1) // its late answer counts for nothing
	})

	t.Run("a throttled delivery counts as a receive", func(t *testing.T) {
		s := newStage(t)
		s.send("a")
		var throttled, calls atomic.Int32
		throttled.Store(1)
		counts := make(chan string, 1)
		s.run(Mapping{
			Throttled: func() bool { calls.Add(1); return throttled.Load() > 0 },
			Function: func(_ context.Context, payload []byte) ([]byte, error) {
				var e events.SQSEvent
				err := json.Unmarshal(payload, &e)
				counts <- e.Records[0].Attributes["ApproximateReceiveCount"]
				return nil, err
			},
		})
		s.until(func() bool { return calls.Load() == 1 })
		s.depth("jobs", 0, 1)
		s.idle()
		throttled.Store(0)
		s.clock.Advance(visibility)
		if count := <-counts; count != "2" {
			t.Fatal(count)
		}
	})

	t.Run("no more than the maximum run at once, and no more are received", func(t *testing.T) {
		s := newStage(t)
		s.send("a", "b", "c", "d", "e")
		started, release := make(chan struct{}), make(chan struct{})
		s.run(Mapping{MaximumConcurrency: 2, Function: func(context.Context, []byte) ([]byte, error) {
			started <- struct{}{}
			<-release
			return nil, nil
		}})
		<-started
		<-started
		s.depth("jobs", 3, 2)
		release <- struct{}{}
		<-started
		s.depth("jobs", 2, 2)
		go func() {
			for range 2 {
				<-started
			}
		}()
		close(release)
		s.depth("jobs", 0, 0)
	})

	t.Run("an idle mapping makes only long polls", func(t *testing.T) {
		s := newStage(t)
		stop := s.run(Mapping{MaximumConcurrency: 5, Function: ok})
		for polls := range 10 {
			s.idle()
			if got := s.faults.Counts(); got["sqs/ReceiveMessage"] != polls+1 || got["sqs/GetQueueAttributes"] != 1 || len(got) != 3 {
				t.Fatal(got) // the third is this test's CreateQueue
			}
			s.clock.Advance(20 * time.Second)
			s.until(func() bool { return s.faults.Counts()["sqs/ReceiveMessage"] == polls+2 })
		}
		s.must(stop())
	})

	t.Run("polls that fail are tried again, at a distance", func(t *testing.T) {
		s := newStage(t)
		s.send("a")
		s.faults.Inject(func(c emulator.Call) emulator.Effect {
			if c.Operation == "ReceiveMessage" && c.N <= 2 {
				return []emulator.Effect{emulator.Throttle, emulator.Lose}[c.N-1]
			}
			return emulator.Serve
		})
		s.run(Mapping{Function: ok})
		for n := range 2 {
			s.until(func() bool { return s.faults.Counts()["sqs/ReceiveMessage"] == n+1 })
			s.idle()
			s.clock.Advance(pause)
		}
		s.depth("jobs", 0, 0)
	})

	t.Run("a message whose deletion fails comes back", func(t *testing.T) {
		s := newStage(t)
		s.send("a")
		s.faults.Inject(func(c emulator.Call) emulator.Effect {
			if c.Operation == "DeleteMessageBatch" && c.N == 1 {
				return emulator.Fail
			}
			return emulator.Serve
		})
		calls := make(chan struct{}, 2)
		s.run(Mapping{Function: func(context.Context, []byte) ([]byte, error) { calls <- struct{}{}; return nil, nil }})
		<-calls
		s.until(func() bool { return s.faults.Counts()["sqs/DeleteMessageBatch"] == 1 })
		s.idle()
		s.clock.Advance(visibility)
		<-calls
		s.depth("jobs", 0, 0)
	})
}

func TestShutdown(t *testing.T) {
	t.Run("an idle mapping ends at once", func(t *testing.T) {
		s := newStage(t)
		stop := s.run(Mapping{Function: ok})
		s.idle()
		s.must(stop())
	})

	t.Run("invocations end and are settled before Run returns", func(t *testing.T) {
		s := newStage(t)
		s.send("a", "b")
		started, release := make(chan context.Context), make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		m := Mapping{Queue: s.client, QueueURL: s.url, Clock: s.clock, Timeout: visibility, Function: func(ctx context.Context, _ []byte) ([]byte, error) {
			started <- ctx
			<-release
			return nil, ctx.Err()
		}}
		go func() { ended <- m.Run(ctx) }()
		invocation := <-started
		cancel()
		select {
		case err := <-ended:
			t.Fatalf("Run returned %v while an invocation ran", err)
		case <-invocation.Done():
			t.Fatal("the invocation was cancelled")
		default:
		}
		close(release)
		s.must(<-ended)
		s.depth("jobs", 1, 0) // the other was never received
	})

	t.Run("an invocation that outlasts its grace is cancelled and reported", func(t *testing.T) {
		s := newStage(t)
		s.send("a")
		started, cancelled := make(chan struct{}), make(chan struct{})
		stop := s.run(Mapping{Grace: time.Millisecond, Function: func(ctx context.Context, _ []byte) ([]byte, error) {
			close(started)
			<-ctx.Done()
			close(cancelled)
			return nil, nil
		}})
		<-started
		if err := stop(); !fault.Is(err, fault.Busy) {
			t.Fatal(err)
		}
		<-cancelled
		s.depth("jobs", 0, 1)
	})
}

func TestConfiguration(t *testing.T) {
	t.Run("what Lambda would refuse is refused", func(t *testing.T) {
		s := newStage(t)
		for name, m := range map[string]Mapping{
			"visibility timeout below the function's": {Timeout: visibility + time.Second},
			"no timeout":          {},
			"timeout over 15 min": {Timeout: 15*time.Minute + 1},
			"batch of 11":         {Timeout: visibility, BatchSize: 11},
		} {
			m.Queue, m.QueueURL, m.Function = s.client, s.url, ok
			if err := m.Run(t.Context()); !fault.Is(err, fault.Invalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
		gone := Mapping{Queue: s.client, QueueURL: "http://x/0/gone", Function: ok, Timeout: time.Second}
		if err := gone.Run(t.Context()); !fault.Is(err, fault.Internal) || errors.As(err, new(*types.QueueDoesNotExist)) == false {
			t.Error(err)
		}
	})
}

func TestEvent(t *testing.T) {
	t.Run("the function is given Lambda's JSON, its deadline and its context", func(t *testing.T) {
		s := newStage(t)
		sent, err := s.client.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &s.url, MessageBody: aws.String(`{"a":"<é>"}`), MessageGroupId: aws.String("g"),
			MessageAttributes: map[string]types.MessageAttributeValue{
				"s": {DataType: aws.String("String"), StringValue: aws.String("v")}, "b": {DataType: aws.String("Binary"), BinaryValue: []byte{1, 255}},
			}})
		s.must(err)
		s.send("plain")
		type call struct {
			ctx     context.Context
			payload []byte
		}
		calls := make(chan call, 1)
		s.run(Mapping{BatchSize: 10, FunctionARN: "arn:aws:lambda:eu-central-1:123456789012:function:worker", Function: func(ctx context.Context, payload []byte) ([]byte, error) {
			calls <- call{ctx, payload}
			return nil, nil
		}})
		got := <-calls
		var e events.SQSEvent
		s.must(json.Unmarshal(got.payload, &e))
		millis := fmt.Sprint(s.clock.Now().UnixMilli())
		system := `{"ApproximateFirstReceiveTimestamp":"` + millis + `","ApproximateReceiveCount":"1",%s"SenderId":"123456789012","SentTimestamp":"` + millis + `"}`
		const source = `"eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:eu-central-1:123456789012:jobs","awsRegion":"eu-central-1"`
		want := fmt.Sprintf(`{"Records":[
			{"messageId":%q,"receiptHandle":%q,"body":"{\"a\":\"<é>\"}","attributes":%s,
			 "messageAttributes":{
				"b":{"binaryValue":"Af8=","stringListValues":[],"binaryListValues":[],"dataType":"Binary"},
				"s":{"stringValue":"v","stringListValues":[],"binaryListValues":[],"dataType":"String"}},
			 "md5OfMessageAttributes":%q,"md5OfBody":%q,%s},
			{"messageId":%q,"receiptHandle":%q,"body":"plain","attributes":%s,"messageAttributes":{},"md5OfBody":%q,%s}]}`,
			*sent.MessageId, e.Records[0].ReceiptHandle, fmt.Sprintf(system, `"MessageGroupId":"g",`), *sent.MD5OfMessageAttributes, *sent.MD5OfMessageBody, source,
			e.Records[1].MessageId, e.Records[1].ReceiptHandle, fmt.Sprintf(system, ""), e.Records[1].Md5OfBody, source)
		if !bytes.Equal(canonical(t, got.payload), canonical(t, []byte(want))) {
			t.Fatalf("got %s\nwant %s", got.payload, want)
		}
		lc, has := lambdacontext.FromContext(got.ctx)
		if !has || len(lc.AwsRequestID) != 36 || lc.InvokedFunctionArn != "arn:aws:lambda:eu-central-1:123456789012:function:worker" {
			t.Fatalf("%+v", lc)
		}
		if deadline, has := got.ctx.Deadline(); !has || time.Until(deadline) > visibility || time.Until(deadline) < visibility-10*time.Second {
			t.Fatal(deadline)
		}
	})
}

// canonical is JSON with its members in order.
func canonical(t *testing.T, text []byte) []byte {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
