package dynamodb

import (
	"maps"
	"slices"
	"strings"
)

// scope holds the placeholders that a request's expressions share, and knows
// which were used: DynamoDB refuses the others.
type scope struct {
	names       map[string]string
	values      item
	namesUsed   map[string]bool
	valuesUsed  map[string]bool
	expressions int // how many were parsed
}

func newScope(names map[string]string, values map[string]wireValue) (*scope, error) {
	s := &scope{names: names, namesUsed: map[string]bool{}, valuesUsed: map[string]bool{}}
	if names != nil && len(names) == 0 {
		return nil, invalid("ExpressionAttributeNames must not be empty")
	}
	if values != nil && len(values) == 0 {
		return nil, invalid("ExpressionAttributeValues must not be empty")
	}
	for key, name := range names {
		if !isPlaceholder(key, '#') {
			return nil, invalid("ExpressionAttributeNames contains invalid key: Syntax error; key: %q", key)
		}
		if name == "" || len(name) > maxAttributeName {
			return nil, invalid("ExpressionAttributeNames contains invalid value: an attribute name must have 1 to %d bytes for key %s", maxAttributeName, key)
		}
	}
	for key := range values {
		if !isPlaceholder(key, ':') {
			return nil, invalid("ExpressionAttributeValues contains invalid key: Syntax error; key: %q", key)
		}
	}
	var err error
	s.values, err = parseItem(values)
	return s, err
}

func isPlaceholder(key string, sign byte) bool {
	return len(key) > 1 && len(key) <= maxPlaceholder && key[0] == sign && span(key, 1, isWordByte) == len(key)
}

// parser starts a parser for an expression that is given; kind is the request
// member it stands in, for messages.
func (s *scope) parser(kind, source string) (*parser, error) {
	s.expressions++
	p := &parser{scope: s, kind: kind, source: source}
	if source == "" {
		return nil, p.invalid("The expression can not be empty;")
	}
	if len(source) > maxExpression {
		return nil, p.invalid("Expression size has exceeded the maximum allowed size; expression size: %d", len(source))
	}
	p.tokens = lex(source)
	return p, nil
}

// settle ends the parsing of a request's expressions.
func (s *scope) settle() error {
	if s.expressions == 0 {
		if s.names != nil {
			return invalid("ExpressionAttributeNames can only be specified when using expressions")
		}
		if len(s.values) > 0 {
			return invalid("ExpressionAttributeValues can only be specified when using expressions")
		}
	}
	if err := allUsed("ExpressionAttributeNames", s.names, s.namesUsed); err != nil {
		return err
	}
	return allUsed("ExpressionAttributeValues", s.values, s.valuesUsed)
}

func allUsed[M ~map[string]V, V any](member string, given M, used map[string]bool) error {
	unused := slices.DeleteFunc(slices.Sorted(maps.Keys(given)), func(key string) bool { return used[key] })
	if len(unused) > 0 {
		return invalid("Value provided in %s unused in expressions: keys: {%s}", member, strings.Join(unused, ", "))
	}
	return nil
}
