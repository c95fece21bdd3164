package tool

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"toolhost/pkg/fault"
	"toolhost/pkg/limits"
)

// maxName is the longest name of a step or key of a question, in bytes.
const maxName = 128

// maxNap is how long a synchronous call may sleep in its process.
const maxNap = 10 * time.Second

// Step calls do and records the value, as JSON, under a name that is unique
// within the tool. A later run of the same call gets the recorded value, and do
// is not called. An error of do is returned as it is and not recorded.
//
// The value is recorded once. What do does may happen again: if the process dies
// before the value is recorded, the next run calls do again. Pass
// IdempotencyToken on to whatever do calls.
//
// Steps may run in parallel, in goroutines that the handler waits for. A step
// asks nothing, waits for nothing, and takes no steps. In a call without a task
// do is just called.
func Step[T any](ctx context.Context, name string, do func(context.Context) (T, error)) (T, error) {
	var zero, value T
	w, err := current(ctx, "Step")
	if err != nil {
		return zero, err
	}
	if err := w.takeStep("Step", name, name); err != nil {
		return zero, err
	}
	if done := w.run.recorded(name); done != nil {
		return unrecord[T](w.run, name, done)
	}
	value, err = runStep(context.WithValue(ctx, contextKey{}, within{w.run, name}), w.run, name, do)
	if err != nil || w.run.call.Steps == nil {
		return value, err
	}
	text, err := encode(value)
	if err != nil {
		return zero, fmt.Errorf("the value of step %q can't be recorded: %w", name, err)
	}
	kept, err := w.run.record(ctx, name, text)
	if err != nil {
		return zero, err
	}
	return unrecord[T](w.run, name, kept)
}

// runStep calls do and recovers its panic, which may come in any goroutine.
func runStep[T any](ctx context.Context, r *run, name string, do func(context.Context) (T, error)) (value T, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.panicked = fmt.Errorf("step %q: %w", name, panicError(p, debug.Stack()))
			err = fmt.Errorf("step %q failed unexpectedly", name)
		}
	}()
	return do(ctx)
}

func unrecord[T any](r *run, name string, text json.RawMessage) (value T, err error) {
	if err := json.Unmarshal(text, &value); err != nil {
		return value, r.refuse("The recorded value of step %q does not fit the type that the tool now asks for: it was changed without a new Version.", name)
	}
	return value, nil
}

// takeStep reserves a record's name for this run.
func (w within) takeStep(call, name, record string) error {
	r := w.run
	switch {
	case w.step != "":
		return r.refuse("tool.%s %q was called inside the step %q: a step asks nothing, sleeps not, and takes no steps.", call, name, w.step)
	case !isRecordName(name):
		return r.refuse("tool.%s was called with the name %q: want 1 to %d bytes of text without ~ or control characters.", call, name, maxName)
	}
	r.mu.Lock()
	taken, count, ended := r.steps[record], len(r.steps), r.ended
	if !ended {
		r.steps[record] = true
	}
	r.mu.Unlock()
	if ended {
		return errEnded
	}
	if taken {
		return r.refuse("tool.%s was called twice with the name %q in one run: each needs its own.", call, name)
	}
	if r.call.Steps != nil && count >= limits.MaxSteps {
		return r.refuse("The tool takes more than %d steps.", limits.MaxSteps)
	}
	return nil
}

// isRecordName keeps ~ for the names that this package makes itself.
func isRecordName(name string) bool {
	return name != "" && len(name) <= maxName && utf8.ValidString(name) &&
		!strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c == 0x7F || c == '~' })
}

func (r *run) recorded(name string) json.RawMessage {
	if r.call.Steps == nil {
		return nil
	}
	return r.call.Steps.Recorded(name)
}

