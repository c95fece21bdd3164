package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// round is what is kept of a result with InputRequests, the SDK's own way to
// ask: the handler is called again with the answers, under the names that it
// chose, and its own requestState.
type round struct {
	// Keys are the questions' keys by the handler's own names. A name that was
	// answered before goes out as NAME~2, NAME~3: a task's keys are used once (R-U4).
	Keys map[string]string `json:"keys"`
	// Questions are kept by a task alone, which may die before they are asked.
	Questions []Question `json:"questions,omitempty"`
	State     string     `json:"state,omitempty"`
}

const roundPrefix = "~round/"

func isRound(record string) bool { return strings.HasPrefix(record, roundPrefix) }

// replayNative fills the last round's answers into params. If that round was
// recorded but its questions never asked, it returns them instead.
func (r *run) replayNative(params *mcp.CallToolParamsRaw) *Outcome {
	last, _, err := r.lastRound()
	if err != nil {
		out := internal(err)
		return &out
	}
	if last == nil {
		return nil
	}
	params.RequestState = last.State
	params.InputResponses = mcp.InputResponseMap{}
	for name, key := range last.Keys {
		a := r.find(key)
		if a == nil {
			continue
		}
		response, err := nativeResponse(a)
		if err != nil {
			out := toolError(fmt.Sprintf("The answer %q can't be read.", name))
			return &out
		}
		params.InputResponses[name] = response
	}
	var open []Question
	for _, q := range last.Questions {
		if r.find(q.Key) == nil {
			open = append(open, q)
		}
	}
	if len(open) > 0 {
		return &Outcome{Kind: Asked, Questions: open}
	}
	return nil
}

// lastRound is the newest round and its number, from 1 on; nil and 0 before the first.
func (r *run) lastRound() (*round, int, error) {
	text, n := json.RawMessage(r.call.State), 0
	if r.call.Steps != nil {
		text = nil
		for {
			next := r.recorded(roundPrefix + strconv.Itoa(n+1))
			if next == nil {
				break
			}
			text = next
			n++
		}
	}
	if len(text) == 0 {
		return nil, n, nil
	}
	last := new(round)
	if err := json.Unmarshal(text, last); err != nil {
		return nil, 0, fmt.Errorf("the state of the last round: %w", err)
	}
	return last, n, nil
}

func (r *run) find(key string) *Answer {
	for i := range r.call.Answers {
		if r.call.Answers[i].Key == key {
			return &r.call.Answers[i]
		}
	}
	return nil
}

// nativeResponse decodes an answer to what the SDK gives a handler.
func nativeResponse(a *Answer) (response mcp.InputResponse, err error) {
	switch a.Method {
	case methodSample:
		response = new(mcp.CreateMessageWithToolsResult)
	case methodRoots:
		response = new(mcp.ListRootsResult)
	default:
		response = new(mcp.ElicitResult)
	}
	return response, json.Unmarshal(a.Response, response)
}

// askNative suspends the run for a result with InputRequests.
func (r *run) askNative(ctx context.Context, res *mcp.CallToolResult) error {
	if len(res.Content) > 0 || res.StructuredContent != nil {
		return r.refuse("The tool returned both content and InputRequests.")
	}
	wire, err := encode(res.InputRequests)
	if err != nil {
		return r.refuse("The tool returned InputRequests that can't be encoded.")
	}
	var requests map[string]Question
	if err := json.Unmarshal(wire, &requests); err != nil {
		return r.refuse("The tool returned InputRequests that can't be encoded.")
	}
	next := &round{Keys: map[string]string{}, State: res.RequestState}
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		if !isRecordName(name) {
			return r.refuse("A question has the key %q: want 1 to %d bytes of text without ~ or control characters.", name, maxName)
		}
		q := requests[name]
		q.Key = r.freeKey(name)
		next.Keys[name] = q.Key
		next.Questions = append(next.Questions, q)
	}
	if err := r.checkCapabilities(next.Questions); err != nil {
		return err
	}
	if r.call.Steps == nil {
		return r.askSynchronously(next)
	}
	if len(next.Questions) == 0 {
		return Retry(fmt.Errorf("the tool asked to be called again later"), time.Second)
	}
	_, n, err := r.lastRound()
	if err != nil {
		return err
	}
	text, err := encode(next)
	if err != nil {
		return err
	}
	if text, err = r.record(ctx, roundPrefix+strconv.Itoa(n+1), text); err != nil {
		return err
	}
	if err := json.Unmarshal(text, next); err != nil {
		return err
	}
	return r.ask(next.Questions)
}

// askSynchronously suspends a run that has no record: the round travels in
// Outcome.State.
func (r *run) askSynchronously(next *round) error {
	questions := next.Questions
	next.Questions = nil
	text, err := encode(next)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.state, r.suspended = string(text), true
	r.mu.Unlock()
	if err := r.ask(questions); err != nil {
		return err
	}
	return &suspension{"it is to be called again"}
}

// freeKey is name, or the first of name~2, name~3, … that has not been answered.
func (r *run) freeKey(name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n := 1; ; n++ {
		if key := numbered(name, n); r.find(key) == nil && !r.keys[key] {
			return key
		}
	}
}

// numbered is the key of a question that is asked for the nth time.
func numbered(key string, n int) string {
	if n == 1 {
		return key
	}
	return key + "~" + strconv.Itoa(n)
}
