package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"toolhost/pkg/fault"
	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/limits"
	"toolhost/pkg/protocol"
	"toolhost/pkg/task"
)

// watchesTasks reports whether a subscriptions/listen names tasks (R-N5).
func watchesTasks(c *call) bool {
	var notifications map[string]json.RawMessage
	_ = json.Unmarshal(c.params["notifications"], &notifications)
	_, there := notifications["taskIds"]
	return there
}

// errTimeUp ends a listen that has lasted long enough.
var errTimeUp = errors.New("the time to listen is up")

// listen tells of the caller's tasks as they change: first which ones, then each
// as it is, then each change that is seen, until all are terminal or the time is
// up (R-L1 to R-L6). Every look at them is one read for all that are due. A
// client that listens again misses nothing, for it is told first how things are.
func (s *Server) listen(ctx context.Context, c *call) (any, error) {
	if !c.live || s.limits.MaxListen < 0 {
		return nil, placed{jsonrpc.Errorf(jsonrpc.CodeMethodNotFound,
			"Method not found: %s is not offered by this deployment; poll %s", protocol.MethodListen, protocol.MethodTasksGet), http.StatusNotFound}
	}
	if c.notify == nil {
		return nil, placed{jsonrpc.Errorf(jsonrpc.CodeInvalidRequest,
			"%s is answered by text/event-stream, which the Accept header leaves out", protocol.MethodListen), http.StatusNotAcceptable}
	}
	ids, err := c.taskIDs()
	if err != nil {
		return nil, err
	}
	l := &listener{server: s, call: c, meta: protocol.SubscriptionMeta(c.message.ID)}
	ended := protocol.ListenResult{ResultType: protocol.ResultComplete, Meta: l.meta}
	ctx, cancel := s.withinMargin(ctx)
	defer cancel()
	end, stop := s.clock.After(s.limits.MaxListen)
	defer stop()

	looked, err := l.begin(ctx, ids)
	for err == nil {
		if err = l.tell(ctx, looked); err != nil || len(l.watched) == 0 {
			break
		}
		tick, stop := s.clock.After(l.next().Sub(s.clock.Now()))
		select {
		case <-tick:
			looked, err = l.look(ctx)
		case <-end:
			err = errTimeUp
		case <-ctx.Done():
			err = ctx.Err()
		}
		stop()
		if fault.Is(err, fault.Busy) {
			looked, err = nil, nil // they are due again at their next pace
		}
	}
	if ctx.Err() != nil || err == errTimeUp {
		err = nil // the client has hung up, or may listen again
	}
	return ended, err
}

// taskIDs are the tasks that the client wants to be told of, each once; nil if
// it does not speak of tasks. Other kinds of notifications are not offered: the
// tools are a deployment's own and do not change while it runs.
func (c *call) taskIDs() ([]string, error) {
	var notifications map[string]json.RawMessage
	if raw := c.params["notifications"]; len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &notifications) != nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "params.notifications must be an object")
	}
	raw, named := notifications["taskIds"]
	if !named {
		return nil, nil
	}
	asked := []*string{}
	if json.Unmarshal(raw, &asked) != nil || asked == nil || slices.Contains(asked, nil) {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "params.notifications.taskIds must be an array of strings")
	}
	ids := make([]string, 0, len(asked))
	seen := map[string]bool{}
	for _, id := range asked {
		if !seen[*id] {
			seen[*id] = true
			ids = append(ids, *id)
		}
	}
	if len(ids) > limits.MaxWatched {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "params.notifications.taskIds names %d tasks; one listen watches at most %d", len(ids), limits.MaxWatched)
	}
	return ids, nil
}

// listener is one listen.
type listener struct {
	server *Server
	call   *call
	meta   map[string]json.RawMessage
	// watched are the tasks that may still change, in the order asked.
	watched []*watch
}

