package dynamodb

import "unicode/utf8"

// What a list or map, and each of its elements, costs beyond its contents.
const (
	containerOverhead = 3
	elementOverhead   = 1
)

// size is what the item counts against the item limit and in capacity: names and values.
func (it item) size() int {
	size := 0
	for name, v := range it {
		size += len(name) + v.size()
	}
	return size
}

func (v value) size() int {
	switch v.kind {
	case kindS, kindB:
		return len(v.text)
	case kindN:
		return v.number().size()
	case kindSS, kindBS:
		size := 0
		for _, member := range v.set {
			size += len(member)
		}
		return size
	case kindNS:
		size := 0
		for _, member := range v.set {
			size += value{kind: kindN, text: member}.size()
		}
		return size
	case kindL:
		size := containerOverhead
		for _, element := range v.list {
			size += elementOverhead + element.size()
		}
		return size
	case kindM:
		return containerOverhead + elementOverhead*len(v.fields) + v.fields.size()
	default: // BOOL, NULL
		return 1
	}
}

// length is what the function size() of an expression gives: characters, bytes
// or elements. Numbers, booleans and nulls have none.
func (v value) length() (int, bool) {
	switch v.kind {
	case kindS:
		return utf8.RuneCountInString(v.text), true
	case kindB:
		return len(v.text), true
	case kindSS, kindNS, kindBS:
		return len(v.set), true
	case kindL:
		return len(v.list), true
	case kindM:
		return len(v.fields), true
	default:
		return 0, false
	}
}
