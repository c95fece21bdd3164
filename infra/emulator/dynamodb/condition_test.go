package dynamodb_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"toolhost/infra/emulator/dynamodb"
)

// sample is the item that the tables of expressions are about.
var sample = M{
	"pk": "p", "sk": "s", "n": 10, "neg": -5, "title": "hello", "blank": "", "bin": []byte{1, 2, 3},
	"yes": true, "nil": nil, "l": []any{1, "x", M{"in": 7}}, "m": M{"a": M{"b": 1}, "a.b": 2, "Status": "S"},
	"ss": &types.AttributeValueMemberSS{Value: []string{"b", "a"}}, "ns": &types.AttributeValueMemberNS{Value: []string{"1.0", "2"}},
	"bs": &types.AttributeValueMemberBS{Value: [][]byte{{9}}}, "umlaut": "äö",
}

var sampleValues = M{
	":n": 10, ":big": 11, ":small": number("-1e1"), ":n2": number("10.00"), ":text": "hello", ":h": "he", ":z": "z", ":e": "", ":yes": true, ":nil": nil,
	":bin": []byte{1, 2, 3}, ":b1": []byte{2, 3}, ":b9": []byte{9}, ":one": 1, ":two": 2, ":five": 5, ":three": 3, ":x": "x", ":N": "N", ":L": "L", ":bad": "Q", ":in": M{"in": 7},
	":set": &types.AttributeValueMemberSS{Value: []string{"a", "b"}}, ":a": "a", ":S": "S", ":zero": 0,
}

var sampleNames = map[string]string{"#dotted": "a.b", "#status": "Status", "#title": "title", "#year": "year"}

// used are the placeholders that stand in the expression.
func used(expression string) (map[string]string, map[string]types.AttributeValue) {
	names, values := map[string]string{}, M{}
	for token := range strings.FieldsFuncSeq(expression, func(r rune) bool { return strings.ContainsRune(" ()[],.=<>+-\n\t", r) }) {
		if name, has := sampleNames[token]; has {
			names[token] = name
		}
		if v, has := sampleValues[token]; has {
			values[token] = v
		}
	}
	if len(names) == 0 {
		names = nil
	}
	if len(values) == 0 {
		return names, nil
	}
	return names, attrs(values)
}

func (f *fixture) check(t testing.TB, expression string) error {
	names, values := used(expression)
	_, err := f.DeleteItem(t.Context(), &sdk.DeleteItemInput{
		TableName: aws.String(items), Key: key("p", "s"), ConditionExpression: &expression,
		ExpressionAttributeNames: names, ExpressionAttributeValues: values,
	})
	return err
}

func TestCondition(t *testing.T) {
	f := start(t, dynamodb.Options{})
	for expression, want := range map[string]bool{
		"n = :n": true, "n = :n2": true, "n = :text": false, "n <> :text": true, "gone <> :n": true, "gone = :n": false,
		"n < :big": true, "n < :n": false, "n <= :n": true, "n > :small": true, "n >= :n": true, "neg < :zero": true, "neg > :small": true,
		"title < :z": true, "title > :z": false, "title < :n": false, "gone < :n": false, "NOT gone < :n": true, "bin = :bin": true, "bin < :b1": true,
		"yes = :yes": true, "nil = :nil": true, "ss = :set": true, "blank = :e": true, "l[2] = :in": true, ":n = n": true, ":n < :big": true,
		"n BETWEEN :five AND :big": true, "n between :big and :big": false, "title BETWEEN :h AND :z": true, ":n BETWEEN neg AND :big": true,
		"n IN (:text, :n)": true, "n in (:big)": false, "gone IN (:n)": false, "l[0] IN (:one)": true,
		"attribute_exists(m.a.b)": true, "attribute_exists(m.a.c)": false, "attribute_exists(m.#dotted)": true, "attribute_not_exists(l[3])": true,
		"attribute_not_exists(n.a)": true, "attribute_exists(n[0])": false, "attribute_exists(nil)": true, "m.#status = :S": true,
		"attribute_type(n, :N)": true, "attribute_type(l, :L)": true, "attribute_type(l, :N)": false, "attribute_type(gone, :N)": false,
		"begins_with(title, :h)": true, "begins_with(title, :e)": true, "begins_with(title, :z)": false, "begins_with(n, :h)": false, "begins_with(bin, :bin)": true,
		"contains(title, :h)": true, "contains(ss, :a)": true, "contains(ss, :z)": false, "contains(ns, :one)": true, "contains(ns, :a)": false, "contains(bs, :b9)": true,
		"contains(l, :x)": true, "contains(l, :two)": false, "contains(l, :in)": true, "contains(bin, :b1)": true, "contains(n, :one)": false, "contains(gone, :one)": false,
		"size(title) = :five": true, "size(l) = :three": true, "size(m) = :three": true, "size(ss) = :two": true, "size(bin) > :two": true, "size(n) = :two": false,
		"size(umlaut) = :two": true, "size(blank) = :zero": true, "size(gone) < :n": false, ":two BETWEEN :one AND size(l)": true,
		"n = :n AND title = :text": true, "n = :big OR title = :text": true, "n = :big AND n = :n OR title = :text": true, "n = :big AND (n = :n OR title = :text)": false,
		"NOT n = :n OR title = :text": true, "NOT (n = :n OR title = :text)": false, "not not n = :n": true, "(n = :n)": true, "n=:n AnD #title=:text": true,
	} {
		t.Run(expression, func(t *testing.T) {
			f.put(t, sample)
			err := f.check(t, expression)
			if failed := (*types.ConditionalCheckFailedException)(nil); err != nil && !errors.As(err, &failed) {
				t.Fatal(err)
			}
			if held := err == nil; held != want {
				t.Errorf("holds: %v, want %v", held, want)
			}
		})
	}
}

