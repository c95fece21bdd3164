package csvprofile

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Type is what a column's values are.
type Type string

// The types. A column is a number if its values are integers and numbers, a
// datetime if they are dates and datetimes, and a string if they are otherwise
// mixed.
const (
	Empty    Type = "empty"
	Integer  Type = "integer"
	Number   Type = "number"
	Boolean  Type = "boolean"
	Date     Type = "date"
	DateTime Type = "datetime"
	String   Type = "string"
)

// classify returns the type of one value, and for numbers and times what they
// are ordered by; NaN where day and month can't be told apart.
func classify(value string) (Type, float64) {
	s := strings.TrimSpace(value)
	if s == "" {
		return Empty, 0
	}
	if strings.IndexByte("0123456789+-.", s[0]) < 0 {
		switch strings.ToLower(s[:min(len(s), 6)]) {
		case "true", "false", "yes", "no":
			return Boolean, 0
		}
		return String, 0
	}
	if len(s) > 64 {
		return String, 0
	}
	if t, n := classifyNumber(s); t != String {
		return t, n
	}
	return classifyTime(s)
}

func classifyNumber(s string) (Type, float64) {
	digits := strings.TrimLeft(s[:1], "+-") + s[1:]
	if strings.Trim(digits, "0123456789.eE+-") != "" || len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9' {
		return String, 0
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return String, 0
	}
	if strings.ContainsAny(digits, ".eE") {
		return Number, n
	}
	return Integer, n
}

var (
	dateLayouts     = []string{"2006-1-2", "2006/1/2", "2.1.2006"}
	slashedLayouts  = []string{"1/2/2006", "2/1/2006"}
	datetimeLayouts = []string{"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02T15:04"}
)

func classifyTime(s string) (Type, float64) {
	if len(s) < 8 {
		return String, 0
	}
	if len(s) <= 10 {
		if t, ok := parseTime(s, dateLayouts); ok {
			return Date, t
		}
		if _, ok := parseTime(s, slashedLayouts); ok {
			return Date, math.NaN()
		}
		return String, 0
	}
	if s[10] == ' ' {
		s = s[:10] + "T" + s[11:]
	}
	if t, ok := parseTime(s, datetimeLayouts); ok {
		return DateTime, t
	}
	return String, 0
}

func parseTime(s string, layouts []string) (seconds float64, ok bool) {
	for _, layout := range layouts {
		if t, err := time.Parse(layout, s); err == nil {
			return float64(t.Unix()) + float64(t.Nanosecond())/1e9, true
		}
	}
	return 0, false
}

// join is the type of a column that holds values of both types.
func join(a, b Type) Type {
	switch {
	case a == b || b == Empty:
		return a
	case a == Empty:
		return b
	case a == Integer && b == Number || a == Number && b == Integer:
		return Number
	case a == Date && b == DateTime || a == DateTime && b == Date:
		return DateTime
	default:
		return String
	}
}
