package dynamodb

import (
	"errors"
	"math"
	"slices"
)

// pageMembers are the members that Query and Scan share.
type pageMembers struct {
	TableName                 string
	Limit                     *int
	ExclusiveStartKey         map[string]wireValue
	ConsistentRead            bool
	FilterExpression          *string
	ProjectionExpression      *string
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues map[string]wireValue
	ReturnConsumedCapacity    capacityReport
}

type queryRequest struct {
	KeyConditionExpression *string
	ScanIndexForward       *bool
	pageMembers
}

type pageReply struct {
	Items            []item
	Count            int
	ScannedCount     int
	LastEvaluatedKey item              `json:",omitempty"`
	ConsumedCapacity *consumedCapacity `json:",omitempty"`
}

func (s *Server) query(r *queryRequest, b *bill) (any, error) {
	return s.page(&r.pageMembers, b, func(sc *scope, t *table, p *page) error {
		p.backward = r.ScanIndexForward != nil && !*r.ScanIndexForward
		var err error
		p.rows, err = sc.keyCondition(t, r.KeyConditionExpression)
		return err
	})
}

type scanRequest struct{ pageMembers }

func (s *Server) scan(r *scanRequest, b *bill) (any, error) {
	return s.page(&r.pageMembers, b, func(_ *scope, _ *table, p *page) error {
		p.rows, p.all = keyRange{"", endOfTable}, true
		return nil
	})
}

// endOfTable sorts behind every row: a hash of eight such bytes does not occur.
const endOfTable = endOfPartition + "\xff\xff\xff\xff\xff\xff\xff\xff"

// page is one step through a range of rows.
type page struct {
	rows       keyRange
	all        bool // a Scan, not a Query
	backward   bool
	limit      int
	filter     condition
	projection []path
}

// page answers a Query or Scan; choose gives the page its rows.
func (s *Server) page(m *pageMembers, b *bill, choose func(*scope, *table, *page) error) (any, error) {
	if err := m.ReturnConsumedCapacity.check(); err != nil {
		return nil, err
	}
	if err := atLeastOne("limit", m.Limit); err != nil {
		return nil, err
	}
	sc, err := newScope(m.ExpressionAttributeNames, m.ExpressionAttributeValues)
	if err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	t, err := s.table(m.TableName)
	if err != nil {
		return nil, err
	}
	p := page{limit: math.MaxInt}
	if m.Limit != nil {
		p.limit = *m.Limit
	}
	if err := choose(sc, t, &p); err != nil {
		return nil, err
	}
	if p.filter, err = sc.condition("FilterExpression", m.FilterExpression); err != nil {
		return nil, err
	}
	if p.projection, err = sc.projection(m.ProjectionExpression); err != nil {
		return nil, err
	}
	if err := sc.settle(); err != nil {
		return nil, err
	}
	if !p.all {
		for _, used := range pathsOf(p.filter) {
			if slices.Contains(t.keyNames(), used[0].name) {
				return nil, invalid("Filter Expression can only contain non-primary key attributes: Primary key attribute: %s", used[0].name)
			}
		}
	}
	if err := p.resume(t, m.ExclusiveStartKey); err != nil {
		return nil, err
	}
	reply, size := p.read(t)
	b.read(t.Name, size, m.ConsistentRead)
	reply.ConsumedCapacity = m.ReturnConsumedCapacity.one(b)
	return reply, nil
}

// resume makes the page start behind the key that ended the last one.
func (p *page) resume(t *table, wire map[string]wireValue) error {
	if wire == nil {
		return nil
	}
	key, err := parseItem(wire)
	if err == nil {
		err = t.checkKey(key)
	}
	if f := (*failure)(nil); errors.As(err, &f) {
		return invalid("The provided starting key is invalid: %s", f.message)
	}
	start := t.rowKey(key)
	if start < p.rows.from || start >= p.rows.to {
		return invalid("The provided starting key is outside query boundaries based on provided conditions")
	}
	if p.backward {
		p.rows.to = start
	} else {
		p.rows.from = after(start)
	}
	return nil
}

// read reads rows up to the page's limits, and the size of all it read.
func (p *page) read(t *table) (reply pageReply, size int) {
	reply.Items = []item{}
	var last item
	visit := func(key string, r row) bool {
		if p.backward && key >= p.rows.to {
			return true // the end of the range is not part of it
		}
		if key < p.rows.from || key >= p.rows.to {
			return false
		}
		if reply.ScannedCount == p.limit || size >= pageSize {
			return false
		}
		last = r.item
		reply.ScannedCount++
		size += r.size
		if p.filter == nil || p.filter.holds(r.item) {
			reply.Items = append(reply.Items, project(r.item, p.projection))
		}
		return true
	}
	if p.backward {
		t.rows.Descend(p.rows.to, visit)
	} else {
		t.rows.Ascend(p.rows.from, visit)
	}
	reply.Count = len(reply.Items)
	if reply.ScannedCount == p.limit || size >= pageSize {
		// Also where nothing follows: that is for the next page to find.
		reply.LastEvaluatedKey = t.keyOf(last)
	}
	return reply, size
}
