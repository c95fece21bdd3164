package dynamodb

import (
	"slices"
	"strings"
)

// writeMembers are the members that all writes of one item share.
type writeMembers struct {
	TableName                           string
	ConditionExpression                 *string
	ExpressionAttributeNames            map[string]string
	ExpressionAttributeValues           map[string]wireValue
	ReturnValues                        string
	ReturnValuesOnConditionCheckFailure string
	ReturnConsumedCapacity              capacityReport
}

type writeReply struct {
	Attributes       item              `json:",omitempty"`
	ConsumedCapacity *consumedCapacity `json:",omitempty"`
}

// check checks the enumerations; returns are the values that ReturnValues may have here.
func (m *writeMembers) check(returns ...string) error {
	if err := m.ReturnConsumedCapacity.check(); err != nil {
		return err
	}
	if err := oneOf("returnValuesOnConditionCheckFailure", m.ReturnValuesOnConditionCheckFailure, "ALL_OLD", "NONE"); err != nil {
		return err
	}
	if err := oneOf("returnValues", m.ReturnValues, "ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW"); err != nil {
		return err
	}
	if m.ReturnValues != "" && !slices.Contains(returns, m.ReturnValues) {
		return invalid("ReturnValues can only be %s", strings.Join(returns, " or "))
	}
	return nil
}

// parse parses the write's expressions.
func (m *writeMembers) parse(updateExpression *string) (condition, *update, error) {
	sc, err := newScope(m.ExpressionAttributeNames, m.ExpressionAttributeValues)
	if err != nil {
		return nil, nil, err
	}
	u, err := sc.update(updateExpression)
	if err != nil {
		return nil, nil, err
	}
	c, err := sc.condition("ConditionExpression", m.ConditionExpression)
	if err != nil {
		return nil, nil, err
	}
	return c, u, sc.settle()
}

// reply is the answer to a write that was carried out; paths are what it was to change.
func (m *writeMembers) reply(c change, paths []path, b *bill) writeReply {
	reply := writeReply{ConsumedCapacity: m.ReturnConsumedCapacity.one(b)}
	switch m.ReturnValues {
	case "ALL_OLD":
		reply.Attributes = c.before.item
	case "ALL_NEW":
		reply.Attributes = c.after.item
	case "UPDATED_OLD":
		reply.Attributes = projectUpdated(c.before.item, paths)
	case "UPDATED_NEW":
		reply.Attributes = projectUpdated(c.after.item, paths)
	}
	return reply
}

func projectUpdated(it item, paths []path) item {
	if len(paths) == 0 {
		return nil
	}
	return project(it, paths)
}

// write carries out one conditional write, at once and alone: check checks the
// key against the table, next makes the new item of the stored one, nil for none.
func (s *Server) write(m *writeMembers, key item, check func(*table) error, c condition, next func(item) (item, error), b *bill) (change, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.table(m.TableName)
	if err != nil {
		return change{}, err
	}
	if err := check(t); err != nil {
		return change{}, err
	}
	done := change{table: t, key: t.rowKey(key)}
	done.before, _ = t.rows.Get(done.key)
	if c != nil && !c.holds(done.before.item) {
		b.write(t.Name, done.before.size, 0)
		if m.ReturnValuesOnConditionCheckFailure == "ALL_OLD" {
			return change{}, conditionFailed(done.before.item)
		}
		return change{}, conditionFailed(nil)
	}
	it, err := next(done.before.item)
	if err != nil {
		return change{}, err
	}
	done.after = row{it, it.size()}
	if err := s.commit(done); err != nil {
		return change{}, err
	}
	b.write(t.Name, done.before.size, done.after.size)
	return done, nil
}

// commit makes the changes lasting and then visible, all or none.
func (s *Server) commit(changes ...change) error {
	if err := s.disk.save(changes); err != nil {
		return internal("the change could not be kept: " + err.Error())
	}
	for _, c := range changes {
		c.apply()
	}
	return nil
}

type putItemRequest struct {
	Item map[string]wireValue
	writeMembers
}

func (s *Server) putItem(r *putItemRequest, b *bill) (any, error) {
	if err := r.check("ALL_OLD", "NONE"); err != nil {
		return nil, err
	}
	whole, err := parseNewItem(r.Item)
	if err != nil {
		return nil, err
	}
	c, _, err := r.parse(nil)
	if err != nil {
		return nil, err
	}
	check := func(t *table) error { return t.checkItemKey(whole) }
	done, err := s.write(&r.writeMembers, whole, check, c, func(item) (item, error) { return whole, nil }, b)
	if err != nil {
		return nil, err
	}
	return r.reply(done, nil, b), nil
}

// parseNewItem parses an item that is to be stored.
func parseNewItem(wire map[string]wireValue) (item, error) {
	whole, err := parseItem(wire)
	if err == nil && whole.size() > maxItemSize {
		err = invalid("Item size has exceeded the maximum allowed size")
	}
	return whole, err
}

type deleteItemRequest struct {
	Key map[string]wireValue
	writeMembers
}

func (s *Server) deleteItem(r *deleteItemRequest, b *bill) (any, error) {
	if err := r.check("ALL_OLD", "NONE"); err != nil {
		return nil, err
	}
	key, err := parseItem(r.Key)
	if err != nil {
		return nil, err
	}
	c, _, err := r.parse(nil)
	if err != nil {
		return nil, err
	}
	check := func(t *table) error { return t.checkKey(key) }
	done, err := s.write(&r.writeMembers, key, check, c, func(item) (item, error) { return nil, nil }, b)
	if err != nil {
		return nil, err
	}
	return r.reply(done, nil, b), nil
}

type updateItemRequest struct {
	Key              map[string]wireValue
	UpdateExpression *string
	writeMembers
}

func (s *Server) updateItem(r *updateItemRequest, b *bill) (any, error) {
	if err := r.check("NONE", "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW"); err != nil {
		return nil, err
	}
	key, err := parseItem(r.Key)
	if err != nil {
		return nil, err
	}
	c, u, err := r.parse(r.UpdateExpression)
	if err != nil {
		return nil, err
	}
	check := func(t *table) error {
		if err := t.checkKey(key); err != nil {
			return err
		}
		for _, p := range u.targets() {
			if slices.Contains(t.keyNames(), p[0].name) {
				return invalidParameter("Cannot update attribute %s. This attribute is part of the key", p[0].name)
			}
		}
		return nil
	}
	next := func(before item) (item, error) {
		if before == nil {
			before = key // an update makes what is not there
		}
		updated, err := u.apply(before)
		if err != nil {
			return nil, err
		}
		return updated, checkUpdated(updated)
	}
	done, err := s.write(&r.writeMembers, key, check, c, next, b)
	if err != nil {
		return nil, err
	}
	return r.reply(done, u.targets(), b), nil
}

// checkUpdated checks what an update made; its parts were checked as values.
func checkUpdated(updated item) error {
	if updated.size() > maxItemSize {
		return invalid("Item size to update has exceeded the maximum allowed size")
	}
	return checkDepth(updated.depth())
}
