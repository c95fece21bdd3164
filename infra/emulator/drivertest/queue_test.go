package drivertest

import (
	"context"
	"crypto/rand"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	emulated "toolhost/infra/emulator/sqs"
	"toolhost/pkg/clock"
	"toolhost/pkg/queue/queuetest"
	"toolhost/pkg/queue/sqsqueue"
)

func TestQueue(t *testing.T) {
	now := clock.NewManual(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))
	server, err := emulated.New(emulated.Options{Clock: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	w := queueWire()
	h := queueHarness(w, newQueue(t, w, serve(t, server)), nil)
	h.Now, h.Advance = now.Now, now.Advance
	queuetest.Run(t, h)
}

// realClock is why no test moves the time of a queue that is not ours.
const realClock = "its clock is the machine's"

func TestQueueIndependent(t *testing.T) {
	url := os.Getenv("TOOLHOST_TEST_SQS_URL")
	if url == "" {
		t.Skip("TOOLHOST_TEST_SQS_URL names no independent implementation; independent.sh starts one")
	}
	lacks, known := map[string]map[queuetest.Capability]string{
		"moto": {queuetest.Clock: realClock,
			queuetest.Stale: "moto takes the receipt of a message that is visible again"},
		"fauxqs": {queuetest.Clock: realClock,
			queuetest.Groups: "fauxqs drops the group of a message on a standard queue"},
	}[os.Getenv("TOOLHOST_TEST_INDEPENDENT")]
	if !known {
		t.Fatal("TOOLHOST_TEST_INDEPENDENT says which implementation it is: moto or fauxqs")
	}
	w := queueWire()
	queuetest.Run(t, queueHarness(w, newQueue(t, w, url), lacks))
}

func TestQueueAWS(t *testing.T) {
	url := os.Getenv("TOOLHOST_TEST_AWS_QUEUE")
	if url == "" {
		t.Skip("TOOLHOST_TEST_AWS_QUEUE names no queue of a real AWS account")
	}
	w := queueWire()
	lacks := map[queuetest.Capability]string{queuetest.Clock: realClock}
	queuetest.Run(t, queueHarness(w, endpoint{sqs.NewFromConfig(real(t, w)), url}, lacks))
}

func queueWire() *wire {
	return &wire{base: http.DefaultTransport, breaks: []string{"SendMessage", "ChangeMessageVisibility"},
		throttle: "com.amazonaws.sqs#RequestThrottled"}
}

// endpoint is a queue and a client to reach it.
type endpoint struct {
	client *sqs.Client
	url    string
}

// newQueue makes a queue at a local endpoint.
func newQueue(t *testing.T, w *wire, url string) endpoint {
	t.Helper()
	client := sqs.NewFromConfig(local(w), func(o *sqs.Options) { o.BaseEndpoint = aws.String(url) })
	out, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("toolhost-" + rand.Text())})
	if err != nil {
		t.Fatal(err)
	}
	return endpoint{client, *out.QueueUrl}
}

func (e endpoint) receive(ctx context.Context, wait time.Duration) ([]queuetest.Received, error) {
	out, err := e.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &e.url, MaxNumberOfMessages: 10,
		WaitTimeSeconds:             int32(wait.Seconds()),
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameMessageGroupId}})
	if err != nil {
		return nil, err
	}
	var all []queuetest.Received
	for _, m := range out.Messages {
		all = append(all, queuetest.Received{Body: *m.Body, Receipt: *m.ReceiptHandle,
			Group: m.Attributes[string(types.MessageSystemAttributeNameMessageGroupId)]})
	}
	return all, nil
}

func (e endpoint) delete(ctx context.Context, receipt string) error {
	_, err := e.client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &e.url, ReceiptHandle: &receipt})
	return err
}

func queueHarness(w *wire, e endpoint, lacks map[queuetest.Capability]string) queuetest.Harness {
	return queuetest.Harness{
		Queue:   sqsqueue.New(e.client, e.url),
		Receive: e.receive,
		Delete:  e.delete,
		Now:     time.Now,
		Break: func(f queuetest.Fault, n int) {
			w.meet(map[queuetest.Fault]fate{queuetest.Throttled: throttled, queuetest.LostRequest: lostRequest, queuetest.LostReply: lostReply}[f], n)
		},
		Lacks: lacks,
	}
}
