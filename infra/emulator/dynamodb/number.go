package dynamodb

import (
	"cmp"
	"math/big"
	"strconv"
	"strings"
)

// number is an exact decimal: digits × 10^exponent. digits has neither leading
// nor trailing zeros and is empty for zero, so that equal numbers are equal structs.
type number struct {
	negative bool
	digits   string
	exponent int
}

// parseNumber reads a number as DynamoDB takes it, and refuses one that it could not keep exactly.
func parseNumber(text string) (number, error) {
	rest, negative := text, false
	if rest != "" && (rest[0] == '-' || rest[0] == '+') {
		rest, negative = rest[1:], rest[0] == '-'
	}
	mantissa, power, hasPower := rest, "", false
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		mantissa, power, hasPower = rest[:i], rest[i+1:], true
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if whole+fraction == "" || !isDigits(whole+fraction) {
		return number{}, notNumeric(text)
	}
	exponent := 0
	if hasPower {
		unsigned := strings.TrimPrefix(strings.TrimPrefix(power, "-"), "+")
		if unsigned == "" || len(power)-len(unsigned) > 1 || !isDigits(unsigned) {
			return number{}, notNumeric(text)
		}
		if len(strings.TrimLeft(unsigned, "0")) > 9 {
			unsigned = "999999999" // out of range either way
		}
		exponent, _ = strconv.Atoi(unsigned)
		if power[0] == '-' {
			exponent = -exponent
		}
	}
	return makeNumber(negative, whole+fraction, exponent-len(fraction)).checked()
}

func isDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

func notNumeric(text string) error {
	if text == "" {
		return invalid("The parameter cannot be converted to a numeric value")
	}
	return invalid("The parameter cannot be converted to a numeric value: %s", text)
}

func makeNumber(negative bool, digits string, exponent int) number {
	digits = strings.TrimLeft(digits, "0")
	significant := strings.TrimRight(digits, "0")
	if significant == "" {
		return number{}
	}
	return number{negative: negative, digits: significant, exponent: exponent + len(digits) - len(significant)}
}

func intNumber(i int) number { return makeNumber(i < 0, strings.TrimPrefix(strconv.Itoa(i), "-"), 0) }

// magnitude is the exponent of the first digit.
func (n number) magnitude() int { return n.exponent + len(n.digits) - 1 }

func (n number) checked() (number, error) {
	switch {
	case n.digits == "":
		return number{}, nil
	case n.magnitude() > maxMagnitude:
		return number{}, invalid("Number overflow. Attempting to store a number with magnitude larger than supported range")
	case n.magnitude() < minMagnitude:
		return number{}, invalid("Number underflow. Attempting to store a number with magnitude smaller than supported range")
	case len(n.digits) > maxDigits:
		return number{}, invalid("Attempting to store more than %d significant digits in a Number", maxDigits)
	}
	return n, nil
}

// String is the number's normal form: no exponent, no needless zeros.
func (n number) String() string {
	if n.digits == "" {
		return "0"
	}
	sign := ""
	if n.negative {
		sign = "-"
	}
	point := len(n.digits) + n.exponent // digits before the decimal point
	switch {
	case n.exponent >= 0:
		return sign + n.digits + strings.Repeat("0", n.exponent)
	case point > 0:
		return sign + n.digits[:point] + "." + n.digits[point:]
	default:
		return sign + "0." + strings.Repeat("0", -point) + n.digits
	}
}

func (n number) sign() int {
	switch {
	case n.digits == "":
		return 0
	case n.negative:
		return -1
	default:
		return 1
	}
}

func (n number) compare(m number) int {
	if n.sign() != m.sign() || n.sign() == 0 {
		return cmp.Compare(n.sign(), m.sign())
	}
	// Digits after the same first place compare as text: a prefix is the smaller one.
	return n.sign() * cmp.Or(cmp.Compare(n.magnitude(), m.magnitude()), cmp.Compare(n.digits, m.digits))
}

// plus adds exactly; a sum that DynamoDB could not keep is an error.
func (n number) plus(m number) (number, error) {
	exponent := min(n.exponent, m.exponent)
	sum := new(big.Int).Add(n.scaled(exponent), m.scaled(exponent))
	return makeNumber(sum.Sign() < 0, new(big.Int).Abs(sum).String(), exponent).checked()
}

func (n number) minus(m number) (number, error) {
	m.negative = !m.negative
	return n.plus(m)
}

// scaled is the number as an integer multiple of 10^exponent.
func (n number) scaled(exponent int) *big.Int {
	if n.digits == "" {
		return new(big.Int)
	}
	i, _ := new(big.Int).SetString(n.digits+strings.Repeat("0", n.exponent-exponent), 10)
	if n.negative {
		i.Neg(i)
	}
	return i
}

// size is what the number costs in storage: a byte for each pair of digits,
// pairs starting at even powers of ten, one more, and one for a minus.
func (n number) size() int {
	if n.digits == "" {
		return 1
	}
	first, last := floorHalf(n.magnitude()), floorHalf(n.exponent)
	size := first - last + 1 + 1
	if n.negative {
		size++
	}
	return size
}

func floorHalf(i int) int { return i >> 1 }
