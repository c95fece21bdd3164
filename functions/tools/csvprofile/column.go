package csvprofile

import (
	"math"
	"strings"
	"unicode/utf8"
)

// Column is what is in one column.
type Column struct {
	Name          string       `json:"name" jsonschema:"the header's text, or column_N where there is none"`
	Type          Type         `json:"type" jsonschema:"integer, number, boolean, date, datetime or string; string also where values are mixed; empty where there is no value"`
	Mixed         map[Type]int `json:"mixed,omitempty" jsonschema:"how many values look like each type, where they do not all look like the column's"`
	Count         int          `json:"count" jsonschema:"rows with a value"`
	Empty         int          `json:"empty" jsonschema:"rows without a value: empty, only white space, or missing"`
	Distinct      int          `json:"distinct" jsonschema:"different values, not counting empty ones"`
	DistinctExact bool         `json:"distinctExact" jsonschema:"false where distinct is an estimate"`
	Min           string       `json:"min,omitempty" jsonschema:"the smallest value as written: by number, by time, or by its characters for strings; absent for slashed dates, whose day and month can't be told apart"`
	Max           string       `json:"max,omitempty" jsonschema:"the largest value as written, ordered as min is"`
	Mean          *float64     `json:"mean,omitempty" jsonschema:"arithmetic mean, for numbers"`
	Quantiles     *Quantiles   `json:"quantiles,omitempty" jsonschema:"for numbers"`
	Top           []Value      `json:"top" jsonschema:"the most frequent values, up to 5; where distinctExact is false, only of the values that the file has first"`
	MaxLength     int          `json:"maxLength" jsonschema:"length of the longest value in characters"`
}

// Quantiles of a column of numbers, linear between neighbours.
type Quantiles struct {
	P5    float64 `json:"p5" jsonschema:"5 % of values are at most this"`
	P25   float64 `json:"p25" jsonschema:"lower quartile"`
	P50   float64 `json:"p50" jsonschema:"median"`
	P75   float64 `json:"p75" jsonschema:"upper quartile"`
	P95   float64 `json:"p95" jsonschema:"95 % of values are at most this"`
	Exact bool    `json:"exact" jsonschema:"false where they are estimates"`
}

// Value is a value and how often it occurs.
type Value struct {
	Value string `json:"value" jsonschema:"the value, cut after 100 characters"`
	Count int    `json:"count" jsonschema:"rows that have it"`
}

// MaxShown is how many characters of a value a profile shows; MaxTop is how
// many of a column's most frequent values.
const (
	MaxShown = 100
	MaxTop   = 5
)

// column gathers a Column.
type column struct {
	types     map[Type]int
	empty     int
	maxLength int
	tally     *tally
	numbers   distribution
	byOrder   extent // of numbers, or of times
	byText    extent
	unordered bool // a date's day and month can't be told apart
}

// extent holds the smallest and largest values as written.
type extent struct {
	any      bool
	min, max string
	lo, hi   float64
}

func newColumn(limit int) *column {
	return &column{types: map[Type]int{}, tally: newTally(limit), numbers: distribution{limit: limit}}
}

func (c *column) add(value string) {
	typ, order := classify(value)
	if typ == Empty {
		c.empty++
		return
	}
	c.types[typ]++
	c.tally.add(value)
	c.maxLength = max(c.maxLength, utf8.RuneCountInString(value))
	if s := clip(value); !c.byText.any {
		c.byText = extent{any: true, min: strings.Clone(s), max: strings.Clone(s)}
	} else if s < c.byText.min {
		c.byText.min = strings.Clone(s)
	} else if s > c.byText.max {
		c.byText.max = strings.Clone(s)
	}
	switch typ {
	case Integer, Number:
		c.numbers.add(order)
		c.byOrder.add(value, order)
	case Date, DateTime:
		c.unordered = c.unordered || math.IsNaN(order)
		c.byOrder.add(value, order)
	}
}

func (e *extent) add(value string, order float64) {
	if !e.any || order < e.lo {
		e.min, e.lo = strings.Clone(value), order
	}
	if !e.any || order > e.hi {
		e.max, e.hi = strings.Clone(value), order
	}
	e.any = true
}

func (c *column) profile(name string) Column {
	p := Column{
		Name:          name,
		Type:          Empty,
		Empty:         c.empty,
		Distinct:      c.tally.distinct(),
		DistinctExact: c.tally.exact(),
		Top:           c.tally.top(MaxTop),
		MaxLength:     c.maxLength,
	}
	for typ, n := range c.types {
		p.Type = join(p.Type, typ)
		p.Count += n
	}
	if len(c.types) > 1 {
		p.Mixed = c.types
	}
	switch p.Type {
	case Integer, Number:
		p.Min, p.Max = strings.TrimSpace(c.byOrder.min), strings.TrimSpace(c.byOrder.max)
		p.Quantiles = c.numbers.quantiles()
		if mean := c.numbers.mean; isFinite(mean) {
			p.Mean = &mean
		}
	case Date, DateTime:
		if !c.unordered {
			p.Min, p.Max = strings.TrimSpace(c.byOrder.min), strings.TrimSpace(c.byOrder.max)
		}
	case String, Boolean:
		p.Min, p.Max = c.byText.min, c.byText.max
	}
	return p
}
