package dynamodb

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// kind is the type of an attribute value, in the protocol's letters.
type kind string

const (
	kindS    kind = "S"
	kindN    kind = "N"
	kindB    kind = "B"
	kindBOOL kind = "BOOL"
	kindNULL kind = "NULL"
	kindL    kind = "L"
	kindM    kind = "M"
	kindSS   kind = "SS"
	kindNS   kind = "NS"
	kindBS   kind = "BS"
)

var kinds = []kind{kindB, kindNULL, kindSS, kindBOOL, kindL, kindBS, kindN, kindNS, kindS, kindM}

// value is an attribute value in normal form. It is never changed once made,
// so that items can share parts.
type value struct {
	kind   kind
	text   string   // S, N (normal form) and B (the bytes)
	flag   bool     // BOOL
	list   []value  // L
	fields item     // M
	set    []string // SS, NS and BS, sorted
}

// item is a map of attributes: a whole item, a key, or a value of kind M.
type item map[string]value

func numberValue(n number) value { return value{kind: kindN, text: n.String()} }

// number is the value's number; it must be of kind N.
func (v value) number() number {
	n, err := parseNumber(v.text)
	if err != nil {
		panic(fmt.Sprintf("dynamodb: a number that is not in normal form: %q", v.text))
	}
	return n
}

func (v value) equal(w value) bool {
	return v.kind == w.kind && v.text == w.text && v.flag == w.flag && slices.Equal(v.set, w.set) &&
		slices.EqualFunc(v.list, w.list, value.equal) && maps.EqualFunc(v.fields, w.fields, value.equal)
}

// ordered reports whether values of the kind can be compared by size.
func (k kind) ordered() bool { return k == kindS || k == kindN || k == kindB }

// compare orders two values of one ordered kind.
func (v value) compare(w value) int {
	if v.kind == kindN {
		return v.number().compare(w.number())
	}
	return strings.Compare(v.text, w.text)
}

// String shows the value as DynamoDB's error messages do.
func (v value) String() string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return "AttributeValue: " + string(text)
}

// wireValue is an attribute value as it stands in a request.
type wireValue struct {
	S    *string               `json:",omitempty"`
	N    *string               `json:",omitempty"`
	B    *[]byte               `json:",omitempty"`
	BOOL *bool                 `json:",omitempty"`
	NULL *bool                 `json:",omitempty"`
	L    *[]wireValue          `json:",omitempty"`
	M    *map[string]wireValue `json:",omitempty"`
	SS   *[]string             `json:",omitempty"`
	NS   *[]string             `json:",omitempty"`
	BS   *[][]byte             `json:",omitempty"`
}

func parseItem(wire map[string]wireValue) (item, error) { return parseFields(wire, 0) }

func parseFields(wire map[string]wireValue, depth int) (item, error) {
	fields := make(item, len(wire))
	for name, w := range wire {
		if name == "" || len(name) > maxAttributeName {
			return nil, invalidParameter("An attribute name has %d bytes; it must have 1 to %d", len(name), maxAttributeName)
		}
		v, err := parseValue(w, depth)
		if err != nil {
			return nil, err
		}
		fields[name] = v
	}
	return fields, nil
}

// parseValue brings a value into normal form. depth is how many lists and maps are around it.
func parseValue(w wireValue, depth int) (value, error) {
	var v value
	var err error
	given := 0
	take := func(k kind, present bool, read func()) {
		if present {
			v.kind = k
			given++
			if err == nil && given == 1 {
				read()
			}
		}
	}
	take(kindS, w.S != nil, func() { v.text = *w.S })
	take(kindN, w.N != nil, func() { v.text, err = normalNumber(*w.N) })
	take(kindB, w.B != nil, func() { v.text = string(*w.B) })
	take(kindBOOL, w.BOOL != nil, func() { v.flag = *w.BOOL })
	take(kindNULL, w.NULL != nil, func() {
		if !*w.NULL {
			err = invalidParameter("Null attribute value types must have the value of true")
		}
	})
	take(kindL, w.L != nil, func() { v.list, err = parseList(*w.L, depth+1) })
	take(kindM, w.M != nil, func() {
		if err = checkDepth(depth + 1); err == nil {
			v.fields, err = parseFields(*w.M, depth+1)
		}
	})
	take(kindSS, w.SS != nil, func() { v.set, err = parseSet("string", *w.SS) })
	take(kindNS, w.NS != nil, func() { v.set, err = parseNumberSet(*w.NS) })
	take(kindBS, w.BS != nil, func() {
		members := make([]string, len(*w.BS))
		for i, b := range *w.BS {
			members[i] = string(b)
		}
		v.set, err = parseSet("binary", members)
	})
	switch {
	case given == 0:
		return value{}, invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
	case given > 1:
		return value{}, invalid("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes")
	}
	return v, err
}

func checkDepth(depth int) error {
	if depth > maxNesting {
		return invalid("Nesting Levels have exceeded supported limits: attributes can be nested up to %d levels deep", maxNesting)
	}
	return nil
}

func parseList(wire []wireValue, depth int) ([]value, error) {
	if err := checkDepth(depth); err != nil {
		return nil, err
	}
	list := make([]value, len(wire))
	for i, w := range wire {
		v, err := parseValue(w, depth)
		if err != nil {
			return nil, err
		}
		list[i] = v
	}
	return list, nil
}

func normalNumber(text string) (string, error) {
	n, err := parseNumber(text)
	return n.String(), err
}

func parseNumberSet(wire []string) ([]string, error) {
	members := make([]string, len(wire))
	for i, text := range wire {
		var err error
		if members[i], err = normalNumber(text); err != nil {
			return nil, err
		}
	}
	return parseSet("number", members)
}

func parseSet(what string, members []string) ([]string, error) {
	if len(members) == 0 {
		return nil, invalidParameter("An %s set  may not be empty", what)
	}
	sorted := slices.Sorted(slices.Values(members))
	if len(slices.Compact(slices.Clone(sorted))) != len(members) {
		return nil, invalidParameter("Input collection [%s] contains duplicates.", strings.Join(members, ", "))
	}
	return sorted, nil
}

// MarshalJSON writes the value as it stands in a reply, and in the file.
func (v value) MarshalJSON() ([]byte, error) {
	var content any
	switch v.kind {
	case kindS, kindN:
		content = v.text
	case kindB:
		content = base64.StdEncoding.EncodeToString([]byte(v.text))
	case kindBOOL:
		content = v.flag
	case kindNULL:
		content = true
	case kindL:
		content = v.list
	case kindM:
		content = v.fields
	case kindSS, kindNS:
		content = v.set
	case kindBS:
		encoded := make([]string, len(v.set))
		for i, member := range v.set {
			encoded[i] = base64.StdEncoding.EncodeToString([]byte(member))
		}
		content = encoded
	}
	return json.Marshal(map[kind]any{v.kind: content})
}

// clone is a copy that can be changed; never nil.
func (it item) clone() item {
	if it == nil {
		return item{}
	}
	return maps.Clone(it)
}

// depth is how many lists and maps stand within each other.
func (it item) depth() int {
	deepest := 0
	for _, v := range it {
		deepest = max(deepest, v.depth())
	}
	return deepest
}

func (v value) depth() int {
	switch v.kind {
	case kindM:
		return 1 + v.fields.depth()
	case kindL:
		deepest := 0
		for _, element := range v.list {
			deepest = max(deepest, element.depth())
		}
		return 1 + deepest
	default:
		return 0
	}
}
