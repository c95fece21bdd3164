package lambda

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"toolhost/pkg/clock"
	"toolhost/pkg/fault"
)

// Queue is what a mapping needs of the SDK's *sqs.Client.
type Queue interface {
	GetQueueAttributes(context.Context, *sqs.GetQueueAttributesInput, ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error)
	ReceiveMessage(context.Context, *sqs.ReceiveMessageInput, ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
	DeleteMessageBatch(context.Context, *sqs.DeleteMessageBatchInput, ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error)
}

// Function is a Lambda function: JSON in, JSON out. The Invoke method of
// aws-lambda-go's Handler is one. Its context bears the function's deadline,
// by the machine's clock, and the values of aws-lambda-go's lambdacontext.
type Function func(ctx context.Context, payload []byte) ([]byte, error)

// Lambda's limits.
const (
	maxTimeout = 15 * time.Minute
	maxBatch   = 10 // without a batching window
	longPoll   = 20 // seconds
	pause      = time.Second
)

// Mapping feeds the messages of one queue to one function.
type Mapping struct {
	Queue    Queue
	QueueURL string
	Function Function
	// FunctionARN is what the function is told that it is invoked as.
	FunctionARN string
	// Timeout is the function's, at most 15 minutes. Run refuses a queue whose
	// visibility timeout is shorter, as Lambda does.
	Timeout time.Duration
	// BatchSize is the most messages an invocation is given, 1 to 10; 0 is 1.
	BatchSize int
	// MaximumConcurrency is the most invocations at once; 0 is 1. Lambda itself
	// knows no value below 2.
	MaximumConcurrency int
	// ReportBatchItemFailures makes the function's answer say which messages failed.
	ReportBatchItemFailures bool
	// Throttled, if set, is asked before each invocation. If it says that the
	// function's concurrency is used up, nothing is invoked, and the messages
	// have been received all the same.
	Throttled func() bool
	// Grace is how long Run waits for invocations when it is to end; 0 is Timeout.
	Grace time.Duration
	// Clock paces the polls after a failed one; nil is the machine's.
	Clock clock.Clock
	// Log is told of failures; nil is slog's default.
	Log *slog.Logger
}

// running is a mapping with its defaults while it runs.
type running struct {
	Mapping
	arn, region string
	invocations sync.WaitGroup
}

// Run polls and invokes until ctx ends, then waits for the invocations that
// run. It returns nil after an orderly end, fault.Invalid for a mapping that
// Lambda would refuse, the queue's error if it can't be asked for its
// attributes, and fault.Busy if invocations outlasted their grace; their
// contexts are cancelled then.
func (m *Mapping) Run(ctx context.Context) error {
	r, err := m.prepare(ctx)
	if err != nil {
		return err
	}
	invoking, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	r.poll(ctx, invoking)
	ended := make(chan struct{})
	go func() {
		r.invocations.Wait()
		close(ended)
	}()
	grace := time.NewTimer(r.Grace)
	defer grace.Stop()
	select {
	case <-ended:
		return nil
	case <-grace.C:
		return fault.New(fault.Busy, "lambda.Run", "invocations still run %v after the mapping was to end", r.Grace)
	}
}

// prepare fills in defaults, and applies the checks of Lambda's
// CreateEventSourceMapping.
func (m *Mapping) prepare(ctx context.Context) (*running, error) {
	const op = "lambda.Run"
	r := &running{Mapping: *m}
	r.BatchSize, r.MaximumConcurrency = max(r.BatchSize, 1), max(r.MaximumConcurrency, 1)
	if r.BatchSize > maxBatch {
		return nil, fault.New(fault.Invalid, op, "a batch of %d messages needs a batching window; at most %d", r.BatchSize, maxBatch)
	}
	if r.Timeout <= 0 || r.Timeout > maxTimeout {
		return nil, fault.New(fault.Invalid, op, "a function's timeout is at most %v, not %v", maxTimeout, r.Timeout)
	}
	if r.Grace == 0 {
		r.Grace = r.Timeout
	}
	if r.Clock == nil {
		r.Clock = clock.System
	}
	if r.Log == nil {
		r.Log = slog.Default()
	}
	out, err := r.Queue.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl:       &r.QueueURL,
		AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn, types.QueueAttributeNameVisibilityTimeout},
	})
	if err != nil {
		return nil, fault.Wrap(fault.Internal, op, err)
	}
	r.arn = out.Attributes[string(types.QueueAttributeNameQueueArn)]
	parts := strings.Split(r.arn, ":") // arn:aws:sqs:REGION:ACCOUNT:NAME
	seconds, err := strconv.Atoi(out.Attributes[string(types.QueueAttributeNameVisibilityTimeout)])
	if err != nil || len(parts) != 6 {
		return nil, fault.New(fault.Internal, op, "the queue's attributes are not SQS's: %v", out.Attributes)
	}
	r.region = parts[3]
	if visibility := time.Duration(seconds) * time.Second; visibility < r.Timeout {
		return nil, fault.New(fault.Invalid, op, "queue visibility timeout: %v is less than function timeout: %v", visibility, r.Timeout)
	}
	return r, nil
}

// poll receives messages while an invocation is free, until ctx ends.
func (r *running) poll(ctx, invoking context.Context) {
	free := make(chan struct{}, r.MaximumConcurrency)
	for {
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			return
		}
		messages, err := r.receive(ctx)
		if ctx.Err() != nil && len(messages) == 0 {
			return
		}
		if err != nil {
			r.Log.Warn("polling the queue failed", "queue", r.arn, "error", err)
			again, stop := r.Clock.After(pause)
			select {
			case <-again:
			case <-ctx.Done():
			}
			stop()
		}
		if len(messages) == 0 {
			<-free
			continue
		}
		r.invocations.Go(func() {
			defer func() { <-free }()
			r.deliver(invoking, messages)
		})
	}
}

func (r *running) receive(ctx context.Context) ([]types.Message, error) {
	out, err := r.Queue.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl:                    &r.QueueURL,
		MaxNumberOfMessages:         int32(r.BatchSize),
		WaitTimeSeconds:             longPoll,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
		MessageAttributeNames:       []string{"All"},
	})
	if err != nil {
		return nil, err
	}
	return out.Messages, nil
}

// delete lets go of messages. What could not be deleted comes back.
func (r *running) delete(ctx context.Context, messages []types.Message) {
	if len(messages) == 0 {
		return
	}
	entries := make([]types.DeleteMessageBatchRequestEntry, len(messages))
	for i, m := range messages {
		entries[i] = types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: m.ReceiptHandle}
	}
	out, err := r.Queue.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: &r.QueueURL, Entries: entries})
	if err != nil {
		r.Log.Warn("messages could not be deleted", "queue", r.arn, "error", err)
		return
	}
	for _, f := range out.Failed {
		r.Log.Warn("a message could not be deleted", "queue", r.arn, "code", aws.ToString(f.Code), "error", aws.ToString(f.Message))
	}
}
