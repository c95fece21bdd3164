package emulator

import "sync"

// Effect is what a fault does to one call.
type Effect uint8

const (
	// Serve does nothing special.
	Serve Effect = iota
	// Throttle refuses the call with the service's throttling error; nothing is done.
	Throttle
	// Fail answers 500 InternalServerError; nothing is done.
	Fail
	// Drop does the call and then cuts the connection: the caller never learns.
	Drop
	// Lose cuts the connection and does nothing.
	Lose
	// Duplicate does a SendMessage twice, or hands a received message out once more.
	Duplicate
)

// Call describes an API call that has arrived.
type Call struct {
	Service   string // "dynamodb" or "sqs"
	Operation string // "PutItem", "SendMessage", …
	N         int    // 1 for the first call of this service and operation
	Body      []byte // the request as JSON
}

// Faults decides the fate of calls. The zero value serves everything.
type Faults struct {
	mu     sync.Mutex
	decide func(Call) Effect
	counts map[string]int
}

// Inject makes decide choose the effect of every call from now on; nil heals.
// It may block (to hold a call), and may kill whoever it likes.
func (f *Faults) Inject(decide func(Call) Effect) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.decide = decide
}

// Decide counts the call and returns its effect.
func (f *Faults) Decide(service, operation string, body []byte) Effect {
	f.mu.Lock()
	if f.counts == nil {
		f.counts = map[string]int{}
	}
	f.counts[service+"/"+operation]++
	n, decide := f.counts[service+"/"+operation], f.decide
	f.mu.Unlock()
	if decide == nil {
		return Serve
	}
	return decide(Call{Service: service, Operation: operation, N: n, Body: body})
}

// Counts returns how many calls arrived, by "service/Operation".
func (f *Faults) Counts() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make(map[string]int, len(f.counts))
	for k, v := range f.counts {
		out[k] = v
	}
	return out
}
