package dynamodb

import "strings"

// tokenKind classes the tokens of an expression.
type tokenKind uint8

const (
	endOfInput  tokenKind = iota
	word                  // an attribute name, keyword or function name
	nameHolder            // #name
	valueHolder           // :value
	digits
	symbol // an operator or punctuation
	unknownToken
)

type token struct {
	kind     tokenKind
	text     string
	from, to int // its place in the source
}

// is reports whether the token is the keyword, in any case.
func (t token) is(keyword string) bool { return t.kind == word && strings.EqualFold(t.text, keyword) }

// lex splits an expression. What belongs to no token becomes one of kind
// unknownToken, which the parser refuses where it stands.
func lex(source string) []token {
	var tokens []token
	for i := 0; i < len(source); {
		c := source[i]
		if c == ' ' || c == '\t' || c == '\n' || c == '\r' {
			i++
			continue
		}
		t := token{from: i}
		switch {
		case isLetter(c):
			t.kind, t.to = word, span(source, i, isWordByte)
		case isDigit(c):
			t.kind, t.to = digits, span(source, i, isDigit)
		case (c == '#' || c == ':') && i+1 < len(source) && isWordByte(source[i+1]):
			t.kind, t.to = valueHolder, span(source, i+1, isWordByte)
			if c == '#' {
				t.kind = nameHolder
			}
		case strings.HasPrefix(source[i:], "<>"), strings.HasPrefix(source[i:], "<="), strings.HasPrefix(source[i:], ">="):
			t.kind, t.to = symbol, i+2
		case strings.IndexByte("=<>()[].,+-", c) >= 0:
			t.kind, t.to = symbol, i+1
		default:
			t.kind, t.to = unknownToken, i+1
		}
		t.text = source[i:t.to]
		tokens = append(tokens, t)
		i = t.to
	}
	end := token{kind: endOfInput, text: "<EOF>"}
	if len(tokens) > 0 {
		end.from = tokens[len(tokens)-1].to
		end.to = end.from
	}
	return append(tokens, end)
}

func span(source string, from int, belongs func(byte) bool) int {
	for from < len(source) && belongs(source[from]) {
		from++
	}
	return from
}

func isLetter(c byte) bool   { return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' }
func isDigit(c byte) bool    { return '0' <= c && c <= '9' }
func isWordByte(c byte) bool { return isLetter(c) || isDigit(c) }
