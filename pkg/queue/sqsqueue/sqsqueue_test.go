package sqsqueue

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"toolhost/pkg/fault"
	"toolhost/pkg/queue"
)

// The suite queuetest runs on emulators, in infra/emulator/drivertest. Here is
// what SQS says in words that an emulator need not share.

type fakeAPI struct {
	err    error
	sent   *sqs.SendMessageInput
	hidden *sqs.ChangeMessageVisibilityInput
}

func (f *fakeAPI) SendMessage(_ context.Context, in *sqs.SendMessageInput, _ ...func(*sqs.Options)) (*sqs.SendMessageOutput, error) {
	f.sent = in
	return &sqs.SendMessageOutput{}, f.err
}

func (f *fakeAPI) ChangeMessageVisibility(_ context.Context, in *sqs.ChangeMessageVisibilityInput, _ ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityOutput, error) {
	f.hidden = in
	return &sqs.ChangeMessageVisibilityOutput{}, f.err
}

func TestSeconds(t *testing.T) {
	f := &fakeAPI{}
	q := New(f, "url")
	for d, want := range map[time.Duration]int32{
		-time.Hour: 0, 0: 0, 1: 1, time.Millisecond: 1, time.Second: 1, time.Second + 1: 2, 900 * time.Second: 900,
	} {
		if err := q.Send(t.Context(), queue.Message{}, queue.Delivery{Delay: d}); err != nil || f.sent.DelaySeconds != want {
			t.Errorf("delay %v: sent %d, %v", d, f.sent.DelaySeconds, err)
		}
		if err := q.Hide(t.Context(), "receipt", d); err != nil || f.hidden.VisibilityTimeout != want {
			t.Errorf("hide %v: sent %d, %v", d, f.hidden.VisibilityTimeout, err)
		}
	}
}

func TestErrors(t *testing.T) {
	api := func(code, message string) error { return &smithy.GenericAPIError{Code: code, Message: message} }
	for _, c := range []struct {
		err        error
		send, hide fault.Kind
	}{
		{&types.MessageNotInflight{}, fault.Internal, fault.NotFound},
		{&types.ReceiptHandleIsInvalid{}, fault.Internal, fault.NotFound},
		{api("InvalidParameterValue", "Value x for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available for visibility timeout change."),
			fault.Internal, fault.NotFound},
		{api("InvalidParameterValueException", "Value x for parameter ReceiptHandle is invalid."), fault.Internal, fault.NotFound},
		{api("InvalidParameterValue", "Value 50000 for parameter VisibilityTimeout is invalid."), fault.Internal, fault.Internal},
		{&types.RequestThrottled{}, fault.Busy, fault.Busy},
		{api("ThrottlingException", "slow down"), fault.Busy, fault.Busy},
		{&types.QueueDoesNotExist{}, fault.Internal, fault.Internal},
		{api("AccessDenied", "no"), fault.Internal, fault.Internal},
	} {
		q := New(&fakeAPI{err: c.err}, "url")
		if err := q.Send(t.Context(), queue.Message{}, queue.Delivery{}); !fault.Is(err, c.send) {
			t.Errorf("%v: Send has the kind %v", c.err, fault.KindOf(err))
		}
		if err := q.Hide(t.Context(), "receipt", time.Second); !fault.Is(err, c.hide) {
			t.Errorf("%v: Hide has the kind %v", c.err, fault.KindOf(err))
		}
	}
}