// watch is a task that is listened to.
type watch struct {
	id   string
	due  time.Time // when it is to be looked at again
	task task.Task // as last looked at
	told glance
	// over is set when there is nothing more to tell: the task is terminal, or is
	// none of the caller's.
	over bool
}

// glance is all that a client can see of a task but its payloads, which change
// only with it, and the poll interval, which grows by itself.
type glance struct {
	view        protocol.Task
	asked, open int
}

// begin finds the tasks that the caller may watch, and acknowledges them. Why
// any other is left out can't be told (R-G7).
func (l *listener) begin(ctx context.Context, ids []string) ([]*watch, error) {
	for _, id := range ids {
		if id != "" && len(id) <= maxTaskID {
			l.watched = append(l.watched, &watch{id: id})
		}
	}
	looked, err := l.look(ctx)
	if err != nil {
		return nil, err
	}
	l.forget()
	var agreed protocol.Subscriptions
	if ids != nil {
		agreed.TaskIDs = []string{}
	}
	for _, w := range l.watched {
		agreed.TaskIDs = append(agreed.TaskIDs, w.id)
	}
	l.send(protocol.NotificationAcknowledged, protocol.AcknowledgedParams{Notifications: agreed, Meta: l.meta})
	return looked, nil
}

// look reads all tasks that are due, or soon will be, at once.
func (l *listener) look(ctx context.Context) ([]*watch, error) {
	s, now := l.server, l.server.clock.Now()
	var looked []*watch
	var ids []string
	for _, w := range l.watched {
		if soon := now.Add(limits.ListenPace / 2); !w.due.After(soon) {
			w.due = now.Add(limits.ListenPace) // should the read fail
			looked, ids = append(looked, w), append(ids, w.id)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	tasks, err := s.store.LoadMany(ctx, ids)
	if err != nil {
		return nil, err
	}
	found := map[string]task.Task{}
	for _, t := range tasks {
		if t.Owner == l.call.owner && !t.Expired(s.clock.Now()) { // R-V1, R-G8
			found[t.ID] = t
		}
	}
	for _, w := range looked {
		t, there := found[w.id]
		w.task, w.over = t, !there
	}
	return looked, nil
}

// tell sends what the client can see of each task, if that has changed.
func (l *listener) tell(ctx context.Context, looked []*watch) error {
	defer l.forget()
	for _, w := range looked {
		if w.over {
			continue
		}
		now := l.server.clock.Now()
		l.server.nudge(ctx, w.task, now)
		view := protocol.ViewTask(w.task, now)
		w.due = now.Add(pace(view))
		view.PollIntervalMs = 0
		seen := glance{view, len(w.task.Inputs), len(w.task.Outstanding())}
		if seen == w.told {
			continue
		}
		detail, err := l.server.detail(ctx, l.call.revision, w.task, now)
		if fault.Is(err, fault.Busy) {
			continue // told when it is due again
		}
		if err != nil {
			return err
		}
		l.send(protocol.NotificationTasks, protocol.TaskParams{DetailedTask: detail, Meta: l.meta})
		w.told, w.over = seen, w.task.Status.Terminal()
	}
	return nil
}

// pace is the time between two looks at a task: that between two polls, within
// bounds, for a look costs less than a poll and a listener wants to know.
func pace(view protocol.Task) time.Duration {
	return min(max(time.Duration(view.PollIntervalMs)*time.Millisecond, limits.ListenPace), limits.MaxListenPace)
}

// next is when the first task is due; there must be one.
func (l *listener) next() time.Time {
	return slices.MinFunc(l.watched, func(a, b *watch) int { return a.due.Compare(b.due) }).due
}

// forget stops watching what is over.
func (l *listener) forget() {
	l.watched = slices.DeleteFunc(l.watched, func(w *watch) bool { return w.over })
}

func (l *listener) send(method string, params any) {
	l.call.notify(jsonrpc.Notification(method, jsonrpc.Encode(params)))
}
