package dynamostore

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"toolhost/pkg/fault"
	"toolhost/pkg/limits"
	"toolhost/pkg/store"
	"toolhost/pkg/task"
)

// The suite storetest runs on emulators, in infra/emulator/drivertest. Here are
// answers of DynamoDB that an emulator gives rarely or never.

// fakeAPI answers as a test says.
type fakeAPI struct {
	put      func(*dynamodb.PutItemInput) error
	get      func(*dynamodb.GetItemInput) item
	batchGet func(*dynamodb.BatchGetItemInput) *dynamodb.BatchGetItemOutput
	query    func(*dynamodb.QueryInput) (*dynamodb.QueryOutput, error)
}

func (f fakeAPI) PutItem(_ context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return &dynamodb.PutItemOutput{}, f.put(in)
}

func (f fakeAPI) GetItem(_ context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return &dynamodb.GetItemOutput{Item: f.get(in)}, nil
}

func (f fakeAPI) BatchGetItem(_ context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	return f.batchGet(in), nil
}

func (f fakeAPI) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return f.query(in)
}

func refused(*dynamodb.PutItemInput) error { return &types.ConditionalCheckFailedException{} }

func TestCreate(t *testing.T) {
	t.Run("the_other_task_is_read_where_a_failed_condition_shows_none", func(t *testing.T) {
		v, it := sample(t)
		other := v
		other.Birth = "another"
		s := New(fakeAPI{put: refused, get: func(in *dynamodb.GetItemInput) item {
			if !*in.ConsistentRead {
				t.Error("the read is not consistent")
			}
			return it
		}}, "table", Options{})
		got, created, err := s.Create(t.Context(), other, v.CreatedAt)
		if err != nil || created || got.Birth != v.Birth {
			t.Fatalf("got %+v, created %v, %v", got, created, err)
		}
	})
	t.Run("a_task_that_went_meanwhile_leaves_its_place", func(t *testing.T) {
		v, _ := sample(t)
		puts := 0
		s := New(fakeAPI{get: func(*dynamodb.GetItemInput) item { return nil }, put: func(in *dynamodb.PutItemInput) error {
			if puts++; puts == 1 {
				return refused(in)
			}
			return nil
		}}, "table", Options{})
		if _, created, err := s.Create(t.Context(), v, v.CreatedAt); err != nil || !created {
			t.Fatalf("created %v, %v", created, err)
		}
	})
	t.Run("a_task_that_comes_and_goes_is_not_chased", func(t *testing.T) {
		v, _ := sample(t)
		s := New(fakeAPI{put: refused, get: func(*dynamodb.GetItemInput) item { return nil }}, "table", Options{})
		if _, _, err := s.Create(t.Context(), v, v.CreatedAt); !fault.Is(err, fault.Busy) {
			t.Fatalf("got %v", err)
		}
	})
}

