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
	kills      []string // steps still to be killed after
	killAlways bool
	killed     chan struct{} // receives when a process dies
	over       chan struct{} // closed when the test is over
}

func newRecord(t testing.TB) *record {
	r := &record{values: map[string]json.RawMessage{}, killed: make(chan struct{}, 1), over: make(chan struct{})}
	t.Cleanup(func() { close(r.over) })
	return r
}

func (r *record) killAfter(step string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kills = append(r.kills, step)
}

// missed is a step to be killed after that was not recorded, "" if there is none.
func (r *record) missed() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.kills) == 0 {
		return ""
	}
	return r.kills[0]
}

// process is one process's access to the record.
func (r *record) process() tool.Recorder { return &process{record: r} }

type process struct {
	record *record
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
	if !p.dead {
		if r.values[name] == nil {
			r.values[name] = value
		}
		value = r.values[name]
		i := slices.Index(r.kills, name)
		if i >= 0 {
			r.kills = slices.Delete(r.kills, i, i+1)
		}
		if i >= 0 || r.killAlways {
			p.dead = true
			r.killed <- struct{}{}
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