// record keeps a value. Whatever prevents it, the run has to be repeated.
func (r *run) record(ctx context.Context, name string, value json.RawMessage) (json.RawMessage, error) {
	if len(value) > limits.MaxStep {
		return nil, fmt.Errorf("the value of step %q has %d bytes, the limit is %d", name, len(value), limits.MaxStep)
	}
	kept, err := r.call.Steps.Record(ctx, name, value)
	if fault.Is(err, fault.TooLarge) {
		return nil, fmt.Errorf("the value of step %q is too large: %s", name, fault.Message(err))
	}
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.lost = fmt.Errorf("step %q could not be recorded: %w", name, err)
		return nil, fmt.Errorf("step %q could not be recorded", name)
	}
	return kept, nil
}

// IdempotencyToken names the step of a context for services outside, so that they
// know a repeated request: it is the same whenever that step of that call runs
// again, and differs from any other step's. Outside a step it names the call. A
// call without a task has no identity, and gets a new token each time.
func IdempotencyToken(ctx context.Context) string {
	w, ok := ctx.Value(contextKey{}).(within)
	if !ok || w.run.call.TaskID == "" {
		return rand.Text()
	}
	text, err := json.Marshal([]string{w.run.call.TaskID, w.run.call.Birth, w.step})
	if err != nil {
		panic(err) // strings always encode
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// Sleep waits for d, which may be as long as the task lives. Nothing runs
// meanwhile: it returns an error, which the tool must return, and the next run
// begins when d has passed since Sleep was first called. The name is unique
// within the tool, among its steps too. A call without a task sleeps in its
// process, up to 10 s; asked for more, it fails.
func Sleep(ctx context.Context, name string, d time.Duration) error {
	w, err := current(ctx, "Sleep")
	if err != nil {
		return err
	}
	r, record := w.run, sleepPrefix+name
	if err := w.takeStep("Sleep", name, record); err != nil {
		return err
	}
	if r.call.Steps == nil {
		return r.nap(ctx, name, d)
	}
	until := r.call.Now().Add(d)
	text := r.recorded(record)
	if text == nil {
		if d <= 0 {
			return nil
		}
		if text, err = encode(until); err != nil {
			return fmt.Errorf("sleep %q: %w", name, err)
		}
		if text, err = r.record(ctx, record, text); err != nil {
			return err
		}
	}
	if until, err = unrecord[time.Time](r, name, text); err != nil {
		return err
	}
	if !r.call.Now().Before(until) {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wakeAt.IsZero() || until.Before(r.wakeAt) {
		r.wakeAt = until
	}
	r.suspended = true
	return &suspension{"it sleeps"}
}

const sleepPrefix = "~sleep/"

func (r *run) nap(ctx context.Context, name string, d time.Duration) error {
	if d > maxNap {
		return r.refuse("The tool sleeps %v at %q, which needs a task; a call without one may sleep %v.", d, name, maxNap)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Report shows how far the tool has come: done of total, which is 0 if unknown,
// and a message for people. A task's status message shows both, as in "12 of 40:
// reading files", until the task asks something or ends; a call without a task
// sends a progress notification. A task shows its newest report once a second at
// most, and first when it has run for two: a replay soon passes the reports of
// the runs before. Report never fails, and may be called from any goroutine of
// the handler.
func Report(ctx context.Context, done, total float64, message string) {
	w, err := current(ctx, "Report")
	if err != nil || w.run.call.Report == nil || !isFinite(done) || !isFinite(total) {
		return
	}
	w.run.reporting.Lock()
	defer w.run.reporting.Unlock()
	w.run.call.Report(Progress{Done: done, Total: total, Message: message})
}

func isFinite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// Prepared is the value that Options.Prepare returned for this call.
func Prepared[T any](ctx context.Context) (T, error) {
	var value T
	w, err := current(ctx, "Prepared")
	if err != nil {
		return value, err
	}
	if w.run.call.Prepared == nil {
		return value, w.run.refuse("tool.Prepared was called, but nothing was prepared.")
	}
	if err := json.Unmarshal(w.run.call.Prepared, &value); err != nil {
		return value, w.run.refuse("What was prepared does not fit the type that the tool asks for.")
	}
	return value, nil
}
