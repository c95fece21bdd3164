package dynamodb

import "slices"

// update is a parsed update expression.
type update struct {
	sets    []assignment
	removes []path
	adds    []assignment
}

// assignment gives a path the value of an expression; in an ADD, what is to be added.
type assignment struct {
	target path
	source expression
}

// expression is the right side of a SET.
type expression interface {
	value(item) (value, error)
}

type (
	reference struct{ path path }
	constant  struct{ v value }
	fallback  struct { // if_not_exists
		path      path
		otherwise expression
	}
	arithmetic struct {
		left, right expression
		minus       bool
	}
)

func (e reference) value(it item) (value, error) {
	v, found := e.path.find(it)
	if !found {
		return value{}, invalid("The provided expression refers to an attribute that does not exist in the item")
	}
	return v, nil
}

func (e constant) value(item) (value, error) { return e.v, nil }

func (e fallback) value(it item) (value, error) {
	if v, found := e.path.find(it); found {
		return v, nil
	}
	return e.otherwise.value(it)
}

func (e arithmetic) value(it item) (value, error) {
	left, err := e.left.value(it)
	if err != nil {
		return value{}, err
	}
	right, err := e.right.value(it)
	if err != nil {
		return value{}, err
	}
	if left.kind != kindN || right.kind != kindN {
		return value{}, invalid("An operand in the update expression has an incorrect data type")
	}
	result, err := left.number(), error(nil)
	if e.minus {
		result, err = result.minus(right.number())
	} else {
		result, err = result.plus(right.number())
	}
	return numberValue(result), err
}

// targets are the paths that the update may change.
func (u *update) targets() []path {
	if u == nil {
		return nil
	}
	var paths []path
	for _, a := range slices.Concat(u.sets, u.adds) {
		paths = append(paths, a.target)
	}
	return append(paths, u.removes...)
}

// apply makes the updated item; before is left as it is. All values are those
// before the update, and so are the indexes of removed list elements.
func (u *update) apply(before item) (item, error) {
	if u == nil {
		return before, nil
	}
	after := value{kind: kindM, fields: before}
	for _, a := range u.sets {
		v, err := a.source.value(before)
		if err != nil {
			return nil, err
		}
		if after, err = after.with(a.target, v); err != nil {
			return nil, err
		}
	}
	for _, a := range u.adds {
		v, err := a.sum(before)
		if err != nil {
			return nil, err
		}
		if after, err = after.with(a.target, v); err != nil {
			return nil, err
		}
	}
	// From the end of each list, so that an index means what it meant before.
	removes := slices.SortedFunc(slices.Values(u.removes), func(p, q path) int { return q.compare(p) })
	for _, target := range removes {
		var err error
		if after, err = after.without(target); err != nil {
			return nil, err
		}
	}
	return after.fields, nil
}

func (a assignment) sum(before item) (value, error) {
	if _, found := a.target.find(before); !found {
		return a.source.value(before)
	}
	return arithmetic{left: reference{a.target}, right: a.source}.value(before)
}

func badUpdatePath() error {
	return invalid("The document path provided in the update expression is invalid for update")
}

// with is a copy of v, sharing what it can, that has w at the path.
func (v value) with(p path, w value) (value, error) {
	if len(p) == 0 {
		return w, nil
	}
	if !v.holds(p[0]) {
		return value{}, badUpdatePath()
	}
	child, exists := v.child(p[0])
	if !exists && len(p) > 1 {
		return value{}, badUpdatePath()
	}
	child, err := child.with(p[1:], w)
	if err != nil {
		return value{}, err
	}
	return v.replace(p[0], child), nil
}

// without is a copy of v, sharing what it can, that has nothing at the path.
func (v value) without(p path) (value, error) {
	if !v.holds(p[0]) {
		return value{}, badUpdatePath()
	}
	child, exists := v.child(p[0])
	if len(p) > 1 {
		if !exists {
			return value{}, badUpdatePath()
		}
		child, err := child.without(p[1:])
		if err != nil {
			return value{}, err
		}
		return v.replace(p[0], child), nil
	}
	if !exists {
		return v, nil
	}
	if p[0].inList {
		v.list = slices.Delete(slices.Clone(v.list), p[0].index, p[0].index+1)
	} else {
		v.fields = v.fields.clone()
		delete(v.fields, p[0].name)
	}
	return v, nil
}

// holds reports whether v is of the kind that the step goes into.
func (v value) holds(s step) bool {
	if s.inList {
		return v.kind == kindL
	}
	return v.kind == kindM
}

// replace is a copy with another child; past a list's end it is appended.
func (v value) replace(s step, child value) value {
	if !s.inList {
		v.fields = v.fields.clone()
		v.fields[s.name] = child
		return v
	}
	v.list = slices.Clone(v.list)
	if s.index < len(v.list) {
		v.list[s.index] = child
	} else {
		v.list = append(v.list, child)
	}
	return v
}