func TestCondition_refused(t *testing.T) {
	f := start(t, dynamodb.Options{})
	f.put(t, sample)
	for expression, want := range map[string]string{
		"":                                     "The expression can not be empty",
		"n":                                    `Syntax error; token: "<EOF>"`,
		"n = ":                                 `Syntax error; token: "<EOF>", near: "="`,
		"n == :n":                              `Syntax error; token: "=", near: "== :n"`,
		"n = :n AND":                           "Syntax error",
		"n = :n title":                         `token: "title", near: ":n title"`,
		"(n = :n":                              "Syntax error",
		"n = :n)":                              "Syntax error",
		"n = 10":                               `token: "10"`,
		"n = 'x'":                              "Syntax error",
		"n % :n":                               `token: "%"`,
		"n = :":                                "Syntax error",
		"# = :n":                               "Syntax error",
		"m. = :n":                              "Syntax error",
		"l[:n] = :n":                           "Syntax error",
		"l[-1] = :n":                           "Syntax error",
		"l[99999999999999999999] = :n":         "Syntax error",
		"n BETWEEN :n":                         "Syntax error",
		"n IN :n":                              "Syntax error",
		"n IN ()":                              "Syntax error",
		"n = :undefined":                       "attribute value used in expression is not defined; attribute value: :undefined",
		"#undefined = :n":                      "attribute name used in the document path is not defined; attribute name: #undefined",
		"Status = :n":                          "Attribute name is a reserved keyword; reserved keyword: Status",
		"m.year = :n":                          "reserved keyword: year",
		"((n = :n))":                           "redundant parentheses",
		"n = n":                                "The first operand must be distinct",
		"n < :yes":                             "Incorrect operand type for operator or function; operator: <, operand type: BOOL",
		"n BETWEEN :yes AND :n":                "operator: BETWEEN, operand type: BOOL",
		"n BETWEEN :n AND :five":               "requires upper bound to be greater than or equal to lower bound",
		"n BETWEEN :n AND :text":               "requires same data type",
		"begins_with(title, :n)":               "operator or function: begins_with, operand type: N",
		"begins_with(title)":                   "Incorrect number of operands",
		"attribute_exists(n, title)":           "Incorrect number of operands",
		"attribute_exists(:n)":                 "requires a document path",
		"attribute_type(n, :n)":                "operand type: N",
		"attribute_type(n, :bad)":              "Invalid attribute type name found; type: Q",
		"attribute_type(n, title)":             "does not support attribute_type with anything but",
		"contains(:text, title)":               "does not support contains of anything but a document path",
		"size(:text) = :n":                     "does not support size of anything but a document path",
		"size(title)":                          "not allowed to be used this way in an expression; function: size",
		"n = attribute_exists(n)":              "not allowed to be used this way",
		"if_not_exists(n, :n) = :n":            "not allowed to be used this way",
		"length(n) = :n":                       "Invalid function name; function: length",
		"Attribute_Exists(n)":                  "Invalid function name",
		"(n) = :n":                             "Syntax error",
		strings.Repeat("n = :n OR ", 500):      "Expression size has exceeded the maximum allowed size; expression size: 5000",
		strings.Repeat("n=:n OR ", 200):        "too many operators",
		"n" + strings.Repeat(".n", 40) + "=:n": "too many nesting elements",
	} {
		t.Run(expression, func(t *testing.T) {
			err := f.check(t, expression)
			wantInvalid(t, err, want)
			if !strings.Contains(fmt.Sprint(err), "ConditionExpression") {
				t.Errorf("does not say which expression: %v", err)
			}
		})
	}
}

func TestPlaceholders(t *testing.T) {
	f := start(t, dynamodb.Options{})
	condition := aws.String("a = :a AND #b = :a")
	for name, row := range map[string]struct {
		condition *string
		names     map[string]string
		values    M
		want      string
	}{
		"unused_name":    {condition, map[string]string{"#b": "b", "#c": "c", "#a": "a"}, M{":a": 1}, "Value provided in ExpressionAttributeNames unused in expressions: keys: {#a, #c}"},
		"unused_value":   {condition, map[string]string{"#b": "b"}, M{":a": 1, ":b": 2}, "Value provided in ExpressionAttributeValues unused in expressions: keys: {:b}"},
		"no_expression":  {nil, map[string]string{"#b": "b"}, nil, "ExpressionAttributeNames can only be specified when using expressions"},
		"no_expression2": {nil, nil, M{":b": 1}, "ExpressionAttributeValues can only be specified when using expressions"},
		"empty_names":    {condition, map[string]string{}, M{":a": 1}, "ExpressionAttributeNames must not be empty"},
		"empty_values":   {condition, nil, M{}, "ExpressionAttributeValues must not be empty"},
		"bad_name":       {condition, map[string]string{"b": "b"}, nil, `ExpressionAttributeNames contains invalid key: Syntax error; key: "b"`},
		"bad_value":      {condition, nil, M{":a-b": 1}, `ExpressionAttributeValues contains invalid key: Syntax error; key: ":a-b"`},
		"nameless":       {condition, map[string]string{"#b": ""}, nil, "ExpressionAttributeNames contains invalid value"},
		"empty_set":      {condition, nil, M{":a": &types.AttributeValueMemberSS{Value: []string{}}}, "set  may not be empty"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := f.PutItem(t.Context(), &sdk.PutItemInput{
				TableName: aws.String(items), Item: key("p", "s"), ConditionExpression: row.condition,
				ExpressionAttributeNames: row.names, ExpressionAttributeValues: attrs(row.values),
			})
			wantInvalid(t, err, row.want)
		})
	}
}
