package durability

import (
	"encoding/json"
	"strings"
	"sync"
	"time"

	"toolhost/infra/emulator"
)

// fault is what befalls one call to AWS.
type fault string

const (
	killedBefore fault = "killed before" // SIGKILL to whoever calls; the call is not made
	killedAfter  fault = "killed after"  // the call is made, and nobody is there for the reply
	dropped      fault = "dropped"       // the call is made, and the connection cut before the reply
	refused      fault = "refused"       // this call and all that follow get a 500, until the caller gives up
	doubled      fault = "doubled"       // the message is sent, or received, twice
	delayed      fault = "delayed"       // the call takes three seconds
	overtaken    fault = "overtaken"     // before the call arrives, another worker does all there is to do, now and when the next message is visible
)

var faults = []fault{killedBefore, killedAfter, dropped, refused, doubled, delayed, overtaken}

// awsCall is one call to AWS.
type awsCall struct {
	caller    string // "server", "worker", or "source", the event source
	operation string
	item      string // the kind of what is put: "task", "step" or "blob"
	step      string // the name of the step that is put
}

func (c awsCall) String() string {
	return strings.Join(strings.Fields(c.caller+" "+c.operation+" "+c.item+" "+c.step), " ")
}

// meets reports whether the fault means anything to the call. Nobody kills the
// event source, and only messages are doubled: other calls are made twice when the
// SDK repeats one whose reply was dropped.
func (c awsCall) meets(f fault) bool {
	switch f {
	case killedBefore, killedAfter:
		return c.caller != "source"
	case doubled:
		return c.operation == "SendMessage" || c.operation == "ReceiveMessage"
	}
	return true
}

// describe says what a call is.
func (s *stage) describe(c emulator.Call) awsCall {
	out := awsCall{caller: "worker", operation: c.Operation}
	s.mu.Lock()
	switch s.actor {
	case nil:
		out.caller = "source"
	case s.server:
		out.caller = "server"
	}
	s.mu.Unlock()
	var put struct {
		Item struct {
			SK struct{ S string } `json:"sk"`
		}
	}
	if json.Unmarshal(c.Body, &put) == nil {
		parts := strings.SplitN(put.Item.SK.S, "#", 3) // task, step#BIRTH#NAME or blob#ID#N
		if out.item = parts[0]; out.item == "step" {
			out.step = parts[2]
		}
	}
	return out
}

// tally notes every call from now on.
func (s *stage) tally() (calls func() []awsCall) {
	var mu sync.Mutex
	var all []awsCall
	s.faults.Inject(func(c emulator.Call) emulator.Effect {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, s.describe(c))
		return emulator.Serve
	})
	return func() []awsCall {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

// blow is a fault that has befallen a call.
type blow struct {
	call  awsCall
	fault fault
}

// cut is the name of the step that may be done again: it had its effect before
// the blow, and its record was not made, or too late.
func (b blow) cut() string {
	switch b.fault {
	case killedBefore, refused, overtaken:
		return b.call.step
	}
	return ""
}

// strike lets faults befall calls, counted from now on; blows are those that did.
func (s *stage) strike(at map[int]fault) (blows func() []blow) {
	var mu sync.Mutex
	var all []blow
	seen := 0
	next := func(c emulator.Call) (f fault, hit bool) {
		mu.Lock()
		defer mu.Unlock()
		seen++
		call := s.describe(c)
		if f, hit = at[seen]; !hit || !call.meets(f) {
			return "", false
		}
		all = append(all, blow{call, f})
		return f, true
	}
	s.faults.Inject(func(c emulator.Call) emulator.Effect {
		if f, hit := next(c); hit {
			return s.befall(f)
		}
		if s.suffers() {
			return emulator.Fail
		}
		return emulator.Serve
	})
	return func() []blow {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

// befall brings the fault on whoever acts.
func (s *stage) befall(f fault) emulator.Effect {
	switch f {
	case killedBefore:
		s.acting().kill()
		return emulator.Lose
	case killedAfter: // the emulator serves it after the death, which is the same
		s.acting().kill()
		return emulator.Drop
	case dropped:
		return emulator.Drop
	case refused:
		s.suffer()
		return emulator.Fail
	case doubled:
		return emulator.Duplicate
	case delayed:
		s.move(3 * time.Second)
	case overtaken:
		if !s.overtaking.CompareAndSwap(false, true) {
			break // the other worker itself: there is no third
		}
		s.wait()
		for s.deliverTo(&s.second) {
		}
		s.overtaking.Store(false)
	}
	return emulator.Serve
}

func (s *stage) suffer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outage = true
}

func (s *stage) suffers() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.outage
}
