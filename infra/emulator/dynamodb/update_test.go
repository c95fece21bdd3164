package dynamodb_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"toolhost/infra/emulator/dynamodb"
)

func (f *fixture) update(t testing.TB, expression string, returns types.ReturnValue) (map[string]types.AttributeValue, error) {
	names, values := used(expression)
	out, err := f.UpdateItem(t.Context(), &sdk.UpdateItemInput{
		TableName: aws.String(items), Key: key("p", "s"), UpdateExpression: &expression, ReturnValues: returns,
		ExpressionAttributeNames: names, ExpressionAttributeValues: values,
	})
	if err != nil {
		return nil, err
	}
	return out.Attributes, nil
}

func TestUpdate(t *testing.T) {
	f := start(t, dynamodb.Options{})
	before := M{"pk": "p", "sk": "s", "n": 10, "a": "A", "b": "B", "l": []any{0, 1, 2, 3}, "m": M{"x": 1, "y": M{"z": 2}}}
	for expression, changed := range map[string]M{
		"SET c = :text":                          {"c": "hello"},
		"set c = :text, n = n + :one":            {"c": "hello", "n": 11},
		"SET n = n - :big":                       {"n": -1},
		"SET n = :one - n":                       {"n": -9},
		"SET a = b, b = a":                       {"a": "B", "b": "A"},
		"SET n = if_not_exists(n, :zero) + :one": {"n": 11},
		"SET c = if_not_exists(c, :zero) + :one": {"c": 1},
		"SET c = if_not_exists(c, a)":            {"c": "A"},
		"SET m.x = :two, m.w = :one":             {"m": M{"x": 2, "w": 1, "y": M{"z": 2}}},
		"SET m.y.#dotted = m.x":                  {"m": M{"x": 1, "y": M{"z": 2, "a.b": 1}}},
		"SET l[1] = :x":                          {"l": []any{0, "x", 2, 3}},
		"SET l[17] = :x":                         {"l": []any{0, 1, 2, 3, "x"}},
		"REMOVE l[0], l[2]":                      {"l": []any{1, 3}},
		"REMOVE l[9], c, m.c":                    {},
		"REMOVE a, m.y.z":                        {"a": remove, "m": M{"x": 1, "y": M{}}},
		"ADD n :big, c :two":                     {"n": 21, "c": 2},
		"ADD m.x :two":                           {"m": M{"x": 3, "y": M{"z": 2}}},
		"SET a = n REMOVE n":                     {"a": 10, "n": remove},
		"REMOVE l[0] SET l[1] = :x ADD n :one":   {"l": []any{"x", 2, 3}, "n": 11},
	} {
		t.Run(expression, func(t *testing.T) {
			f.put(t, before)
			want := M{}
			for k, v := range before {
				want[k] = v
			}
			for k, v := range changed {
				want[k] = v
				if v == remove {
					delete(want, k)
				}
			}
			got, err := f.update(t, expression, types.ReturnValueAllNew)
			if err != nil {
				t.Fatal(err)
			}
			if show(t, got) != show(t, attrs(want)) || show(t, f.get(t, "p", "s")) != show(t, attrs(want)) {
				t.Errorf("got  %s\nwant %s", show(t, got), show(t, attrs(want)))
			}
		})
	}

	t.Run("makes_what_is_not_there", func(t *testing.T) {
		out, err := f.UpdateItem(t.Context(), &sdk.UpdateItemInput{TableName: aws.String(items), Key: key("new", "s"), ReturnValues: "ALL_NEW"})
		if err != nil {
			t.Fatal(err)
		}
		if got := show(t, out.Attributes); got != show(t, key("new", "s")) {
			t.Error(got)
		}
	})
}

// remove marks an attribute that an update takes away.
var remove = &struct{}{}

