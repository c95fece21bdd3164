// Package storetest is the suite that every store.Store and store.Ledger passes.
//
// A test opens its implementation, says in a Harness what can be done to it
// from outside, and calls Run. What an implementation can't do is declared
// with the reason, and shows as a skip that gives it.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, storetest.Harness{Store: s, Ledger: l, Lose: …, Lacks: map[storetest.Capability]string{
//			storetest.Capacity: "this database does not bill",
//		}})
//	}
//
// Tasks get random ids, so a store may be shared and need not be empty.
package storetest
