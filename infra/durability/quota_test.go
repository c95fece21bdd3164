package durability

import (
	"crypto/rand"
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"toolhost/pkg/limits"
	"toolhost/pkg/quota"
	"toolhost/pkg/store/dynamostore"
	"toolhost/pkg/task"
)

// TestQuotaMatrix lets each fault befall each call to AWS of a creation under
// quotas; its client repeats it under one key, until it is a task, and stays with
// that to its end. A minute later its caller may open as many tasks as ever, and
// no more.
func TestQuotaMatrix(t *testing.T) { // case 45
	const most, creation = 2, 6 // calls: look, count, take a slot, put a large argument, put the task, send
	for at := 1; at <= creation; at++ {
		for _, f := range faults {
			t.Run(fmt.Sprintf("%d %s", at, f), func(t *testing.T) {
				t.Parallel()
				s := newStage(t)
				s.quota = most
				blows := s.strike(map[int]fault{at: f})
				lives[0].check(s)
				s.doneOnce(blows()...)
				if got := blows(); len(got) == 0 && (f != doubled || at == creation) || len(got) > 0 && got[0].call.caller != "server" {
					t.Errorf("the blow was %v", got)
				}
				s.move(limits.CreationTime)
				now := s.setting("")
				tables := dynamodb.NewFromConfig(now.access())
				db := dynamostore.New(tables, now.Table, dynamostore.Options{})
				q := now.quota(db, s.clock)
				for n := 0; ; n++ {
					v := task.Create(task.Spec{ID: rand.Text(), Birth: rand.Text(), Tool: "story", Owner: task.Owner{Issuer: "https://issuer.example", Subject: "ann"}}, s.clock.Now())
					_, err := q.Admit(t.Context(), v)
					if over := (*quota.ExceededError)(nil); errors.As(err, &over) && over.Limit == quota.OpenTasks && n == most {
						return
					}
					must(t, err)
					if n == most {
						t.Fatalf("%d tasks are open, %d are possible", n+1, most)
					}
					_, _, err = db.Create(t.Context(), v, v.CreatedAt)
					must(t, err)
				}
			})
		}
	}
}
