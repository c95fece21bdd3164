package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"toolhost/pkg/client"
	"toolhost/pkg/clock"
	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/protocol"
)

func TestCall(t *testing.T) {
	url := serve(t, nil)
	connect := func(o client.Options) *client.Client {
		o.Clock = hasty{}
		return client.New(url, o)
	}
	t.Run("a_plain_result", func(t *testing.T) {
		got, err := connect(client.Options{}).Call(t.Context(), "greet", json.RawMessage(`{"name":"<Ada> & \"co\""}`), client.Watch{})
		if err != nil || text(t, got) != `Hello, <Ada> & "co"!` {
			t.Errorf("%s, %v", got, err)
		}
	})
	t.Run("a_task_is_followed_to_its_result", func(t *testing.T) { // R-C1, R-G3
		var seen []client.Task
		got, err := connect(client.Options{}).Call(t.Context(), "slow_compute", json.RawMessage(`{"seconds":1,"label":"x"}`),
			client.Watch{Task: func(task client.Task) { seen = append(seen, task) }})
		if err != nil || !strings.Contains(text(t, got), "1 seconds") {
			t.Fatalf("%s, %v", got, err)
		}
		if first, last := seen[0], seen[len(seen)-1]; first.ID == "" || first.Status != client.Working || last.Status != client.Completed {
			t.Errorf("told %+v … %+v", first, last)
		}
	})
	t.Run("a_tool_error_is_a_result", func(t *testing.T) {
		got, err := connect(client.Options{}).Call(t.Context(), "failing_job", nil, client.Watch{})
		if err != nil || !strings.Contains(string(got), `"isError":true`) {
			t.Errorf("%s, %v", got, err)
		}
	})
	t.Run("a_failed_task_is_its_error", func(t *testing.T) { // R-G4
		_, err := connect(client.Options{}).Call(t.Context(), "protocol_error_job", nil, client.Watch{})
		var failed *client.FailedError
		if !errors.As(err, &failed) || failed.Code != jsonrpc.CodeInternal || failed.TaskID == "" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a_refused_call_is_the_servers_error", func(t *testing.T) {
		_, err := connect(client.Options{}).Call(t.Context(), "no such tool", nil, client.Watch{})
		var refused *client.Error
		if !errors.As(err, &refused) || refused.Code != jsonrpc.CodeInvalidParams {
			t.Errorf("got %v", err)
		}
	})
	t.Run("questions_come_in_the_order_asked_and_once_each", func(t *testing.T) { // R-G2, R-U3
		a := &answers{content: map[string]string{"name": `{"name":"Ada"}`, "confirm": `{"confirm":true}`}}
		got, err := connect(client.Options{Answerer: a.answer}).Call(t.Context(), "multi_input", nil, client.Watch{})
		if err != nil || text(t, got) != "Ada, confirmed: true." || !slices.Equal(a.asked, []string{"name", "confirm"}) {
			t.Errorf("%s, %v, asked %v", got, err, a.asked)
		}
	})
	t.Run("rounds_come_before_the_task", func(t *testing.T) { // R-C4
		a := &answers{content: map[string]string{"user_name": `{"name":"Ada"}`}}
		got, err := connect(client.Options{Answerer: a.answer}).Call(t.Context(), "test_tool_with_task", nil, client.Watch{})
		if err != nil || text(t, got) != "Hello, Ada!" {
			t.Errorf("%s, %v", got, err)
		}
	})
	t.Run("the_request_state_is_echoed_byte_for_byte_and_answers_once", func(t *testing.T) { // R-H9, R-H13
		wire := &recorder{}
		a := &answers{content: map[string]string{"step1": `{"name":"Ada"}`, "step2": `{"color":"red"}`}}
		c := client.New(url, client.Options{Answerer: a.answer, HTTP: &http.Client{Transport: wire}})
		got, err := c.Call(t.Context(), "test_input_required_result_multi_round", nil, client.Watch{})
		if err != nil || text(t, got) != "Ada likes red." || len(wire.requests) != 3 {
			t.Fatalf("%s, %v after %d requests", got, err, len(wire.requests))
		}
		for i, state := range wire.states(t)[:2] {
			sent := wire.requests[i+1].Params
			if state == "" || sent["requestState"] != state {
				t.Errorf("round %d: got %q, sent back %v", i, state, sent["requestState"])
			}
			if responses := sent["inputResponses"].(map[string]any); len(responses) != 1 {
				t.Errorf("round %d: sent %v", i, responses)
			}
		}
	})
	t.Run("progress_arrives_on_the_calls_own_stream", func(t *testing.T) { // R-L8
		var done []float64
		_, err := connect(client.Options{}).Call(t.Context(), "test_tool_with_progress", nil,
			client.Watch{Progress: func(d, total float64, _ string) { done = append(done, d/total) }})
		if err != nil || !slices.Equal(done, []float64{0, 0.5, 1}) {
			t.Errorf("%v, %v", done, err)
		}
	})
	t.Run("arguments_are_mirrored_in_headers_though_the_tool_was_never_listed", func(t *testing.T) { // R-H2
		for _, region := range []string{`"eu"`, `""`, `" =?base64?x"`, `null`, `"Malmö"`} {
			got, err := connect(client.Options{}).Call(t.Context(), "test_x_mcp_header", json.RawMessage(`{"region":`+region+`}`), client.Watch{})
			if err != nil {
				t.Errorf("%s: %s, %v", region, got, err)
			}
		}
	})
	t.Run("without_an_Answerer_the_server_learns_that_nobody_can_be_asked", func(t *testing.T) { // R-U8, R-N8
		_, err := connect(client.Options{}).Call(t.Context(), "test_input_required_result_elicitation", nil, client.Watch{})
		var refused *client.Error
		if !errors.As(err, &refused) || refused.Code != protocol.CodeMissingCapability {
			t.Errorf("got %v", err)
		}
	})
	t.Run("the_early_name_of_the_revision_works_too", func(t *testing.T) {
		c := connect(client.Options{Revision: protocol.Revision20260630})
		got, err := c.Call(t.Context(), "test_x_mcp_header", json.RawMessage(`{"region":"eu"}`), client.Watch{})
		if err != nil {
			t.Errorf("%s, %v", got, err)
		}
	})
	t.Run("the_end_of_its_context_ends_the_wait_and_not_the_task", func(t *testing.T) {
		c := connect(client.Options{})
		ctx, stop := context.WithCancel(t.Context())
		var id string
		_, err := c.Call(ctx, "slow_compute", json.RawMessage(`{"seconds":600}`), client.Watch{Task: func(task client.Task) { id = task.ID; stop() }})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		if task, err := c.Get(t.Context(), id); err != nil || task.Terminal() {
			t.Fatalf("%+v, %v", task, err)
		}
		if err := c.Cancel(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Wait(t.Context(), id, client.Watch{}); !errors.Is(err, client.ErrCancelled) {
			t.Errorf("got %v", err)
		}
	})
}

// blocked is an Answerer that tells when it is asked and waits for its context.
type blocked struct{ asked, left chan string }

func newBlocked() blocked { return blocked{make(chan string, 2), make(chan string, 2)} }

func (b blocked) answer(ctx context.Context, q client.Question) (json.RawMessage, error) {
	b.asked <- q.Key
	<-ctx.Done()
	b.left <- q.Key
	return nil, ctx.Err()
}

func TestWait(t *testing.T) {
	url := serve(t, nil)
	other := client.New(url, client.Options{})
	// ask calls a tool that asks, and returns when its question is open.
	ask := func(t *testing.T, b blocked, tool string) (id string, ended chan error) {
		t.Helper()
		c := client.New(url, client.Options{Answerer: b.answer, Clock: hasty{}})
		o, err := c.Start(t.Context(), tool, nil, client.Watch{})
		if err != nil {
			t.Fatal(err)
		}
		ended = make(chan error, 1)
		go func() {
			_, err := c.Wait(t.Context(), o.Task.ID, client.Watch{})
			ended <- err
		}()
		<-b.asked
		return o.Task.ID, ended
	}
	t.Run("a_question_that_is_answered_elsewhere_is_withdrawn", func(t *testing.T) {
		b := newBlocked()
		id, ended := ask(t, b, "confirm_delete")
		if err := other.Answer(t.Context(), id, map[string]json.RawMessage{"confirm": json.RawMessage(`{"action":"accept","content":{"confirm":true}}`)}); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err != nil || <-b.left != "confirm" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a_cancel_from_elsewhere_withdraws_the_question", func(t *testing.T) { // R-X3, case 55
		b := newBlocked()
		id, ended := ask(t, b, "confirm_delete")
		if err := other.Cancel(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, client.ErrCancelled) || <-b.left != "confirm" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("of_two_questions_the_other_is_put_when_the_first_is_answered_elsewhere", func(t *testing.T) { // case 54
		b := newBlocked()
		id, ended := ask(t, b, "multi_input")
		if err := other.Answer(t.Context(), id, map[string]json.RawMessage{"name": json.RawMessage(`{"action":"decline"}`)}); err != nil {
			t.Fatal(err)
		}
		if next := <-b.asked; next != "confirm" {
			t.Errorf("asked %s", next)
		}
		if err := other.Cancel(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		<-ended
	})
	t.Run("a_refused_answer_is_asked_for_again_with_the_reason", func(t *testing.T) { // R-U7
		var reasons []string
		c := client.New(url, client.Options{Clock: hasty{}, Answerer: func(_ context.Context, q client.Question) (json.RawMessage, error) {
			if reasons = append(reasons, q.Refused); q.Refused == "" {
				return json.RawMessage(`{"confirm":true}`), nil
			}
			return json.RawMessage(`{"action":"decline"}`), nil
		}})
		got, err := c.Call(t.Context(), "confirm_delete", nil, client.Watch{})
		if err != nil || len(reasons) != 2 || !strings.Contains(reasons[1], "action") {
			t.Errorf("%s, %v, reasons %q", got, err, reasons)
		}
	})
	t.Run("an_answer_that_is_refused_again_and_again_is_an_error", func(t *testing.T) {
		c := client.New(url, client.Options{Clock: hasty{}, Answerer: func(context.Context, client.Question) (json.RawMessage, error) {
			return json.RawMessage(`[]`), nil
		}})
		_, err := c.Call(t.Context(), "confirm_delete", nil, client.Watch{})
		var refused *client.Error
		if !errors.As(err, &refused) || refused.Code != jsonrpc.CodeInvalidParams {
			t.Errorf("got %v", err)
		}
	})
	t.Run("an_unknown_task", func(t *testing.T) { // R-G7
		_, err := other.Wait(t.Context(), "3f0c…", client.Watch{})
		if !errors.Is(err, client.ErrUnknownTask) || !errors.Is(other.Cancel(t.Context(), ""), client.ErrUnknownTask) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a_task_that_expires_meanwhile_is_unknown", func(t *testing.T) { // R-G8, case 5
		moved := clock.NewMovable()
		b := newBlocked()
		c := client.New(serve(t, moved), client.Options{Answerer: b.answer, Clock: hasty{}})
		ended := make(chan error, 1)
		go func() {
			_, err := c.Call(t.Context(), "hello_world", nil, client.Watch{})
			ended <- err
		}()
		<-b.asked
		moved.Advance(25 * time.Hour)
		if err := <-ended; !errors.Is(err, client.ErrUnknownTask) {
			t.Errorf("got %v", err)
		}
	})
}

// recorder keeps what goes over the wire.
type recorder struct {
	mu       sync.Mutex
	requests []struct{ Params map[string]any }
	answers  [][]byte
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	sent := readAll(&req.Body)
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var request struct{ Params map[string]any }
	if err := json.Unmarshal(sent, &request); err != nil {
		return nil, err
	}
	r.requests = append(r.requests, request)
	r.answers = append(r.answers, readAll(&resp.Body))
	return resp, nil
}

func (r *recorder) states(t *testing.T) (states []string) {
	for _, raw := range r.answers {
		var a struct{ Result struct{ RequestState string } }
		if err := json.Unmarshal(raw, &a); err != nil {
			t.Fatal(err)
		}
		states = append(states, a.Result.RequestState)
	}
	return states
}
