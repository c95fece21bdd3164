package dynamodb

import "maps"

// Usage is what the calls of one operation came to.
type Usage struct {
	Calls      int // that were carried out; a failed condition is one, an injected refusal is none
	ReadUnits  float64
	WriteUnits float64
}

// Meter returns the usage since the server was made, by operation.
func (s *Server) Meter() map[string]Usage {
	s.metering.Lock()
	defer s.metering.Unlock()
	return maps.Clone(s.meter)
}

func (s *Server) count(operation string, b *bill) {
	s.metering.Lock()
	defer s.metering.Unlock()
	u := s.meter[operation]
	u.Calls++
	for _, e := range b.entries {
		u.ReadUnits += e.read
		u.WriteUnits += e.write
	}
	s.meter[operation] = u
}

// bill adds up the units of one call, by table.
type bill struct{ entries []entry }

type entry struct {
	table       string
	read, write float64
}

func (b *bill) entry(table string) *entry {
	for i := range b.entries {
		if b.entries[i].table == table {
			return &b.entries[i]
		}
	}
	b.entries = append(b.entries, entry{table: table})
	return &b.entries[len(b.entries)-1]
}

// read bills the reading of so many bytes at once; eventual consistency costs half.
func (b *bill) read(table string, size int, consistent bool) {
	units := float64(max(1, ceilDiv(size, readUnitSize)))
	if !consistent {
		units /= 2
	}
	b.entry(table).read += units
}

// write bills one item's write by the larger of its sizes before and after.
func (b *bill) write(table string, before, after int) {
	b.entry(table).write += float64(max(1, ceilDiv(max(before, after), writeUnitSize)))
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// consumedCapacity is the bill as a reply shows it.
type consumedCapacity struct {
	TableName     string
	CapacityUnits float64
	Table         *capacity `json:",omitempty"`
}

type capacity struct{ CapacityUnits float64 }

// capacityReport is the member ReturnConsumedCapacity of a request.
type capacityReport string

func (r capacityReport) check() error {
	return oneOf("returnConsumedCapacity", string(r), "INDEXES", "TOTAL", "NONE")
}

func (r capacityReport) all(b *bill) []consumedCapacity {
	if r != "TOTAL" && r != "INDEXES" {
		return nil
	}
	reports := make([]consumedCapacity, len(b.entries))
	for i, e := range b.entries {
		reports[i] = consumedCapacity{TableName: e.table, CapacityUnits: e.read + e.write}
		if r == "INDEXES" {
			reports[i].Table = &capacity{e.read + e.write}
		}
	}
	return reports
}

// one is the report for an operation on one table.
func (r capacityReport) one(b *bill) *consumedCapacity {
	if reports := r.all(b); len(reports) > 0 {
		return &reports[0]
	}
	return nil
}
