package durability

import (
	"maps"
	"reflect"
	"testing"
	"time"

	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"toolhost/pkg/client"
	"toolhost/pkg/limits"
)

// TestPausedWorker stops a worker past its lease. Another one takes the task
// over and completes it; when the first goes on, it changes neither the task nor
// anything that was recorded.
func TestPausedWorker(t *testing.T) { // case 7, invariant 3
	s := newStage(t)
	id := s.call("work", workArguments{Minutes: 3})
	endPaused := s.begin(&s.worker)
	s.worker.awaits(time.Minute)
	s.worker.stop()
	s.move(limits.Visibility)

	s.begin(&s.second)()
	completed := s.get(id)
	if text(completed) != "worked for 3 minutes" {
		t.Fatalf("the second worker left %s\n%s", completed.Raw, s.logs())
	}
	before := s.items()

	s.worker.resume()
	endPaused()
	if after := s.items(); !reflect.DeepEqual(after, before) {
		t.Errorf("the worker that was paused changed what is stored:\n%v\nto\n%v", before, after)
	}
	s.leavesNothing(completed)
	// The paused worker was about to do its first step.
	s.doneOnce(blow{awsCall{step: "minute 1"}, overtaken})
}

// TestKilledWorker kills a worker in the middle of its tool. Another one goes on
// within lease and redelivery, and does nothing again that was recorded.
func TestKilledWorker(t *testing.T) { // case 48
	s := newStage(t)
	id := s.call("work", workArguments{Minutes: 3})
	end := s.begin(&s.worker)
	for range 3 { // twice it has recorded a minute, and now waits for the third
		s.worker.awaits(time.Minute)
		if len(s.journal.effects(t)) < 2 {
			s.move(time.Minute)
		}
	}
	s.worker.kill()
	end()
	died := s.clock.Now()
	for s.get(id).Status == client.Working {
		s.wait()
		if took := s.clock.Now().Sub(died); took > limits.Visibility {
			t.Errorf("the message came back after %v", took)
		}
		s.begin(&s.second)()
	}
	if got := s.get(id); text(got) != "worked for 3 minutes" {
		t.Errorf("%s\n%s", got.Raw, s.logs())
	}
	s.doneOnce()
}

// TestDeadBeforeClaim lets every worker die before it has claimed the task. The
// message goes to the dead-letter queue, comes back a few times, and then the task
// fails; it does not hang.
func TestDeadBeforeClaim(t *testing.T) { // case 62
	s := newStage(t)
	id := s.call("ask", nameAnswer{"Eve"})
	deaths := 0
	for { // nobody polls meanwhile, which would wake the overdue task with another message
		m, dead, ok := s.receive()
		if !ok {
			if s.wait() {
				continue
			}
			break
		}
		switch {
		case dead:
			s.settle(m, dead, s.alive(&s.second, roleWorker).invoke(s.invocation(m, dead))())
		default:
			deaths++ // and its message is hidden for as long as the queue says
		}
	}
	if want := (1 + limits.MaxRedrives) * limits.MaxReceives; deaths != want {
		t.Errorf("it failed after %d deaths, want %d", deaths, want)
	}
	if got := s.get(id); got.Status != client.Failed {
		t.Errorf("%s", got.Raw)
	}
	s.drain()
}

// TestServerDies kills the server when it has answered: a task's work is not its.
func TestServerDies(t *testing.T) { // case 22
	s := newStage(t)
	id := s.call("work", workArguments{})
	s.server.kill()
	s.drain()
	if got := s.get(id); text(got) != "worked for 0 minutes" {
		t.Errorf("%s", got.Raw)
	}
}

// items are all that the database holds, by key.
func (s *stage) items() map[string]map[string]types.AttributeValue {
	s.t.Helper()
	out, err := awsdynamodb.NewFromConfig(s.setting("").access()).Scan(s.t.Context(), &awsdynamodb.ScanInput{TableName: &s.services.Table})
	must(s.t, err)
	all := map[string]map[string]types.AttributeValue{}
	for _, item := range out.Items {
		key := func(name string) string { return item[name].(*types.AttributeValueMemberS).Value }
		all[key("pk")+" "+key("sk")] = maps.Clone(item)
	}
	return all
}
