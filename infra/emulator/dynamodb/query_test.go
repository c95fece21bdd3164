package dynamodb_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"toolhost/infra/emulator/dynamodb"
)

// sortKeys are the sort keys of items, in their order.
func sortKeys(found []map[string]types.AttributeValue) string {
	var keys []string
	for _, it := range found {
		keys = append(keys, it["sk"].(*types.AttributeValueMemberS).Value)
	}
	return strings.Join(keys, " ")
}

func queryFor(condition string, values M) *sdk.QueryInput {
	return &sdk.QueryInput{TableName: aws.String(items), KeyConditionExpression: &condition, ExpressionAttributeValues: attrs(values)}
}

func TestQuery(t *testing.T) {
	f := start(t, dynamodb.Options{})
	for i, sk := range []string{"b", "a#2", "a", "a#1", "c", "B", "ä"} {
		f.put(t, M{"pk": "p", "sk": sk, "n": i})
	}
	f.put(t, M{"pk": "q", "sk": "a"})
	f.put(t, M{"pk": "p\x00", "sk": "a"})

	for condition, want := range map[string]string{
		"pk = :p":                          "B a a#1 a#2 b c ä",
		"(pk = :p)":                        "B a a#1 a#2 b c ä",
		"pk = :p AND sk = :a":              "a",
		"sk = :a AND pk = :p":              "a",
		"(pk = :p) and (sk = :z)":          "",
		"pk = :p AND begins_with(sk, :a)":  "a a#1 a#2",
		"pk = :p AND sk BETWEEN :a AND :b": "a a#1 a#2 b",
		"pk = :p AND sk < :b":              "B a a#1 a#2",
		"pk = :p AND sk <= :b":             "B a a#1 a#2 b",
		"pk = :p AND sk > :b":              "c ä",
		"pk = :p AND sk >= :b":             "b c ä",
		"pk = :z":                          "",
	} {
		t.Run(condition, func(t *testing.T) {
			values := M{":p": "p", ":a": "a", ":b": "b", ":z": "z"}
			for name := range values {
				if !strings.Contains(condition, name) {
					delete(values, name)
				}
			}
			in := queryFor(condition, values)
			out, err := f.Query(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			if got := sortKeys(out.Items); got != want || int(out.Count) != len(out.Items) || out.LastEvaluatedKey != nil {
				t.Errorf("got %q (%d, last %v), want %q", got, out.Count, out.LastEvaluatedKey, want)
			}
			in.ScanIndexForward = aws.Bool(false)
			if out, err = f.Query(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			slices.Reverse(out.Items)
			if got := sortKeys(out.Items); got != want {
				t.Errorf("backward: got %q, want %q", got, want)
			}
			in.Limit = aws.Int32(2) // in pages, backward
			var paged []map[string]types.AttributeValue
			for pages := sdk.NewQueryPaginator(f, in); pages.HasMorePages(); {
				page, err := pages.NextPage(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				paged = append(paged, page.Items...)
			}
			slices.Reverse(paged)
			if got := sortKeys(paged); got != want {
				t.Errorf("in pages: got %q, want %q", got, want)
			}
		})
	}

	t.Run("a_filter_is_applied_after_the_limit", func(t *testing.T) {
		in := queryFor("pk = :p", M{":p": "p", ":n": 3})
		in.FilterExpression, in.Limit, in.ProjectionExpression = aws.String("n >= :n"), aws.Int32(4), aws.String("sk")
		out, err := f.Query(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if sortKeys(out.Items) != "B a#1" || out.Count != 2 || out.ScannedCount != 4 || show(t, out.LastEvaluatedKey) != show(t, key("p", "a#2")) || len(out.Items[0]) != 1 {
			t.Errorf("%v %d %d %v", out.Items, out.Count, out.ScannedCount, out.LastEvaluatedKey)
		}
	})
	t.Run("a_full_page_has_a_last_key_even_where_nothing_follows", func(t *testing.T) {
		in := queryFor("pk = :p", M{":p": "q"})
		in.Limit = aws.Int32(1)
		out, err := f.Query(t.Context(), in)
		if err != nil || out.LastEvaluatedKey == nil {
			t.Fatal(out, err)
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
		if out, err = f.Query(t.Context(), in); err != nil || out.Count != 0 || out.LastEvaluatedKey != nil {
			t.Error(out, err)
		}
	})
	t.Run("pages_of_1_MB", func(t *testing.T) {
		for i := range 7 {
			f.put(t, M{"pk": "big", "sk": fmt.Sprint(i), "a": strings.Repeat("x", 390<<10)})
		}
		var sizes []int
		for pages := sdk.NewQueryPaginator(f, queryFor("pk = :p", M{":p": "big"})); pages.HasMorePages(); {
			page, err := pages.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			sizes = append(sizes, len(page.Items))
		}
		if !slices.Equal(sizes, []int{3, 3, 1}) {
			t.Error(sizes)
		}
	})
}

func TestQuery_refused(t *testing.T) {
	f := start(t, dynamodb.Options{})
	values := M{":p": "p", ":a": "a", ":b": "b", ":n": 5, ":e": ""}
	for condition, want := range map[string]string{
		"":                                 "can not be empty",
		"sk = :a":                          "Query condition missed key schema element: pk",
		"pk = :p AND n = :a":               "Query condition missed key schema element: sk",
		"pk > :p":                          "Query key condition not supported",
		"begins_with(pk, :p)":              "Query key condition not supported",
		"pk = :p OR sk = :a":               "Invalid operator used in KeyConditionExpression: OR",
		"NOT pk = :p":                      "Invalid operator used in KeyConditionExpression: NOT",
		"pk = :p AND sk <> :a":             "Invalid operator used in KeyConditionExpression: <>",
		"pk = :p AND sk IN (:a)":           "Invalid operator used in KeyConditionExpression: IN",
		"pk = :p AND attribute_exists(sk)": "Invalid operator used in KeyConditionExpression",
		"pk = :p AND contains(sk, :a)":     "Invalid operator used in KeyConditionExpression",
		"pk = :p AND size(sk) > :n":        "whose first operand is not a key attribute",
		":p = pk":                          "whose first operand is not a key attribute",
		"pk = sk":                          "with values only",
		"pk.a = :p":                        "nested attributes",
		"pk = :p AND sk > :a AND sk < :b":  "only contain one condition per key",
		"pk = :p AND pk = :a":              "only contain one condition per key",
		"pk = :n":                          "Condition parameter type does not match schema type",
		"pk = :p AND sk = :e":              "cannot contain an empty string value. Key: sk",
		"pk = :e":                          "cannot contain an empty string value. Key: pk",
		"pk = :p AND sk BETWEEN :b AND :a": "upper bound to be greater than or equal to lower bound",
		"pk = :p AND":                      "Syntax error",
	} {
		t.Run(condition, func(t *testing.T) {
			mine := M{}
			for name, v := range values {
				if strings.Contains(condition, name) {
					mine[name] = v
				}
			}
			if len(mine) == 0 {
				mine = nil
			}
			_, err := f.Query(t.Context(), queryFor(condition, mine))
			wantInvalid(t, err, want)
		})
	}
	for name, row := range map[string]struct {
		change func(*sdk.QueryInput)
		want   string
	}{
		"no_condition":    {func(in *sdk.QueryInput) { in.KeyConditionExpression, in.ExpressionAttributeValues = nil, nil }, "KeyConditionExpression parameter must be specified"},
		"limit_0":         {func(in *sdk.QueryInput) { in.Limit = aws.Int32(0) }, "greater than or equal to 1"},
		"filter_on_key":   {func(in *sdk.QueryInput) { in.FilterExpression = aws.String("attribute_exists(a) OR NOT sk > :p") }, "can only contain non-primary key attributes: Primary key attribute: sk"},
		"bad_filter":      {func(in *sdk.QueryInput) { in.FilterExpression = aws.String("a =") }, "Invalid FilterExpression"},
		"start_elsewhere": {func(in *sdk.QueryInput) { in.ExclusiveStartKey = key("other", "a") }, "outside query boundaries"},
		"bad_start":       {func(in *sdk.QueryInput) { in.ExclusiveStartKey = attrs(M{"pk": "p"}) }, "The provided starting key is invalid"},
		"capacity":        {func(in *sdk.QueryInput) { in.ReturnConsumedCapacity = "ALL" }, "Member must satisfy enum value set: [INDEXES, TOTAL, NONE]"},
	} {
		t.Run(name, func(t *testing.T) {
			in := queryFor("pk = :p", M{":p": "p"})
			row.change(in)
			_, err := f.Query(t.Context(), in)
			wantInvalid(t, err, row.want)
		})
	}
}

func TestScan(t *testing.T) {
	f := start(t, dynamodb.Options{})
	const partitions, each = 40, 3
	for i := range partitions * each {
		f.put(t, M{"pk": fmt.Sprint("p", i/each), "sk": fmt.Sprint(i % each), "n": i})
	}
	seen := map[string]int{}
	var order []string
	in := &sdk.ScanInput{
		TableName: aws.String(items), Limit: aws.Int32(7), FilterExpression: aws.String("n < :n AND sk >= :s"),
		ExpressionAttributeValues: attrs(M{":n": 60, ":s": "1"}),
	}
	scanned := 0
	for pages := sdk.NewScanPaginator(f, in); pages.HasMorePages(); {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		scanned += int(page.ScannedCount)
		for _, it := range page.Items {
			seen[show(t, it)]++
			order = append(order, it["pk"].(*types.AttributeValueMemberS).Value)
		}
	}
	if len(seen) != 40 || len(order) != 40 || scanned != partitions*each {
		t.Errorf("%d items, %d different, %d scanned", len(order), len(seen), scanned)
	}
	if slices.IsSorted(order) {
		t.Error("a scan goes in the order of keys, which DynamoDB does not promise")
	}
}
