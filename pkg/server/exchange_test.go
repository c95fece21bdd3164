package server_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/tools/txtar"

	"toolhost/pkg/protocol"
	"toolhost/pkg/server"
)

var update = flag.Bool("update", false, "write the responses in testdata/*.txtar anew")

// Every testdata/*.txtar is an exchange: prose, then requests and the responses
// they get. Each is played under both names of the revision, over HTTP, and each
// body is held to the published schemas (R-P5).
//
// A request section is a body. Lines "Header: value" before it replace the
// headers that a correct client would send ("Header:" removes one), and a line
// "GET" or "DELETE" is another method. Other sections are steps: "work" lets a
// worker handle all messages that are due, "advance" moves the clock.
//
// In requests $META is the _meta of a client that declares the Tasks extension
// and elicitation, $PLAIN of one that declares nothing. Everywhere $VERSION is
// the revision played, $HEADER_MISMATCH and the like are its error codes, and
// what the server makes up is named in the order of its appearance: $TASK,
// $TASK2, $STATE, $STATE2, $REFERENCE. $SERVER is its name in a result's _meta.
func TestExchanges(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no exchanges", err)
	}
	for _, revision := range protocol.Modern {
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".txtar")
			t.Run(revision+"/"+name, func(t *testing.T) { play(t, file, revision, revision == protocol.Modern[0]) })
		}
	}
}

