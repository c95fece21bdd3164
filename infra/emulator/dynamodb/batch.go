package dynamodb

import (
	"maps"
	"slices"
)

type batchGetItemRequest struct {
	RequestItems           map[string]keysAndAttributes
	ReturnConsumedCapacity capacityReport
}

// keysAndAttributes is what a batch wants of one table.
type keysAndAttributes struct {
	Keys                     []map[string]wireValue
	ConsistentRead           *bool             `json:",omitempty"`
	ProjectionExpression     *string           `json:",omitempty"`
	ExpressionAttributeNames map[string]string `json:",omitempty"`
}

type batchGetItemReply struct {
	Responses        map[string][]item
	UnprocessedKeys  map[string]keysAndAttributes
	ConsumedCapacity []consumedCapacity `json:",omitempty"`
}

func (s *Server) batchGetItem(r *batchGetItemRequest, b *bill) (any, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	reply := batchGetItemReply{Responses: map[string][]item{}, UnprocessedKeys: map[string]keysAndAttributes{}}
	s.mu.RLock()
	defer s.mu.RUnlock()
	size := 0
	for _, name := range slices.Sorted(maps.Keys(r.RequestItems)) {
		wanted := r.RequestItems[name]
		t, err := s.table(name)
		if err != nil {
			return nil, err
		}
		paths, err := parseProjection(wanted.ExpressionAttributeNames, wanted.ProjectionExpression)
		if err != nil {
			return nil, err
		}
		keys, err := t.batchKeys(wanted.Keys)
		if err != nil {
			return nil, err
		}
		reply.Responses[name] = []item{}
		for i, key := range keys {
			found, has := t.rows.Get(key)
			if size += found.size; size > maxBatchGetSize {
				wanted.Keys = wanted.Keys[i:]
				reply.UnprocessedKeys[name] = wanted
				break
			}
			b.read(name, found.size, wanted.ConsistentRead != nil && *wanted.ConsistentRead)
			if has {
				reply.Responses[name] = append(reply.Responses[name], project(found.item, paths))
			}
		}
	}
	reply.ConsumedCapacity = r.ReturnConsumedCapacity.all(b)
	return reply, nil
}

func (r *batchGetItemRequest) check() error {
	if err := r.ReturnConsumedCapacity.check(); err != nil {
		return err
	}
	count := 0
	for name, wanted := range r.RequestItems {
		if len(wanted.Keys) == 0 {
			return unconstrained("requestItems."+name+".member.keys", "[]", "Member must have length greater than or equal to 1")
		}
		count += len(wanted.Keys)
	}
	if count == 0 {
		return unconstrained("requestItems", "{}", "Member must have length greater than or equal to 1")
	}
	if count > maxBatchGetKeys {
		return invalid("Too many items requested for the BatchGetItem call; maximum: %d", maxBatchGetKeys)
	}
	return nil
}

// batchKeys are the places of a batch's keys in the table.
func (t *table) batchKeys(wire []map[string]wireValue) ([]string, error) {
	keys := make([]string, len(wire))
	for i, w := range wire {
		key, err := parseItem(w)
		if err != nil {
			return nil, err
		}
		if err := t.checkKey(key); err != nil {
			return nil, err
		}
		keys[i] = t.rowKey(key)
		if slices.Contains(keys[:i], keys[i]) {
			return nil, duplicateKeys()
		}
	}
	return keys, nil
}

func duplicateKeys() error { return invalid("Provided list of item keys contains duplicates") }

type batchWriteItemRequest struct {
	RequestItems           map[string][]writeRequest
	ReturnConsumedCapacity capacityReport
}

// writeRequest is one write of a batch: one of its members is there.
type writeRequest struct {
	PutRequest    *struct{ Item map[string]wireValue }
	DeleteRequest *struct{ Key map[string]wireValue }
}

type batchWriteItemReply struct {
	UnprocessedItems map[string][]writeRequest
	ConsumedCapacity []consumedCapacity `json:",omitempty"`
}

func (s *Server) batchWriteItem(r *batchWriteItemRequest, b *bill) (any, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var changes []change
	for _, name := range slices.Sorted(maps.Keys(r.RequestItems)) {
		t, err := s.table(name)
		if err != nil {
			return nil, err
		}
		for _, w := range r.RequestItems[name] {
			c, err := t.batchChange(w)
			if err != nil {
				return nil, err
			}
			if slices.ContainsFunc(changes, func(other change) bool { return other.table == t && other.key == c.key }) {
				return nil, duplicateKeys()
			}
			changes = append(changes, c)
		}
	}
	if err := s.commit(changes...); err != nil {
		return nil, err
	}
	for _, c := range changes {
		b.write(c.table.Name, c.before.size, c.after.size)
	}
	return batchWriteItemReply{map[string][]writeRequest{}, r.ReturnConsumedCapacity.all(b)}, nil
}

func (r *batchWriteItemRequest) check() error {
	if err := r.ReturnConsumedCapacity.check(); err != nil {
		return err
	}
	count := 0
	for name, writes := range r.RequestItems {
		if len(writes) == 0 {
			return unconstrained("requestItems."+name, "[]", "Member must have length greater than or equal to 1")
		}
		count += len(writes)
	}
	if count == 0 {
		return unconstrained("requestItems", "{}", "Member must have length greater than or equal to 1")
	}
	if count > maxBatchWrites {
		return invalid("Too many items requested for the BatchWriteItem call; maximum: %d", maxBatchWrites)
	}
	return nil
}

// batchChange is what one write of a batch does.
func (t *table) batchChange(w writeRequest) (change, error) {
	c := change{table: t}
	switch {
	case w.PutRequest != nil && w.DeleteRequest == nil:
		whole, err := parseNewItem(w.PutRequest.Item)
		if err != nil {
			return c, err
		}
		if err := t.checkItemKey(whole); err != nil {
			return c, err
		}
		c.key, c.after = t.rowKey(whole), row{whole, whole.size()}
	case w.DeleteRequest != nil && w.PutRequest == nil:
		key, err := parseItem(w.DeleteRequest.Key)
		if err != nil {
			return c, err
		}
		if err := t.checkKey(key); err != nil {
			return c, err
		}
		c.key = t.rowKey(key)
	default:
		return c, invalid("Supplied WriteRequest must contain exactly one of PutRequest and DeleteRequest")
	}
	c.before, _ = t.rows.Get(c.key)
	return c, nil
}
