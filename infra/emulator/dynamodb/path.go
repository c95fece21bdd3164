package dynamodb

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// step is one step of a document path: into a map by name, or a list by index.
type step struct {
	name   string
	index  int
	inList bool
}

// path is where an attribute, or a part of one, stands. Its first step is a name.
type path []step

func (p path) String() string {
	parts := make([]string, len(p))
	for i, s := range p {
		parts[i] = s.name
		if s.inList {
			parts[i] = "[" + strconv.Itoa(s.index) + "]"
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// find is the value at the path, if there is one.
func (p path) find(it item) (value, bool) { return p.from(value{kind: kindM, fields: it}) }

// from is the value at the path that starts in v.
func (p path) from(v value) (value, bool) {
	for _, s := range p {
		next, ok := v.child(s)
		if !ok {
			return value{}, false
		}
		v = next
	}
	return v, true
}

func (v value) child(s step) (value, bool) {
	if s.inList {
		if v.kind == kindL && s.index < len(v.list) {
			return v.list[s.index], true
		}
		return value{}, false
	}
	if v.kind != kindM {
		return value{}, false
	}
	next, ok := v.fields[s.name]
	return next, ok
}

// compare orders paths so that the elements of one list stand by index.
func (p path) compare(q path) int {
	return slices.CompareFunc(p, q, func(a, b step) int {
		return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(a.index, b.index))
	})
}

// clash finds two paths of which one contains the other ("overlap"), or which
// take one thing for both a map and a list ("conflict").
func clash(paths []path) (one, two path, how string) {
	for i, p := range paths {
		for _, q := range paths[:i] {
			if how := q.clash(p); how != "" {
				return q, p, how
			}
		}
	}
	return nil, nil, ""
}

func (p path) clash(q path) string {
	for i := range min(len(p), len(q)) {
		if p[i].inList != q[i].inList {
			return "conflict"
		}
		if p[i] != q[i] {
			return ""
		}
	}
	return "overlap"
}

// project is the part of the item that lies on the paths, in its own shape;
// lists keep the order of their elements and close their gaps. Without paths it is all.
func project(it item, paths []path) item {
	if it == nil || paths == nil {
		return it
	}
	return projectInto(value{kind: kindM, fields: it}, paths).fields
}

// projectInto needs disjoint paths, so that a finished path is alone.
func projectInto(v value, paths []path) value {
	if len(paths[0]) == 0 {
		return v
	}
	branches := map[step][]path{}
	for _, p := range paths {
		if _, exists := p.from(v); exists {
			branches[p[0]] = append(branches[p[0]], p[1:])
		}
	}
	part := value{kind: v.kind}
	if v.kind == kindM {
		part.fields = item{}
	}
	steps := make([]step, 0, len(branches))
	for s := range branches {
		steps = append(steps, s)
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Compare(a.index, b.index) })
	for _, s := range steps {
		child, _ := v.child(s)
		projected := projectInto(child, branches[s])
		if s.inList {
			part.list = append(part.list, projected)
		} else {
			part.fields[s.name] = projected
		}
	}
	return part
}
