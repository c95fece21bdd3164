package sqs

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"toolhost/infra/emulator"
)

// only makes one operation suffer an effect.
func only(operation string, effect emulator.Effect) func(emulator.Call) emulator.Effect {
	return func(c emulator.Call) emulator.Effect {
		if c.Service == "sqs" && c.Operation == operation {
			return effect
		}
		return emulator.Serve
	}
}

func TestFaults(t *testing.T) {
	sendOne := func(e *endpoint, url string) error {
		_, err := e.client.SendMessage(e.t.Context(), &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("x")})
		return err
	}

	t.Run("throttled and failed calls do nothing and say what happened", func(t *testing.T) {
		e := serve(t, Options{})
		url := e.queue("jobs", nil)
		e.faults.Inject(only("SendMessage", emulator.Throttle))
		refused(t, sendOne(e, url), "RequestThrottled")
		e.faults.Inject(only("SendMessage", emulator.Fail))
		refused(t, sendOne(e, url), "InternalFailure")
		e.depth("jobs", 0, 0, 0)
	})

	t.Run("a lost call does nothing, a dropped reply hides what was done", func(t *testing.T) {
		e := serve(t, Options{})
		url := e.queue("jobs", nil)
		for i, effect := range []emulator.Effect{emulator.Lose, emulator.Drop} {
			e.faults.Inject(only("SendMessage", effect))
			err := sendOne(e, url)
			if api := smithy.APIError(nil); err == nil || errors.As(err, &api) {
				t.Fatalf("the call was answered: %v", err)
			}
			e.depth("jobs", i, 0, 0)
		}
		e.faults.Inject(only("ReceiveMessage", emulator.Drop))
		if _, err := e.client.ReceiveMessage(t.Context(), wholly(url)); err == nil {
			t.Fatal("the receive was answered")
		}
		e.depth("jobs", 0, 0, 1)
		e.faults.Inject(nil)
		e.none(url)
	})

	t.Run("a duplicated send is there twice", func(t *testing.T) {
		e := serve(t, Options{})
		url := e.queue("jobs", nil)
		e.faults.Inject(only("SendMessage", emulator.Duplicate))
		e.must(sendOne(e, url))
		e.faults.Inject(only("SendMessageBatch", emulator.Duplicate))
		_, err := e.client.SendMessageBatch(t.Context(), &awssqs.SendMessageBatchInput{QueueUrl: &url, Entries: []types.SendMessageBatchRequestEntry{{Id: aws.String("a"), MessageBody: aws.String("x")}}})
		e.must(err)
		e.depth("jobs", 4, 0, 0)
	})

	t.Run("a duplicated receive leaves the same message to be received once more", func(t *testing.T) {
		e := serve(t, Options{})
		url := e.queue("jobs", nil)
		e.must(sendOne(e, url))
		e.faults.Inject(only("ReceiveMessage", emulator.Duplicate))
		first := e.one(url)
		e.faults.Inject(nil)
		second := e.one(url)
		if *first.MessageId != *second.MessageId || *first.ReceiptHandle == *second.ReceiptHandle {
			t.Fatal("not the same message")
		}
		e.delete(url, first.ReceiptHandle)
		e.depth("jobs", 0, 0, 1)
		e.delete(url, second.ReceiptHandle)
		e.depth("jobs", 0, 0, 0)
	})

	t.Run("calls are counted by operation, and their bodies shown", func(t *testing.T) {
		e := serve(t, Options{})
		url := e.queue("jobs", nil)
		var body string
		e.faults.Inject(func(c emulator.Call) emulator.Effect { body = string(c.Body); return emulator.Serve })
		e.must(sendOne(e, url))
		e.must(sendOne(e, url))
		if counts := e.faults.Counts(); counts["sqs/CreateQueue"] != 1 || counts["sqs/SendMessage"] != 2 || !strings.Contains(body, `"MessageBody":"x"`) {
			t.Fatal(counts, body)
		}
	})
}

func TestInspect(t *testing.T) {
	t.Run("messages are shown without being received", func(t *testing.T) {
		e := serve(t, Options{})
		url := e.queue("jobs", nil)
		id := e.send(url, "first")
		e.one(url)
		_, err := e.client.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("second"), DelaySeconds: 9, MessageGroupId: aws.String("g")})
		e.must(err)
		got := e.server.Messages("jobs")
		if len(got) != 2 || got[0].ID != id || !got[0].InFlight || got[0].Receives != 1 || got[1].Body != "second" || got[1].Group != "g" ||
			!got[1].VisibleAt.Equal(start.Add(9e9)) || !got[1].Sent.Equal(start) || got[1].Receives != 0 || got[0].System["ApproximateReceiveCount"] != "1" {
			t.Fatalf("%+v", got)
		}
		e.depth("jobs", 0, 1, 1)
		e.depth("none", 0, 0, 0)
		if e.server.Messages("none") != nil {
			t.Fatal("messages of no queue")
		}
	})
}

// What was in flight when its receivers ended is there for the next.
func TestReveal(t *testing.T) {
	e := serve(t, Options{})
	url := e.queue("jobs", map[string]string{"VisibilityTimeout": "5400"})
	e.send(url, "a")
	first := e.receive(url)[0]
	e.server.Reveal("none")
	e.server.Reveal("jobs")
	again := e.receive(url)
	if len(again) != 1 || *again[0].MessageId != *first.MessageId || again[0].Attributes["ApproximateReceiveCount"] != "2" {
		t.Errorf("got %v", again)
	}
}
