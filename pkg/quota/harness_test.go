package quota_test

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/uuid"

	"toolhost/infra/emulator"
	emulated "toolhost/infra/emulator/dynamodb"
	"toolhost/pkg/clock"
	"toolhost/pkg/quota"
	"toolhost/pkg/store"
	"toolhost/pkg/store/dynamostore"
	"toolhost/pkg/task"
)

// office is a quota on the shipped drivers, an emulator and a clock that the test moves.
type office struct {
	clock  *clock.Manual
	faults *emulator.Faults
	ledger store.Ledger
	store  store.Store
}

func open(t *testing.T) *office {
	t.Helper()
	o := &office{clock: clock.NewManual(time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)), faults: &emulator.Faults{}}
	database, err := emulated.New(emulated.Options{Clock: o.clock, Faults: o.faults})
	must(t, err)
	s := httptest.NewServer(database)
	t.Cleanup(s.Close)
	client := dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(s.URL), Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
		Retryer: retry.NewStandard(func(o *retry.StandardOptions) { // the SDK's own, but at once
			o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
			o.RateLimiter = ratelimit.None
		})})
	create, _ := dynamostore.Schema("tasks")
	_, err = client.CreateTable(t.Context(), create)
	must(t, err)
	o.ledger, o.store = dynamostore.NewLedger(client, "tasks"), dynamostore.New(client, "tasks", dynamostore.Options{})
	return o
}

func (o *office) quota(creations, openTasks int) *quota.Quota {
	return quota.New(quota.Options{Ledger: o.ledger, Store: o.store, Clock: o.clock, Creations: creations, OpenTasks: openTasks})
}

// spec is a new task of the caller's.
func (o *office) spec(caller string) task.Task {
	return task.Create(task.Spec{ID: uuid.NewString(), Birth: uuid.NewString(), Tool: "work", TTL: 30 * time.Minute, Retention: 30 * time.Minute,
		Owner: task.Owner{Issuer: "https://issuer.example", Subject: caller}}, o.clock.Now())
}

// create admits a task and puts it, as the server does.
func (o *office) create(ctx context.Context, q *quota.Quota, t task.Task) (task.Task, error) {
	if _, err := q.Admit(ctx, t); err != nil {
		return task.Task{}, err
	}
	stored, _, err := o.store.Create(ctx, t, t.CreatedAt)
	return stored, err
}

// end makes a task terminal, as a worker does.
func (o *office) end(ctx context.Context, t task.Task) error {
	_, err := store.Update(ctx, o.store, t, func(t task.Task) (task.Task, error) {
		return task.Fail(t, "", task.NewPayload([]byte(`{"code":1,"message":"over"}`)), "over", o.clock.Now())
	})
	return err
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
