package dynamodb

type getItemRequest struct {
	TableName                string
	Key                      map[string]wireValue
	ConsistentRead           bool
	ProjectionExpression     *string
	ExpressionAttributeNames map[string]string
	ReturnConsumedCapacity   capacityReport
}

type getItemReply struct {
	Item             item              `json:",omitzero"`
	ConsumedCapacity *consumedCapacity `json:",omitempty"`
}

func (s *Server) getItem(r *getItemRequest, b *bill) (any, error) {
	if err := r.ReturnConsumedCapacity.check(); err != nil {
		return nil, err
	}
	key, err := parseItem(r.Key)
	if err != nil {
		return nil, err
	}
	paths, err := parseProjection(r.ExpressionAttributeNames, r.ProjectionExpression)
	if err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	t, err := s.table(r.TableName)
	if err != nil {
		return nil, err
	}
	if err := t.checkKey(key); err != nil {
		return nil, err
	}
	found, _ := t.rows.Get(t.rowKey(key))
	b.read(t.Name, found.size, r.ConsistentRead)
	return getItemReply{project(found.item, paths), r.ReturnConsumedCapacity.one(b)}, nil
}

// parseProjection parses a projection that is its request's only expression.
func parseProjection(names map[string]string, source *string) ([]path, error) {
	sc, err := newScope(names, nil)
	if err != nil {
		return nil, err
	}
	paths, err := sc.projection(source)
	if err != nil {
		return nil, err
	}
	return paths, sc.settle()
}
