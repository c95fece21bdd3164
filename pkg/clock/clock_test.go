package clock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"toolhost/pkg/clock"
)

var start = time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)

func rang(c <-chan time.Time) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestManual(t *testing.T) {
	t.Run("stands_until_it_is_moved", func(t *testing.T) {
		c := clock.NewManual(start)
		if !c.Now().Equal(start) {
			t.Error(c.Now())
		}
		c.Advance(time.Hour)
		if want := start.Add(time.Hour); !c.Now().Equal(want) {
			t.Error(c.Now())
		}
	})
	t.Run("wakes_those_whose_time_it_passed_and_no_others", func(t *testing.T) {
		c := clock.NewManual(start)
		first, _ := c.After(time.Second)
		second, _ := c.After(2 * time.Second)
		if c.Waiting() != 2 || rang(first) {
			t.Error("woken early")
		}
		c.Advance(time.Second)
		if c.Waiting() != 1 || !rang(first) || rang(second) {
			t.Error("after one second: want the first alone")
		}
		c.Advance(time.Hour)
		if c.Waiting() != 0 || !rang(second) || rang(first) {
			t.Error("each is woken once")
		}
	})
	t.Run("what_is_not_ahead_is_now", func(t *testing.T) {
		c := clock.NewManual(start)
		for _, d := range []time.Duration{0, -time.Second} {
			if ch, _ := c.After(d); !rang(ch) {
				t.Errorf("After(%v) waits", d)
			}
		}
	})
	t.Run("a_stopped_wait_is_gone", func(t *testing.T) {
		c := clock.NewManual(start)
		ch, stop := c.After(time.Second)
		stop()
		stop()
		if c.Waiting() != 0 {
			t.Error("still waiting")
		}
		c.Advance(time.Minute)
		if rang(ch) {
			t.Error("woken after stop")
		}
	})
}

func TestMovable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.NewMovable()
		began := c.Now()
		ch, stop := c.After(time.Minute)
		defer stop()
		time.Sleep(20 * time.Second)
		if got := c.Now().Sub(began); got != 20*time.Second {
			t.Errorf("it does not run with the machine's clock: %v", got)
		}
		c.Advance(30 * time.Second)
		time.Sleep(10*time.Second - 1)
		synctest.Wait()
		if rang(ch) {
			t.Error("woken early")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if !rang(ch) || c.Waiting() != 0 {
			t.Error("not woken when machine and move together passed the minute")
		}
	})
}

func TestSystem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, _ := clock.System.After(time.Second)
		stopped, stop := clock.System.After(time.Second)
		stop()
		time.Sleep(2 * time.Second)
		if !rang(ch) || rang(stopped) || !clock.System.Now().Equal(time.Now()) {
			t.Error("it is not the machine's clock")
		}
	})
}
