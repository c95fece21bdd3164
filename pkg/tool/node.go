package tool

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// node is one schema within a schema document, with those it leads to.
type node struct {
	value any // map[string]any, or a boolean
	// here are the schemas that apply to the same value, its reference included;
	// below those for the value's parts, where props need one property each.
	here, below []*node
	props       map[string]*node
	// sub finds a subschema by keyword, or keyword and name or index: "items",
	// "properties/name", "allOf/0".
	sub map[string]*node
	ref *node
	// base is the URI that references are relative to.
	base *url.URL
	met  []int64 // memo of meet
}

type shape uint8

const (
	one shape = 1 << iota
	list
	dict
	here // applies to the same value, not to a part
	idle // applies to nothing by itself
)

// applicators are the keywords that hold schemas, in 2020-12 and draft-07.
var applicators = map[string]shape{
	"allOf": list | here, "anyOf": list | here, "oneOf": list | here,
	"not": one | here, "if": one | here, "then": one | here, "else": one | here,
	"dependentSchemas": dict | here, "dependencies": dict | here,
	"properties": dict, "patternProperties": dict,
	"additionalProperties": one, "unevaluatedProperties": one, "propertyNames": one,
	"items": one | list, "prefixItems": list, "contains": one,
	"additionalItems": one, "unevaluatedItems": one,
	"$defs": dict | idle, "definitions": dict | idle, "contentSchema": one | idle,
}

// dialects are those that the validator knows (R-H12).
var dialects = []string{
	"https://json-schema.org/draft/2020-12/schema",
	"http://json-schema.org/draft-07/schema#",
	"https://json-schema.org/draft-07/schema#",
}

// linker is the state while a document's nodes are made and linked.
type linker struct {
	nodes []*node
	byURI map[string]*node // absolute or relative to the root; anchors with their fragment
	// dynamic anchors, any of which a $dynamicRef of that name may lead to.
	dynamic map[string][]*node
}

// newNode makes the nodes of a whole document and links its references. All of
// them must stay within the document, and none may lead back to itself without
// a step into the value.
func newNode(document any) (*node, error) {
	l := &linker{byURI: map[string]*node{}, dynamic: map[string][]*node{}}
	root, err := l.add(document, &url.URL{})
	if err != nil {
		return nil, err
	}
	l.byURI[""] = root
	for _, n := range l.nodes {
		if err := l.link(n); err != nil {
			return nil, err
		}
	}
	state := map[*node]int{}
	for _, n := range l.nodes {
		if endless(n, state) {
			return nil, fmt.Errorf("it never ends: a reference leads back to itself, for the same value")
		}
	}
	return root, nil
}

