package sqs

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"toolhost/pkg/clock"
)

func TestVisibility(t *testing.T) {
	t.Run("a received message is hidden until its timeout, then counted again under a new handle", func(t *testing.T) {
		e := serve(t, Options{})
		url := e.queue("jobs", map[string]string{"VisibilityTimeout": "10"})
		e.send(url, "x")
		first := e.one(url)
		e.clock.Advance(10*time.Second - 1)
		e.none(url)
		e.clock.Advance(1)
		second := e.one(url)
		if second.Attributes["ApproximateReceiveCount"] != "2" || *second.ReceiptHandle == *first.ReceiptHandle || *second.MessageId != *first.MessageId {
			t.Fatalf("%+v", second.Attributes)
		}
		if second.Attributes["ApproximateFirstReceiveTimestamp"] != first.Attributes["ApproximateFirstReceiveTimestamp"] {
			t.Fatal("the first receive moved")
		}
	})

	t.Run("a receive's own timeout goes before the queue's", func(t *testing.T) {
		e := serve(t, Options{})
		url := e.queue("jobs", nil)
		e.send(url, "x")
		in := wholly(url)
		in.VisibilityTimeout = 5
		_, err := e.client.ReceiveMessage(t.Context(), in)
		e.must(err)
		e.clock.Advance(5 * time.Second)
		e.one(url)
	})

	t.Run("a timeout of 0 gives a message once a receive", func(t *testing.T) {
		e := serve(t, Options{})
		url := e.queue("jobs", map[string]string{"VisibilityTimeout": "0"})
		e.send(url, "x")
		e.one(url)
		if got := e.one(url).Attributes["ApproximateReceiveCount"]; got != "2" {
			t.Fatal(got)
		}
	})

	t.Run("it can be changed while the message is in flight, up to 12 hours after the receive", func(t *testing.T) {
		e := serve(t, Options{})
		url := e.queue("jobs", nil)
		e.send(url, "x")
		m := e.one(url)
		e.clock.Advance(20 * time.Second)
		e.must(e.hide(url, m.ReceiptHandle, 100))
		e.clock.Advance(99 * time.Second)
		e.depth("jobs", 0, 0, 1)
		refused(t, e.hide(url, m.ReceiptHandle, 43200), "InvalidParameterValue")
		refused(t, e.hide(url, m.ReceiptHandle, 43201), "InvalidParameterValue")
		refused(t, e.hide(url, m.ReceiptHandle, -1), "InvalidParameterValue")
		e.must(e.hide(url, m.ReceiptHandle, 43200-119))
		e.must(e.hide(url, m.ReceiptHandle, 0))
		e.depth("jobs", 1, 0, 0)
	})

	t.Run("it can't be changed when the message is not in flight, is gone, or the handle is none", func(t *testing.T) {
		e := serve(t, Options{})
		url, other := e.queue("jobs", nil), e.queue("other", nil)
		e.send(url, "x")
		m := e.one(url)
		refused(t, e.hide(url, aws.String("nonsense"), 1), "ReceiptHandleIsInvalid")
		refused(t, e.hide(url, aws.String(""), 1), "MissingParameter")
		refused(t, e.hide(other, m.ReceiptHandle, 1), "ReceiptHandleIsInvalid")
		if _, shape, _ := e.raw("ChangeMessageVisibility", `{"QueueUrl":"/jobs","ReceiptHandle":"x"}`); !strings.HasSuffix(shape, "MissingParameterException") {
			t.Error(shape)
		}
		e.clock.Advance(30 * time.Second)
		refused(t, e.hide(url, m.ReceiptHandle, 1), "MessageNotInflight")
		again := e.one(url)
		refused(t, e.hide(url, m.ReceiptHandle, 1), "MessageNotInflight")
		e.delete(url, again.ReceiptHandle)
		refused(t, e.hide(url, again.ReceiptHandle, 1), "InvalidParameterValue")
	})
}

