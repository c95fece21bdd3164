package tool

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxFaults is how many faults one message names.
const maxFaults = 5

// explain says in a sentence why a value does not fit, naming each property at
// fault, so that a model can correct itself (R-H8). The verdict is the
// validator's; this only finds words for it. Where it finds none, the
// validator's own are used.
func (s *schema) explain(root string, value any, verdict error) string {
	e := explainer{budget: 10_000}
	e.walk(root, value, s.root)
	if len(e.faults) == 0 {
		return root + ": " + shorten(innermost(verdict.Error()), 300)
	}
	var said []string
	for _, f := range e.faults {
		if text := shorten(f.at, 200) + ": " + f.what; !slices.Contains(said, text) {
			said = append(said, text)
		}
	}
	return strings.Join(said, "; ")
}

// innermost drops the schema paths that the validator puts before its finding.
func innermost(text string) string {
	if i := strings.LastIndex(text, "validating "); i >= 0 {
		if _, after, ok := strings.Cut(text[i:], ": "); ok {
			return after
		}
	}
	return text
}

type explainer struct {
	faults []misplaced
	budget int // visits left
}

func (e *explainer) fault(at, format string, args ...any) {
	if len(e.faults) < maxFaults {
		e.faults = append(e.faults, misplaced{at, fmt.Sprintf(format, args...)})
	}
}

// walk collects what is wrong with v at a path under n.
func (e *explainer) walk(at string, v any, n *node) {
	if e.budget--; e.budget < 0 || len(e.faults) == maxFaults {
		return
	}
	if n.value == false {
		e.fault(at, "not allowed here")
		return
	}
	if want := n.types(); len(want) > 0 && !slices.ContainsFunc(want, func(t string) bool { return isType(v, t) }) {
		e.fault(at, "got %s, want %s", show(v), oneOf(want))
		return
	}
	if options, ok := n.keyword("enum").([]any); ok && !slices.ContainsFunc(options, func(o any) bool { return same(o, v) }) {
		e.fault(at, "got %s, want one of %s", show(v), showAll(options))
		return
	}
	if c, given := n.lookup("const"); given && !same(c, v) {
		e.fault(at, "got %s, want %s", show(v), show(c))
		return
	}
	if n.ref != nil {
		e.walk(at, v, n.ref)
	}
	for _, branch := range n.branches("allOf") {
		e.walk(at, v, branch)
	}
	e.alternatives(at, v, n.branches("anyOf"))
	e.alternatives(at, v, n.branches("oneOf"))
	e.conditional(at, v, n)
	switch v := v.(type) {
	case map[string]any:
		e.object(at, v, n)
	case []any:
		e.array(at, v, n)
	case string:
		e.text(at, v, n)
	case int64, uint64, float64:
		e.number(at, v, n)
	}
}

// branches are the subschemas of a keyword that holds a list.
func (n *node) branches(keyword string) []*node {
	var out []*node
	for {
		b := n.sub[keyword+"/"+strconv.Itoa(len(out))]
		if b == nil {
			return out
		}
		out = append(out, b)
	}
}

// alternatives says what is wrong with the branch that v comes closest to, if
// every one is known to be wrong.
func (e *explainer) alternatives(at string, v any, branches []*node) {
	var closest []misplaced
	for _, b := range branches {
		try := explainer{budget: e.budget / 2}
		try.walk(at, v, b)
		e.budget -= e.budget/2 - max(try.budget, 0)
		if len(try.faults) == 0 {
			return
		}
		if closest == nil || len(try.faults[0].at) > len(closest[0].at) {
			closest = try.faults
		}
	}
	if len(branches) > 1 && closest[0].at == at {
		e.fault(at, "got %s, which fits none of the %d allowed forms", show(v), len(branches))
		return
	}
	for _, f := range closest {
		e.fault(f.at, "%s", f.what)
	}
}

// conditional follows then unless the condition is known not to hold.
func (e *explainer) conditional(at string, v any, n *node) {
	condition := n.sub["if"]
	if condition == nil {
		return
	}
	try, branch := explainer{budget: e.budget / 2}, n.sub["then"]
	if try.walk(at, v, condition); len(try.faults) > 0 {
		branch = n.sub["else"]
	}
	if branch != nil {
		e.walk(at, v, branch)
	}
}

func (e *explainer) object(at string, v map[string]any, n *node) {
	required, _ := n.keyword("required").([]any)
	for _, r := range required {
		name, _ := r.(string)
		if _, given := v[name]; given || name == "" {
			continue
		}
		if p := n.props[name]; p != nil && len(p.types()) > 0 {
			e.fault(property(at, name), "missing, want %s", oneOf(p.types()))
		} else {
			e.fault(property(at, name), "missing")
		}
	}
	closed := n.sub["additionalProperties"] != nil && n.sub["additionalProperties"].value == false
	for _, name := range slices.Sorted(maps.Keys(v)) {
		p := n.props[name]
		switch {
		case p != nil:
			e.walk(property(at, name), v[name], p)
		case n.keyword("patternProperties") != nil:
		case closed && len(n.props) == 0:
			e.fault(property(at, name), "unknown property; none is allowed")
		case closed:
			e.fault(property(at, name), "unknown property; known are %s", shorten(strings.Join(slices.Sorted(maps.Keys(n.props)), ", "), 200))
		case n.sub["additionalProperties"] != nil:
			e.walk(property(at, name), v[name], n.sub["additionalProperties"])
		}
	}
	if most, ok := bound(n, "maxProperties"); ok && float64(len(v)) > most {
		e.fault(at, "has %d properties, want at most %v", len(v), most)
	}
	if least, ok := bound(n, "minProperties"); ok && float64(len(v)) < least {
		e.fault(at, "has %d properties, want at least %v", len(v), least)
	}
}

