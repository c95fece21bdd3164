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

func putRequest(it M) types.WriteRequest {
	return types.WriteRequest{PutRequest: &types.PutRequest{Item: attrs(it)}}
}

func (f *fixture) batchWrite(t testing.TB, writes ...types.WriteRequest) error {
	out, err := f.BatchWriteItem(t.Context(), &sdk.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{items: writes}})
	if err == nil && len(out.UnprocessedItems) > 0 {
		t.Error("unprocessed:", out.UnprocessedItems)
	}
	return err
}

func TestBatchGet(t *testing.T) {
	f := start(t, dynamodb.Options{})
	f.createTable(t, "more", "id")
	f.put(t, M{"pk": "p", "sk": "1", "a": 1, "b": 2})
	f.put(t, M{"pk": "p", "sk": "2", "a": 3})
	if _, err := f.PutItem(t.Context(), &sdk.PutItemInput{TableName: aws.String("more"), Item: attrs(M{"id": "x"})}); err != nil {
		t.Fatal(err)
	}
	get := func(of map[string]types.KeysAndAttributes) (*sdk.BatchGetItemOutput, error) {
		return f.BatchGetItem(t.Context(), &sdk.BatchGetItemInput{RequestItems: of, ReturnConsumedCapacity: "TOTAL"})
	}
	keys := func(n int) types.KeysAndAttributes {
		k := types.KeysAndAttributes{ConsistentRead: aws.Bool(true)}
		for i := range n {
			k.Keys = append(k.Keys, key("p", fmt.Sprint(i)))
		}
		return k
	}

	t.Run("of_two_tables", func(t *testing.T) {
		mine := keys(3)
		mine.ProjectionExpression, mine.ExpressionAttributeNames = aws.String("#a"), map[string]string{"#a": "a"}
		out, err := get(map[string]types.KeysAndAttributes{items: mine, "more": {Keys: []map[string]types.AttributeValue{attrs(M{"id": "x"}), attrs(M{"id": "y"})}}})
		if err != nil {
			t.Fatal(err)
		}
		if found := out.Responses[items]; len(found) != 2 || show(t, found[0]) != show(t, attrs(M{"a": 1})) || len(out.Responses["more"]) != 1 || len(out.UnprocessedKeys) != 0 {
			t.Errorf("%v, unprocessed %v", out.Responses, out.UnprocessedKeys)
		}
		units := map[string]float64{}
		for _, c := range out.ConsumedCapacity {
			units[*c.TableName] = *c.CapacityUnits
		}
		if units[items] != 3 || units["more"] != 1 {
			t.Error(units)
		}
	})
	t.Run("of_100_keys", func(t *testing.T) {
		if _, err := get(map[string]types.KeysAndAttributes{items: keys(100)}); err != nil {
			t.Error(err)
		}
		_, err := get(map[string]types.KeysAndAttributes{items: keys(101)})
		wantInvalid(t, err, "Too many items requested for the BatchGetItem call")
	})
	t.Run("past_16_MB_keys_are_left_unprocessed", func(t *testing.T) {
		for i := range 50 {
			f.put(t, M{"pk": "p", "sk": fmt.Sprint(i), "a": strings.Repeat("x", 390<<10)})
		}
		want, got, calls := map[string]types.KeysAndAttributes{items: keys(50)}, 0, 0
		for len(want) > 0 {
			out, err := get(want)
			if err != nil {
				t.Fatal(err)
			}
			got += len(out.Responses[items])
			want = out.UnprocessedKeys
			calls++
		}
		if got != 50 || calls != 2 {
			t.Errorf("%d items in %d calls", got, calls)
		}
	})
	for name, row := range map[string]struct {
		of   map[string]types.KeysAndAttributes
		want string
	}{
		"nothing":    {map[string]types.KeysAndAttributes{}, "length greater than or equal to 1"},
		"no_keys":    {map[string]types.KeysAndAttributes{items: {Keys: []map[string]types.AttributeValue{}}}, "length greater than or equal to 1"},
		"duplicates": {map[string]types.KeysAndAttributes{items: {Keys: []map[string]types.AttributeValue{key("a", "b"), key("a", "b")}}}, "list of item keys contains duplicates"},
		"bad_key":    {map[string]types.KeysAndAttributes{items: {Keys: []map[string]types.AttributeValue{attrs(M{"pk": "a"})}}}, "does not match the schema"},
		"bad_paths":  {map[string]types.KeysAndAttributes{items: {Keys: []map[string]types.AttributeValue{key("a", "b")}, ProjectionExpression: aws.String("#x")}}, "not defined"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := get(row.of)
			wantInvalid(t, err, row.want)
		})
	}
	_, err := get(map[string]types.KeysAndAttributes{"none": keys(1)})
	wantCode(t, err, "ResourceNotFoundException", "none")
}

func TestBatchWrite(t *testing.T) {
	f := start(t, dynamodb.Options{})
	f.put(t, M{"pk": "p", "sk": "old"})
	deleteOld := types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: key("p", "old")}}
	writes := []types.WriteRequest{deleteOld}
	for i := range 24 {
		writes = append(writes, putRequest(M{"pk": "p", "sk": fmt.Sprint(i)}))
	}
	if err := f.batchWrite(t, writes...); err != nil {
		t.Fatal(err)
	}
	if f.get(t, "p", "old") != nil || f.get(t, "p", "0") == nil || f.get(t, "p", "23") == nil {
		t.Error("not all was written")
	}
	for name, row := range map[string]struct {
		writes []types.WriteRequest
		want   string
	}{
		"26":         {append(writes, putRequest(M{"pk": "p", "sk": "x"})), "Too many items requested for the BatchWriteItem call"},
		"none":       {[]types.WriteRequest{}, "length greater than or equal to 1"},
		"neither":    {[]types.WriteRequest{{}}, "exactly one of PutRequest and DeleteRequest"},
		"both":       {[]types.WriteRequest{{DeleteRequest: deleteOld.DeleteRequest, PutRequest: writes[1].PutRequest}}, "exactly one of"},
		"duplicates": {[]types.WriteRequest{deleteOld, putRequest(M{"pk": "p", "sk": "old"})}, "list of item keys contains duplicates"},
		"too_large":  {[]types.WriteRequest{putRequest(M{"pk": "p", "sk": "s", "a": strings.Repeat("x", 400<<10)})}, "Item size has exceeded"},
		"no_key":     {[]types.WriteRequest{putRequest(M{"pk": "new", "sk": "1"}), putRequest(M{"pk": "p"})}, "Missing the key sk"},
	} {
		t.Run(name, func(t *testing.T) {
			wantInvalid(t, f.batchWrite(t, row.writes...), row.want)
			if f.get(t, "new", "1") != nil {
				t.Error("a refused batch wrote something")
			}
		})
	}
}
