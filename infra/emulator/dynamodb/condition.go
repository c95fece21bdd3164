package dynamodb

import (
	"slices"
	"strings"
)

// condition is a parsed condition: what it says of an item, nil for none stored.
type condition interface{ holds(item) bool }

// operand is what a condition compares: a path, a value, or the size of what is at a path.
type operand interface{ of(item) (value, bool) }

type (
	pathOperand  struct{ path path }
	valueOperand struct{ value value }
	sizeOperand  struct{ path path }
)

func (o pathOperand) of(it item) (value, bool) { return o.path.find(it) }
func (o valueOperand) of(item) (value, bool)   { return o.value, true }

func (o sizeOperand) of(it item) (value, bool) {
	v, found := o.path.find(it)
	if !found {
		return value{}, false
	}
	n, has := v.length()
	return numberValue(intNumber(n)), has
}

type (
	conjunction struct{ left, right condition }
	disjunction struct{ left, right condition }
	negation    struct{ inner condition }
	parentheses struct{ inner condition }
	comparison  struct {
		operator    string
		left, right operand
	}
	between    struct{ operand, low, high operand }
	membership struct {
		operand operand
		list    []operand
	}
	existence struct {
		path   path
		wanted bool
	}
	typeTest struct {
		path path
		kind kind
	}
	prefixTest struct {
		path   path
		prefix operand
	}
	containment struct {
		path path
		part operand
	}
)

func (c conjunction) holds(it item) bool { return c.left.holds(it) && c.right.holds(it) }
func (c disjunction) holds(it item) bool { return c.left.holds(it) || c.right.holds(it) }
func (c negation) holds(it item) bool    { return !c.inner.holds(it) }
func (c parentheses) holds(it item) bool { return c.inner.holds(it) }

// holds: values of two types are unequal; beyond that nothing holds of what is
// missing or of two types.
func (c comparison) holds(it item) bool {
	left, hasLeft := c.left.of(it)
	right, hasRight := c.right.of(it)
	same := hasLeft && hasRight && left.equal(right)
	switch c.operator {
	case "=":
		return same
	case "<>":
		return !same
	}
	return hasLeft && hasRight && inOrder(left, c.operator, right)
}

func inOrder(left value, operator string, right value) bool {
	if left.kind != right.kind || !left.kind.ordered() {
		return false
	}
	order := left.compare(right)
	switch operator {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	default: // >=
		return order >= 0
	}
}

func (c between) holds(it item) bool {
	v, has := c.operand.of(it)
	low, hasLow := c.low.of(it)
	high, hasHigh := c.high.of(it)
	return has && hasLow && hasHigh && inOrder(low, "<=", v) && inOrder(v, "<=", high)
}

func (c membership) holds(it item) bool {
	v, has := c.operand.of(it)
	return has && slices.ContainsFunc(c.list, func(o operand) bool {
		w, has := o.of(it)
		return has && v.equal(w)
	})
}

func (c existence) holds(it item) bool {
	_, found := c.path.find(it)
	return found == c.wanted
}

func (c typeTest) holds(it item) bool {
	v, found := c.path.find(it)
	return found && v.kind == c.kind
}

func (c prefixTest) holds(it item) bool {
	v, found := c.path.find(it)
	prefix, has := c.prefix.of(it)
	return found && has && v.kind == prefix.kind && (v.kind == kindS || v.kind == kindB) && strings.HasPrefix(v.text, prefix.text)
}

func (c containment) holds(it item) bool {
	whole, found := c.path.find(it)
	part, has := c.part.of(it)
	if !found || !has {
		return false
	}
	switch whole.kind {
	case kindS, kindB:
		return part.kind == whole.kind && strings.Contains(whole.text, part.text)
	case kindSS, kindNS, kindBS:
		return part.kind == whole.kind[:1] && slices.Contains(whole.set, part.text)
	case kindL:
		return slices.ContainsFunc(whole.list, part.equal)
	default:
		return false
	}
}

// pathsOf are the document paths that a condition looks at.
func pathsOf(c condition) []path {
	var operands []operand
	switch c := c.(type) {
	case conjunction:
		return append(pathsOf(c.left), pathsOf(c.right)...)
	case disjunction:
		return append(pathsOf(c.left), pathsOf(c.right)...)
	case negation:
		return pathsOf(c.inner)
	case parentheses:
		return pathsOf(c.inner)
	case comparison:
		operands = []operand{c.left, c.right}
	case between:
		operands = []operand{c.operand, c.low, c.high}
	case membership:
		operands = append([]operand{c.operand}, c.list...)
	case existence:
		return []path{c.path}
	case typeTest:
		return []path{c.path}
	case prefixTest:
		operands = []operand{pathOperand{c.path}, c.prefix}
	case containment:
		operands = []operand{pathOperand{c.path}, c.part}
	}
	var paths []path
	for _, o := range operands {
		switch o := o.(type) {
		case pathOperand:
			paths = append(paths, o.path)
		case sizeOperand:
			paths = append(paths, o.path)
		}
	}
	return paths
}
