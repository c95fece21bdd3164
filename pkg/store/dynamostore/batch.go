package dynamostore

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"toolhost/pkg/fault"
)

const (
	// maxBatch is how many items one BatchGetItem takes.
	maxBatch = 100
	// rereads bounds how often items that did not come are asked for again, and
	// busyWait is the first wait for a table that was too busy for all; it doubles.
	rereads  = 8
	busyWait = 10 * time.Millisecond
)

// many reads up to maxBatch items with different keys at once, in any order.
// What is not there is missing from the answer.
func (s *Store) many(ctx context.Context, op string, keys []map[string]types.AttributeValue, consistent bool) ([]item, error) {
	var found []item
	wait := busyWait
	for range rereads {
		out, err := s.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
			s.table: {Keys: keys, ConsistentRead: aws.Bool(consistent)}}})
		if err != nil {
			return nil, explain(ctx, op, err)
		}
		for _, it := range out.Responses[s.table] {
			found = append(found, it)
		}
		if keys = out.UnprocessedKeys[s.table].Keys; len(keys) == 0 {
			return found, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(wait):
			wait *= 2
		}
	}
	return nil, fault.New(fault.Busy, op, "the database is busy")
}
