package csvprofile

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/axiomhq/hyperloglog"
)

// tally counts distinct values: each of them up to a limit, and past it only
// those that came before, with a sketch that estimates how many there are.
type tally struct {
	limit  int
	counts map[string]int
	sketch *hyperloglog.Sketch // nil while counts holds all
}

func newTally(limit int) *tally {
	return &tally{limit: limit, counts: map[string]int{}}
}

func (t *tally) add(value string) {
	key := tallyKey(value)
	if n, seen := t.counts[key]; seen {
		t.counts[key] = n + 1
		return
	}
	if len(t.counts) < t.limit {
		t.counts[strings.Clone(key)] = 1
		return
	}
	if t.sketch == nil {
		t.sketch = hyperloglog.New()
		for key := range t.counts {
			t.sketch.Insert([]byte(key))
		}
	}
	t.sketch.Insert([]byte(key))
}

// tallyKey stands for the value and is no longer than a kilobyte.
func tallyKey(value string) string {
	const most = 1 << 10
	if len(value) <= most {
		return value
	}
	h := fnv.New128a()
	h.Write([]byte(value)) // a hash's Write returns no error
	return fmt.Sprintf("%s\x00%x", value[:most-33], h.Sum(nil))
}

func (t *tally) exact() bool { return t.sketch == nil }

func (t *tally) distinct() int {
	if t.exact() {
		return len(t.counts)
	}
	return max(int(t.sketch.Estimate()), t.limit+1) // #nosec G115 -- a count of what was read
}

// top returns the n most frequent values, those equally frequent by value.
func (t *tally) top(n int) []Value {
	all := make([]Value, 0, len(t.counts))
	for key, count := range t.counts {
		all = append(all, Value{key, count})
	}
	slices.SortFunc(all, func(a, b Value) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value))
	})
	all = all[:min(n, len(all))]
	for i := range all {
		all[i].Value = clip(all[i].Value)
	}
	return all
}

// clip cuts a value to what is worth showing.
func clip(value string) string {
	runes := 0
	for i := range value {
		if runes++; runes > MaxShown {
			return value[:i] + "…"
		}
	}
	return value
}
