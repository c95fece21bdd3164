package durability

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"toolhost/infra/emulator"
	"toolhost/infra/emulator/lambda"
	"toolhost/pkg/client"
	"toolhost/pkg/clock"
	"toolhost/pkg/limits"
)

var seed = flag.Uint64("seed", 0, "of the random faults; 0 draws one. It repeats the faults, not how the processes are scheduled")

// chance draws for a test, from -seed.
func chance(t *testing.T) *rand.Rand {
	chosen := *seed
	if chosen == 0 {
		chosen = rand.Uint64()
	}
	t.Logf("-seed %d", chosen)
	return rand.New(rand.NewPCG(chosen, 0))
}

// source is Lambda's event source mapping between both queues and a number of
// worker processes.
type source struct {
	*stage
	free            chan *process // nil stands for one that is to be started
	all             sync.Map      // *process → true, those that were started
	busy            atomic.Int32
	started, killed atomic.Int32
}

// skews are how far the clocks of the workers' machines are off: within what two
// may differ by (invariant 7).
var skews = []time.Duration{0, limits.Slack / 2, -limits.Slack / 2}

// work lets so many workers handle messages until the returned function is called.
func (s *stage) work(workers int, throttled func() bool) (w *source, end func()) {
	w = &source{stage: s, free: make(chan *process, workers)}
	for range workers {
		w.free <- nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, dead := range []bool{false, true} {
		_, url := s.queue(dead)
		timeout := s.timeout
		if dead {
			timeout = time.Minute
		}
		m := &lambda.Mapping{Queue: s.sqs, QueueURL: url, Timeout: timeout, MaximumConcurrency: workers, ReportBatchItemFailures: true,
			Throttled: throttled, Clock: impatient{s.clock}, Log: slog.New(slog.DiscardHandler),
			Function: func(_ context.Context, event []byte) ([]byte, error) { return w.invoke(event, dead) }}
		running.Go(func() {
			if err := m.Run(ctx); err != nil {
				s.t.Error(err)
			}
		})
	}
	return w, func() {
		cancel()
		running.Wait()
	}
}

// impatient repeats a failed poll at once.
type impatient struct{ clock.Clock }

// After implements clock.Clock.
func (i impatient) After(time.Duration) (<-chan time.Time, func()) { return i.Clock.After(0) }

func (w *source) invoke(event []byte, dead bool) ([]byte, error) {
	w.busy.Add(1)
	defer w.busy.Add(-1)
	p := <-w.free
	if p == nil || p.dead() {
		on := w.setting(roleWorker)
		on.Skew = skews[int(w.started.Add(1))%len(skews)]
		p = spawn(w.t, on)
		w.all.Store(p, true)
	}
	answer := p.invoke(told{Now: w.clock.Now(), Event: event, Timeout: w.timeout, DeadLetter: dead})()
	w.free <- p
	if answer == nil {
		w.all.Delete(p)
		return nil, errors.New("the process died")
	}
	return answer, nil
}

// kill kills one of the workers, whatever it does.
func (w *source) kill() {
	w.all.Range(func(p, _ any) bool {
		w.killed.Add(1)
		p.(*process).kill()
		return false
	})
}

// idle moves the clock to where there is something to do again. It reports false
// if nothing will ever be.
func (w *source) idle() bool {
	if w.busy.Load() > 0 {
		runtime.Gosched()
		return true
	}
	for _, dead := range []bool{false, true} {
		name, _ := w.queue(dead)
		if visible, _, _ := w.services.SQS.Depth(name); visible > 0 {
			runtime.Gosched()
			return true
		}
	}
	return w.wait() || w.busy.Load() > 0
}

// TestStorm lets a thousand tasks with a question each meet faults at random: a
// tenth of all calls to AWS is throttled, refused, lost, or has its reply lost;
// messages come twice; workers and the server are killed; clocks differ. A tenth
// of the tasks is cancelled as soon as it is made. All tasks end as they should,
// and none a second time. A sample is a hundred tasks.
func TestStorm(t *testing.T) { // cases 1, 2, 10, 18, 48, 61
	random := chance(t)
	tasks := 1000
	if sampled() {
		tasks = 100
	}
	s := newStage(t)
	workers, end := s.work(3, nil)
	defer end()
	s.weather(random, workers)

	ids := make([]string, tasks)
	for i := range ids {
		s.key = fmt.Sprint("task ", i)
		ids[i] = s.call("ask", nameAnswer{fmt.Sprint(i)})
		if cancelled(i) {
			s.cancel(ids[i])
		}
	}
	ends := make([]client.Task, tasks)
	for open := tasks; open > 0; {
		open = 0
		moved := false
		for i, id := range ids {
			if ends[i].Terminal() {
				continue
			}
			switch got := s.get(id); {
			case got.Terminal():
				ends[i], moved = got, true
			case got.Status == client.InputRequired:
				s.answer(got)
				moved = true
				open++
			default:
				open++
			}
		}
		if !moved && open > 0 && !workers.idle() {
			t.Fatalf("%d tasks are forgotten", open)
		}
	}
	s.faults.Inject(nil)
	for workers.idle() { // what is still in the queues
	}
	for i, before := range ends {
		if want := fmt.Sprintf("%d greets Ada", i); text(before) != want && !cancelled(i) || cancelled(i) && before.Status != client.Cancelled {
			t.Errorf("task %d ended with %s", i, before.Raw)
		}
		if after := s.get(ids[i]); string(after.Result) != string(before.Result) || !after.LastUpdatedAt.Equal(before.LastUpdatedAt) {
			t.Errorf("task %d ended again: %s, then %s", i, before.Raw, after.Raw)
		}
	}
	greeted := map[string][]string{}
	for _, e := range s.journal.effects(t) {
		greeted[e.Call] = append(greeted[e.Call], e.Token)
	}
	again := 0
	for _, tokens := range greeted {
		for _, token := range tokens[1:] {
			if again++; token != tokens[0] {
				t.Errorf("a step was done again under another idempotency token")
			}
		}
	}
	if len(greeted) != tasks-tasks/10 {
		t.Errorf("%d calls greeted", len(greeted))
	}
	calls := 0
	for _, n := range s.faults.Counts() {
		calls += n
	}
	t.Logf("%d tasks, %d calls to AWS, %d workers killed, %d steps done again", tasks, calls, workers.killed.Load(), again)
}

// cancelled says which tasks the client cancels, whatever they do by then.
func cancelled(i int) bool { return i%10 == 9 }

// weather brings faults on a tenth of all calls.
func (s *stage) weather(random *rand.Rand, workers *source) {
	var mu sync.Mutex
	s.faults.Inject(func(c emulator.Call) emulator.Effect {
		mu.Lock()
		now := random.Float64()
		mu.Unlock()
		switch {
		case now < 0.03:
			return emulator.Throttle
		case now < 0.04:
			return emulator.Fail
		case now < 0.05:
			return emulator.Lose
		case now < 0.08:
			return emulator.Drop
		case now < 0.09 && (c.Operation == "SendMessage" || c.Operation == "ReceiveMessage"):
			return emulator.Duplicate
		case now < 0.094:
			workers.kill()
			return emulator.Lose
		case now < 0.099:
			workers.kill()
		case now < 0.1:
			s.mu.Lock()
			defer s.mu.Unlock()
			s.server.kill()
		}
		return emulator.Serve
	})
}
