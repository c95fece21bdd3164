package dynamodb

import "slices"

// condition parses a condition or filter; nil means that there is none.
func (s *scope) condition(kind string, source *string) (condition, error) {
	if source == nil {
		return nil, nil
	}
	p, err := s.parser(kind, *source)
	if err != nil {
		return nil, err
	}
	c, err := p.disjunction()
	if err != nil {
		return nil, err
	}
	return c, p.end()
}

func (p *parser) disjunction() (condition, error) {
	left, err := p.conjunction()
	for err == nil && p.takeWord("OR") {
		var right condition
		if right, err = p.conjunction(); err == nil {
			left, err = disjunction{left, right}, p.operator()
		}
	}
	return left, err
}

func (p *parser) conjunction() (condition, error) {
	left, err := p.negation()
	for err == nil && p.takeWord("AND") {
		var right condition
		if right, err = p.negation(); err == nil {
			left, err = conjunction{left, right}, p.operator()
		}
	}
	return left, err
}

func (p *parser) negation() (condition, error) {
	if !p.takeWord("NOT") {
		return p.term()
	}
	if err := p.operator(); err != nil {
		return nil, err
	}
	inner, err := p.negation()
	return negation{inner}, err
}

// term parses what AND, OR and NOT join.
func (p *parser) term() (condition, error) {
	if p.take("(") {
		inner, err := p.disjunction()
		if err != nil {
			return nil, err
		}
		if _, twice := inner.(parentheses); twice {
			return nil, p.invalid("The expression has redundant parentheses;")
		}
		return parentheses{inner}, p.need(")")
	}
	if err := p.operator(); err != nil {
		return nil, err
	}
	start := p.at
	if name, is := p.function(); is && name != "size" {
		return p.test(name)
	}
	p.at = start
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	if p.takeWord("BETWEEN") {
		return p.between(left)
	}
	if p.takeWord("IN") {
		return p.membership(left)
	}
	for _, operator := range []string{"=", "<>", "<", "<=", ">", ">="} {
		if p.take(operator) {
			return p.comparison(left, operator)
		}
	}
	if _, isSize := left.(sizeOperand); isSize {
		return nil, p.misused("size")
	}
	return nil, p.syntaxError()
}

func (p *parser) operand() (operand, error) {
	start := p.at
	if name, is := p.function(); is {
		if name != "size" {
			p.at = start
			return nil, p.misused(name)
		}
		args, err := p.arguments(name, 1)
		if err != nil {
			return nil, err
		}
		target, isPath := args[0].(pathOperand)
		if !isPath {
			return nil, p.unsupported("size of anything but a document path")
		}
		return sizeOperand(target), nil
	}
	if p.peek().kind == valueHolder {
		v, err := p.value()
		return valueOperand{v}, err
	}
	target, err := p.path()
	return pathOperand{target}, err
}

// misused names what is wrong with a function that stands where it can't.
func (p *parser) misused(name string) error {
	if slices.Contains([]string{"attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains", "size", "if_not_exists", "list_append"}, name) {
		return p.invalid("The function is not allowed to be used this way in an expression; function: %s", name)
	}
	return p.invalid("Invalid function name; function: %s", name)
}

// arguments parses the rest of a function call.
func (p *parser) arguments(name string, count int) ([]operand, error) {
	var args []operand
	for {
		o, err := p.operand()
		if err != nil {
			return nil, err
		}
		args = append(args, o)
		if !p.take(",") {
			break
		}
	}
	if err := p.need(")"); err != nil {
		return nil, err
	}
	if len(args) != count {
		return nil, p.invalid("Incorrect number of operands for operator or function; operator or function: %s, number of operands: %d", name, len(args))
	}
	return args, nil
}

