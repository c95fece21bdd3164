package lambda

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/uuid"
)

// deliver invokes the function with a batch and deletes what it dealt with.
func (r *running) deliver(ctx context.Context, batch []types.Message) {
	if r.Throttled != nil && r.Throttled() {
		r.Log.Warn("the function is throttled", "queue", r.arn, "messages", len(batch))
		return
	}
	request := uuid.NewString()
	response, err := r.invoke(ctx, request, event(batch, r.arn, r.region))
	var failed map[string]bool
	if err == nil && r.ReportBatchItemFailures {
		failed, err = failures(response, batch)
	}
	if err != nil {
		r.Log.Warn("the batch failed", "queue", r.arn, "request", request, "messages", len(batch), "error", err)
		return
	}
	var done []types.Message
	for _, m := range batch {
		if !failed[aws.ToString(m.MessageId)] {
			done = append(done, m)
		}
	}
	r.delete(ctx, done)
}

// invoke calls the function and returns its answer, or an error if it failed,
// panicked or did not answer in time. An answer that comes with the deadline is
// too late.
func (r *running) invoke(ctx context.Context, request string, payload []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	ctx = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{AwsRequestID: request, InvokedFunctionArn: r.FunctionARN})
	type answer struct {
		response []byte
		err      error
	}
	answers := make(chan answer, 1)
	r.invocations.Go(func() {
		var a answer
		defer func() {
			if p := recover(); p != nil {
				a.err = fmt.Errorf("the function panicked: %v\n%s", p, debug.Stack())
			}
			answers <- a
		}()
		a.response, a.err = r.Function(ctx, payload)
	})
	select {
	case a := <-answers:
		if ctx.Err() == nil {
			return a.response, a.err
		}
	case <-ctx.Done():
	}
	return nil, fmt.Errorf("the function did not end within %v: %w", r.Timeout, ctx.Err())
}