func TestDelete(t *testing.T) {
	t.Run("a deleted message does not come back, and deleting it again succeeds", func(t *testing.T) {
		e := serve(t, Options{})
		url := e.queue("jobs", nil)
		e.send(url, "x")
		m := e.one(url)
		e.delete(url, m.ReceiptHandle)
		e.delete(url, m.ReceiptHandle)
		e.clock.Advance(time.Hour)
		e.none(url)
	})

	t.Run("the latest handle deletes a message that is visible again", func(t *testing.T) {
		e := serve(t, Options{})
		url := e.queue("jobs", nil)
		e.send(url, "x")
		m := e.one(url)
		e.clock.Advance(time.Hour)
		e.delete(url, m.ReceiptHandle)
		e.none(url)
	})

	t.Run("the handle of an earlier receive succeeds and deletes nothing", func(t *testing.T) {
		e := serve(t, Options{})
		url := e.queue("jobs", nil)
		e.send(url, "x")
		stale := e.one(url)
		e.clock.Advance(30 * time.Second)
		e.one(url)
		e.delete(url, stale.ReceiptHandle)
		e.depth("jobs", 0, 0, 1)
	})

	t.Run("a damaged handle is invalid", func(t *testing.T) {
		e := serve(t, Options{})
		url := e.queue("jobs", nil)
		e.send(url, "x")
		handle := []byte(*e.one(url).ReceiptHandle)
		handle[3]++
		for _, bad := range []string{string(handle), "x", "!", string(handle[:20])} {
			_, err := e.client.DeleteMessage(t.Context(), &awssqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: &bad})
			refused(t, err, "ReceiptHandleIsInvalid")
		}
	})
}

func TestDelay(t *testing.T) {
	t.Run("a message's own delay goes before the queue's", func(t *testing.T) {
		e := serve(t, Options{})
		url := e.queue("jobs", map[string]string{"DelaySeconds": "60"})
		e.send(url, "queue's")
		_, err := e.client.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("own"), DelaySeconds: 5})
		e.must(err)
		e.depth("jobs", 0, 2, 0)
		e.clock.Advance(5 * time.Second)
		if got := *e.one(url).Body; got != "own" {
			t.Fatal(got)
		}
		e.depth("jobs", 0, 1, 1)
		e.clock.Advance(55 * time.Second)
		e.depth("jobs", 2, 0, 0)
		if status, _, _ := e.raw("SendMessage", `{"QueueUrl":"/jobs","MessageBody":"at once","DelaySeconds":0}`); status != 200 {
			t.Fatal(status)
		}
		e.depth("jobs", 3, 0, 0)
	})
}

func TestLongPoll(t *testing.T) {
	for name, act := range map[string]func(e *endpoint, url string){
		"wakes when a message arrives": func(e *endpoint, url string) { e.send(url, "x") },
		"wakes when a delayed message becomes visible": func(e *endpoint, url string) {
			_, err := e.client.SendMessage(e.t.Context(), &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("x"), DelaySeconds: 15})
			e.must(err)
			e.waiting()
			e.clock.Advance(15 * time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := serve(t, Options{})
			url := e.queue("jobs", nil)
			result := e.poll(t.Context(), url, 20)
			e.waiting()
			act(e, url)
			if r := <-result; r.err != nil || len(r.messages) != 1 {
				t.Fatalf("%+v", r)
			}
		})
	}

	t.Run("wakes when a message is given back, or its timeout ends", func(t *testing.T) {
		e := serve(t, Options{})
		url := e.queue("jobs", map[string]string{"VisibilityTimeout": "7"})
		e.send(url, "x")
		m := e.one(url)
		result := e.poll(t.Context(), url, 20)
		e.waiting()
		e.must(e.hide(url, m.ReceiptHandle, 0))
		if r := <-result; r.err != nil || len(r.messages) != 1 {
			t.Fatalf("%+v", r)
		}
		result = e.poll(t.Context(), url, 20)
		e.waiting()
		e.clock.Advance(7 * time.Second)
		if r := <-result; r.err != nil || len(r.messages) != 1 {
			t.Fatalf("%+v", r)
		}
	})

	t.Run("ends empty by the clock; the queue's own wait counts when none is given", func(t *testing.T) {
		e := serve(t, Options{})
		url := e.queue("jobs", map[string]string{"ReceiveMessageWaitTimeSeconds": "20"})
		result := e.poll(t.Context(), url, 0)
		e.waiting()
		e.clock.Advance(20 * time.Second)
		if r := <-result; r.err != nil || len(r.messages) != 0 {
			t.Fatalf("%+v", r)
		}
	})

	t.Run("is not late when the clock is moved while it begins to wait", func(t *testing.T) {
		now := &jumping{Manual: clock.NewManual(start), jump: 5 * time.Second}
		server, err := New(Options{Clock: now})
		if err != nil {
			t.Fatal(err)
		}
		alarm, stop := server.alarm(start.Add(10 * time.Second))
		defer stop()
		now.Advance(5 * time.Second)
		select {
		case <-alarm:
		default:
			t.Fatal("not woken at its time")
		}
	})

	t.Run("of a caller that went away takes nothing", func(t *testing.T) {
		e := serve(t, Options{})
		url := e.queue("jobs", nil)
		ctx, cancel := context.WithCancel(t.Context())
		result := e.poll(ctx, url, 20)
		e.waiting()
		cancel()
		if r := <-result; r.err == nil {
			t.Fatal("the poll was answered")
		}
		until(t, func() bool { return e.clock.Waiting() == 0 })
		e.send(url, "x")
		e.depth("jobs", 1, 0, 0)
	})

	t.Run("ends when the server closes", func(t *testing.T) {
		e := serve(t, Options{})
		result := e.poll(t.Context(), e.queue("jobs", nil), 20)
		e.waiting()
		e.must(e.server.Close())
		if r := <-result; r.err != nil || len(r.messages) != 0 {
			t.Fatalf("%+v", r)
		}
	})
}

