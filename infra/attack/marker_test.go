package attack

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// A marker is a secret of one call of one caller: whoever finds it knows whose
// it is.
func mark(owner string, call int, what string) string {
	return fmt.Sprintf("SECRET.%s.%d.%s.", owner, call, what)
}

var marker = regexp.MustCompile(`SECRET\.([a-z]+)\.(\d+)\.[a-z]+\.`)

// strangers are the markers in a text that are not of that call.
func strangers(text []byte, owner string, call int) (all []string) {
	for _, found := range marker.FindAllSubmatch(text, -1) {
		if string(found[1]) != owner || string(found[2]) != fmt.Sprint(call) {
			all = append(all, string(found[0]))
		}
	}
	return all
}

// owners are those whose markers a text holds.
func owners(text []byte) map[string]bool {
	all := map[string]bool{}
	for _, found := range marker.FindAllSubmatch(text, -1) {
		all[string(found[1])] = true
	}
	return all
}

// plain is all that a call to DynamoDB writes, in clear: strings as they are,
// bytes decoded and unpacked.
func plain(body []byte) []byte {
	var all any
	if json.Unmarshal(body, &all) != nil {
		return body
	}
	var out bytes.Buffer
	unpack(all, &out)
	return out.Bytes()
}

func unpack(value any, out *bytes.Buffer) {
	switch v := value.(type) {
	case string:
		out.WriteString(v + "\n")
	case []any:
		for _, one := range v {
			unpack(one, out)
		}
	case map[string]any:
		for name, one := range v {
			out.WriteString(name + "\n")
			text, isText := one.(string)
			if raw, err := base64.StdEncoding.DecodeString(text); name == "B" && isText && err == nil {
				if unzipped, err := gzip.NewReader(bytes.NewReader(raw)); err == nil {
					raw, _ = io.ReadAll(unzipped)
				}
				out.Write(append(raw, '\n'))
				continue
			}
			unpack(one, out)
		}
	}
}

// partitions are the items that a PutItem or BatchWriteItem writes, in clear, by
// partition key.
func partitions(operation string, body []byte) map[string][][]byte {
	type item = map[string]json.RawMessage
	var items []item
	switch operation {
	case "PutItem":
		var in struct{ Item item }
		_ = json.Unmarshal(body, &in)
		items = append(items, in.Item)
	case "BatchWriteItem":
		var in struct {
			RequestItems map[string][]struct{ PutRequest struct{ Item item } }
		}
		_ = json.Unmarshal(body, &in)
		for _, requests := range in.RequestItems {
			for _, r := range requests {
				items = append(items, r.PutRequest.Item)
			}
		}
	}
	all := map[string][][]byte{}
	for _, it := range items {
		var pk struct{ S string }
		_ = json.Unmarshal(it["pk"], &pk)
		text, err := json.Marshal(it)
		if err != nil {
			panic(err)
		}
		all[pk.S] = append(all[pk.S], plain(text))
	}
	return all
}

// shows reports whether a text holds any marker at all.
func shows(text string) bool { return strings.Contains(text, "SECRET") }
