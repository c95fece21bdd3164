package dynamodb_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"toolhost/infra/emulator/dynamodb"
)

// sized is an item of exactly so many bytes.
func sized(sk string, size int) M {
	return M{"pk": "p", "sk": sk, "a": strings.Repeat("x", size-len("pkpska")-len(sk))}
}

func TestCapacity(t *testing.T) {
	f := start(t, dynamodb.Options{})
	for size, want := range map[int]struct{ write, read float64 }{
		20: {1, 1}, 1024: {1, 1}, 1025: {2, 1}, 4096: {4, 1}, 4097: {5, 2}, 409600: {400, 100},
	} {
		t.Run(fmt.Sprint(size, "_bytes"), func(t *testing.T) {
			put, err := f.PutItem(t.Context(), &sdk.PutItemInput{TableName: aws.String(items), Item: attrs(sized(fmt.Sprint(size), size)), ReturnConsumedCapacity: "TOTAL"})
			if err != nil {
				t.Fatal(err)
			}
			if *put.ConsumedCapacity.CapacityUnits != want.write || *put.ConsumedCapacity.TableName != items || put.ConsumedCapacity.Table != nil {
				t.Errorf("write: %v, want %v", *put.ConsumedCapacity.CapacityUnits, want.write)
			}
			for _, consistent := range []bool{true, false} {
				get, err := f.GetItem(t.Context(), &sdk.GetItemInput{
					TableName: aws.String(items), Key: key("p", fmt.Sprint(size)), ConsistentRead: &consistent, ProjectionExpression: aws.String("pk"), ReturnConsumedCapacity: "INDEXES",
				})
				if err != nil {
					t.Fatal(err)
				}
				units := want.read
				if !consistent {
					units /= 2
				}
				if *get.ConsumedCapacity.CapacityUnits != units || *get.ConsumedCapacity.Table.CapacityUnits != units {
					t.Errorf("read, consistent %v: %v, want %v", consistent, *get.ConsumedCapacity.CapacityUnits, units)
				}
			}
		})
	}
}

