package task_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"toolhost/pkg/fault"
	"toolhost/pkg/limits"
	"toolhost/pkg/task"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var (
	born = time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)
	now  = born.Add(time.Minute)
)

// The states that a task can be in, each made by the events that lead there.
func created() task.Task {
	return task.Create(task.Spec{ID: "id", Birth: "birth", Tool: "deploy", Arguments: json(`{"a":1}`)}, born)
}

func json(s string) task.Payload { return task.NewPayload([]byte(s)) }

func must(t task.Task, err error) task.Task {
	if err != nil {
		panic(err)
	}
	return t
}

func claimed() task.Task { return must(task.Claim(created(), "me", limits.Lease, now)) }

func cancelling() task.Task { return must(task.RequestCancel(claimed(), now)) }

func asked(keys ...string) task.Task {
	var questions []task.Input
	for _, k := range keys {
		questions = append(questions, task.Input{Key: k, Method: "elicitation/create", Params: json(`{"message":"?"}`)})
	}
	return must(task.Ask(claimed(), "me", questions, now))
}

func asleep() task.Task { return must(task.Sleep(claimed(), "me", now.Add(time.Hour), now)) }

func awaiting() task.Task { return must(task.AwaitCallback(claimed(), "me", "built", now)) }

func another() task.Task { return must(task.Claim(created(), "another", limits.Lease, now)) }

func abandoned() task.Task {
	return must(task.Claim(created(), "another", limits.Lease, now.Add(-limits.Lease-limits.Slack)))
}

func completed() task.Task { return must(task.Complete(claimed(), "me", json(`{}`), now)) }

func failed() task.Task {
	return must(task.Fail(claimed(), "me", json(`{"code":-32603}`), "it broke", now))
}

func cancelled() task.Task { return must(task.RequestCancel(created(), now)) }

func expired() task.Task {
	return task.Create(task.Spec{ID: "id", Birth: "birth", TTL: time.Second}, born)
}

type state struct {
	name string
	make func() task.Task
}

var states = []state{
	{"new", created}, {"mine", claimed}, {"another's", another}, {"abandoned", abandoned}, {"cancelling", cancelling},
	{"asleep", asleep}, {"awaiting", awaiting}, {"input_required", func() task.Task { return asked("open") }},
	{"completed", completed}, {"failed", failed}, {"cancelled", cancelled}, {"expired", expired},
}

// events are the events as the worker "me", a client or a reader would cause them.
var events = map[task.Event]func(task.Task, time.Time) (task.Task, error){
	task.EventClaim: func(t task.Task, now time.Time) (task.Task, error) { return task.Claim(t, "next", limits.Lease, now) },
	task.EventRenew: func(t task.Task, now time.Time) (task.Task, error) { return task.Renew(t, "me", limits.Lease, now) },
	task.EventReport: func(t task.Task, now time.Time) (task.Task, error) {
		return task.Report(t, "me", "half way", now)
	},
	task.EventAsk: func(t task.Task, now time.Time) (task.Task, error) {
		return task.Ask(t, "me", []task.Input{{Key: "more", Method: "roots/list"}}, now)
	},
	task.EventAnswer: func(t task.Task, now time.Time) (task.Task, error) {
		return task.Answer(t, map[string]task.Payload{"open": json(`{"action":"accept"}`)}, now)
	},
	task.EventSleep: func(t task.Task, now time.Time) (task.Task, error) {
		return task.Sleep(t, "me", now.Add(time.Hour), now)
	},
	task.EventAwaitCallback: func(t task.Task, now time.Time) (task.Task, error) {
		return task.AwaitCallback(t, "me", "built", now)
	},
	task.EventResolve: func(t task.Task, now time.Time) (task.Task, error) {
		return task.Resolve(t, "built", json(`{"ok":true}`), "digest", now)
	},
	task.EventRelease: func(t task.Task, now time.Time) (task.Task, error) {
		return task.Release(t, "me", time.Time{}, false, now)
	},
	task.EventComplete: func(t task.Task, now time.Time) (task.Task, error) {
		return task.Complete(t, "me", json(`{"content":[]}`), now)
	},
	task.EventFail: func(t task.Task, now time.Time) (task.Task, error) {
		return task.Fail(t, "", json(`{"code":-32603}`), "it broke", now)
	},
	task.EventRequestCancel: task.RequestCancel,
	task.EventRevoke:        task.Revoke,
	task.EventSettle:        func(t task.Task, now time.Time) (task.Task, error) { return task.Settle(t, "me", now) },
	task.EventNudge:         task.Nudge,
}