func (l *linker) add(value any, base *url.URL) (*node, error) {
	n := &node{value: value, base: base, props: map[string]*node{}, sub: map[string]*node{}}
	m, ok := value.(map[string]any)
	if !ok {
		if _, ok := value.(bool); !ok {
			return nil, fmt.Errorf("a schema is an object or a boolean, got %s", kindOf(value))
		}
		return n, nil
	}
	if dialect, given := m["$schema"]; given && !slices.ContainsFunc(dialects, func(d string) bool { return d == dialect }) {
		return nil, fmt.Errorf("unknown dialect $schema %v", dialect)
	}
	if err := l.identify(n, m); err != nil {
		return nil, err
	}
	l.nodes = append(l.nodes, n)
	for keyword, s := range applicators {
		v, given := m[keyword]
		if !given {
			continue
		}
		if err := l.addAll(n, keyword, s, v); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func (l *linker) identify(n *node, m map[string]any) error {
	id, _ := m["$id"].(string)
	if anchor, ok := strings.CutPrefix(id, "#"); ok { // as in draft-07
		l.byURI[n.base.String()+"#"+anchor] = n
	} else if id != "" {
		u, err := url.Parse(id)
		if err != nil {
			return fmt.Errorf("$id %q is not a URI", id)
		}
		n.base = n.base.ResolveReference(u)
		n.base.Fragment = ""
		l.byURI[n.base.String()] = n
	}
	for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
		if name, ok := m[keyword].(string); ok {
			l.byURI[n.base.String()+"#"+name] = n
			if keyword == "$dynamicAnchor" {
				l.dynamic[name] = append(l.dynamic[name], n)
			}
		}
	}
	return nil
}

func (l *linker) addAll(n *node, keyword string, s shape, v any) error {
	keep := func(name string, v any) error {
		child, err := l.add(v, n.base)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		n.sub[name] = child
		switch {
		case s&here != 0:
			n.here = append(n.here, child)
		case keyword == "properties":
			n.props[strings.TrimPrefix(name, "properties/")] = child
		case s&idle == 0:
			n.below = append(n.below, child)
		}
		return nil
	}
	switch v := v.(type) {
	case []any:
		if s&list == 0 {
			return fmt.Errorf("%s must not be an array", keyword)
		}
		for i, v := range v {
			if err := keep(keyword+"/"+strconv.Itoa(i), v); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		if s&dict == 0 {
			break
		}
		for name, v := range v {
			if _, names := v.([]any); names && keyword == "dependencies" {
				continue
			}
			if err := keep(keyword+"/"+name, v); err != nil {
				return err
			}
		}
		return nil
	}
	if s&one == 0 {
		return fmt.Errorf("%s has a %s", keyword, kindOf(v))
	}
	return keep(keyword, v)
}

// link follows n's references (R-H12: never over a network).
func (l *linker) link(n *node) error {
	if ref, ok := n.keyword("$ref").(string); ok {
		target, err := l.find(n, ref)
		if err != nil {
			return err
		}
		n.ref = target
		n.here = append(n.here, target)
	}
	if ref, ok := n.keyword("$dynamicRef").(string); ok {
		target, err := l.find(n, ref)
		if err != nil {
			return err
		}
		n.here = append(n.here, target)
		for _, other := range l.dynamic[strings.TrimPrefix(ref, "#")] {
			if other != target {
				n.here = append(n.here, other)
			}
		}
	}
	return nil
}

func (l *linker) find(n *node, ref string) (*node, error) {
	u, err := url.Parse(ref)
	if err != nil {
		return nil, fmt.Errorf("the reference %q is not a URI", ref)
	}
	u = n.base.ResolveReference(u)
	fragment := u.Fragment
	u.Fragment = ""
	target := l.byURI[u.String()]
	if fragment != "" && !strings.HasPrefix(fragment, "/") {
		target = l.byURI[u.String()+"#"+fragment]
	} else if target != nil && fragment != "" {
		target = target.at(fragment)
	}
	if target == nil {
		return nil, fmt.Errorf("the reference %q leads to nothing in this schema; none is fetched", ref)
	}
	return target, nil
}

// at follows a JSON pointer, as far as it goes from schema to schema.
func (n *node) at(pointer string) *node {
	steps := strings.Split(pointer, "/")[1:]
	for i := 0; i < len(steps); i++ {
		next := n.sub[unescape(steps[i])]
		if next == nil && i+1 < len(steps) {
			next = n.sub[unescape(steps[i])+"/"+unescape(steps[i+1])]
			i++
		}
		if next == nil {
			return nil
		}
		n = next
	}
	return n
}

func unescape(step string) string {
	return strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
}

// keyword is the value of a keyword of this schema, nil if there is none.
func (n *node) keyword(name string) any {
	v, _ := n.lookup(name)
	return v
}

// lookup tells a keyword that is null from none.
func (n *node) lookup(name string) (value any, given bool) {
	m, _ := n.value.(map[string]any)
	value, given = m[name]
	return value, given
}

// endless reports a cycle of schemas that all apply to one value.
func endless(n *node, state map[*node]int) bool {
	const entered, left = 1, 2
	switch state[n] {
	case entered:
		return true
	case left:
		return false
	}
	state[n] = entered
	for _, h := range n.here {
		if endless(h, state) {
			return true
		}
	}
	state[n] = left
	return false
}

const tooMany = int64(1) << 40

// meetings returns, for each depth of a value up to most, how many schemas can
// meet on one of its branches in all.
func (n *node) meetings(most int) []int64 {
	sums := make([]int64, most+1)
	total := int64(0)
	for d := range sums {
		total = min(total+n.meet(d), tooMany)
		sums[d] = total
	}
	return sums
}

// meet is how many schemas can meet on one part of a value, depth levels below
// where n applies.
func (n *node) meet(depth int) int64 {
	for len(n.met) <= depth {
		n.met = append(n.met, n.count(len(n.met)))
	}
	return n.met[depth]
}

func (n *node) count(depth int) int64 {
	count := int64(0)
	if depth == 0 {
		count = 1
	}
	for _, h := range n.here {
		count += h.meet(depth)
	}
	if depth > 0 {
		most := int64(0)
		for _, p := range n.props {
			most = max(most, p.meet(depth-1))
		}
		for _, b := range n.below {
			count += b.meet(depth - 1)
		}
		count += most
	}
	return min(count, tooMany)
}
