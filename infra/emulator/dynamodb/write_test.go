package dynamodb_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"toolhost/infra/emulator/dynamodb"
)

func TestConditionalWrite(t *testing.T) {
	f := start(t, dynamodb.Options{})
	stored := M{"pk": "p", "sk": "s", "n": 1}
	absent := aws.String("attribute_not_exists(pk)")

	put := func(report types.ReturnValuesOnConditionCheckFailure) error {
		_, err := f.PutItem(t.Context(), &sdk.PutItemInput{
			TableName: aws.String(items), Item: attrs(stored), ConditionExpression: absent, ReturnValuesOnConditionCheckFailure: report,
		})
		return err
	}
	t.Run("the_first_put_wins", func(t *testing.T) {
		if err := put(""); err != nil {
			t.Fatal(err)
		}
		wantCode(t, put(""), "ConditionalCheckFailedException", "The conditional request failed")
	})
	t.Run("the_stored_item_is_returned_where_asked_for", func(t *testing.T) {
		for report, want := range map[types.ReturnValuesOnConditionCheckFailure]string{"": "{}", "NONE": "{}", "ALL_OLD": show(t, attrs(stored))} {
			var failed *types.ConditionalCheckFailedException
			if err := put(report); !errors.As(err, &failed) || show(t, failed.Item) != want {
				t.Errorf("%q: %v, item %s, want %s", report, err, show(t, failed.Item), want)
			}
		}
		failed := (*types.ConditionalCheckFailedException)(nil)
		_, err := f.UpdateItem(t.Context(), &sdk.UpdateItemInput{
			TableName: aws.String(items), Key: key("p", "s"), UpdateExpression: aws.String("REMOVE n"), ConditionExpression: absent, ReturnValuesOnConditionCheckFailure: "ALL_OLD",
		})
		if !errors.As(err, &failed) || show(t, failed.Item) != show(t, attrs(stored)) {
			t.Error("update:", err)
		}
		_, err = f.DeleteItem(t.Context(), &sdk.DeleteItemInput{
			TableName: aws.String(items), Key: key("p", "s"), ConditionExpression: absent, ReturnValuesOnConditionCheckFailure: "ALL_OLD",
		})
		if !errors.As(err, &failed) || show(t, failed.Item) != show(t, attrs(stored)) {
			t.Error("delete:", err)
		}
	})
	t.Run("a_failed_condition_changes_nothing", func(t *testing.T) {
		_, err := f.UpdateItem(t.Context(), &sdk.UpdateItemInput{
			TableName: aws.String(items), Key: key("none", "s"), UpdateExpression: aws.String("SET a = pk"), ConditionExpression: aws.String("attribute_exists(pk)"),
		})
		wantCode(t, err, "ConditionalCheckFailedException", "")
		if got := f.get(t, "none", "s"); got != nil {
			t.Error("made", got)
		}
		if got := show(t, f.get(t, "p", "s")); got != show(t, attrs(stored)) {
			t.Error(got)
		}
	})
}

func TestConcurrency(t *testing.T) {
	f := start(t, dynamodb.Options{})
	f.put(t, M{"pk": "p", "sk": "s", "n": 0})
	const writers = 100
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for {
				n := f.get(t, "p", "s")["n"].(*types.AttributeValueMemberN)
				_, err := f.UpdateItem(t.Context(), &sdk.UpdateItemInput{
					TableName: aws.String(items), Key: key("p", "s"),
					UpdateExpression: aws.String("SET n = n + :one"), ConditionExpression: aws.String("n = :n"),
					ExpressionAttributeValues: attrs(M{":one": 1, ":n": n}),
				})
				if lost := (*types.ConditionalCheckFailedException)(nil); errors.As(err, &lost) {
					continue
				}
				if err != nil {
					t.Error(err)
				}
				return
			}
		})
	}
	wg.Wait()
	if got := f.get(t, "p", "s")["n"].(*types.AttributeValueMemberN).Value; got != fmt.Sprint(writers) {
		t.Errorf("%s increments of %d are there", got, writers)
	}
}