// TestMeter holds each call to the units that it must cost.
func TestMeter(t *testing.T) {
	failing := aws.String("attribute_not_exists(pk)")
	get := func(sk string) func(*fixture, *testing.T) error {
		return func(f *fixture, t *testing.T) error {
			_, err := f.GetItem(t.Context(), &sdk.GetItemInput{TableName: aws.String(items), Key: key("p", sk)})
			return err
		}
	}
	query := func(pk string, consistent bool) func(*fixture, *testing.T) error {
		return func(f *fixture, t *testing.T) error {
			in := queryFor("pk = :p", M{":p": pk, ":x": "x"})
			in.ConsistentRead, in.FilterExpression = &consistent, aws.String("a = :x")
			_, err := f.Query(t.Context(), in)
			return err
		}
	}
	remove := func(sk string, condition *string) func(*fixture, *testing.T) error {
		return func(f *fixture, t *testing.T) error {
			_, err := f.DeleteItem(t.Context(), &sdk.DeleteItemInput{TableName: aws.String(items), Key: key("p", sk), ConditionExpression: condition})
			return err
		}
	}
	set := func(size int, condition *string) func(*fixture, *testing.T) error {
		return func(f *fixture, t *testing.T) error {
			_, err := f.UpdateItem(t.Context(), &sdk.UpdateItemInput{
				TableName: aws.String(items), Key: key("p", "3500"), ConditionExpression: condition,
				UpdateExpression: aws.String("SET a = :a"), ExpressionAttributeValues: attrs(M{":a": strings.Repeat("x", size)}),
			})
			return err
		}
	}
	// The table has two items, of 3500 and 5000 bytes.
	for name, row := range map[string]struct {
		operation string
		call      func(*fixture, *testing.T) error
		fails     bool
		want      dynamodb.Usage
	}{
		"get_of_nothing":                {"GetItem", get("none"), false, dynamodb.Usage{Calls: 1, ReadUnits: 0.5}},
		"get_of_5000":                   {"GetItem", get("5000"), false, dynamodb.Usage{Calls: 1, ReadUnits: 1}},
		"query_sums_before_it_rounds":   {"Query", query("p", true), false, dynamodb.Usage{Calls: 1, ReadUnits: 3}},
		"eventual_query":                {"Query", query("p", false), false, dynamodb.Usage{Calls: 1, ReadUnits: 1.5}},
		"query_of_nothing":              {"Query", query("none", true), false, dynamodb.Usage{Calls: 1, ReadUnits: 1}},
		"delete_of_3500":                {"DeleteItem", remove("3500", nil), false, dynamodb.Usage{Calls: 1, WriteUnits: 4}},
		"delete_of_nothing":             {"DeleteItem", remove("none", nil), false, dynamodb.Usage{Calls: 1, WriteUnits: 1}},
		"failed_delete_of_5000":         {"DeleteItem", remove("5000", failing), true, dynamodb.Usage{Calls: 1, WriteUnits: 5}},
		"failed_delete_of_nothing":      {"DeleteItem", remove("none", aws.String("attribute_exists(pk)")), true, dynamodb.Usage{Calls: 1, WriteUnits: 1}},
		"update_that_shrinks":           {"UpdateItem", set(1, nil), false, dynamodb.Usage{Calls: 1, WriteUnits: 4}},
		"update_that_grows":             {"UpdateItem", set(9000, nil), false, dynamodb.Usage{Calls: 1, WriteUnits: 9}},
		"failed_update_that_would_grow": {"UpdateItem", set(9000, failing), true, dynamodb.Usage{Calls: 1, WriteUnits: 4}},
		"batch_write_adds_each": {"BatchWriteItem", func(f *fixture, t *testing.T) error {
			return f.batchWrite(t, putRequest(sized("3500", 100)), putRequest(sized("x", 100)))
		}, false, dynamodb.Usage{Calls: 1, WriteUnits: 5}},
		"invalid": {"PutItem", func(f *fixture, t *testing.T) error { return f.tryPut(M{"pk": ""}) }, true, dynamodb.Usage{Calls: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, dynamodb.Options{})
			if err := f.batchWrite(t, putRequest(sized("3500", 3500)), putRequest(sized("5000", 5000))); err != nil {
				t.Fatal(err)
			}
			before := f.server.Meter()[row.operation]
			if err := row.call(f, t); (err != nil) != row.fails {
				t.Fatal(err)
			}
			got := f.server.Meter()[row.operation]
			got.Calls, got.ReadUnits, got.WriteUnits = got.Calls-before.Calls, got.ReadUnits-before.ReadUnits, got.WriteUnits-before.WriteUnits
			if got != row.want {
				t.Errorf("got %+v, want %+v", got, row.want)
			}
		})
	}
}

// TestSize has the size of each value, which DescribeTable shows exactly.
func TestSize(t *testing.T) {
	f := start(t, dynamodb.Options{})
	for name, row := range map[string]struct {
		value any
		want  int
	}{
		"text": {"häh", 4}, "bytes": {[]byte{1, 2, 3}, 3}, "true": {true, 1}, "null": {nil, 1}, "empty": {"", 0},
		"0": {0, 1}, "1": {1, 2}, "12": {12, 2}, "123": {123, 3}, "100": {100, 2}, "1.2": {number("1.2"), 3}, "-5": {-5, 3}, "0.05": {number("0.05"), 2},
		"38_digits": {number("12345678901234567890123456789012345678"), 20},
		"strings":   {&types.AttributeValueMemberSS{Value: []string{"a", "bc"}}, 3}, "numbers": {&types.AttributeValueMemberNS{Value: []string{"1", "123"}}, 5},
		"binaries": {&types.AttributeValueMemberBS{Value: [][]byte{{1}, {2, 3}}}, 3},
		"list":     {[]any{}, 3}, "list_of_2": {[]any{"a", true}, 7}, "map": {M{}, 3}, "map_of_2": {M{"ab": "c", "d": nil}, 10}, "nested": {M{"a": []any{"b"}}, 10},
	} {
		t.Run(name, func(t *testing.T) {
			f.put(t, M{"pk": "p", "sk": "s", "a": row.value})
			out, err := f.DescribeTable(t.Context(), &sdk.DescribeTableInput{TableName: aws.String(items)})
			if err != nil {
				t.Fatal(err)
			}
			if got := int(*out.Table.TableSizeBytes) - len("pk"+"p"+"sk"+"s"+"a"); got != row.want {
				t.Errorf("got %d, want %d", got, row.want)
			}
		})
	}
}
