package protocol

// IsScope reports whether s can be a scope (RFC 6749, section 3.3).
func IsScope(s string) bool {
	for _, c := range []byte(s) {
		if c <= ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return s != ""
}
