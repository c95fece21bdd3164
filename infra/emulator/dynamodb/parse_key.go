package dynamodb

import "slices"

// keyRange is what a key condition selects: one partition, and the range keys
// of an interval. The bounds stand in the order of rows; see table.rowKey.
type keyRange struct{ from, to string }

// keyCondition parses a key condition expression for the table.
func (s *scope) keyCondition(t *table, source *string) (keyRange, error) {
	if source == nil {
		return keyRange{}, invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
	}
	parsed, err := s.condition("KeyConditionExpression", source)
	if err != nil {
		return keyRange{}, err
	}
	var hash string
	var hasHash, hasRange bool
	from, to := "", endOfPartition
	for _, c := range conjuncts(parsed) {
		attribute, interval, err := t.keyTest(c)
		if err != nil {
			return keyRange{}, err
		}
		switch {
		case attribute == t.Hash && !hasHash:
			if c, is := c.(comparison); !is || c.operator != "=" {
				return keyRange{}, invalid("Query key condition not supported")
			}
			hash, hasHash = interval.from, true
		case attribute == t.Range && !hasRange:
			from, to, hasRange = interval.from, interval.to, true
		case attribute == t.Hash || attribute == t.Range:
			return keyRange{}, invalid("Invalid KeyConditionExpression: KeyConditionExpressions must only contain one condition per key")
		default:
			return keyRange{}, invalid("Query condition missed key schema element: %s", missing(t, hasHash))
		}
	}
	if !hasHash {
		return keyRange{}, invalid("Query condition missed key schema element: %s", t.Hash)
	}
	partition := partitionKey(hash)
	return keyRange{partition + from, partition + to}, nil
}

func missing(t *table, hasHash bool) string {
	if hasHash && t.Range != "" {
		return t.Range
	}
	return t.Hash
}

// conjuncts are the conditions that AND joins.
func conjuncts(c condition) []condition {
	switch c := c.(type) {
	case conjunction:
		return slices.Concat(conjuncts(c.left), conjuncts(c.right))
	case parentheses:
		return conjuncts(c.inner)
	default:
		return []condition{c}
	}
}

// keyTest is the attribute that a single key condition is about, and the text
// it allows it; for an equality, from is the text itself.
func (t *table) keyTest(c condition) (string, keyRange, error) {
	var subject operand
	var bounds []operand
	var interval func(bounds []string) keyRange
	switch c := c.(type) {
	case comparison:
		if c.operator == "<>" {
			return "", keyRange{}, invalid("Invalid operator used in KeyConditionExpression: <>")
		}
		subject, bounds = c.left, []operand{c.right}
		interval = func(b []string) keyRange { return comparisonRange(c.operator, b[0]) }
	case between:
		subject, bounds = c.operand, []operand{c.low, c.high}
		interval = func(b []string) keyRange { return keyRange{b[0], after(b[1])} }
	case prefixTest:
		subject, bounds = pathOperand{c.path}, []operand{c.prefix}
		interval = func(b []string) keyRange { return keyRange{b[0], b[0] + endOfPartition} }
	case disjunction:
		return "", keyRange{}, invalid("Invalid operator used in KeyConditionExpression: OR")
	case negation:
		return "", keyRange{}, invalid("Invalid operator used in KeyConditionExpression: NOT")
	case membership:
		return "", keyRange{}, invalid("Invalid operator used in KeyConditionExpression: IN")
	default:
		return "", keyRange{}, invalid("Invalid operator used in KeyConditionExpression: a function other than begins_with")
	}
	target, isPath := subject.(pathOperand)
	if !isPath {
		return "", keyRange{}, unsupported("a condition in KeyConditionExpression whose first operand is not a key attribute")
	}
	if len(target.path) > 1 {
		return "", keyRange{}, invalid("Invalid KeyConditionExpression: KeyConditionExpressions cannot have conditions on nested attributes")
	}
	attribute := target.path[0].name
	texts := make([]string, len(bounds))
	for i, o := range bounds {
		v, fixed := o.(valueOperand)
		if !fixed {
			return "", keyRange{}, invalid("Invalid condition in KeyConditionExpression: a key can be compared with values only")
		}
		if v.value.kind != kindS {
			return "", keyRange{}, invalidParameter("Condition parameter type does not match schema type: key %s, expected: S, actual: %s", attribute, v.value.kind)
		}
		texts[i] = v.value.text
		if err := checkKeyText(attribute, texts[i], attribute == t.Hash); err != nil {
			return "", keyRange{}, err
		}
	}
	return attribute, interval(texts), nil
}

func comparisonRange(operator, text string) keyRange {
	switch operator {
	case "=":
		return keyRange{text, after(text)}
	case "<":
		return keyRange{"", text}
	case "<=":
		return keyRange{"", after(text)}
	case ">":
		return keyRange{after(text), endOfPartition}
	default: // >=
		return keyRange{text, endOfPartition}
	}
}
