package bench

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"toolhost/pkg/apigw"
	"toolhost/pkg/clock"
	"toolhost/pkg/config"
	"toolhost/pkg/httpmcp"
	"toolhost/pkg/queue/sqsqueue"
	"toolhost/pkg/server"
	"toolhost/pkg/store/dynamostore"
)

// BenchmarkRequest is one request: event JSON in, bytes out. "deployed" is the
// function with the real SDK's clients, and the emulators behind loopback HTTP in
// the same process; "own" is the same without either: our code alone, down to
// what it hands the SDK. Their ratio says how much of the whole is not ours.
func BenchmarkRequest(b *testing.B) {
	d := deploy(b)
	small := d.create("short", `{}`)
	d.deliver()
	echoed := d.create("echo", arguments(noise))
	d.deliver()
	asked, working := d.park("ask"), d.create("short", `{}`)

	frozen := shelf{}
	for _, id := range []string{working, small, asked, echoed} {
		frozen.keep(d.parts(id))
	}
	own := lambda.NewHandler(ours(b, frozen))
	parked := d.parts(asked)
	call := func(tool string) []byte {
		return event(b, "tools/call", tool, `"name":"`+tool+`","arguments":{"name":"Ada"}`)
	}
	for _, c := range []struct {
		name     string
		function lambda.Handler
		event    []byte
		holds    string
		after    func()
	}{
		{"sync_call", d.mcp, call("greet"), "Hello, Ada!", nil},
		{"create", d.mcp, event(b, "tools/call", "short", `"name":"short","arguments":{}`), `"resultType":"task"`, nil},
		{"get_working", d.tasks, d.getEvent(working), `"working"`, nil},
		{"get_completed", d.tasks, d.getEvent(small), "done", nil},
		{"get_completed_200KB", d.tasks, d.getEvent(echoed), noise, nil},
		{"update", d.tasks, d.updateEvent(asked, "whom"), `"resultType":"complete"`, func() { d.restore(parked) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			answer(b, d.invoke(c.function, c.event), c.holds)
			answer(b, d.invoke(own, c.event), c.holds)
			if c.after != nil {
				c.after()
			}
			pair(b, "deployed", turn{run: requests(b, c.function, c.event), after: c.after},
				"own", turn{run: requests(b, own, c.event)})
		})
	}
}

func requests(b *testing.B, f lambda.Handler, event []byte) func() {
	return func() {
		out, err := f.Invoke(context.Background(), event)
		if err != nil || !strings.HasPrefix(string(out[:min(len(out), 20)]), `{"statusCode":200,`) {
			b.Fatalf("%.200s, %v", out, err)
		}
	}
}

// ours is functions/mcp with the drivers on a shelf instead of AWS.
func ours(b *testing.B, s shelf) apigw.Handler {
	mux := http.NewServeMux()
	mux.Handle("/mcp", httpmcp.New(newServer(b, s), httpmcp.Options{}))
	return apigw.Streaming(mux, quiet)
}

func newServer(b *testing.B, s shelf) *server.Server {
	srv, err := server.New(server.Options{
		Tools: tools(nil), Store: dynamostore.New(s, "t", dynamostore.Options{}), Queue: sqsqueue.New(nobody{}, "q"),
		Keys: [][]byte{[]byte(strings.Repeat("k", config.KeySize))}, Clock: clock.NewManual(born), Log: quiet,
		Name: "toolhost", Title: "Toolhost", Version: "0",
	})
	must(b, err)
	return srv
}

// shelf is a table that takes every write for done, and keeps what it has.
type shelf map[string]item

func place(it item) string {
	return it["pk"].(*types.AttributeValueMemberS).Value + " " + it["sk"].(*types.AttributeValueMemberS).Value
}

func (s shelf) keep(items []item) {
	for _, it := range items {
		s[place(it)] = it
	}
}

// PutItem implements dynamostore.API.
func (s shelf) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return &dynamodb.PutItemOutput{}, nil
}

// GetItem implements dynamostore.API.
func (s shelf) GetItem(_ context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return &dynamodb.GetItemOutput{Item: s[place(in.Key)]}, nil
}

// BatchGetItem implements dynamostore.API.
func (s shelf) BatchGetItem(_ context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	out := &dynamodb.BatchGetItemOutput{Responses: map[string][]item{}}
	for table, keys := range in.RequestItems {
		for _, key := range keys.Keys {
			out.Responses[table] = append(out.Responses[table], s[place(key)])
		}
	}
	return out, nil
}

// Query implements dynamostore.API: a request needs none.
func (s shelf) Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	panic("a request queries")
}

// nobody takes every message for sent.
type nobody struct{}

// SendMessage implements sqsqueue.API.
func (nobody) SendMessage(context.Context, *sqs.SendMessageInput, ...func(*sqs.Options)) (*sqs.SendMessageOutput, error) {
	return &sqs.SendMessageOutput{}, nil
}

// ChangeMessageVisibility implements sqsqueue.API.
func (nobody) ChangeMessageVisibility(context.Context, *sqs.ChangeMessageVisibilityInput, ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityOutput, error) {
	return &sqs.ChangeMessageVisibilityOutput{}, nil
}