func (e *explainer) array(at string, v []any, n *node) {
	if most, ok := bound(n, "maxItems"); ok && float64(len(v)) > most {
		e.fault(at, "has %d items, want at most %v", len(v), most)
	}
	if least, ok := bound(n, "minItems"); ok && float64(len(v)) < least {
		e.fault(at, "has %d items, want at least %v", len(v), least)
	}
	if n.keyword("uniqueItems") == true {
		e.unique(at, v)
	}
	prefix := n.branches("prefixItems")
	for i, x := range v {
		if i < len(prefix) {
			e.walk(item(at, i), x, prefix[i])
		} else if n.sub["items"] != nil {
			e.walk(item(at, i), x, n.sub["items"])
		}
	}
}

func (e *explainer) unique(at string, v []any) {
	seen := map[any]bool{}
	for i, x := range v {
		switch x.(type) {
		case map[string]any, []any:
		default:
			if seen[x] {
				e.fault(item(at, i), "%s stands there twice", show(x))
				return
			}
			seen[x] = true
		}
	}
}

func (e *explainer) text(at, v string, n *node) {
	length := float64(utf8.RuneCountInString(v))
	if most, ok := bound(n, "maxLength"); ok && length > most {
		e.fault(at, "has %v characters, want at most %v", length, most)
	}
	if least, ok := bound(n, "minLength"); ok && length < least {
		e.fault(at, "has %v characters, want at least %v", length, least)
	}
	if pattern, ok := n.keyword("pattern").(string); ok {
		if matched, err := regexp.MatchString(pattern, v); err == nil && !matched {
			e.fault(at, "got %s, want text that matches %s", show(v), pattern)
		}
	}
}

func (e *explainer) number(at string, v any, n *node) {
	x := asFloat(v)
	if least, ok := bound(n, "minimum"); ok && x < least {
		e.fault(at, "got %s, want at least %v", show(v), least)
	}
	if most, ok := bound(n, "maximum"); ok && x > most {
		e.fault(at, "got %s, want at most %v", show(v), most)
	}
	if least, ok := bound(n, "exclusiveMinimum"); ok && x <= least {
		e.fault(at, "got %s, want more than %v", show(v), least)
	}
	if most, ok := bound(n, "exclusiveMaximum"); ok && x >= most {
		e.fault(at, "got %s, want less than %v", show(v), most)
	}
	if step, ok := bound(n, "multipleOf"); ok && math.Mod(x, step) != 0 {
		e.fault(at, "got %s, want a multiple of %v", show(v), step)
	}
}

func bound(n *node, keyword string) (float64, bool) {
	switch b := n.keyword(keyword).(type) {
	case int64, uint64, float64:
		return asFloat(b), true
	}
	return 0, false
}

func asFloat(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	case float64:
		return v
	}
	return math.NaN()
}

// types are the types that a schema asks for, none if it does not.
func (n *node) types() []string {
	switch t := n.keyword("type").(type) {
	case string:
		return []string{t}
	case []any:
		var out []string
		for _, x := range t {
			if s, ok := x.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

func isType(v any, name string) bool {
	switch kind := kindOf(v); {
	case kind == name, kind == "integer" && name == "number":
		return true
	default:
		return false
	}
}

// kindOf is the JSON Schema type of a decoded value.
func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case float64:
		if v != math.Trunc(v) {
			return "number"
		}
	}
	return "integer"
}

// same reports equality of scalars; of what else there is, it can't be sure.
func same(a, b any) bool {
	x, y := kindOf(a), kindOf(b)
	switch {
	case x == "object" || x == "array":
		return x == y
	case isType(a, "number") && isType(b, "number"):
		return asFloat(a) == asFloat(b)
	}
	return a == b
}

// oneOf reads as "a string or null".
func oneOf(types []string) string {
	out := make([]string, len(types))
	for i, t := range types {
		switch t {
		case "null":
			out[i] = t
		case "array", "integer", "object":
			out[i] = "an " + t
		default:
			out[i] = "a " + t
		}
	}
	if last := len(out) - 1; last > 0 {
		return strings.Join(out[:last], ", ") + " or " + out[last]
	}
	return out[0]
}

// show is a short form of a value that its sender will know again.
func show(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "an array"
	case string:
		return strconv.Quote(shorten(v, 60))
	default:
		return fmt.Sprint(orNull(v))
	}
}

func orNull(v any) any {
	if v == nil {
		return "null"
	}
	return v
}

func showAll(options []any) string {
	out := make([]string, 0, len(options))
	for _, o := range options {
		out = append(out, show(o))
	}
	return shorten(strings.Join(out, ", "), 300)
}