func nested(levels int) types.AttributeValue {
	v := types.AttributeValue(&types.AttributeValueMemberS{})
	for range levels {
		v = &types.AttributeValueMemberL{Value: []types.AttributeValue{v}}
	}
	return v
}

func TestPut_refused(t *testing.T) {
	f := start(t, dynamodb.Options{})
	big := strings.Repeat("x", 400<<10)
	for name, row := range map[string]struct {
		item M
		want string // "" for what is accepted
	}{
		"no_hash_key":         {M{"sk": "s"}, "Missing the key pk in the item"},
		"no_range_key":        {M{"pk": "p"}, "Missing the key sk in the item"},
		"key_of_another_type": {M{"pk": 5, "sk": "s"}, "Type mismatch for key pk expected: S actual: N"},
		"empty_key":           {M{"pk": "", "sk": "s"}, "cannot contain an empty string value. Key: pk"},
		"empty_range_key":     {M{"pk": "p", "sk": ""}, "cannot contain an empty string value. Key: sk"},
		"hash_key_2048":       {M{"pk": big[:2048], "sk": "s"}, ""},
		"hash_key_2049":       {M{"pk": big[:2049], "sk": "s"}, "Size of hashkey has exceeded"},
		"range_key_1024":      {M{"pk": "p", "sk": big[:1024]}, ""},
		"range_key_1025":      {M{"pk": "p", "sk": big[:1025]}, "Aggregated size of all range keys has exceeded the size limit of 1024 bytes"},
		"item_400_KB":         {M{"pk": "p", "sk": "s", "a": big[:400<<10-7]}, ""},
		"item_400_KB_and_1":   {M{"pk": "p", "sk": "s", "a": big[:400<<10-6]}, "Item size has exceeded the maximum allowed size"},
		"empty_values":        {M{"pk": "p", "sk": "s", "a": "", "b": []byte{}, "c": []any{}, "d": M{}}, ""},
		"empty_set":           {M{"pk": "p", "sk": "s", "a": &types.AttributeValueMemberNS{Value: []string{}}}, "An number set  may not be empty"},
		"double_in_a_set":     {M{"pk": "p", "sk": "s", "a": &types.AttributeValueMemberSS{Value: []string{"a", "b", "a"}}}, "contains duplicates"},
		"double_number":       {M{"pk": "p", "sk": "s", "a": &types.AttributeValueMemberNS{Value: []string{"1", "1.0"}}}, "contains duplicates"},
		"null_false":          {M{"pk": "p", "sk": "s", "a": &types.AttributeValueMemberNULL{Value: false}}, "must have the value of true"},
		"nested_32":           {M{"pk": "p", "sk": "s", "a": nested(32)}, ""},
		"nested_33":           {M{"pk": "p", "sk": "s", "a": nested(33)}, "Nesting Levels have exceeded"},
		"nameless":            {M{"pk": "p", "sk": "s", "": "x"}, "An attribute name has 0 bytes"},
		"not_a_number":        {M{"pk": "p", "sk": "s", "a": number("1e")}, "cannot be converted to a numeric value: 1e"},
		"39_digits":           {M{"pk": "p", "sk": "s", "a": number(strings.Repeat("1", 39))}, "more than 38 significant digits"},
		"overflow":            {M{"pk": "p", "sk": "s", "a": number("1e126")}, "Number overflow"},
		"underflow":           {M{"pk": "p", "sk": "s", "a": number("1e-131")}, "Number underflow"},
	} {
		t.Run(name, func(t *testing.T) {
			err := f.tryPut(row.item)
			if row.want != "" {
				wantInvalid(t, err, row.want)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("update_past_the_limit", func(t *testing.T) {
		f.put(t, M{"pk": "grow", "sk": "s", "a": big[:200<<10], "l": nested(32)})
		grow := func(expression string, values M) error {
			_, err := f.UpdateItem(t.Context(), &sdk.UpdateItemInput{
				TableName: aws.String(items), Key: key("grow", "s"), UpdateExpression: &expression, ExpressionAttributeValues: attrs(values),
			})
			return err
		}
		wantInvalid(t, grow("SET b = :b", M{":b": big[:200<<10]}), "Item size to update has exceeded the maximum allowed size")
		wantInvalid(t, grow("SET l[0] = :b", M{":b": nested(32)}), "Nesting Levels")
	})
	for name, k := range map[string]M{"lacks": {"pk": "p"}, "more": {"pk": "p", "sk": "s", "x": "y"}, "other": {"pk": "p", "x": "s"}, "type": {"pk": "p", "sk": 5}, "none": {}} {
		t.Run("key/"+name, func(t *testing.T) {
			_, err := f.GetItem(t.Context(), &sdk.GetItemInput{TableName: aws.String(items), Key: attrs(k)})
			wantInvalid(t, err, "The provided key element does not match the schema")
			_, err = f.DeleteItem(t.Context(), &sdk.DeleteItemInput{TableName: aws.String(items), Key: attrs(k)})
			wantInvalid(t, err, "The provided key element does not match the schema")
		})
	}
}

func TestValues(t *testing.T) {
	f := start(t, dynamodb.Options{})
	t.Run("every_type_comes_back", func(t *testing.T) {
		f.put(t, sample)
		want := M{}
		for k, v := range sample {
			want[k] = v
		}
		want["ss"], want["ns"] = &types.AttributeValueMemberSS{Value: []string{"a", "b"}}, &types.AttributeValueMemberNS{Value: []string{"1", "2"}}
		if got := show(t, f.get(t, "p", "s")); got != show(t, attrs(want)) {
			t.Errorf("got  %s\nwant %s", got, show(t, attrs(want)))
		}
	})
	for given, want := range map[string]string{
		"0": "0", "-0": "0", "0.000": "0", "1.50": "1.5", "+7": "7", "007": "7", ".5": "0.5", "5.": "5", "-1e2": "-100", "1.2E-3": "0.0012", "120": "120",
		"12345678901234567890123456789012345678":    "12345678901234567890123456789012345678",
		"-0.12345678901234567890123456789012345678": "-0.12345678901234567890123456789012345678",
		"0e999999999999": "0", "1e10": "10000000000", "9.5e-130": "0." + strings.Repeat("0", 129) + "95",
		"123000000000000000000000000000000000000000": "123000000000000000000000000000000000000000",
	} {
		t.Run("number_"+given, func(t *testing.T) {
			f.put(t, M{"pk": "p", "sk": "s", "n": number(given)})
			if got := f.get(t, "p", "s")["n"].(*types.AttributeValueMemberN).Value; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestProjection(t *testing.T) {
	f := start(t, dynamodb.Options{})
	f.put(t, sample)
	for expression, want := range map[string]any{
		"n":                     M{"n": 10},
		"n, gone":               M{"n": 10},
		"gone":                  M{},
		"m.a.b, l[2].#in, l[0]": M{"m": M{"a": M{"b": 1}}, "l": []any{1, M{"in": 7}}},
		"l[1], l[9], m.#dotted": M{"l": []any{"x"}, "m": M{"a.b": 2}},
		"pk, sk":                M{"pk": "p", "sk": "s"},
		"n.a, m[0]":             M{},
		"n, n":                  "Two document paths overlap",
		"m, m.a":                "Two document paths overlap",
		"m.a, m[0]":             "Two document paths conflict",
		"n,":                    "Syntax error",
		"":                      "can not be empty",
		"size(n)":               "reserved keyword: size",
		"year":                  "reserved keyword: year",
		"l[0], #undefined":      "attribute name: #undefined",
	} {
		t.Run(expression, func(t *testing.T) {
			in := &sdk.GetItemInput{TableName: aws.String(items), Key: key("p", "s"), ProjectionExpression: &expression}
			in.ExpressionAttributeNames, _ = used(expression)
			if strings.Contains(expression, "#in") {
				in.ExpressionAttributeNames = map[string]string{"#in": "in"}
			}
			out, err := f.GetItem(t.Context(), in)
			if text, refused := want.(string); refused {
				wantInvalid(t, err, text)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if out.Item == nil || show(t, out.Item) != show(t, attrs(want.(M))) {
				t.Errorf("got %s, want %s", show(t, out.Item), show(t, attrs(want.(M))))
			}
		})
	}
}
