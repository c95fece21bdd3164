package dynamodb

import (
	"slices"
	"strings"
)

// update parses an update expression; nil means that there is none.
func (s *scope) update(source *string) (*update, error) {
	if source == nil {
		return nil, nil
	}
	p, err := s.parser("UpdateExpression", *source)
	if err != nil {
		return nil, err
	}
	u := &update{}
	var seen []string
	for p.peek().kind != endOfInput {
		section := strings.ToUpper(p.peek().text)
		if slices.Contains(seen, section) {
			return nil, p.invalid("The %q section can only be used once in an update expression;", section)
		}
		seen = append(seen, section)
		if err := p.section(u); err != nil {
			return nil, err
		}
	}
	return u, p.disjoint(u.targets())
}

func (p *parser) section(u *update) error {
	var action func() error
	switch {
	case p.takeWord("SET"):
		action = func() error { return p.set(u) }
	case p.takeWord("REMOVE"):
		action = func() error {
			target, err := p.path()
			u.removes = append(u.removes, target)
			return err
		}
	case p.takeWord("ADD"):
		action = func() error { return p.add(u) }
	case p.peek().is("DELETE"):
		return p.unsupported("the DELETE section")
	default:
		return p.syntaxError()
	}
	for {
		if err := action(); err != nil {
			return err
		}
		if err := p.operator(); err != nil {
			return err
		}
		if !p.take(",") {
			return nil
		}
	}
}

func (p *parser) set(u *update) error {
	target, err := p.path()
	if err != nil {
		return err
	}
	if err := p.need("="); err != nil {
		return err
	}
	source, err := p.setOperand()
	if err != nil {
		return err
	}
	for _, sign := range []string{"+", "-"} {
		if p.take(sign) {
			right, err := p.setOperand()
			if err != nil {
				return err
			}
			for _, o := range []expression{source, right} {
				if c, fixed := o.(constant); fixed && c.v.kind != kindN {
					return p.invalid("Incorrect operand type for operator or function; operator or function: %s, operand type: %s", sign, c.v.kind)
				}
			}
			source = arithmetic{left: source, right: right, minus: sign == "-"}
			break
		}
	}
	u.sets = append(u.sets, assignment{target, source})
	return nil
}

func (p *parser) setOperand() (expression, error) {
	if p.peek().kind == valueHolder {
		v, err := p.value()
		return constant{v}, err
	}
	name, isFunction := p.function()
	if !isFunction {
		source, err := p.path()
		return reference{source}, err
	}
	switch name {
	case "if_not_exists":
	case "list_append":
		return nil, p.unsupported("the function list_append")
	default:
		return nil, p.misused(name)
	}
	if err := p.operator(); err != nil {
		return nil, err
	}
	if p.peek().kind == valueHolder {
		return nil, p.invalid("Operator or function requires a document path; operator or function: if_not_exists")
	}
	source, err := p.path()
	if err != nil {
		return nil, err
	}
	if err := p.need(","); err != nil {
		return nil, err
	}
	otherwise, err := p.setOperand()
	if err != nil {
		return nil, err
	}
	return fallback{source, otherwise}, p.need(")")
}

func (p *parser) add(u *update) error {
	target, err := p.path()
	if err != nil {
		return err
	}
	v, err := p.value()
	if err != nil {
		return err
	}
	if v.kind != kindN {
		return p.unsupported("ADD of anything but a number")
	}
	u.adds = append(u.adds, assignment{target, constant{v}})
	return nil
}
