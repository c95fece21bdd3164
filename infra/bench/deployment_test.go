package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"toolhost/infra/emulator"
	"toolhost/infra/local"
	"toolhost/pkg/callback"
	"toolhost/pkg/clock"
	"toolhost/pkg/config"
	"toolhost/pkg/stack"
)

// deployment is the functions, as Lambda invokes them, on the emulators. The
// event source is played by hand, and the clock stands unless it is moved, so
// that a life takes the same calls each time.
type deployment struct {
	tb       testing.TB
	clock    *paced
	meter    *meter
	services *local.Services
	db       *dynamodb.Client
	sqs      *sqs.Client

	mcp, tasks, worker lambda.Handler
	urls               chan string // of callbacks, as the tools hand them out
}

var born = time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)

// environment is a function's, as template.yaml sets it.
func environment(table, queueURL string) map[string]string {
	return map[string]string{
		"TOOLHOST_TABLE": table, "TOOLHOST_QUEUE_URL": queueURL, "TOOLHOST_KEYS": strings.Repeat("k", config.KeySize),
		"TOOLHOST_PUBLIC_URL": "https://mcp.example", "TOOLHOST_AUTH": string(config.AuthNone), "TOOLHOST_STREAMING": "true",
		"TOOLHOST_POLL_RATE": "0", // a benchmark has no manners
	}
}

// deploy deploys; settings are variables of the environment and their values.
func deploy(tb testing.TB, settings ...string) *deployment {
	tb.Helper()
	d := &deployment{tb: tb, clock: &paced{Manual: clock.NewManual(born)}, meter: newMeter(tb), urls: make(chan string, 1)}
	var faults emulator.Faults
	faults.Inject(d.meter.count)
	var err error
	d.services, err = local.Emulate(context.Background(), local.ServiceOptions{Clock: d.clock.Manual, Faults: &faults})
	must(tb, err)
	tb.Cleanup(func() { must(tb, d.services.Close()) })
	d.meter.units = d.services.DynamoDB.Meter
	d.db, d.sqs = dynamodb.NewFromConfig(*d.services.AWS()), sqs.NewFromConfig(*d.services.AWS())

	variables := environment(d.services.Table, d.services.QueueURL)
	for i := 0; i < len(settings); i += 2 {
		variables[settings[i]] = settings[i+1]
	}
	c, err := config.Load(func(name string) string { return variables[name] })
	must(tb, err)
	open := func(wire func(*stack.Stack) (any, error)) lambda.Handler {
		s, err := stack.Open(context.Background(), c, tools(d.urls), stack.Options{AWS: d.services.AWS(), Clock: d.clock, Log: quiet})
		must(tb, err)
		f, err := wire(s)
		must(tb, err)
		return lambda.NewHandler(f)
	}
	d.mcp = open(func(s *stack.Stack) (any, error) { return s.MCP() })
	d.tasks = open(func(s *stack.Stack) (any, error) { return s.Tasks() })
	d.worker = open(func(s *stack.Stack) (any, error) {
		w, err := s.Worker()
		if err != nil {
			return nil, err
		}
		return w.Handle, nil
	})
	d.meter.reset()
	return d
}

// A request, as API Gateway hands it to a function: the event that lies beside
// functions/mcp, with other headers and another body.

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`

func body(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,%s}}`, method, params, meta)
}

// event is the request of a method, whose name is the tool's or the task's.
func event(tb testing.TB, method, name, params string) []byte {
	return gateway(tb, "/mcp", nil, map[string]string{"Mcp-Method": method, "Mcp-Name": name}, body(method, params))
}

func gateway(tb testing.TB, resource string, parameters, headers map[string]string, body string) []byte {
	tb.Helper()
	raw, err := os.ReadFile("../../functions/mcp/event.json")
	must(tb, err)
	var e events.APIGatewayProxyRequest
	must(tb, json.Unmarshal(raw, &e))
	e.Resource, e.Path, e.PathParameters, e.Body = resource, resource, parameters, body
	for name, value := range parameters {
		e.Path = strings.Replace(e.Path, "{"+name+"}", value, 1)
	}
	e.RequestContext.ResourcePath, e.RequestContext.Path = e.Resource, "/v1"+e.Path
	for name, value := range headers {
		e.Headers[name], e.MultiValueHeaders[name] = value, []string{value}
	}
	raw, err = json.Marshal(e)
	must(tb, err)
	return raw
}

