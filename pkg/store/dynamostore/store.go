package dynamostore

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"toolhost/pkg/fault"
	"toolhost/pkg/limits"
	"toolhost/pkg/store"
	"toolhost/pkg/task"
)

// API is what a Store needs of the SDK's client.
type API interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// Options tune a Store. Zero values mean the defaults.
type Options struct {
	// InlineItem is the size in bytes above which payloads leave a task's item;
	// limits.InlineItem if zero.
	InlineItem int
	// Parallel is how many pieces of payloads are written at once; 8 if zero.
	Parallel int
}

// Store is a store.Store on a DynamoDB table of the shape that Schema gives.
// It holds no state of its own: any number may share a table.
type Store struct {
	client   API
	table    string
	inline   int
	parallel int
}

var _ store.Store = (*Store)(nil)

// New makes a Store on an existing table.
func New(client API, table string, o Options) *Store {
	s := &Store{client: client, table: table, inline: o.InlineItem, parallel: o.Parallel}
	if s.inline == 0 {
		s.inline = limits.InlineItem
	}
	if s.parallel == 0 {
		s.parallel = 8
	}
	return s
}

// Create implements store.Store with one conditional put.
func (s *Store) Create(ctx context.Context, t task.Task, now time.Time) (task.Task, bool, error) {
	const op = "dynamostore.Create"
	t.Revision = 1
	it, err := s.prepare(ctx, op, t)
	if err != nil {
		return task.Task{}, false, err
	}
	// Between a failed condition and the read that follows it, where the database
	// shows no item, the other task may go; then the put is tried once more.
	for range 2 {
		stored, err := s.put(ctx, op, it, freeToCreate, map[string]types.AttributeValue{":now": number(now.UnixMilli())})
		if err != nil {
			return task.Task{}, false, err
		}
		if stored == nil {
			stored = it
		}
		if len(stored) > 0 {
			kept, err := decode(op, stored)
			return kept, err == nil && kept.Birth == t.Birth, err
		}
	}
	return task.Task{}, false, fault.New(fault.Busy, op, "the task comes and goes")
}

// Load implements store.Store with one consistent read.
func (s *Store) Load(ctx context.Context, id string) (task.Task, error) {
	const op = "dynamostore.Load"
	if !validID(id) {
		return task.Task{}, notFound(op)
	}
	it, err := s.get(ctx, op, taskKey(id))
	if err != nil {
		return task.Task{}, err
	}
	if len(it) == 0 {
		return task.Task{}, notFound(op)
	}
	return decode(op, it)
}

// LoadMany implements store.Store with one consistent read for each hundred ids.
func (s *Store) LoadMany(ctx context.Context, ids []string) ([]task.Task, error) {
	const op = "dynamostore.LoadMany"
	var keys []map[string]types.AttributeValue
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) { // a batch holds no key twice
		if validID(id) {
			keys = append(keys, taskKey(id))
		}
	}
	var tasks []task.Task
	for batch := range slices.Chunk(keys, maxBatch) {
		found, err := s.many(ctx, op, batch, true)
		if err != nil {
			return nil, err
		}
		for _, it := range found {
			t, err := decode(op, it)
			if err != nil {
				return nil, err
			}
			tasks = append(tasks, t)
		}
	}
	return tasks, nil
}

// Save implements store.Store with one conditional put.
func (s *Store) Save(ctx context.Context, t task.Task) (task.Task, error) {
	const op = "dynamostore.Save"
	loaded := t.Revision
	t.Revision++
	it, err := s.prepare(ctx, op, t)
	if err != nil {
		return task.Task{}, err
	}
	stored, err := s.put(ctx, op, it, unchanged, map[string]types.AttributeValue{
		":rev": number(loaded), ":birth": &types.AttributeValueMemberS{Value: t.Birth}})
	if err != nil {
		return task.Task{}, err
	}
	if stored == nil || sameSave(stored, it) {
		return decode(op, it)
	}
	if len(stored) == 0 {
		return task.Task{}, notFound(op)
	}
	current, err := decode(op, stored)
	if err != nil {
		return task.Task{}, err
	}
	if current.Birth != t.Birth {
		return task.Task{}, notFound(op)
	}
	return task.Task{}, &store.ConflictError{Current: current}
}

// prepare moves large payloads to blobs and makes the item to put.
func (s *Store) prepare(ctx context.Context, op string, t task.Task) (item, error) {
	if !validID(t.ID) || !validBirth(t.Birth) {
		return nil, fault.New(fault.Invalid, op, "a task needs an id and a birth that fit a key")
	}
	nonce := rand.Text()
	it, err := encode(op, t, nonce)
	if err != nil {
		return nil, err
	}
	if size := it.size(); size > s.inline {
		if t, err = s.moveOut(ctx, op, t, size-s.inline); err != nil {
			return nil, err
		}
		if it, err = encode(op, t, nonce); err != nil {
			return nil, err
		}
	}
	if size := it.size(); size > maxItem {
		return nil, fault.New(fault.TooLarge, op, "the task's state has %d bytes without its payloads, and %d are possible", size, maxItem)
	}
	return it, nil
}

// put writes the item on a condition. It returns nil if that held, else what
// is stored, which is an empty item if there is none.
func (s *Store) put(ctx context.Context, op string, it item, condition string, values map[string]types.AttributeValue) (item, error) {
	in := &dynamodb.PutItemInput{
		TableName: aws.String(s.table), Item: it, ConditionExpression: aws.String(condition),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	if len(values) > 0 {
		in.ExpressionAttributeValues = values
	}
	_, err := s.client.PutItem(ctx, in)
	return s.met(ctx, op, it.key(), err)
}

// met is what a conditional write met, by its error: nil if it was done, else what
// is stored under the key, which is an empty item if there is none.
func (s *Store) met(ctx context.Context, op string, key item, err error) (item, error) {
	var failed *types.ConditionalCheckFailedException
	switch {
	case err == nil:
		return nil, nil
	case !errors.As(err, &failed):
		return nil, explain(ctx, op, err)
	case len(failed.Item) > 0:
		return failed.Item, nil
	}
	// There is no item, or this database does not return it.
	return s.get(ctx, op, key)
}

// get reads one item consistently; an empty one if there is none.
func (s *Store) get(ctx context.Context, op string, key item) (item, error) {
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: aws.String(s.table), Key: key, ConsistentRead: aws.Bool(true)})
	if err != nil {
		return nil, explain(ctx, op, err)
	}
	if out.Item == nil {
		return item{}, nil
	}
	return out.Item, nil
}
