// Package dynamostore keeps tasks, and what is counted of callers, in one DynamoDB table.
//
// Every part of a task has the task's id as partition key (pk); the sort key
// (sk) says what it is:
//
//	task              the task itself, its small payloads inside
//	step#BIRTH#NAME   the value of a finished step
//	blob#ID#N         a piece of a payload too large to sit in the task's item
//
// What is counted of a caller has a hash of it, after "quota#", as partition key:
//
//	minute#TIME       how many tasks it made in a minute
//	slot#N            the task that holds one of its slots
//
// It promises what store.Store does, and these costs: creating or saving a task
// is one request and a write unit a KB, loading it one request and a read unit
// for 4 KB, a hundred of them one request. Payloads leave the item, largest
// first, when it would pass limits.InlineItem. They are written before the item
// that points to them, never change, and are never deleted by us: the table's
// time to live takes everything away, the parts after the task.
//
// A failed condition never means failure by itself: the stored item says
// whether the write was ours after all, sent twice because the reply to the
// first was lost.
//
// It does not check expiry: what it loads may have expired (invariant 6), and
// whoever asks knows the time. It sets no deadline and adds no retries to the
// client's own.
//
//	s := dynamostore.New(dynamodb.NewFromConfig(cfg), "toolhost", dynamostore.Options{})
//	t, created, err := s.Create(ctx, task.Create(spec, now), now)
package dynamostore