func TestSave(t *testing.T) {
	t.Run("our_own_save_is_known_where_a_failed_condition_shows_no_item", func(t *testing.T) { // case 2
		v, _ := sample(t)
		var sent item
		s := New(fakeAPI{get: func(*dynamodb.GetItemInput) item { return sent },
			put: func(in *dynamodb.PutItemInput) error { sent = in.Item; return refused(in) }}, "table", Options{})
		saved, err := s.Save(t.Context(), v)
		if err != nil || saved.Revision != v.Revision+1 {
			t.Fatalf("got %+v, %v", saved, err)
		}
	})
	t.Run("a_stored_task_of_another_format_is_left_alone", func(t *testing.T) {
		v, it := sample(t)
		it[attrFormat] = raw("2")
		s := New(fakeAPI{put: func(*dynamodb.PutItemInput) error { return &types.ConditionalCheckFailedException{Item: it} }}, "table", Options{})
		if _, err := s.Save(t.Context(), v); !fault.Is(err, fault.Internal) {
			t.Fatalf("got %v", err)
		}
	})
	t.Run("blobs_are_there_before_the_item_that_points_to_them", func(t *testing.T) {
		v, _ := sample(t)
		v.Outcome = task.NewPayload(make([]byte, 5000))
		var order []string
		s := New(fakeAPI{put: func(in *dynamodb.PutItemInput) error {
			order = append(order, item(in.Item).part())
			return nil
		}}, "table", Options{Parallel: 1})
		if _, err := s.Save(t.Context(), v); err != nil || len(order) != 2 || order[1] != taskPart {
			t.Fatalf("wrote %q, %v", order, err)
		}
	})
	t.Run("a_blob_that_can't_be_written_leaves_the_task_alone", func(t *testing.T) {
		v, _ := sample(t)
		v.Outcome = task.NewPayload(make([]byte, 5000))
		s := New(fakeAPI{put: func(in *dynamodb.PutItemInput) error {
			if item(in.Item).part() == taskPart {
				t.Error("the task was written")
			}
			return &types.InternalServerError{}
		}}, "table", Options{})
		if _, err := s.Save(t.Context(), v); !fault.Is(err, fault.Internal) {
			t.Fatalf("got %v", err)
		}
	})
	t.Run("too_large_a_payload_is_refused_with_the_limit", func(t *testing.T) {
		v, _ := sample(t)
		v.Outcome = task.NewPayload(make([]byte, maxPayload+1))
		_, err := New(fakeAPI{}, "table", Options{}).Save(t.Context(), v)
		if !fault.Is(err, fault.TooLarge) || fault.Message(err) == "" {
			t.Fatalf("got %v", err)
		}
	})
	t.Run("parts_outlive_the_task", func(t *testing.T) { // invariant 6
		v, _ := sample(t)
		v.Outcome = task.NewPayload(make([]byte, 5000))
		var mu sync.Mutex
		expires := map[string]string{}
		s := New(fakeAPI{put: func(in *dynamodb.PutItemInput) error {
			mu.Lock()
			defer mu.Unlock()
			part := item(in.Item).part()
			if part != taskPart {
				part = "blob or step"
			}
			expires[part] = in.Item[attrExpires].(*types.AttributeValueMemberN).Value
			return nil
		}}, "table", Options{})
		check := func() {
			t.Helper()
			if len(expires) == 0 {
				t.Fatal("nothing was written")
			}
			for part, got := range expires {
				lag := map[string]time.Duration{taskPart: limits.StoredExpiryLag, "blob or step": limits.PartExpiryLag}[part]
				if want := number(v.ExpiresAt().Add(lag).Unix()).(*types.AttributeValueMemberN).Value; got != want {
					t.Errorf("%s expires at %s, want %s", part, got, want)
				}
			}
			clear(expires)
		}
		if _, err := s.Save(t.Context(), v); err != nil || len(expires) != 2 {
			t.Fatalf("wrote %v, %v", expires, err)
		}
		check()
		if _, err := s.PutStep(t.Context(), v, store.Step{Name: "a", Value: task.NewPayload([]byte("1"))}); err != nil {
			t.Fatal(err)
		}
		check()
	})
}

