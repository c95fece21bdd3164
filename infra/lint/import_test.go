package lint

import (
	"bytes"
	"encoding/json"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// everywhere may be imported by every package.
var everywhere = []string{"fault", "clock", "limits"}

// may says what a package of pkg imports of pkg besides; a package that is not
// here may import nothing of it. It is the table in pkg/README.md.
var may = map[string][]string{
	"protocol":          {"jsonrpc", "task"},
	"auth":              {"protocol", "task"},
	"auth/authtest":     {},
	"config":            {"auth", "protocol"},
	"store":             {"task"},
	"store/dynamostore": {"store", "task"},
	"store/storetest":   {"store", "task"},
	"quota":             {"store", "task"},
	"queue/sqsqueue":    {"queue"},
	"queue/queuetest":   {"queue"},
	"tool":              {"jsonrpc", "protocol"},
	"tool/tooltest":     {"jsonrpc", "protocol", "tool"},
	"server":            {"jsonrpc", "protocol", "task", "auth", "store", "queue", "quota", "tool", "callback"},
	"httpmcp":           {"server", "protocol", "jsonrpc", "auth"},
	"worker":            {"jsonrpc", "protocol", "task", "auth", "store", "queue", "tool", "callback"},
	"apigw":             {"jsonrpc"},
	"client":            {"jsonrpc", "protocol"},
	"stack": {"apigw", "auth", "callback", "config", "httpmcp", "jsonrpc", "protocol", "queue", "queue/sqsqueue", "quota", "server", "store",
		"store/dynamostore", "tool", "worker"},
}

// aws says which packages of pkg import AWS's libraries, by prefix.
var aws = map[string][]string{
	"store/dynamostore": {"github.com/aws/aws-sdk-go-v2", "github.com/aws/smithy-go"},
	"queue/sqsqueue":    {"github.com/aws/aws-sdk-go-v2", "github.com/aws/smithy-go"},
	"stack":             {"github.com/aws/aws-sdk-go-v2", "github.com/aws/smithy-go", "github.com/aws/aws-lambda-go"},
	"apigw":             {"github.com/aws/aws-lambda-go/"},
	"worker":            {"github.com/aws/aws-lambda-go/events"},
}

// free have no AWS among all that they import, directly or not.
var free = []string{"./pkg/tool", "./pkg/client", "./pkg/server", "./pkg/httpmcp", "./functions/tools"}

type listed struct {
	ImportPath string
	Imports    []string
	Deps       []string
	Module     struct{ Path string }
}

// list asks the go command about packages.
func list(t *testing.T, arguments ...string) []listed {
	t.Helper()
	command := exec.Command("go", append([]string{"list", "-json=ImportPath,Imports,Deps,Module"}, arguments...)...)
	var errs bytes.Buffer
	command.Dir, command.Stderr = root, &errs
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, errs.String())
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// module is this module's path: yours, where it was renamed.
func module(t *testing.T) string {
	t.Helper()
	return list(t, "./functions/tools")[0].Module.Path
}

func TestImports(t *testing.T) {
	packages := list(t, "./pkg/...")
	module := module(t) + "/"
	known := map[string]bool{}
	for _, p := range packages {
		name := strings.TrimPrefix(p.ImportPath, module+"pkg/")
		known[name] = true
		for _, i := range p.Imports {
			if other, ours := strings.CutPrefix(i, module+"pkg/"); ours {
				if !slices.Contains(everywhere, other) && !slices.Contains(may[name], other) {
					t.Errorf("%s imports %s; pkg/README.md does not allow it", name, other)
				}
			} else if strings.HasPrefix(i, module) {
				t.Errorf("%s imports %s; pkg imports neither functions nor infra", name, i)
			} else if strings.HasPrefix(i, "github.com/aws/") && !slices.ContainsFunc(aws[name], func(prefix string) bool { return strings.HasPrefix(i, prefix) }) {
				t.Errorf("%s imports %s; AWS is for the drivers and stack", name, i)
			}
		}
	}
	for name := range may {
		if !known[name] && name != "tool/tooltest" {
			t.Errorf("the table has a row for %s, which is gone", name)
		}
	}
}

func TestNoAWSBehindTools(t *testing.T) {
	for _, p := range list(t, free...) {
		for _, d := range p.Deps {
			if strings.HasPrefix(d, "github.com/aws/") {
				t.Errorf("%s brings %s along", p.ImportPath, d)
			}
		}
	}
}

// Fixtures and emulators are never in a deployment.
func TestFunctionsAreClean(t *testing.T) {
	module := module(t) + "/"
	for _, p := range list(t, "./functions/...") {
		for _, d := range p.Deps {
			if strings.HasPrefix(d, module+"infra/") {
				t.Errorf("%s brings %s along", p.ImportPath, d)
			}
		}
	}
}