func TestUpdate_refused(t *testing.T) {
	f := start(t, dynamodb.Options{})
	before := M{"pk": "p", "sk": "s", "n": 10, "title": "x", "huge": number("99999999999999999999999999999999999999"), "l": []any{0}, "m": M{"x": 1}}
	for expression, want := range map[string]string{
		"":                                "The expression can not be empty",
		"n = :n":                          `Syntax error; token: "n"`,
		"SET n":                           "Syntax error",
		"SET n = :n,":                     "Syntax error",
		"SET n = :n :n":                   "Syntax error",
		"SET n = (:n)":                    "Syntax error",
		"SET n = :n SET l = :n":           `The "SET" section can only be used once`,
		"REMOVE":                          "Syntax error",
		"REMOVE n = :n":                   "Syntax error",
		"DELETE ss :set":                  "does not support the DELETE section",
		"ADD ss :set":                     "does not support ADD of anything but a number",
		"ADD n n":                         "Syntax error",
		"SET l = list_append(l, :l)":      "does not support the function list_append",
		"SET n = size(l)":                 "not allowed to be used this way",
		"SET n = foo(l)":                  "Invalid function name; function: foo",
		"SET n = if_not_exists(:n, :one)": "requires a document path",
		"SET n = if_not_exists(n)":        "Syntax error",
		"SET c = gone":                    "refers to an attribute that does not exist",
		"SET c = gone + :n":               "refers to an attribute that does not exist",
		"SET n = title + :n":              "incorrect data type",
		"SET n = n + :text":               "Incorrect operand type for operator or function; operator or function: +, operand type: S",
		"ADD title :n":                    "incorrect data type",
		"SET huge = huge + :one":          "", // 10^38: one digit
		"SET huge = huge + :five":         "more than 38 significant digits",
		"SET m.gone.x = :n":               "document path provided in the update expression is invalid for update",
		"SET gone.x = :n":                 "document path provided in the update expression is invalid",
		"SET m[0] = :n":                   "document path provided in the update expression is invalid",
		"SET l.x = :n":                    "document path provided in the update expression is invalid",
		"SET l[3].x = :n":                 "document path provided in the update expression is invalid",
		"REMOVE gone.x":                   "document path provided in the update expression is invalid",
		"REMOVE title[0]":                 "document path provided in the update expression is invalid",
		"SET n = :n, n = :one":            "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [n], path two: [n]",
		"SET m.x = :n REMOVE m":           "path one: [m, x], path two: [m]",
		"SET l[0] = :n REMOVE l.a":        "Two document paths conflict",
		"SET pk = :x":                     "Cannot update attribute pk. This attribute is part of the key",
		"REMOVE sk":                       "Cannot update attribute sk",
		"SET year = :x":                   "reserved keyword: year",
		"SET c = :undefined":              "not defined; attribute value: :undefined",
	} {
		t.Run(expression, func(t *testing.T) {
			f.put(t, before)
			_, err := f.update(t, expression, "")
			if want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantInvalid(t, err, want)
			if got := show(t, f.get(t, "p", "s")); got != show(t, attrs(before)) {
				t.Errorf("the item was changed: %s", got)
			}
		})
	}
}

func TestReturnValues(t *testing.T) {
	f := start(t, dynamodb.Options{})
	old := M{"pk": "p", "sk": "s", "n": 1, "m": M{"a": 1, "b": 2}, "l": []any{0, 1}}
	for returns, want := range map[types.ReturnValue]M{
		"":            nil,
		"NONE":        nil,
		"ALL_OLD":     old,
		"ALL_NEW":     {"pk": "p", "sk": "s", "n": 10, "m": M{"a": 2, "b": 2}, "l": []any{0, 5}, "c": 1},
		"UPDATED_OLD": {"n": 1, "m": M{"a": 1}, "l": []any{1}},
		"UPDATED_NEW": {"n": 10, "m": M{"a": 2}, "l": []any{5}, "c": 1},
	} {
		t.Run("update_"+string(returns), func(t *testing.T) {
			f.put(t, old)
			got, err := f.update(t, "SET n = :n, m.a = :two, l[1] = :five ADD c :one", returns)
			if err != nil {
				t.Fatal(err)
			}
			if show(t, got) != show(t, attrs(want)) {
				t.Errorf("got  %s\nwant %s", show(t, got), show(t, attrs(want)))
			}
		})
	}
	f.put(t, old)
	put, err := f.PutItem(t.Context(), &sdk.PutItemInput{TableName: aws.String(items), Item: key("p", "s"), ReturnValues: "ALL_OLD"})
	if err != nil || show(t, put.Attributes) != show(t, attrs(old)) {
		t.Errorf("put: %v %v", put, err)
	}
	deleted, err := f.DeleteItem(t.Context(), &sdk.DeleteItemInput{TableName: aws.String(items), Key: key("p", "s"), ReturnValues: "ALL_OLD"})
	if err != nil || show(t, deleted.Attributes) != show(t, key("p", "s")) || f.get(t, "p", "s") != nil {
		t.Errorf("delete: %v %v", deleted, err)
	}
	_, err = f.PutItem(t.Context(), &sdk.PutItemInput{TableName: aws.String(items), Item: key("p", "s"), ReturnValues: "ALL_NEW"})
	wantInvalid(t, err, "ReturnValues can only be ALL_OLD or NONE")
	_, err = f.DeleteItem(t.Context(), &sdk.DeleteItemInput{TableName: aws.String(items), Key: key("p", "s"), ReturnValues: "SOME"})
	wantInvalid(t, err, "Member must satisfy enum value set")
}
