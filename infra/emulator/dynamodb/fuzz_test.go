package dynamodb

import (
	"encoding/json"
	"testing"
)

// FuzzExpressions feeds every parser with garbage: none panics, and what one
// accepts can be carried out.
func FuzzExpressions(f *testing.F) {
	for _, source := range []string{
		"", " ", "a = :v", "#n.a[0] <> :v AND NOT (b < :v OR c IN (:v, :w))", "size(a) BETWEEN :v AND :w", "attribute_exists(#n)",
		"attribute_type(a, :t)", "begins_with(a, :t) or contains(b, :v)", "pk = :t AND sk BETWEEN :t AND :t", "begins_with(sk, :t)",
		"SET a = if_not_exists(b, :v) + :w, c[3].d = e REMOVE f, g[1] ADD h :v", "a.b[2], #n, c", "((a = :v))", "SET a = (", "REMOVE a[",
		"NOT NOT NOT", "a..b", "a[99999999999999999999]", "\x00\xff", "#", ":", "<>", "IN (", "size(size(a))", "DELETE a :s", "é = :v",
	} {
		f.Add(source)
	}
	text, number := "t", "7"
	values := map[string]wireValue{":v": {N: &number}, ":w": {N: &number}, ":t": {S: &text}, ":s": {SS: &[]string{"a"}}}
	var wire map[string]wireValue
	if err := json.Unmarshal([]byte(`{"pk":{"S":"p"},"a":{"M":{"b":{"L":[{"N":"1"},{"S":"x"}]}}},"b":{"N":"5"},"c":{"L":[{"M":{}}]},"n":{"SS":["a"]}}`), &wire); err != nil {
		f.Fatal(err)
	}
	it, err := parseItem(wire)
	if err != nil {
		f.Fatal(err)
	}
	keyed := &table{schema: schema{Hash: "pk", Range: "sk"}}
	f.Fuzz(func(t *testing.T, source string) {
		sc, err := newScope(map[string]string{"#n": "n"}, values)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := sc.condition("ConditionExpression", &source); err == nil {
			c.holds(it)
			c.holds(nil)
			pathsOf(c)
		}
		if u, err := sc.update(&source); err == nil {
			_, _ = u.apply(it)
			_, _ = u.apply(item{})
		}
		if paths, err := sc.projection(&source); err == nil {
			project(it, paths)
		}
		_, _ = sc.keyCondition(keyed, &source)
		_ = sc.settle()
	})
}

func FuzzNumber(f *testing.F) {
	for _, text := range []string{"0", "-1.50", "1e5", "9.9e125", "1E-130", ".", "e", "+", "1e+", "--1", "0x1", "1_000", "٣"} {
		f.Add(text, "12.5")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		n, err := parseNumber(a)
		if err != nil {
			return
		}
		if again, err := parseNumber(n.String()); err != nil || again != n {
			t.Fatalf("%q becomes %q, which is another number", a, n)
		}
		m, err := parseNumber(b)
		if err != nil {
			return
		}
		if n.compare(m) != -m.compare(n) || (n.compare(m) == 0) != (n == m) {
			t.Fatalf("%v and %v have no order", n, m)
		}
		if sum, err := n.plus(m); err == nil {
			if back, err := sum.minus(m); err == nil && back != n {
				t.Fatalf("%v + %v - %v = %v", n, m, m, back)
			}
		}
	})
}
