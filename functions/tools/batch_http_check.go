package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/functions/tools/httpcheck"
	"toolhost/pkg/tool"
)

// What batch_http_check takes, and how many URLs make a step: after a crash, the
// URLs of finished steps are not asked again. The slowest step, one URL at a time
// with the longest timeout, still fits into one run of a worker.
const (
	maxURLs        = 200
	maxConcurrency = 16
	minTimeoutMS   = 100
	maxTimeoutMS   = 30_000
	urlsPerStep    = 20
)

func registerBatchHTTPCheck(reg *tool.Registry) {
	addBatchHTTPCheck(reg, httpcheck.Options{Private: os.Getenv("TOOLHOST_HTTP_CHECK_PRIVATE") == "1"})
}

// addBatchHTTPCheck is registerBatchHTTPCheck with the checker's options, of
// which calls set method and timeout.
func addBatchHTTPCheck(reg *tool.Registry, o httpcheck.Options) {
	tool.Add(reg, &mcp.Tool{
		Name:  "batch_http_check",
		Title: "Check many URLs",
		Description: "Asks up to 200 web addresses how they are: status, time to answer, where redirects lead, days until the TLS certificate expires. " +
			"Only http and https, and only hosts on the public Internet; at most 5 redirects are followed and no body is read. " +
			"A URL that fails is a result like any other; the call itself does not fail for it.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
		InputSchema: inputSchema[batchHTTPCheckInput](func(p map[string]*jsonschema.Schema) {
			p["urls"].Type, p["urls"].Types = "array", nil
			p["urls"].MinItems, p["urls"].MaxItems = jsonschema.Ptr(1), jsonschema.Ptr(maxURLs)
			p["method"].Enum, p["method"].Default = []any{"HEAD", "GET"}, json.RawMessage(`"HEAD"`)
			p["timeout_ms"].Minimum, p["timeout_ms"].Maximum = jsonschema.Ptr[float64](minTimeoutMS), jsonschema.Ptr[float64](maxTimeoutMS)
			p["timeout_ms"].Default = json.RawMessage("10000")
			p["concurrency"].Minimum, p["concurrency"].Maximum = jsonschema.Ptr[float64](1), jsonschema.Ptr[float64](maxConcurrency)
			p["concurrency"].Default = json.RawMessage("8")
		}),
	}, batchHTTPCheck(o), tool.Options{Task: tool.Optional, Version: "1"})
}

type batchHTTPCheckInput struct {
	URLs        []string `json:"urls" jsonschema:"the URLs to check, 1 to 200"`
	Method      string   `json:"method,omitempty" jsonschema:"HEAD or GET; some servers answer only GET well"`
	TimeoutMS   int      `json:"timeout_ms,omitempty" jsonschema:"milliseconds that one URL may take, redirects included"`
	Concurrency int      `json:"concurrency,omitempty" jsonschema:"how many are checked at a time"`
}

type batchHTTPCheckOutput struct {
	Checked int                `json:"checked" jsonschema:"number of URLs"`
	OK      int                `json:"ok" jsonschema:"how many answered with a status below 400"`
	Failed  int                `json:"failed" jsonschema:"how many did not"`
	Results []httpcheck.Result `json:"results" jsonschema:"one for each URL, in the order given"`
}

func batchHTTPCheck(o httpcheck.Options) mcp.ToolHandlerFor[batchHTTPCheckInput, batchHTTPCheckOutput] {
	return func(ctx context.Context, _ *mcp.CallToolRequest, in batchHTTPCheckInput) (*mcp.CallToolResult, batchHTTPCheckOutput, error) {
		o := o
		o.Method, o.Timeout = in.Method, time.Duration(in.TimeoutMS)*time.Millisecond
		checker := httpcheck.New(o)
		out := batchHTTPCheckOutput{Checked: len(in.URLs), Results: make([]httpcheck.Result, 0, len(in.URLs))}
		for urls := range slices.Chunk(in.URLs, urlsPerStep) {
			before := len(out.Results)
			results, err := tool.Step(ctx, fmt.Sprintf("urls %d-%d", before+1, before+len(urls)), func(ctx context.Context) ([]httpcheck.Result, error) {
				return checker.All(ctx, urls, in.Concurrency, func(finished int) {
					tool.Report(ctx, float64(before+finished), float64(len(in.URLs)), "URLs checked")
				})
			})
			if err != nil {
				return nil, batchHTTPCheckOutput{}, err
			}
			out.Results = append(out.Results, results...)
		}
		for _, r := range out.Results {
			if r.OK {
				out.OK++
			}
		}
		out.Failed = out.Checked - out.OK
		return nil, out, nil
	}
}
