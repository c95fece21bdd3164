package worker

import (
	"context"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"toolhost/pkg/fault"
	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/limits"
	"toolhost/pkg/queue"
	"toolhost/pkg/store"
	"toolhost/pkg/task"
)

// rounds bounds how often a message is judged when its task was changed by
// others meanwhile.
const rounds = 10

// delivery is one received message.
type delivery struct {
	queue.Message
	receipt string
	log     *slog.Logger
}

// answer does what a verdict asks for, and returns the task as it is then. If
// the task refused, it returns the refusal and the task that refused.
type answer func(context.Context, delivery, task.Task, task.Verdict, time.Duration) (task.Task, error)

// judge answers a message as its task's state asks for. When others changed the
// task before the answer was saved, the message is judged anew.
func (w *Worker) judge(ctx context.Context, r events.SQSMessage, answer answer) error {
	m, err := queue.Decode(r.Body)
	if err != nil { // it would never get better (case 19)
		w.log.ErrorContext(ctx, "malformed message dropped", "messageId", r.MessageId, "error", err)
		return nil
	}
	d := delivery{m, r.ReceiptHandle, w.log.With("task", m.TaskID, "cause", m.Cause, "hops", m.Hops, "trace", m.Trace)}
	t, err := w.store.Load(ctx, m.TaskID)
	for range rounds {
		if err != nil && !refused(err) {
			return err
		}
		found := !fault.Is(err, fault.NotFound)
		verdict, delay := task.Judge(t, found, m.Birth, w.clock.Now())
		if verdict == task.Drop {
			d.log.InfoContext(ctx, "message dropped", "status", t.Status)
			return nil
		}
		if t, err = answer(ctx, d, t, verdict, delay); err == nil {
			d.log.InfoContext(ctx, "message answered", "verdict", verdict, "status", t.Status, "delay", delay)
			return nil
		}
	}
	return fault.New(fault.Busy, "worker.judge", "too many writers at once")
}

// refused reports whether an event was refused because the task is not what it
// was when it was judged, or is gone.
func refused(err error) bool {
	switch fault.KindOf(err) {
	case fault.Illegal, fault.Conflict, fault.NotFound:
		return true
	}
	return false
}

// settle makes a requested cancel final for a task that nobody runs.
func (w *Worker) settle(ctx context.Context, t task.Task) (task.Task, error) {
	return store.Update(ctx, w.store, t, func(t task.Task) (task.Task, error) {
		return task.Settle(t, "", w.clock.Now())
	})
}

// fail ends a task that nobody runs.
func (w *Worker) fail(ctx context.Context, t task.Task, problem *jsonrpc.Error) (task.Task, error) {
	return store.Update(ctx, w.store, t, func(t task.Task) (task.Task, error) {
		return task.Fail(t, "", task.NewPayload(jsonrpc.Encode(problem)), problem.Message, w.clock.Now())
	})
}

// exhausted is the end of a task whose last attempt died with its process.
func exhausted(t task.Task) *jsonrpc.Error {
	return jsonrpc.Errorf(jsonrpc.CodeInternal, "the process that ran the tool died in each of its %d attempts", t.MaxAttempts)
}

// wake sends the message that follows d. One that was passed on too often fails
// its task instead; while another worker runs that, it is merely dropped: the
// worker's own message is in flight.
func (w *Worker) wake(ctx context.Context, d delivery, t task.Task, cause queue.Cause, delay time.Duration) (task.Task, error) {
	m := d.Message
	m.Cause, m.Hops = cause, m.Hops+1
	if m.Hops > limits.MaxHops {
		d.log.ErrorContext(ctx, "message passed on too often")
		if t.Leased(w.clock.Now()) {
			return t, nil
		}
		return w.fail(ctx, t, jsonrpc.Errorf(jsonrpc.CodeInternal, "the task was woken more than %d times", limits.MaxHops))
	}
	return t, w.queue.Send(ctx, m, queue.Delivery{Delay: min(max(delay, 0), limits.MaxDelay), Group: t.Owner.Group()})
}
