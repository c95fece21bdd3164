package protocol_test

import (
	"encoding/json"
	"testing"

	"toolhost/pkg/protocol"
)

// R-B2, R-B3
func TestLegacyResult(t *testing.T) {
	const newest = `{"resultType":"complete","content":[],"structuredContent":{"a":1},"isError":false,"_meta":{"m":1,"io.modelcontextprotocol/serverInfo":{}}}`
	for _, c := range []struct{ name, result, revision, task, want string }{
		{"2025-11-25", newest, "2025-11-25", "", `{"content":[],"structuredContent":{"a":1},"isError":false,"_meta":{"m":1}}`},
		{"2025-03-26 has no structured content", newest, "2025-03-26", "", `{"content":[],"isError":false,"_meta":{"m":1}}`},
		{"only objects are structured", `{"content":[],"structuredContent":[1]}`, "2025-11-25", "", `{"content":[]}`},
		{"the task is named, by us alone", `{"content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"y"}}}`, "2025-11-25", "x",
			`{"content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"x"}}}`},
		{"a _meta with nothing in it", `{"_meta":null,"content":[]}`, "2025-06-18", "", `{"content":[]}`},
		{"nothing at all", `{"resultType":"complete"}`, "2025-06-18", "", `{}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := protocol.LegacyResult(json.RawMessage(c.result), c.revision, c.task)
			if err != nil || string(got) != c.want {
				t.Errorf("%s, %v; want %s", got, err, c.want)
			}
		})
	}
	if got, err := protocol.LegacyResult(json.RawMessage(`[]`), "2025-06-18", ""); err == nil {
		t.Errorf("no object became %s", got)
	}
}