func TestReceive(t *testing.T) {
	t.Run("bounds", func(t *testing.T) {
		e := serve(t, Options{})
		e.queue("jobs", nil)
		for _, member := range []string{
			`"MaxNumberOfMessages":0`, `"MaxNumberOfMessages":11`, `"WaitTimeSeconds":21`, `"WaitTimeSeconds":-1`, `"VisibilityTimeout":43201`, `"VisibilityTimeout":-1`,
		} {
			if _, shape, _ := e.raw("ReceiveMessage", `{"QueueUrl":"/jobs",`+member+`}`); shape != "com.amazon.coral.service#InvalidParameterValueException" {
				t.Error(member, shape)
			}
		}
	})

	t.Run("gives one message if no number is asked for, in order of arrival", func(t *testing.T) {
		e := serve(t, Options{})
		url := e.queue("jobs", nil)
		for i := range 3 {
			e.send(url, fmt.Sprint(i))
		}
		for i := range 3 {
			out, err := e.client.ReceiveMessage(t.Context(), &awssqs.ReceiveMessageInput{QueueUrl: &url})
			e.must(err)
			if len(out.Messages) != 1 || *out.Messages[0].Body != fmt.Sprint(i) {
				t.Fatalf("%+v", out.Messages)
			}
		}
	})

	t.Run("a seed shuffles, and the same seed shuffles the same way", func(t *testing.T) {
		order := func(seed uint64) (bodies string) {
			e := serve(t, Options{Shuffle: seed})
			url := e.queue("jobs", nil)
			for i := range 10 {
				e.send(url, fmt.Sprint(i))
			}
			for _, m := range e.receive(url) {
				bodies += *m.Body
			}
			return bodies
		}
		one, same, two := order(1), order(1), order(2)
		if one != same || one == two || one == "0123456789" || len(one) != 10 {
			t.Fatal(one, same, two)
		}
	})

	t.Run("no more than the limit is in flight: a short poll is refused, a long poll waits", func(t *testing.T) {
		e := serve(t, Options{InFlightLimit: 3})
		url := e.queue("jobs", nil)
		for range 5 {
			e.send(url, "x")
		}
		got := e.receive(url)
		if len(got) != 3 {
			t.Fatal(len(got))
		}
		_, err := e.client.ReceiveMessage(t.Context(), wholly(url))
		refused(t, err, "OverLimit")
		result := e.poll(t.Context(), url, 20)
		e.waiting()
		e.clock.Advance(20 * time.Second)
		if r := <-result; r.err != nil || len(r.messages) != 0 {
			t.Fatalf("%+v", r)
		}
		result = e.poll(t.Context(), url, 20)
		e.waiting()
		e.delete(url, got[0].ReceiptHandle)
		if r := <-result; r.err != nil || len(r.messages) != 1 {
			t.Fatalf("%+v", r)
		}
	})

	t.Run("a message is gone when its retention ends, in flight or not", func(t *testing.T) {
		e := serve(t, Options{})
		url := e.queue("jobs", map[string]string{"MessageRetentionPeriod": "1209600"})
		e.send(url, "x")
		e.clock.Advance(14*24*time.Hour - time.Second)
		e.depth("jobs", 1, 0, 0)
		e.one(url)
		e.clock.Advance(time.Second)
		e.depth("jobs", 0, 0, 0)
	})

	t.Run("a shorter retention counts for what is there", func(t *testing.T) {
		e := serve(t, Options{})
		url := e.queue("jobs", nil)
		e.send(url, "x")
		e.clock.Advance(time.Minute)
		e.must(e.set(url, "MessageRetentionPeriod", "60"))
		e.depth("jobs", 0, 0, 0)
	})
}