func TestPayload(t *testing.T) {
	v := task.Task{ID: "id"}
	value := []byte(`"value"`)
	// blobOf is a blob of two pieces, and its items.
	packed := pack(value)
	p := task.Payload{Blob: "blob", Parts: 2, Size: len(value)}
	pieces := map[string]item{}
	for n, data := range [][]byte{packed[:5], packed[5:]} {
		it := blobKey(v.ID, p.Blob, n)
		it[attrFormat], it[attrData] = number(format), &types.AttributeValueMemberB{Value: data}
		pieces[it.part()] = it
	}
	answer := func(keys []map[string]types.AttributeValue) []map[string]types.AttributeValue {
		var items []map[string]types.AttributeValue
		for _, k := range keys {
			if it, there := pieces[item(k).part()]; there {
				items = append(items, it)
			}
		}
		return items
	}
	t.Run("what_a_busy_table_left_out_is_asked_for_again_later", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			s := New(fakeAPI{batchGet: func(in *dynamodb.BatchGetItemInput) *dynamodb.BatchGetItemOutput {
				calls++
				keys := in.RequestItems["table"]
				if *keys.ConsistentRead {
					t.Error("a piece that is only late was read consistently")
				}
				return &dynamodb.BatchGetItemOutput{
					Responses:       map[string][]map[string]types.AttributeValue{"table": answer(keys.Keys[:1])},
					UnprocessedKeys: map[string]types.KeysAndAttributes{"table": {Keys: keys.Keys[1:]}},
				}
			}}, "table", Options{})
			got, err := s.Payload(t.Context(), v, p)
			if err != nil || string(got) != string(value) || calls != 2 {
				t.Fatalf("got %q after %d calls, %v", got, calls, err)
			}
		})
	})
	t.Run("a_table_that_stays_busy_is_busy", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := New(fakeAPI{batchGet: func(in *dynamodb.BatchGetItemInput) *dynamodb.BatchGetItemOutput {
				return &dynamodb.BatchGetItemOutput{UnprocessedKeys: in.RequestItems}
			}}, "table", Options{})
			start := time.Now()
			if _, err := s.Payload(t.Context(), v, p); !fault.Is(err, fault.Busy) {
				t.Fatalf("got %v", err)
			}
			if waited := time.Since(start); waited < time.Second || waited > 10*time.Second {
				t.Fatalf("it took %v", waited)
			}
		})
	})
	t.Run("the_caller's_end_ends_the_wait", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			s := New(fakeAPI{batchGet: func(in *dynamodb.BatchGetItemInput) *dynamodb.BatchGetItemOutput {
				return &dynamodb.BatchGetItemOutput{UnprocessedKeys: in.RequestItems}
			}}, "table", Options{})
			if _, err := s.Payload(ctx, v, p); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("got %v", err)
			}
		})
	})
	t.Run("a_miss_is_read_again_consistently", func(t *testing.T) {
		var asked [][2]any
		s := New(fakeAPI{batchGet: func(in *dynamodb.BatchGetItemInput) *dynamodb.BatchGetItemOutput {
			keys := in.RequestItems["table"]
			asked = append(asked, [2]any{len(keys.Keys), *keys.ConsistentRead})
			items := answer(keys.Keys)
			if !*keys.ConsistentRead {
				items = items[:1] // the second is not everywhere yet
			}
			return &dynamodb.BatchGetItemOutput{Responses: map[string][]map[string]types.AttributeValue{"table": items}}
		}}, "table", Options{})
		got, err := s.Payload(t.Context(), v, p)
		if err != nil || string(got) != string(value) {
			t.Fatalf("got %q, %v", got, err)
		}
		if len(asked) != 2 || asked[0] != [2]any{2, false} || asked[1] != [2]any{1, true} {
			t.Fatalf("asked for %v", asked)
		}
	})
	t.Run("damaged_pieces_are_internal", func(t *testing.T) {
		for name, data := range map[string]types.AttributeValue{
			"none": nil, "text": &types.AttributeValueMemberS{Value: "a"}, "empty": &types.AttributeValueMemberB{},
			"foreign": &types.AttributeValueMemberB{Value: []byte("no gzip at all")},
		} {
			s := New(fakeAPI{batchGet: func(in *dynamodb.BatchGetItemInput) *dynamodb.BatchGetItemOutput {
				it := blobKey(v.ID, "b", 0)
				it[attrFormat] = number(format)
				if data != nil {
					it[attrData] = data
				}
				return &dynamodb.BatchGetItemOutput{Responses: map[string][]map[string]types.AttributeValue{"table": {it}}}
			}}, "table", Options{})
			if _, err := s.Payload(t.Context(), v, task.Payload{Blob: "b", Parts: 1, Size: 3}); !fault.Is(err, fault.Internal) {
				t.Errorf("%s: got %v", name, err)
			}
		}
	})
}

func TestExplain(t *testing.T) {
	for code, kind := range map[string]fault.Kind{
		"ProvisionedThroughputExceededException":   fault.Busy,
		"ThrottlingException":                      fault.Busy,
		"RequestLimitExceeded":                     fault.Busy,
		"ItemCollectionSizeLimitExceededException": fault.Internal,
		"ValidationException":                      fault.Internal,
		"ResourceNotFoundException":                fault.Internal,
		"AccessDeniedException":                    fault.Internal,
	} {
		s := New(fakeAPI{query: func(*dynamodb.QueryInput) (*dynamodb.QueryOutput, error) {
			return nil, &smithy.GenericAPIError{Code: code, Message: "the table toolhost"}
		}}, "table", Options{})
		_, err := s.Steps(t.Context(), task.Task{ID: "id", Birth: "birth"})
		if !fault.Is(err, kind) {
			t.Errorf("%s: got the kind %v", code, fault.KindOf(err))
		}
		if m := fault.Message(err); m != "" && m != "the database is busy" { // R-V4
			t.Errorf("%s: the caller would read %q", code, m)
		}
	}
}