// call invokes a function with a request, and returns the body of its answer,
// which has to hold a text.
func (d *deployment) call(f lambda.Handler, event []byte, holds string) []byte {
	d.tb.Helper()
	d.meter.add(httpRequest)
	return answer(d.tb, d.invoke(f, event), holds)
}

func (d *deployment) invoke(f lambda.Handler, event []byte) []byte {
	d.tb.Helper()
	d.meter.add(invocation)
	out, err := f.Invoke(context.Background(), event)
	must(d.tb, err)
	return out
}

// answer is the body of a streaming answer: it follows the prelude.
func answer(tb testing.TB, out []byte, holds string) []byte {
	tb.Helper()
	head, body, ok := bytes.Cut(out, make([]byte, 8))
	if !ok || !bytes.HasPrefix(head, []byte(`{"statusCode":20`)) || !bytes.Contains(body, []byte(holds)) {
		tb.Fatalf("%.500s\ndoes not hold %s", out, holds)
	}
	return body
}

// What clients do.

// create makes a task of a call, and returns its id.
func (d *deployment) create(tool, arguments string) string {
	d.tb.Helper()
	var got struct{ Result struct{ TaskID string } }
	out := d.call(d.mcp, event(d.tb, "tools/call", tool, fmt.Sprintf(`"name":%q,"arguments":%s`, tool, arguments)), `"resultType":"task"`)
	must(d.tb, json.Unmarshal(out, &got))
	return got.Result.TaskID
}

func (d *deployment) get(id, holds string) {
	d.tb.Helper()
	d.call(d.tasks, d.getEvent(id), holds)
}

func (d *deployment) getEvent(id string) []byte {
	return event(d.tb, "tasks/get", id, fmt.Sprintf(`"taskId":%q`, id))
}

func (d *deployment) answer(id, key string) {
	d.tb.Helper()
	d.call(d.tasks, d.updateEvent(id, key), `"resultType":"complete"`)
}

func (d *deployment) updateEvent(id, key string) []byte {
	return event(d.tb, "tasks/update", id, fmt.Sprintf(
		`"taskId":%q,"inputResponses":{%q:{"action":"accept","content":{"name":"Ada"}}}`, id, key))
}

func (d *deployment) cancel(id string) {
	d.tb.Helper()
	d.call(d.tasks, event(d.tb, "tasks/cancel", id, fmt.Sprintf(`"taskId":%q`, id)), `"resultType":"complete"`)
}

// callBack does what whoever was given a callback's URL does.
func (d *deployment) callBack(url string) {
	d.tb.Helper()
	_, token, _ := strings.Cut(url, callback.Path)
	d.call(d.mcp, gateway(d.tb, callback.Path+"{token}", map[string]string{"token": token}, map[string]string{"Mcp-Method": "", "Mcp-Name": ""}, `"done"`), "")
}

// What the event source does.

// receive takes the one message that is visible, as the event that the worker is invoked with.
func (d *deployment) receive() (event []byte, receipt *string) {
	d.tb.Helper()
	out, err := d.sqs.ReceiveMessage(context.Background(), &sqs.ReceiveMessageInput{QueueUrl: &d.services.QueueURL, MaxNumberOfMessages: 1,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll}})
	must(d.tb, err)
	if len(out.Messages) != 1 {
		d.tb.Fatal("no message is visible")
	}
	m := out.Messages[0]
	event, err = json.Marshal(events.SQSEvent{Records: []events.SQSMessage{{
		MessageId: *m.MessageId, ReceiptHandle: *m.ReceiptHandle, Body: *m.Body, Attributes: m.Attributes}}})
	must(d.tb, err)
	return event, m.ReceiptHandle
}

// work hands a message to the worker, which has to deal with it.
func (d *deployment) work(event []byte) {
	d.tb.Helper()
	if out := d.invoke(d.worker, event); string(out) != `{"batchItemFailures":[]}` {
		d.tb.Fatalf("the message comes back: %s", out)
	}
}

func (d *deployment) deliver() {
	d.tb.Helper()
	event, receipt := d.receive()
	d.work(event)
	_, err := d.sqs.DeleteMessage(context.Background(), &sqs.DeleteMessageInput{QueueUrl: &d.services.QueueURL, ReceiptHandle: receipt})
	must(d.tb, err)
}

// park makes a task that waits for the answer "whom", and returns its id.
func (d *deployment) park(tool string) string {
	d.tb.Helper()
	id := d.create(tool, `{}`)
	d.deliver()
	return id
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