func TestRedrive(t *testing.T) {
	policy := func(max int) map[string]string {
		return map[string]string{"VisibilityTimeout": "10", "RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead","maxReceiveCount":%d}`, max)}
	}

	t.Run("a message moves when it would be received once too often, and keeps what it is", func(t *testing.T) {
		e := serve(t, Options{})
		dead := e.queue("dead", nil)
		url := e.queue("jobs", policy(2))
		id := e.send(url, "x")
		for range 2 {
			e.one(url)
			e.clock.Advance(10 * time.Second)
		}
		e.depth("jobs", 1, 0, 0)
		e.depth("dead", 0, 0, 0)
		e.none(url)
		e.depth("jobs", 0, 0, 0)
		m := e.one(dead)
		if *m.MessageId != id || m.Attributes["SentTimestamp"] != fmt.Sprint(start.UnixMilli()) || m.Attributes["ApproximateReceiveCount"] != "3" ||
			m.Attributes["DeadLetterQueueSourceArn"] != "arn:aws:sqs:us-east-1:000000000000:jobs" {
			t.Fatalf("%+v", m.Attributes)
		}
	})

	t.Run("its retention counts from when it was sent", func(t *testing.T) {
		e := serve(t, Options{})
		e.queue("dead", map[string]string{"MessageRetentionPeriod": "60"})
		url := e.queue("jobs", policy(1))
		e.send(url, "x")
		e.one(url)
		e.clock.Advance(59 * time.Second)
		e.none(url)
		e.depth("dead", 1, 0, 0)
		e.clock.Advance(time.Second)
		e.depth("dead", 0, 0, 0)
	})

	t.Run("it wakes whoever waits at the dead-letter queue", func(t *testing.T) {
		e := serve(t, Options{})
		dead := e.queue("dead", nil)
		url := e.queue("jobs", policy(1))
		e.send(url, "x")
		e.one(url)
		e.clock.Advance(10 * time.Second)
		result := e.poll(t.Context(), dead, 20)
		e.waiting()
		e.none(url)
		if r := <-result; r.err != nil || len(r.messages) != 1 {
			t.Fatalf("%+v", r)
		}
	})

	t.Run("a message stays while the dead-letter queue does not exist", func(t *testing.T) {
		e := serve(t, Options{})
		dead := e.queue("dead", nil)
		url := e.queue("jobs", policy(1))
		_, err := e.client.DeleteQueue(t.Context(), &awssqs.DeleteQueueInput{QueueUrl: &dead})
		e.must(err)
		e.send(url, "x")
		for range 3 {
			e.one(url)
			e.clock.Advance(10 * time.Second)
		}
	})
}

// jumping is a clock that somebody moves just before the first timer is set.
type jumping struct {
	*clock.Manual
	jump time.Duration
}

func (j *jumping) After(d time.Duration) (<-chan time.Time, func()) {
	j.Advance(j.jump)
	j.jump = 0
	return j.Manual.After(d)
}
