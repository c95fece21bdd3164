package worker

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"toolhost/pkg/store"
	"toolhost/pkg/task"
)

// recorder keeps the finished steps of one run: a tool.Recorder over the store.
type recorder struct {
	store store.Store
	task  task.Task

	mu    sync.Mutex
	steps map[string]json.RawMessage
	tries int // of recording in this run
	fresh int // recorded in this run
}

// newRecorder loads what former runs recorded, if they can have recorded
// anything.
func newRecorder(ctx context.Context, s store.Store, t task.Task) (*recorder, error) {
	r := &recorder{store: s, task: t, steps: map[string]json.RawMessage{}}
	if !t.Recorded {
		return r, nil
	}
	steps, err := s.Steps(ctx, t)
	if err != nil {
		return nil, err
	}
	for _, step := range steps {
		if r.steps[step.Name], err = s.Payload(ctx, t, step.Value); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Recorded implements tool.Recorder.
func (r *recorder) Recorded(name string) json.RawMessage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.steps[name]
}

// Names implements tool.Recorder, in order.
func (r *recorder) Names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := make([]string, 0, len(r.steps))
	for name := range r.steps {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Record implements tool.Recorder. A step that has finished is recorded even if
// the run's context has just ended: else it would be done again. The limits of
// a step are kept by the tool package.
func (r *recorder) Record(ctx context.Context, name string, value json.RawMessage) (json.RawMessage, error) {
	ctx, cancel := lasting(ctx)
	defer cancel()
	r.mu.Lock()
	r.tries++
	r.mu.Unlock()
	kept, err := r.store.PutStep(ctx, r.task, store.Step{Name: name, Value: task.NewPayload(value)})
	if err != nil {
		return nil, err
	}
	if value, err = r.store.Payload(ctx, r.task, kept.Value); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.steps[name] = value
	r.fresh++
	return value, nil
}

// progressed reports whether this run recorded a step.
func (r *recorder) progressed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fresh > 0
}

// tried reports whether this run may have recorded a step. A run that never
// came to its tool has no recorder.
func (r *recorder) tried() bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tries > 0
}