// test parses the rest of a function that is a condition by itself.
func (p *parser) test(name string) (condition, error) {
	count := 2
	switch name {
	case "attribute_exists", "attribute_not_exists":
		count = 1
	case "attribute_type", "begins_with", "contains":
	default:
		return nil, p.misused(name)
	}
	args, err := p.arguments(name, count)
	if err != nil {
		return nil, err
	}
	target, isPath := args[0].(pathOperand)
	if !isPath {
		if name == "begins_with" || name == "contains" {
			return nil, p.unsupported("%s of anything but a document path", name)
		}
		return nil, p.invalid("Operator or function requires a document path; operator or function: %s", name)
	}
	switch name {
	case "attribute_exists", "attribute_not_exists":
		return existence{target.path, name == "attribute_exists"}, nil
	case "attribute_type":
		return p.typeTest(target.path, args[1])
	}
	if err := p.distinct(name, target, args[1]); err != nil {
		return nil, err
	}
	if name == "contains" {
		return containment{target.path, args[1]}, nil
	}
	return prefixTest{target.path, args[1]}, p.operandKind("operator or function: begins_with", args[1], kindS, kindB)
}

func (p *parser) typeTest(target path, arg operand) (condition, error) {
	v, isValue := arg.(valueOperand)
	if !isValue {
		return nil, p.unsupported("attribute_type with anything but a value's placeholder")
	}
	if err := p.operandKind("operator or function: attribute_type", arg, kindS); err != nil {
		return nil, err
	}
	if !slices.Contains(kinds, kind(v.value.text)) {
		return nil, p.invalid("Invalid attribute type name found; type: %s, valid types: %v", v.value.text, kinds)
	}
	return typeTest{target, kind(v.value.text)}, nil
}

func (p *parser) comparison(left operand, operator string) (condition, error) {
	right, err := p.operand()
	if err != nil {
		return nil, err
	}
	if err := p.distinct(operator, left, right); err != nil {
		return nil, err
	}
	if operator != "=" && operator != "<>" {
		for _, o := range []operand{left, right} {
			if err := p.operandKind("operator: "+operator, o, kindS, kindN, kindB); err != nil {
				return nil, err
			}
		}
	}
	return comparison{operator, left, right}, nil
}

func (p *parser) between(o operand) (condition, error) {
	low, err := p.operand()
	if err != nil {
		return nil, err
	}
	if !p.takeWord("AND") {
		return nil, p.syntaxError()
	}
	high, err := p.operand()
	if err != nil {
		return nil, err
	}
	if err := p.distinct("BETWEEN", o, low, high); err != nil {
		return nil, err
	}
	for _, o := range []operand{o, low, high} {
		if err := p.operandKind("operator: BETWEEN", o, kindS, kindN, kindB); err != nil {
			return nil, err
		}
	}
	from, fixedLow := low.(valueOperand)
	to, fixedHigh := high.(valueOperand)
	if fixedLow && fixedHigh {
		if from.value.kind != to.value.kind {
			return nil, p.invalid("The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: %v, upper bound operand: %v", from.value, to.value)
		}
		if from.value.compare(to.value) > 0 {
			return nil, p.invalid("The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: %v, upper bound operand: %v", from.value, to.value)
		}
	}
	return between{o, low, high}, nil
}

func (p *parser) membership(o operand) (condition, error) {
	if err := p.need("("); err != nil {
		return nil, err
	}
	var list []operand
	for {
		member, err := p.operand()
		if err != nil {
			return nil, err
		}
		list = append(list, member)
		if !p.take(",") {
			break
		}
	}
	if len(list) > maxInOperands {
		return nil, p.invalid("Incorrect number of operands for operator or function; operator or function: IN, number of operands: %d", len(list)+1)
	}
	if err := p.distinct("IN", o, list...); err != nil {
		return nil, err
	}
	return membership{o, list}, p.need(")")
}

// operandKind refuses a fixed operand of another kind; what a path leads to is only known later.
func (p *parser) operandKind(what string, o operand, allowed ...kind) error {
	if v, fixed := o.(valueOperand); fixed && !slices.Contains(allowed, v.value.kind) {
		return p.invalid("Incorrect operand type for operator or function; %s, operand type: %s", what, v.value.kind)
	}
	return nil
}

// distinct refuses to compare a path with itself.
func (p *parser) distinct(operator string, first operand, others ...operand) error {
	one, isPath := first.(pathOperand)
	for _, o := range others {
		if other, alsoPath := o.(pathOperand); isPath && alsoPath && slices.Equal(one.path, other.path) {
			return p.invalid("The first operand must be distinct from the remaining operands for this operator or function; operator: %s, first operand: %v", operator, one.path)
		}
	}
	return nil
}
