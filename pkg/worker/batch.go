package worker

import (
	"context"
	"fmt"
	"runtime/debug"
	"strconv"
	"sync"

	"github.com/aws/aws-lambda-go/events"

	"toolhost/pkg/fault"
	"toolhost/pkg/limits"
)

// Handle handles a batch from the task queue. It answers exactly the ids of the
// messages that are to come back, and never an error: that would bring back the
// whole batch.
func (w *Worker) Handle(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
	return w.each(ctx, e, w.act, w.comeBack), nil
}

// DeadLetter handles a batch from the dead-letter queue in the same way: a task
// whose message died there is sent again or failed, never forgotten.
func (w *Worker) DeadLetter(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
	return w.each(ctx, e, w.bury, func(context.Context, events.SQSMessage) {}), nil
}

// each handles the records side by side, so that a long one leaves the others
// their time, and reports those that failed or panicked; fails is told of each.
func (w *Worker) each(ctx context.Context, e events.SQSEvent, answer answer, fails func(context.Context, events.SQSMessage)) events.SQSEventResponse {
	errs := make([]error, len(e.Records))
	var all sync.WaitGroup
	for i, r := range e.Records {
		all.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					errs[i] = panicked(p)
				}
			}()
			errs[i] = w.judge(ctx, r, answer)
		})
	}
	all.Wait()
	failed := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	for i, err := range errs {
		if err == nil {
			continue
		}
		id := e.Records[i].MessageId
		fails(ctx, e.Records[i])
		w.log.ErrorContext(ctx, "message comes back", "messageId", id, "receives", e.Records[i].Attributes["ApproximateReceiveCount"], "error", err)
		failed.BatchItemFailures = append(failed.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: id})
	}
	return failed
}

// comeBack makes a failed message visible soon, instead of at the end of the
// queue's own visibility, which is made for the longest run: what failed is
// mostly a database or a queue that answers again in a while. The wait doubles
// with each receive.
func (w *Worker) comeBack(ctx context.Context, r events.SQSMessage) {
	ctx, cancel := lasting(ctx)
	defer cancel()
	receives, _ := strconv.Atoi(r.Attributes["ApproximateReceiveCount"])
	wait := min(w.visibility()<<min(max(receives-1, 0), 8), limits.MaxDelay)
	if err := w.queue.Hide(ctx, r.ReceiptHandle, wait); err != nil {
		w.log.WarnContext(ctx, "failed message stays hidden for the queue's own time", "messageId", r.MessageId, "error", err)
	}
}

func panicked(p any) error {
	return fault.Wrap(fault.Internal, "worker", fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
}
