package drivertest

import (
	"context"
	"crypto/rand"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	emulated "toolhost/infra/emulator/dynamodb"
	"toolhost/pkg/store/dynamostore"
	"toolhost/pkg/store/storetest"
)

func TestStore(t *testing.T) {
	server, err := emulated.New(emulated.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	w := storeWire()
	storetest.Run(t, storeHarness(w, newTable(t, w, serve(t, server)), nil))
}

func TestStoreIndependent(t *testing.T) {
	url := os.Getenv("TOOLHOST_TEST_DYNAMODB_URL")
	if url == "" {
		t.Skip("TOOLHOST_TEST_DYNAMODB_URL names no independent implementation; independent.sh starts some")
	}
	lacks, known := map[string]map[storetest.Capability]string{
		"moto": {storetest.Capacity: "moto answers made-up numbers of units",
			storetest.Atomic: "moto's threads check a condition and write without a lock"},
		"dynalite": {storetest.StoredItem: "dynalite knows no ReturnValuesOnConditionCheckFailure"},
	}[os.Getenv("TOOLHOST_TEST_INDEPENDENT")]
	if !known {
		t.Fatal("TOOLHOST_TEST_INDEPENDENT says which implementation it is: moto or dynalite")
	}
	w := storeWire()
	storetest.Run(t, storeHarness(w, newTable(t, w, url), lacks))
}

func TestStoreAWS(t *testing.T) {
	name := os.Getenv("TOOLHOST_TEST_AWS_TABLE")
	if name == "" {
		t.Skip("TOOLHOST_TEST_AWS_TABLE names no table of a real AWS account")
	}
	w := storeWire()
	storetest.Run(t, storeHarness(w, table{dynamodb.NewFromConfig(real(t, w)), name}, nil))
}

func storeWire() *wire {
	return &wire{base: http.DefaultTransport, breaks: []string{"PutItem", "UpdateItem", "DeleteItem"},
		throttle: "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"}
}

// table is a table and a client to reach it.
type table struct {
	client *dynamodb.Client
	name   string
}

// newTable makes a table at a local endpoint.
func newTable(t *testing.T, w *wire, url string) table {
	t.Helper()
	client := dynamodb.NewFromConfig(local(w), func(o *dynamodb.Options) { o.BaseEndpoint = aws.String(url) })
	name := "toolhost-" + rand.Text()
	create, ttl := dynamostore.Schema(name)
	if _, err := client.CreateTable(t.Context(), create); err != nil {
		t.Fatal(err)
	}
	waiter := dynamodb.NewTableExistsWaiter(client, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = 50*time.Millisecond, time.Second
	})
	if err := waiter.Wait(t.Context(), &dynamodb.DescribeTableInput{TableName: &name}, time.Minute); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("TOOLHOST_TEST_INDEPENDENT") != "dynalite" { // which has no time to live
		if _, err := client.UpdateTimeToLive(t.Context(), ttl); err != nil {
			t.Fatal(err)
		}
	}
	return table{client, name}
}

// lose deletes the items of a task, or of one of its blobs.
func (b table) lose(ctx context.Context, id, blob string) error {
	pages := dynamodb.NewQueryPaginator(b.client, &dynamodb.QueryInput{
		TableName: &b.name, KeyConditionExpression: aws.String("pk = :id"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":id": &types.AttributeValueMemberS{Value: id}},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, item := range page.Items {
			if !strings.Contains(item["sk"].(*types.AttributeValueMemberS).Value, blob) {
				continue
			}
			_, err := b.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &b.name,
				Key: map[string]types.AttributeValue{"pk": item["pk"], "sk": item["sk"]}})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func storeHarness(w *wire, b table, lacks map[storetest.Capability]string) storetest.Harness {
	m := &meter{LedgerAPI: b.client}
	h := storetest.Harness{
		Store:  dynamostore.New(m, b.name, dynamostore.Options{}),
		Ledger: dynamostore.NewLedger(m, b.name),
		Lose:   b.lose,
		Break: func(f storetest.Fault, n int) {
			w.meet(map[storetest.Fault]fate{storetest.Throttled: throttled, storetest.LostRequest: lostRequest, storetest.LostReply: lostReply}[f], n)
		},
		Lacks: lacks,
	}
	if lacks[storetest.Capacity] == "" {
		h.Meter = m.usage
	}
	return h
}
