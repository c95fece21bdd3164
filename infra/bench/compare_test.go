package bench

import (
	"runtime"
	"slices"
	"testing"
	"time"
)

// turn is something that is measured again and again: run alone counts.
type turn struct {
	prepare, run, after func()
}

func (t turn) take() (took time.Duration) {
	if t.prepare != nil {
		t.prepare()
	}
	begun := time.Now()
	t.run()
	took = time.Since(begun)
	if t.after != nil {
		t.after()
	}
	return took
}

// pair measures two sides by themselves, which is for benchstat, and against
// each other, which is what may be quoted.
func pair(b *testing.B, one string, x turn, other string, y turn) {
	b.Run(one, func(b *testing.B) { alone(b, x) })
	b.Run(other, func(b *testing.B) { alone(b, y) })
	b.Run("ratio", func(b *testing.B) { compare(b, one+"/"+other, x, y) })
}

func alone(b *testing.B, t turn) {
	b.ReportAllocs()
	aside := func(do func()) {
		if do != nil {
			b.StopTimer()
			do()
			b.StartTimer()
		}
	}
	for b.Loop() {
		aside(t.prepare)
		t.run()
		aside(t.after)
	}
}

// compare lets x and y take turns in one process, so that whatever else the
// machine does befalls both, and reports the ratio of the medians of their
// times, and of what they allocate.
func compare(b *testing.B, name string, x, y turn) {
	var xs, ys []time.Duration
	for b.Loop() {
		xs, ys = append(xs, x.take()), append(ys, y.take())
	}
	xn, xb := allocated(x)
	yn, yb := allocated(y)
	b.ReportMetric(0, "ns/op") // of both together: it means nothing
	b.ReportMetric(float64(median(xs))/float64(median(ys)), name+"-time")
	b.ReportMetric(xn/yn, name+"-allocs")
	b.ReportMetric(xb/yb, name+"-bytes")
}

// allocated is how many objects and bytes the process allocates in a run.
func allocated(t turn) (objects, bytes float64) {
	const runs = 50
	var before, after runtime.MemStats
	run := t.run
	t.run = func() {
		runtime.ReadMemStats(&before)
		run()
		runtime.ReadMemStats(&after)
		objects += float64(after.Mallocs-before.Mallocs) / runs
		bytes += float64(after.TotalAlloc-before.TotalAlloc) / runs
	}
	for range runs {
		t.take()
	}
	return objects, bytes
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
