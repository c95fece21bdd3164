package dynamostore

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"toolhost/pkg/fault"
	"toolhost/pkg/limits"
	"toolhost/pkg/task"
)

const (
	// maxPayload bounds what one payload may hold, and what a damaged or hostile
	// row can make us unpack.
	maxPayload = 32 << 20
	// maxParts is a payload of maxPayload that doesn't shrink, read at once.
	maxParts = maxBatch
	// worthMoving is the smallest payload that leaves the item: a smaller one
	// saves less than its reference costs to follow.
	worthMoving = 100
	// reference is about what a moved payload leaves in the item.
	reference = 45

	attrData = "data" // a piece of the gzipped JSON
)

// moveOut writes the largest inline payloads of t to blobs, until its item is
// smaller by excess bytes or nothing is left that is worth moving. t's own
// slices are left alone.
func (s *Store) moveOut(ctx context.Context, op string, t task.Task, excess int) (task.Task, error) {
	t.Inputs, t.Callbacks = slices.Clone(t.Inputs), slices.Clone(t.Callbacks)
	all := []*task.Payload{&t.Arguments, &t.Prepared, &t.Outcome}
	for i := range t.Inputs {
		all = append(all, &t.Inputs[i].Params, &t.Inputs[i].Response)
	}
	for i := range t.Callbacks {
		all = append(all, &t.Callbacks[i].Body)
	}
	slices.SortStableFunc(all, func(a, b *task.Payload) int { return len(b.Inline) - len(a.Inline) })

	expires := t.ExpiresAt()
	w := s.writer(ctx, op, t.ID, expires)
	var err error
	for _, p := range all {
		if excess <= 0 || len(p.Inline) < worthMoving || err != nil {
			break
		}
		excess -= len(p.Inline) - reference
		*p, err = w.put(p.Inline)
	}
	if failed := w.Wait(); failed != nil {
		err = failed // why the writer's own context ended
	}
	return t, err
}

// writer writes the pieces of a task's blobs in parallel; Wait says whether
// all are there.
type writer struct {
	*errgroup.Group
	ctx     context.Context
	store   *Store
	op, id  string
	expires types.AttributeValue
}

func (s *Store) writer(ctx context.Context, op, id string, expires time.Time) *writer {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(s.parallel)
	return &writer{Group: g, ctx: ctx, store: s, op: op, id: id,
		expires: number(expires.Add(limits.PartExpiryLag).Unix())}
}

// put starts to write a payload under a fresh random id, which is why nobody
// can ever overwrite another's.
func (w *writer) put(value []byte) (task.Payload, error) {
	if len(value) > maxPayload {
		return task.Payload{}, fault.New(fault.TooLarge, w.op, "a payload has %d bytes, and %d are possible", len(value), maxPayload)
	}
	p := task.Payload{Blob: rand.Text(), Size: len(value)}
	for piece := range slices.Chunk(pack(value), limits.BlobPiece) {
		it := blobKey(w.id, p.Blob, p.Parts)
		it[attrFormat], it[attrExpires] = number(format), w.expires
		it[attrData] = &types.AttributeValueMemberB{Value: piece}
		p.Parts++
		w.Go(func() error {
			_, err := w.store.client.PutItem(w.ctx, &dynamodb.PutItemInput{TableName: aws.String(w.store.table), Item: it})
			if err != nil {
				return explain(w.ctx, w.op, err)
			}
			return nil
		})
	}
	return p, nil
}

// Payload implements store.Store. It reads all pieces of a blob at once and
// eventually consistently, for they never change; if some aren't there yet, it
// reads those again consistently.
func (s *Store) Payload(ctx context.Context, t task.Task, p task.Payload) (json.RawMessage, error) {
	const op = "dynamostore.Payload"
	if p.Blob == "" {
		return p.Inline, nil
	}
	if !possible(p.Parts, p.Size) {
		return nil, fault.New(fault.Invalid, op, "a blob of %d parts and %d bytes", p.Parts, p.Size)
	}
	pieces := make(map[string][]byte, p.Parts)
	for _, consistent := range []bool{false, true} {
		var missing []map[string]types.AttributeValue
		for n := range p.Parts {
			if k := blobKey(t.ID, p.Blob, n); pieces[k.part()] == nil {
				missing = append(missing, k)
			}
		}
		if len(missing) == 0 {
			break
		}
		found, err := s.many(ctx, op, missing, consistent)
		if err != nil {
			return nil, err
		}
		for _, it := range found {
			data, _ := it[attrData].(*types.AttributeValueMemberB)
			if err := checkFormat(op, it); err != nil {
				return nil, err
			}
			if data == nil || len(data.Value) == 0 {
				return nil, fault.Wrap(fault.Internal, op, fmt.Errorf("a piece without data"))
			}
			pieces[it.part()] = data.Value
		}
	}
	if len(pieces) < p.Parts {
		return nil, fault.New(fault.NotFound, op, "a stored payload is gone")
	}
	packed := make([]io.Reader, p.Parts)
	for n := range packed {
		packed[n] = bytes.NewReader(pieces[blobKey(t.ID, p.Blob, n).part()])
	}
	value, err := unpack(io.MultiReader(packed...), p.Size)
	return value, fault.Wrap(fault.Internal, op, err)
}

// possible reports whether a blob can be of so many pieces, and its JSON of so
// many bytes.
func possible(parts, size int) bool {
	return parts >= 1 && parts <= maxParts && size >= 0 && size <= maxPayload
}

// pack compresses well rather than fast: a write unit a KB costs a thousand
// times what the processor does.
func pack(value []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(value)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err) // a buffer takes everything
	}
	return b.Bytes()
}

// unpack reads exactly size bytes and checks their sum.
func unpack(packed io.Reader, size int) ([]byte, error) {
	r, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	value := make([]byte, size)
	if _, err := io.ReadFull(r, value); err != nil {
		return nil, err
	}
	switch _, err := io.ReadFull(r, make([]byte, 1)); err {
	case io.EOF:
		return value, nil
	case nil:
		return nil, fmt.Errorf("a payload of %d bytes unpacks to more", size)
	default:
		return nil, err
	}
}
