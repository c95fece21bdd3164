package jsonrpc

import "strconv"

// measure returns the nesting of a valid JSON value, and whether a float64 can
// hold each of its numbers.
func measure(value []byte) (deepest int, representable bool) {
	representable = true
	depth := 0
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		case c == '"':
			for i++; value[i] != '"'; i++ {
				if value[i] == '\\' {
					i++
				}
			}
		case c == '-' || c >= '0' && c <= '9':
			end := i + 1
			for end < len(value) && isNumber(value[end]) {
				end++
			}
			if _, err := strconv.ParseFloat(string(value[i:end]), 64); err != nil {
				representable = false
			}
			i = end - 1
		}
	}
	return deepest, representable
}

func isNumber(c byte) bool {
	return c >= '0' && c <= '9' || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-'
}