// show is what an event did, in a word or two.
func show(from, to task.Task, err error) string {
	switch {
	case errors.Is(err, task.ErrExpired):
		return "(gone)"
	case errors.Is(err, task.ErrNotHeld):
		return "(not held)"
	case errors.Is(err, task.ErrNoChange):
		return "no change"
	case fault.Is(err, fault.Conflict):
		return "(conflict)"
	case fault.Is(err, fault.Illegal):
		return "-"
	case err != nil:
		return "(" + err.Error() + ")"
	}
	s := string(to.Status)
	switch {
	case to.Status != task.Working:
	case to.CancelRequested:
		s = "cancelling"
	case to.Lease != nil && (from.Lease == nil || to.Lease.Run != from.Lease.Run):
		s = "claimed"
	case to.Awaiting != "":
		s = "awaiting"
	case to.WakeAt.After(now):
		s = "asleep"
	case to.Lease == nil && from.Lease != nil:
		s = "released"
	}
	return s
}

// TestMatrix shows every event in every state; testdata/matrix.txt is the table to read.
func TestMatrix(t *testing.T) { // R-X2: the terminal columns are empty
	var b strings.Builder
	b.WriteString("# What each event makes of a task. The worker is \"me\"; Fail comes from outside, by somebody without a lease.\n" +
		"# -: illegal. (…): refused. go test ./pkg/task -update rewrites this file.\n\n")
	line := func(cells ...string) {
		row := fmt.Sprintf("%-14s", cells[0])
		for _, c := range cells[1:] {
			row += fmt.Sprintf(" %-15s", c)
		}
		b.WriteString(strings.TrimRight(row, " ") + "\n")
	}
	head := []string{""}
	for _, s := range states {
		head = append(head, s.name)
	}
	line(head...)
	for _, e := range task.Events {
		row := []string{string(e)}
		for _, s := range states {
			from := s.make()
			to, err := events[e](from, now)
			row = append(row, show(from, to, err))
		}
		line(row...)
	}
	const file = "testdata/matrix.txt"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("the matrix has changed; got\n%s\nwant\n%s", b.String(), want)
	}
}

// TestEvents holds what is true of all events in all states.
func TestEvents(t *testing.T) {
	if len(events) != len(task.Events) {
		t.Fatalf("%d events are tested, %d exist", len(events), len(task.Events))
	}
	for _, e := range task.Events {
		for _, s := range states {
			t.Run(fmt.Sprintf("%s/%s", e, s.name), func(t *testing.T) {
				from, same := s.make(), s.make()
				to, err := events[e](from, now)
				if d := diff(same, from); d != "" {
					t.Errorf("the argument was changed:\n%s", d)
				}
				if d := diff(same, to); err != nil && d != "" {
					t.Errorf("refused, yet the task that comes back differs:\n%s", d)
				}
				if (from.Status.Terminal() || s.name == "expired") && err == nil {
					t.Errorf("a task that is over was moved") // R-X2, R-G8
				}
			})
		}
	}
}

// diff shows two tasks if they differ in anything at all.
func diff(want, got task.Task) string {
	w, g := dump(want), dump(got)
	if w == g {
		return ""
	}
	return "want " + w + "\ngot  " + g
}

func dump(t task.Task) string {
	lease := "none"
	if t.Lease != nil {
		lease = fmt.Sprintf("%+v", *t.Lease)
	}
	t.Lease = nil
	return fmt.Sprintf("%+v lease %s", t, lease)
}
