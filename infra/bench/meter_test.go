package bench

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
	"sync"
	"testing"

	"toolhost/infra/emulator"
	"toolhost/infra/emulator/dynamodb"
)

// kind is something that is counted, and that AWS has a price for.
type kind string

const (
	httpRequest kind = "HTTP"
	invocation  kind = "invoke"
	putTask     kind = "put task"
	putStep     kind = "put step"
	putBlob     kind = "put blob"
	getTask     kind = "get task"
	querySteps  kind = "query steps"
	getBlob     kind = "get blob"
	send        kind = "send"
	hide        kind = "hide"
	receive     kind = "receive"
	remove      kind = "delete"

	count      kind = "count" // a creation
	takeSlot   kind = "take slot"
	querySlots kind = "query slots"
	getTasks   kind = "get tasks"
	freeSlot   kind = "free slot"
)

// kinds are those of every life, and quotaKinds those of one under quotas, in the
// order of a table's columns.
var (
	kinds      = []kind{httpRequest, invocation, putTask, putStep, putBlob, getTask, querySteps, getBlob, send, hide, receive, remove}
	quotaKinds = []kind{httpRequest, invocation, count, takeSlot, querySlots, getTasks, freeSlot, putTask, getTask, send, hide, receive, remove}
)

// usage is what something took.
type usage struct {
	calls                 map[kind]int
	readUnits, writeUnits float64
}

func (u usage) minus(v usage) usage {
	d := usage{map[kind]int{}, u.readUnits - v.readUnits, u.writeUnits - v.writeUnits}
	maps.Copy(d.calls, u.calls)
	for k, n := range v.calls {
		if d.calls[k] -= n; d.calls[k] == 0 {
			delete(d.calls, k)
		}
	}
	return d
}

func (u usage) plus(v usage) usage {
	return u.minus(usage{}.minus(v))
}

// sum is how many calls there were of some kinds.
func (u usage) sum(of ...kind) (n int) {
	for _, k := range of {
		n += u.calls[k]
	}
	return n
}

// meter counts the calls to AWS by what they are for.
type meter struct {
	tb    testing.TB
	units func() map[string]dynamodb.Usage

	mu    sync.Mutex
	calls map[kind]int
}

func newMeter(tb testing.TB) *meter { return &meter{tb: tb, calls: map[kind]int{}} }

// count is for emulator.Faults: it serves every call.
func (m *meter) count(c emulator.Call) emulator.Effect {
	if k := kindOf(c); k != "" {
		m.add(k)
	}
	return emulator.Serve
}

func (m *meter) add(k kind) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls[k]++
}

func (m *meter) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.calls)
}

func (m *meter) usage() usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	u := usage{calls: maps.Clone(m.calls)}
	for _, o := range m.units() {
		u.readUnits += o.ReadUnits
		u.writeUnits += o.WriteUnits
	}
	return u
}

// kindOf says what a call is for. What has no kind of its own is named after its
// operation, and has no column: the lives fail on it.
func kindOf(c emulator.Call) kind {
	switch c.Operation {
	case "CreateTable", "UpdateTimeToLive", "CreateQueue":
		return "" // the deployment itself
	case "GetItem":
		return getTask
	case "Query":
		if bytes.Contains(c.Body, []byte(`"slot#"`)) {
			return querySlots
		}
		return querySteps
	case "BatchGetItem":
		if bytes.Contains(c.Body, []byte(`"task"`)) {
			return getTasks
		}
		return getBlob
	case "UpdateItem":
		return count
	case "DeleteItem":
		return freeSlot
	case "SendMessage":
		return send
	case "ChangeMessageVisibility":
		return hide
	case "ReceiveMessage":
		return receive
	case "DeleteMessage":
		return remove
	case "PutItem":
		var in struct {
			Item struct{ SK struct{ S string } }
		}
		_ = json.Unmarshal(c.Body, &in) // the emulator itself will refuse it
		switch part, _, _ := strings.Cut(in.Item.SK.S, "#"); part {
		case "task":
			return putTask
		case "slot":
			return takeSlot
		case "step":
			return putStep
		case "blob":
			return putBlob
		}
	}
	return kind(c.Operation)
}
