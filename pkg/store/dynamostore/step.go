package dynamostore

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"toolhost/pkg/fault"
	"toolhost/pkg/limits"
	"toolhost/pkg/store"
	"toolhost/pkg/task"
)

// stepRow is a step's item. Its value sits inside, gzipped if that is smaller,
// up to limits.BlobPiece; so a step is one put, and all steps are one query.
type stepRow struct {
	Format  int         `dynamodbav:"v"`
	Name    string      `dynamodbav:"name"`
	Value   *payloadRow `dynamodbav:"value,omitempty"`
	Packed  []byte      `dynamodbav:"gz,omitempty"`
	Size    int         `dynamodbav:"size,omitempty"` // of the packed value
	Expires int64       `dynamodbav:"expiresAt"`
}

// unrecorded holds if nothing is stored under the key.
const unrecorded = "attribute_not_exists(" + attrPK + ")"

// PutStep implements store.Store with one conditional put. Of a step that was
// sent twice because the first reply was lost, the second finds the first.
func (s *Store) PutStep(ctx context.Context, t task.Task, step store.Step) (store.Step, error) {
	const op = "dynamostore.PutStep"
	if !validID(t.ID) || !validBirth(t.Birth) {
		return store.Step{}, fault.New(fault.Invalid, op, "a task needs an id and a birth that fit a key")
	}
	if !utf8.ValidString(step.Name) {
		return store.Step{}, fault.New(fault.Invalid, op, "the name of a step is text, and %q is not", step.Name)
	}
	r := stepRow{Format: format, Name: step.Name, Expires: t.ExpiresAt().Add(limits.PartExpiryLag).Unix()}
	value := step.Value
	if len(value.Inline) > s.inline {
		if packed := pack(value.Inline); len(packed) > limits.BlobPiece {
			w := s.writer(ctx, op, t.ID, t.ExpiresAt())
			moved, err := w.put(value.Inline)
			if failed := w.Wait(); failed != nil {
				err = failed
			}
			if err != nil {
				return store.Step{}, err
			}
			value = moved
		} else if len(packed) < len(value.Inline) {
			r.Packed, r.Size, value = packed, len(value.Inline), task.Payload{}
		}
	}
	r.Value = toPayload(value)
	it, err := attributevalue.MarshalMap(r)
	if err != nil {
		return store.Step{}, fault.Wrap(fault.Internal, op, err)
	}
	maps.Copy(it, stepKey(t.ID, t.Birth, step.Name))
	stored, err := s.put(ctx, op, it, unrecorded, nil)
	switch {
	case err != nil:
		return store.Step{}, err
	case stored == nil:
		return step, nil
	case len(stored) == 0:
		return store.Step{}, fault.New(fault.NotFound, op, "a recorded step is gone")
	}
	return decodeStep(op, stored)
}

// Steps implements store.Store with one consistent query a MB.
func (s *Store) Steps(ctx context.Context, t task.Task) ([]store.Step, error) {
	const op = "dynamostore.Steps"
	var steps []store.Step
	err := s.query(ctx, op, t.ID, stepPrefix(t.Birth), func(it item) error {
		step, err := decodeStep(op, it)
		steps = append(steps, step)
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(steps, func(a, b store.Step) int { return cmp.Compare(a.Name, b.Name) })
	return steps, nil
}

// query reads all items under a partition key whose sort keys have a prefix, in
// the order of these, consistently. An error of each ends it.
func (s *Store) query(ctx context.Context, op, id, prefix string, each func(item) error) error {
	in := &dynamodb.QueryInput{
		TableName: aws.String(s.table), ConsistentRead: aws.Bool(true),
		KeyConditionExpression: aws.String(attrPK + " = :id AND begins_with(" + attrSK + ", :prefix)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":id":     &types.AttributeValueMemberS{Value: id},
			":prefix": &types.AttributeValueMemberS{Value: prefix},
		},
	}
	for {
		out, err := s.client.Query(ctx, in)
		if err != nil {
			return explain(ctx, op, err)
		}
		for _, it := range out.Items {
			if err := each(it); err != nil {
				return err
			}
		}
		if len(out.LastEvaluatedKey) == 0 {
			return nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

func decodeStep(op string, it item) (store.Step, error) {
	if err := checkFormat(op, it); err != nil {
		return store.Step{}, err
	}
	var r stepRow
	if err := attributevalue.UnmarshalMap(it, &r); err != nil {
		return store.Step{}, fault.Wrap(fault.Internal, op, err)
	}
	d := decoder{}
	step := store.Step{Name: r.Name, Value: d.payload(r.Value)}
	if r.Packed != nil {
		if r.Size < 0 || r.Size > maxPayload || r.Value != nil {
			return store.Step{}, fault.Wrap(fault.Internal, op, fmt.Errorf("a step of %d bytes", r.Size))
		}
		value, err := unpack(bytes.NewReader(r.Packed), r.Size)
		if err != nil {
			return store.Step{}, fault.Wrap(fault.Internal, op, err)
		}
		step.Value = task.NewPayload(value)
	}
	return step, fault.Wrap(fault.Internal, op, d.bad)
}
