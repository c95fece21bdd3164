package dynamodb

import (
	"fmt"
	"strconv"
)

// parser holds what the parsers of all kinds of expression share: a place in
// the tokens, the placeholders, and the words for an error.
type parser struct {
	scope     *scope
	kind      string
	source    string
	tokens    []token
	at        int
	operators int
}

func (p *parser) invalid(format string, args ...any) error {
	return invalid("Invalid %s: %s", p.kind, fmt.Sprintf(format, args...))
}

func (p *parser) unsupported(format string, args ...any) error {
	return unsupported("%s in %s", fmt.Sprintf(format, args...), p.kind)
}

func (p *parser) syntaxError() error {
	t := p.peek()
	from, to := t.from, t.to
	if p.at > 0 {
		from = p.tokens[p.at-1].from
	}
	if p.at+1 < len(p.tokens) {
		to = p.tokens[p.at+1].to
	}
	return p.invalid("Syntax error; token: %q, near: %q", t.text, p.source[from:to])
}

func (p *parser) peek() token { return p.tokens[p.at] }

// take consumes the symbol if it is next.
func (p *parser) take(sign string) bool {
	if t := p.peek(); t.kind == symbol && t.text == sign {
		p.at++
		return true
	}
	return false
}

func (p *parser) takeWord(keyword string) bool {
	if p.peek().is(keyword) {
		p.at++
		return true
	}
	return false
}

func (p *parser) need(sign string) error {
	if !p.take(sign) {
		return p.syntaxError()
	}
	return nil
}

func (p *parser) end() error {
	if p.peek().kind != endOfInput {
		return p.syntaxError()
	}
	return nil
}

// operator counts an operator or function.
func (p *parser) operator() error {
	if p.operators++; p.operators > maxOperators {
		return p.invalid("The expression contains too many operators; maximum: %d", maxOperators)
	}
	return nil
}

// function consumes a function's name and its opening parenthesis, if they are next.
func (p *parser) function() (name string, ok bool) {
	if t := p.peek(); t.kind == word {
		if open := p.tokens[p.at+1]; open.kind == symbol && open.text == "(" && !t.is("AND") && !t.is("OR") && !t.is("NOT") && !t.is("IN") {
			p.at += 2
			return t.text, true
		}
	}
	return "", false
}

// path parses a document path.
func (p *parser) path() (path, error) {
	first, err := p.name()
	if err != nil {
		return nil, err
	}
	steps := path{first}
	for {
		switch {
		case p.take("."):
			s, err := p.name()
			if err != nil {
				return nil, err
			}
			steps = append(steps, s)
		case p.take("["):
			t := p.peek()
			index, err := strconv.Atoi(t.text)
			if t.kind != digits || err != nil {
				return nil, p.syntaxError()
			}
			p.at++
			if err := p.need("]"); err != nil {
				return nil, err
			}
			steps = append(steps, step{index: index, inList: true})
		default:
			if len(steps) > maxNesting+1 {
				return nil, p.invalid("The document path has too many nesting elements; nesting levels: %d", len(steps))
			}
			return steps, nil
		}
	}
}

// name parses one name of a path: a word that is not reserved, or a placeholder.
func (p *parser) name() (step, error) {
	t := p.peek()
	switch t.kind {
	case word:
		if isReserved(t.text) {
			return step{}, p.invalid("Attribute name is a reserved keyword; reserved keyword: %s", t.text)
		}
		p.at++
		return step{name: t.text}, nil
	case nameHolder:
		name, defined := p.scope.names[t.text]
		if !defined {
			return step{}, p.invalid("An expression attribute name used in the document path is not defined; attribute name: %s", t.text)
		}
		p.scope.namesUsed[t.text] = true
		p.at++
		return step{name: name}, nil
	default:
		return step{}, p.syntaxError()
	}
}

// value parses a value's placeholder.
func (p *parser) value() (value, error) {
	t := p.peek()
	if t.kind != valueHolder {
		return value{}, p.syntaxError()
	}
	v, defined := p.scope.values[t.text]
	if !defined {
		return value{}, p.invalid("An expression attribute value used in expression is not defined; attribute value: %s", t.text)
	}
	p.scope.valuesUsed[t.text] = true
	p.at++
	return v, nil
}

// projection parses a list of document paths; nil means the whole item.
func (s *scope) projection(source *string) ([]path, error) {
	if source == nil {
		return nil, nil
	}
	p, err := s.parser("ProjectionExpression", *source)
	if err != nil {
		return nil, err
	}
	var paths []path
	for {
		target, err := p.path()
		if err != nil {
			return nil, err
		}
		paths = append(paths, target)
		if !p.take(",") {
			break
		}
	}
	if err := p.end(); err != nil {
		return nil, err
	}
	return paths, p.disjoint(paths)
}

func (p *parser) disjoint(paths []path) error {
	if one, two, how := clash(paths); how != "" {
		return p.invalid("Two document paths %s with each other; must remove or rewrite one of these paths; path one: %v, path two: %v", how, one, two)
	}
	return nil
}
