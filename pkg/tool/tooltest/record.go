package tooltest

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"

	"toolhost/pkg/tool"
)

// record is a call's memory, which outlives its processes.
type record struct {
	mu         sync.Mutex
	values     map[string]json.RawMessage
	faults     []fault // still to come
	killAlways bool
	killed     chan struct{} // receives when a process dies
	over       chan struct{} // closed when the test is over
}

// fault is what happens once, at a step.
type fault struct {
	kind faultKind
	step string
}

type faultKind uint8

const (
	killBefore faultKind = iota // the step's effect has happened, its value is not recorded
	killAfter
	stopAfter
)

func newRecord(t testing.TB) *record {
	r := &record{values: map[string]json.RawMessage{}, killed: make(chan struct{}, 1), over: make(chan struct{})}
	t.Cleanup(func() { close(r.over) })
	return r
}

func (r *record) plan(kind faultKind, step string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, fault{kind, step})
}

// due takes a fault out of the plan, if it is there.
func (r *record) due(kind faultKind, step string) bool {
	i := slices.Index(r.faults, fault{kind, step})
	if i >= 0 {
		r.faults = slices.Delete(r.faults, i, i+1)
	}
	return i >= 0
}

// missed is a step at which a fault was planned and never came, "" if there is none.
func (r *record) missed() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.faults) == 0 {
		return ""
	}
	return r.faults[0].step
}

// process is one process's access to the record; stop ends its run's context.
func (r *record) process(stop func()) tool.Recorder { return &process{record: r, stop: stop} }

type process struct {
	record *record
	stop   func()
	dead   bool // guarded by record.mu
}

var errKilled = errors.New("the process was killed, and the test is over")

func (p *process) Recorded(name string) json.RawMessage {
	p.record.mu.Lock()
	defer p.record.mu.Unlock()
	return p.record.values[name]
}

func (p *process) Names() []string {
	p.record.mu.Lock()
	defer p.record.mu.Unlock()
	return slices.Sorted(maps.Keys(p.record.values))
}

// Record keeps a value. A process that dies stops right here: whoever records
// something in it waits for the end of the test.
func (p *process) Record(_ context.Context, name string, value json.RawMessage) (json.RawMessage, error) {
	r := p.record
	r.mu.Lock()
	if !p.dead && r.due(killBefore, name) {
		p.die()
	}
	if !p.dead {
		if r.values[name] == nil {
			r.values[name] = value
		}
		value = r.values[name]
		if r.due(stopAfter, name) {
			p.stop()
		}
		if r.due(killAfter, name) || r.killAlways {
			p.die()
		}
	}
	dead := p.dead
	r.mu.Unlock()
	if dead {
		<-r.over
		return nil, errKilled
	}
	return value, nil
}

func (p *process) die() {
	p.dead = true
	p.record.killed <- struct{}{}
}
