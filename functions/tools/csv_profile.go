package tools

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/functions/tools/csvprofile"
	"toolhost/pkg/fault"
	"toolhost/pkg/tool"
)

// instantFile is the size below which a file is profiled while the client waits:
// that takes a few milliseconds, less than making a task.
const instantFile = 64 << 10

func registerCSVProfile(reg *tool.Registry) {
	tool.Add(reg, &mcp.Tool{
		Name:  "csv_profile",
		Title: "Profile a CSV file",
		Description: "Says what is in a CSV file: rows, and for each column its type, empty and distinct values, smallest and largest, " +
			"mean and quantiles, the most frequent values. Delimiter, header and character encoding are detected. What is odd about the file " +
			"(rows of the wrong length, bad quoting, undecodable characters and so on) is listed with line numbers.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(bool)},
		InputSchema: inputSchema[csvProfileInput](func(p map[string]*jsonschema.Schema) {
			p["encoding"].Enum, p["encoding"].Default = []any{"text", "base64"}, json.RawMessage(`"text"`)
			p["header"].Enum, p["header"].Default = []any{"auto", "yes", "no"}, json.RawMessage(`"auto"`)
		}),
	}, csvProfile, tool.Options{
		Task:    tool.Optional,
		Rerun:   true,
		Instant: tool.InstantIf(func(in csvProfileInput) bool { return len(in.File) < instantFile }),
	})
}

type csvProfileInput struct {
	File      string            `json:"file" jsonschema:"the file's content: as text, or as base64 where encoding says so"`
	Encoding  string            `json:"encoding,omitempty" jsonschema:"text, or base64 for files that are not UTF-8"`
	Name      string            `json:"name,omitempty" jsonschema:"the file's name, repeated in the result"`
	Delimiter string            `json:"delimiter,omitempty" jsonschema:"the one character that separates fields, or the word tab; detected among comma, semicolon, tab and | where absent"`
	Header    csvprofile.Header `json:"header,omitempty" jsonschema:"whether the first record names the columns; auto says yes unless it looks like data"`
}

type csvProfileOutput struct {
	Name string `json:"name,omitempty" jsonschema:"the file's name as given"`
	csvprofile.Profile
}

func csvProfile(ctx context.Context, _ *mcp.CallToolRequest, in csvProfileInput) (*mcp.CallToolResult, csvProfileOutput, error) {
	delimiter, err := parseDelimiter(in.Delimiter)
	if err != nil {
		return nil, csvProfileOutput{}, err
	}
	file := []byte(in.File)
	if in.Encoding == "base64" {
		if file, err = base64.StdEncoding.DecodeString(in.File); err != nil {
			return nil, csvProfileOutput{}, fmt.Errorf("file: this is not base64, though encoding says so: %w", err)
		}
	}
	profile, err := csvprofile.Of(ctx, file, csvprofile.Options{
		Delimiter: delimiter,
		Header:    in.Header,
		Progress: func(done, total int) {
			tool.Report(ctx, float64(done), float64(total), "bytes profiled")
		},
	})
	if sentence := fault.Message(err); sentence != "" {
		return nil, csvProfileOutput{}, errors.New(sentence)
	}
	if err != nil {
		return nil, csvProfileOutput{}, err
	}
	return nil, csvProfileOutput{in.Name, *profile}, nil
}

// parseDelimiter returns 0 where the delimiter is to be detected.
func parseDelimiter(s string) (rune, error) {
	if strings.EqualFold(s, "tab") || s == `\t` {
		return '\t', nil
	}
	switch r, n := utf8.DecodeRuneInString(s); {
	case s == "":
		return 0, nil
	case n != len(s):
		return 0, fmt.Errorf("delimiter: one character or the word tab is wanted, not %q", s)
	default:
		return r, nil
	}
}
