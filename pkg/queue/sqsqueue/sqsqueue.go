// Package sqsqueue sends wake-ups through a standard SQS queue.
//
// A message's group is what SQS shares a queue fairly by: one caller's ten
// thousand tasks don't hold up another's. Receiving is not here: Lambda's event
// source mapping does that.
//
//	q := sqsqueue.New(sqs.NewFromConfig(cfg), queueURL)
//	err := q.Send(ctx, queue.Message{TaskID: id, Birth: birth, Cause: queue.Created}, queue.Delivery{Group: owner})
package sqsqueue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"toolhost/pkg/fault"
	"toolhost/pkg/limits"
	"toolhost/pkg/queue"
)

// API is what a Queue needs of the SDK's client.
type API interface {
	SendMessage(context.Context, *sqs.SendMessageInput, ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
	ChangeMessageVisibility(context.Context, *sqs.ChangeMessageVisibilityInput, ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityOutput, error)
}

// Queue is a queue.Queue on an SQS queue.
type Queue struct {
	client API
	url    string
}

var _ queue.Queue = (*Queue)(nil)

// New makes a Queue of the SQS queue with the URL.
func New(client API, url string) *Queue { return &Queue{client: client, url: url} }

// maxHide is how long SQS hides a message at most.
const maxHide = 12 * time.Hour

// Send implements queue.Queue. A delay counts in whole seconds, rounded up, so
// that a message never comes early for that; one that is past is none.
func (q *Queue) Send(ctx context.Context, m queue.Message, d queue.Delivery) error {
	const op = "sqsqueue.Send"
	if d.Delay > limits.MaxDelay {
		return fault.New(fault.Invalid, op, "a message can be delayed by %v, not by %v", limits.MaxDelay, d.Delay)
	}
	in := &sqs.SendMessageInput{
		QueueUrl: aws.String(q.url), MessageBody: aws.String(queue.Encode(m)), DelaySeconds: seconds(d.Delay)}
	if d.Group != "" {
		sum := sha256.Sum256([]byte(d.Group))
		in.MessageGroupId = aws.String(hex.EncodeToString(sum[:16]))
	}
	_, err := q.client.SendMessage(ctx, in)
	return explain(ctx, op, err)
}

// Hide implements queue.Queue; d counts in whole seconds, rounded up, to at
// most 12 hours. A message that was deleted, or has become visible again, is
// fault.NotFound.
func (q *Queue) Hide(ctx context.Context, receipt string, d time.Duration) error {
	const op = "sqsqueue.Hide"
	if d > maxHide {
		return fault.New(fault.Invalid, op, "a message can be hidden for %v, not for %v", maxHide, d)
	}
	_, err := q.client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: aws.String(q.url), ReceiptHandle: aws.String(receipt), VisibilityTimeout: seconds(d)})
	if gone(err) {
		return &fault.Error{Kind: fault.NotFound, Op: op, Message: "the message is no longer in flight", Err: err}
	}
	return explain(ctx, op, err)
}

// seconds rounds up.
func seconds(d time.Duration) int32 {
	return int32((max(d, 0) + time.Second - 1) / time.Second) // #nosec G115 -- SQS refuses more than 12 hours
}

// gone reports whether a receipt's message is no longer in flight. SQS says so
// in three ways, one of them a general error about the parameter.
func gone(err error) bool {
	var notInFlight *types.MessageNotInflight
	var invalid *types.ReceiptHandleIsInvalid
	if errors.As(err, &notInFlight) || errors.As(err, &invalid) {
		return true
	}
	var api smithy.APIError
	return errors.As(err, &api) && strings.HasPrefix(api.ErrorCode(), "InvalidParameterValue") &&
		strings.Contains(api.ErrorMessage(), "ReceiptHandle")
}

var throttles = retry.IsErrorThrottles(retry.DefaultThrottles)

// explain gives an error of the SDK its kind. The caller's own end of patience
// passes through as it is.
func explain(ctx context.Context, op string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case throttles.IsErrorThrottle(err) == aws.TrueTernary:
		return &fault.Error{Kind: fault.Busy, Op: op, Message: "the queue is busy", Err: err}
	}
	return fault.Wrap(fault.Internal, op, err)
}
