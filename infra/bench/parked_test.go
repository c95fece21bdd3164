package bench

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

type item = map[string]types.AttributeValue

// parts are the items of a task.
func (d *deployment) parts(id string) []item {
	d.tb.Helper()
	out, err := d.db.Query(context.Background(), &dynamodb.QueryInput{TableName: &d.services.Table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression: aws.String("pk = :id"), ExpressionAttributeValues: item{":id": &types.AttributeValueMemberS{Value: id}}})
	must(d.tb, err)
	return out.Items
}

// restore puts items back as they were.
func (d *deployment) restore(items []item) {
	d.tb.Helper()
	for batch := range slices.Chunk(items, 25) {
		writes := make([]types.WriteRequest, len(batch))
		for i, it := range batch {
			writes[i].PutRequest = &types.PutRequest{Item: it}
		}
		_, err := d.db.BatchWriteItem(context.Background(), &dynamodb.BatchWriteItemInput{
			RequestItems: map[string][]types.WriteRequest{d.services.Table: writes}})
		must(d.tb, err)
	}
}

// crowd parks n more tasks like one, by copies of its items, and returns their ids.
func (d *deployment) crowd(id string, n int) []string {
	d.tb.Helper()
	var ids []string
	var copies []item
	parts := d.parts(id)
	for i := range n {
		ids = append(ids, fmt.Sprintf("%s-%d", id, i))
		copies = append(copies, under(parts, ids[i])...)
	}
	d.restore(copies)
	return ids
}

// under are copies of a task's items for another id.
func under(parts []item, id string) (copies []item) {
	for _, part := range parts {
		c := make(item, len(part))
		for k, v := range part {
			c[k] = v
		}
		c["pk"] = &types.AttributeValueMemberS{Value: id}
		copies = append(copies, c)
	}
	return copies
}

// BenchmarkParked resumes a task (the answer, the run to its end, the result)
// by turns among 100 and among 100,000 parked ones. many/few is the ratio
// of the medians: about 1.
func BenchmarkParked(b *testing.B) {
	type place struct {
		*deployment
		parts []item
		ids   []string
	}
	open := func(n int) place {
		d := deploy(b)
		first := d.park("ask")
		return place{d, d.parts(first), d.crowd(first, n)}
	}
	few, many := open(100), open(100_000)
	resume := func(p place) turn {
		next := 0
		return turn{
			prepare: func() { next = (next + 7919) % len(p.ids) },
			run: func() {
				p.answer(p.ids[next], "whom")
				p.deliver()
				p.get(p.ids[next], "Ada")
			},
			after: func() { p.restore(under(p.parts, p.ids[next])) }, // parked again
		}
	}
	compare(b, "many/few", resume(many), resume(few))
}
