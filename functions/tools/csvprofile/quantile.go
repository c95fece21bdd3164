package csvprofile

import (
	"math"
	"slices"

	"github.com/caio/go-tdigest/v4"
)

// distribution holds numbers: all of them up to a limit, then a digest.
type distribution struct {
	limit  int
	n      int
	mean   float64
	all    []float64 // until it would pass the limit
	digest *tdigest.TDigest
}

func (d *distribution) add(x float64) {
	d.n++
	d.mean += (x - d.mean) / float64(d.n)
	if d.digest == nil && len(d.all) < d.limit {
		d.all = append(d.all, x)
		return
	}
	if d.digest == nil {
		// A seed of its own makes the digest the same on every run. New fails
		// only for options out of range, Add only for NaN and infinities, which
		// are no numbers here.
		d.digest, _ = tdigest.New(tdigest.LocalRandomNumberGenerator(1))
		for _, x := range d.all {
			_ = d.digest.Add(x)
		}
		d.all = nil
	}
	_ = d.digest.Add(x)
}

// quantiles returns nil for no numbers, and where numbers are so large that
// they can't be added up.
func (d *distribution) quantiles() *Quantiles {
	if d.n == 0 {
		return nil
	}
	at := func(q float64) float64 { return d.digest.Quantile(q) }
	if d.digest == nil {
		slices.Sort(d.all)
		at = func(q float64) float64 { return interpolate(d.all, q) }
	}
	q := &Quantiles{P5: at(.05), P25: at(.25), P50: at(.5), P75: at(.75), P95: at(.95), Exact: d.digest == nil}
	for _, x := range []float64{q.P5, q.P25, q.P50, q.P75, q.P95} {
		if !isFinite(x) {
			return nil
		}
	}
	return q
}

// interpolate is the quantile of sorted numbers, linear between two of them.
func interpolate(sorted []float64, q float64) float64 {
	low, part := math.Modf(q * float64(len(sorted)-1))
	i := int(low)
	if part == 0 {
		return sorted[i]
	}
	return sorted[i] + (sorted[i+1]-sorted[i])*part
}

func isFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