// play plays an exchange under a revision, and may be the one that writes it anew.
func play(t *testing.T, file, revision string, writes bool) {
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	archive := txtar.Parse(source)
	p := &player{host: start(t, server.Limits{PageSize: 4, MaxArguments: 100}), revision: revision, names: map[string]string{}}
	var got string // the last response, to be compared with the next section
	var request []byte
	for i := range archive.Files {
		f := &archive.Files[i]
		kind, _, _ := strings.Cut(f.Name, ":")
		switch kind {
		case "request":
			request = []byte(p.expand(string(f.Data)))
			got = p.request(request)
		case "response":
			if *update && writes {
				f.Data = []byte(got)
			}
			if want := string(f.Data); got != want {
				t.Errorf("%s: the response to\n%s\nis\n%s\nwant\n%s", file, request, got, want)
			}
		case "work":
			p.work()
		case "advance":
			d, err := time.ParseDuration(strings.TrimSpace(string(f.Data)))
			if err != nil {
				t.Fatal(err)
			}
			p.clock.Advance(d)
		default:
			t.Fatalf("%s: unknown section %q", file, f.Name)
		}
	}
	if *update && writes {
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

type player struct {
	*host
	revision string
	names    map[string]string // of what the server made up, by its value
	order    []string
	spoken   bool // the request itself says the revision, so its codes are used
}

// codes are the error codes that differ between the names of the revision.
var codes = map[string]int{
	"$HEADER_MISMATCH":     protocol.CodeHeaderMismatch,
	"$MISSING_CAPABILITY":  protocol.CodeMissingCapability,
	"$UNSUPPORTED_VERSION": protocol.CodeUnsupportedVersion,
}

func (p *player) expand(s string) string {
	meta := func(capabilities string) string {
		return fmt.Sprintf(`"_meta": {%q: %q, %q: %s}`, protocol.MetaProtocolVersion, p.revision, protocol.MetaClientCapabilities, capabilities)
	}
	pairs := []string{"$META", meta(everything), "$PLAIN", meta("{}"), "$VERSION", p.revision}
	for _, value := range slices.Backward(p.order) { // $TASK2 before $TASK
		pairs = append(pairs, p.names[value], value)
	}
	return strings.NewReplacer(pairs...).Replace(s)
}

var (
	madeUp = []struct {
		name    string
		pattern *regexp.Regexp
	}{
		{"$TASK", regexp.MustCompile(`"taskId": "([^"]+)"`)},
		{"$STATE", regexp.MustCompile(`"requestState": "([^"]+)"`)},
		{"$REFERENCE", regexp.MustCompile(`\(reference ([A-Z0-9]+)\)`)},
	}
	code       = regexp.MustCompile(`"code": (-\d+)`)
	serverMeta = regexp.MustCompile(`"_meta": \{\s+"io.modelcontextprotocol/serverInfo": \{[^}]*\}\s+\}`)
)

// name replaces what the server made up, and the revision's own codes.
func (p *player) name(s string) string {
	s = serverMeta.ReplaceAllString(s, `"_meta": $$SERVER`)
	for _, kind := range madeUp {
		for _, found := range kind.pattern.FindAllStringSubmatch(s, -1) {
			if _, known := p.names[found[1]]; known {
				continue
			}
			n := 1
			for _, name := range p.names {
				if strings.HasPrefix(name, kind.name) {
					n++
				}
			}
			name := kind.name
			if n > 1 {
				name += fmt.Sprint(n)
			}
			p.names[found[1]] = name
			p.order = append(p.order, found[1])
		}
	}
	for value, name := range p.names {
		s = strings.ReplaceAll(s, `"`+value+`"`, `"`+name+`"`)
		s = strings.ReplaceAll(s, "(reference "+value+")", "(reference "+name+")")
	}
	if !p.spoken {
		return s
	}
	return code.ReplaceAllStringFunc(s, func(s string) string {
		for name, c := range codes {
			if s == fmt.Sprintf(`"code": %d`, protocol.Code(p.revision, c)) {
				return `"code": ` + name
			}
		}
		return s
	})
}

// request sends a request section and shows the response as one.
func (p *player) request(section []byte) string {
	p.t.Helper()
	method, body := http.MethodPost, section
	overrides := http.Header{}
	for {
		line, rest, _ := bytes.Cut(body, []byte("\n"))
		name, value, isHeader := strings.Cut(string(line), ":")
		if string(line) == http.MethodGet || string(line) == http.MethodDelete {
			method, body = string(line), rest
			continue
		}
		if !isHeader || strings.HasPrefix(name, "{") || strings.HasPrefix(name, "[") {
			break
		}
		overrides[http.CanonicalHeaderKey(name)] = []string{strings.TrimSpace(value)}
		body = rest
	}
	body = bytes.TrimSpace(body)
	p.spoken = bytes.Contains(body, []byte(`"`+p.revision+`"`))
	header, check := mirror(body), checkSchemas
	if protocol.IsLegacy(p.revision) {
		header, check = legacyHeader(p.revision), checkLegacySchemas
	}
	for name, value := range overrides {
		if header[name] = value; value[0] == "" {
			delete(header, name)
		}
	}
	response, got := p.send(method, header, body)
	var out strings.Builder
	fmt.Fprintf(&out, "HTTP %d\n", response.StatusCode)
	for _, name := range []string{"Allow", "Retry-After", "Content-Type"} {
		if value := response.Header.Get(name); value != "" && value != "application/json" {
			fmt.Fprintf(&out, "%s: %s\n", name, value)
		}
	}
	if len(got) == 0 {
		return out.String()
	}
	out.WriteByte('\n')
	if response.Header.Get("Content-Type") == "text/event-stream" {
		messages := eventData(got)
		for _, m := range messages[:len(messages)-1] {
			checkNotification(p.t, m)
		}
		check(p.t, body, messages[len(messages)-1])
		out.Write(bytes.TrimRight(got, "\n"))
		out.WriteByte('\n')
		return p.name(out.String())
	}
	check(p.t, body, got)
	pretty := jsontext.Value(got)
	if err := pretty.Indent(jsontext.WithIndent("  ")); err != nil {
		p.t.Fatalf("%v in %s", err, got)
	}
	out.Write(pretty)
	out.WriteByte('\n')
	return p.name(out.String())
}

// eventData are the messages of an event stream.
func eventData(stream []byte) (messages []json.RawMessage) {
	for line := range bytes.Lines(stream) {
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			messages = append(messages, json.RawMessage(data))
		}
	}
	return messages
}
