package storetest

import (
	"context"
	"testing"

	"toolhost/pkg/store"
)

// Fault is what happens to a request on its way to the database.
type Fault uint8

const (
	// Throttled refuses the request; nothing is done.
	Throttled Fault = iota
	// LostRequest cuts the connection before anything is done.
	LostRequest
	// LostReply does the request and then cuts the connection.
	LostReply
)

// Usage is what a store has asked of its database, in DynamoDB's terms.
type Usage struct {
	Requests              int
	ReadUnits, WriteUnits float64
}

// Minus is the usage since an earlier one.
func (u Usage) Minus(earlier Usage) Usage {
	return Usage{u.Requests - earlier.Requests, u.ReadUnits - earlier.ReadUnits, u.WriteUnits - earlier.WriteUnits}
}

// Capability is something that not every implementation can do for a test.
type Capability string

const (
	// Faults: Harness.Break works.
	Faults Capability = "faults can be injected"
	// Capacity: Harness.Meter counts units as DynamoDB bills them.
	Capacity Capability = "capacity is counted"
	// Atomic: a conditional write is one step for parallel writers.
	Atomic Capability = "conditional writes are atomic"
	// StoredItem: a failed condition returns the stored item, so that a conflict
	// costs no further read.
	StoredItem Capability = "a failed condition returns the item"
)

// Harness is an implementation under test and what can be done to it.
type Harness struct {
	Store store.Store
	// Ledger is in the same table.
	Ledger store.Ledger
	// Lose deletes a task's blob behind the store's back, as an expiry would; all
	// that there is of the task if blob is "".
	Lose func(ctx context.Context, id, blob string) error
	// Break makes the next n writes meet the fault; 0 heals. Nil if Faults lack.
	Break func(f Fault, n int)
	// Meter is the usage so far. Nil if Capacity lacks.
	Meter func() Usage
	// Lacks gives the reason for each capability that is not there.
	Lacks map[Capability]string
}

// needs skips the test if a capability is not there.
func (h Harness) needs(t *testing.T, c Capability) {
	t.Helper()
	if why := h.Lacks[c]; why != "" {
		t.Skipf("not here: %s: %s", c, why)
	}
}

// Run runs the whole suite.
func Run(t *testing.T, h Harness) {
	if (h.Break == nil) != (h.Lacks[Faults] != "") || (h.Meter == nil) != (h.Lacks[Capacity] != "") {
		t.Fatal("a harness has each capability, or the reason why not")
	}
	t.Run("Create", func(t *testing.T) { testCreate(t, h) })
	t.Run("Load", func(t *testing.T) { testLoad(t, h) })
	t.Run("LoadMany", func(t *testing.T) { testLoadMany(t, h) })
	t.Run("Save", func(t *testing.T) { testSave(t, h) })
	t.Run("Fields", func(t *testing.T) { testFields(t, h) })
	t.Run("Payload", func(t *testing.T) { testPayload(t, h) })
	t.Run("Steps", func(t *testing.T) { testSteps(t, h) })
	t.Run("Update", func(t *testing.T) { testUpdate(t, h) })
	t.Run("Writers", func(t *testing.T) { testWriters(t, h) })
	t.Run("Faults", func(t *testing.T) { testFaults(t, h) })
	t.Run("Cost", func(t *testing.T) { testCost(t, h) })
	t.Run("Ledger", func(t *testing.T) { testLedger(t, h) })
}
