package attack

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"toolhost/pkg/protocol"
)

// TestWhatToolsSee: a tool is told who calls, and never by what token.
func TestWhatToolsSee(t *testing.T) { // R-V3, R-V5
	g := guard(t, map[string]string{"TOOLHOST_TENANT_CLAIM": "tenant"})
	for _, subject := range []string{"ada", "bob"} {
		g.token = g.good(map[string]any{"sub": subject, "tenant": "of " + subject})
		now := string(g.call("look", words{}).Result)
		later := string(g.until(g.task("look-later"), "completed").Result)
		for _, seen := range []string{now, later} {
			if !strings.Contains(seen, subject) || strings.Contains(seen, "Bearer") || strings.Contains(seen, g.token[len(g.token)-20:]) || subject == "bob" && strings.Contains(seen, "ada") {
				t.Errorf("a tool of %s sees %s", subject, seen)
			}
		}
	}
}

// TestManyCallers interleaves callers, good and bad tokens on one warm gateway,
// authorizer and server: each is itself.
func TestManyCallers(t *testing.T) { // R-V1, R-V3
	g := guard(t, map[string]string{"TOOLHOST_TENANT_CLAIM": "tenant"})
	thief := forger{t, newKey(t), g.kid}
	calls := 2000
	if testing.Short() || raced {
		calls = 300
	}
	var all sync.WaitGroup
	for part := range 8 {
		all.Go(func() {
			for i := part; i < calls; i += 8 {
				subject, tenant := fmt.Sprint("caller ", i), fmt.Sprint("tenant ", i%3)
				claims := map[string]any{"sub": subject, "tenant": tenant, "client_id": "app"}
				token, bad := g.good(claims), i%4 == 3
				if bad {
					token = thief.of(thief.head(nil), g.payload(claims))
				}
				h := headers(protocol.Revision20260728, protocol.MethodToolsCall, "look")
				h.Set("Authorization", "Bearer "+token)
				a := g.post("look", h, message(protocol.MethodToolsCall, map[string]any{"name": "look", "arguments": words{}}))
				if sees := fmt.Sprintf(`\"%s\" \"%s\" \"app\"`, subject, tenant); bad != (a.status == 401) || !bad && !strings.Contains(string(a.Result), sees) {
					t.Errorf("%s of %s: %d %s", subject, tenant, a.status, a.body)
				}
			}
		})
	}
	all.Wait()
}

// TestQuotas: one caller that takes all it may leaves the others theirs, and gets
// no more by another client, another key or another spelling of itself.
func TestQuotas(t *testing.T) { // R-V3; case 45
	g := guard(t, map[string]string{"TOOLHOST_MAX_OPEN_TASKS": "3", "TOOLHOST_MAX_CREATIONS": "20", "TOOLHOST_TENANT_CLAIM": "tenant"})
	as := func(subject, tenant, client string) {
		g.token = g.good(map[string]any{"sub": subject, "tenant": tenant, "client_id": client})
	}
	create := func() answer { return g.call("ask", words{"x"}) }
	for _, caller := range [][2]string{{"ada", "one"}, {"bob", "one"}, {"ada", "two"}, {"ada\x00one", "two"}} {
		as(caller[0], caller[1], "app")
		for i := range 3 {
			if a := create(); a.status != 200 || a.Error != nil {
				t.Errorf("%q's task %d: %s", caller, i, a)
			}
		}
		for i := range 30 {
			as(caller[0], caller[1], fmt.Sprint("client ", i))
			if a := create(); a.status != http.StatusTooManyRequests || a.code() != -32603 || strings.Contains(string(a.body), "quota#") {
				t.Errorf("%q's fourth task: %s", caller, a)
			}
		}
	}
	// What is counted is nobody's task.
	as("ada", "one", "app")
	for _, id := range []string{"quota#", "quota#*", "slot#0", "quota#" + strings.Repeat("0", 64)} {
		if a := g.modern(protocol.MethodTasksGet, named(id)); a.code() != -32602 || !strings.Contains(string(a.body), "Unknown task") {
			t.Errorf("%s: %s", id, a)
		}
	}
	g.alive()
}

// TestMirroredArguments lets headers that repeat arguments disagree with them.
func TestMirroredArguments(t *testing.T) { // R-H2, R-H15
	g := attacked(t)
	for what, attack := range map[string]struct {
		arguments string
		headers   map[string][]string
		served    bool
	}{
		"none":                        {`{}`, nil, true},
		"all":                         {`{"region":"eu","count":3,"dry":true}`, map[string][]string{"Region": {"eu"}, "Count": {"3"}, "Dry": {"true"}}, true},
		"a missing one":               {`{"region":"eu"}`, nil, false},
		"one without an argument":     {`{}`, map[string][]string{"Region": {"eu"}}, false},
		"one for null":                {`{"region":null}`, map[string][]string{"Region": {"null"}}, false},
		"an empty one":                {`{"region":"eu"}`, map[string][]string{"Region": {""}}, false},
		"another":                     {`{"region":"eu"}`, map[string][]string{"Region": {"us"}}, false},
		"in upper case":               {`{"region":"eu"}`, map[string][]string{"Region": {"EU"}}, false},
		"twice":                       {`{"region":"eu"}`, map[string][]string{"Region": {"eu", "eu"}}, false},
		"twice, once right":           {`{"region":"eu"}`, map[string][]string{"Region": {"us", "eu"}}, false},
		"with a comma":                {`{"region":"us, eu"}`, map[string][]string{"Region": {"us", "eu"}}, true}, // which HTTP says is one
		"in base64":                   {`{"region":"eu"}`, map[string][]string{"Region": {"=?base64?ZXU=?="}}, true},
		"in broken base64":            {`{"region":"eu"}`, map[string][]string{"Region": {"=?base64?ZXU?="}}, false},
		"that looks like base64":      {`{"region":"=?base64?ZXU=?="}`, map[string][]string{"Region": {"=?base64?ZXU=?="}}, false},
		"quoted":                      {`{"region":"eu"}`, map[string][]string{"Region": {`"eu"`}}, false},
		"escaped":                     {`{"region":"\u0065u"}`, map[string][]string{"Region": {"eu"}}, true},
		"a number with a fraction":    {`{"count":3}`, map[string][]string{"Count": {"3.0"}}, true},
		"with an exponent":            {`{"count":3}`, map[string][]string{"Count": {"30e-1"}}, true},
		"nearly":                      {`{"count":9007199254740993}`, map[string][]string{"Count": {"9007199254740992"}}, false},
		"hexadecimal":                 {`{"count":3}`, map[string][]string{"Count": {"0x3"}}, false},
		"with a plus":                 {`{"count":3}`, map[string][]string{"Count": {"+3"}}, false},
		"with a zero":                 {`{"count":3}`, map[string][]string{"Count": {"03"}}, false},
		"in wide digits":              {`{"count":3}`, map[string][]string{"Count": {"３"}}, false},
		"of too many digits":          {`{"count":3}`, map[string][]string{"Count": {"3." + strings.Repeat("0", 100_000)}}, false},
		"of a huge exponent":          {`{"count":3}`, map[string][]string{"Count": {"3e999999999"}}, false},
		"infinite":                    {`{"count":3}`, map[string][]string{"Count": {"Inf"}}, false},
		"a number as text":            {`{"count":"3"}`, map[string][]string{"Count": {"4"}}, false},
		"another truth":               {`{"dry":true}`, map[string][]string{"Dry": {"false"}}, false},
		"True":                        {`{"dry":true}`, map[string][]string{"Dry": {"True"}}, false},
		"1":                           {`{"dry":true}`, map[string][]string{"Dry": {"1"}}, false},
		"one that is nobody's":        {`{}`, map[string][]string{"Other": {"x"}, "": {"y"}, "__proto__": {"z"}}, true},
		"an argument in upper case":   {`{"REGION":"eu"}`, map[string][]string{"Region": {"eu"}}, false},
		"an argument of another sort": {`{"region":{"a":1}}`, map[string][]string{"Region": {"eu"}}, true}, // its schema refuses it
	} {
		h := headers(protocol.Revision20260728, protocol.MethodToolsCall, "mirrored")
		for name, values := range attack.headers {
			h["Mcp-Param-"+name] = values
		}
		a := g.post(what, h, message(protocol.MethodToolsCall, map[string]any{"name": "mirrored", "arguments": json.RawMessage(attack.arguments)}))
		if attack.served && a.status != 200 || !attack.served && (a.status != 400 || a.code() != -32020) {
			t.Errorf("%s: %s", what, a)
		}
	}
	g.alive()
}

// TestMetadata: where to get a token is the deployment's word, whatever the request
// says of hosts, and what is public stays that.
func TestMetadata(t *testing.T) { // R-V2, R-V5; case 27
	g := guard(t, nil)
	good := g.token
	g.token = ""
	base := "http://" + g.host + "/.well-known/oauth-protected-resource"
	for _, url := range []string{base, base + "/mcp"} {
		for _, lines := range []http.Header{{}, {"X-Forwarded-Host": {"evil.example"}, "X-Forwarded-Proto": {"https"}, "Forwarded": {"host=evil.example"}, "Origin": {"https://evil.example"}}} {
			a := g.send(url, http.MethodGet, url, lines, "")
			if a.status != 200 || strings.Contains(string(a.body), "evil") || !strings.Contains(string(a.body), `"resource":"`+g.url+`"`) || !strings.Contains(string(a.body), g.issuer.URL) {
				t.Errorf("%s: %s", url, a)
			}
		}
		path := strings.TrimPrefix(url, "http://"+g.host)
		for _, host := range []string{"evil.example", "evil.example:80", "127.0.0.1.evil.example"} {
			for _, a := range g.exchange(url, "GET "+path+" HTTP/1.1\r\nHost: "+host+"\r\n\r\n", true) {
				if strings.Contains(string(a.body), "evil") || strings.Contains(fmt.Sprint(a.header), "evil") {
					t.Errorf("%s at %s: %s", url, host, a)
				}
			}
		}
	}
	for _, path := range []string{base + "/", base + "/mcp/", base + "/other", base + "/../mcp", base + "%2fmcp", strings.ToUpper(base), base + "/mcp/../../../mcp"} {
		if a := g.send(path, http.MethodGet, path, http.Header{}, ""); !oneOf(a.status, 401, 403, 404, 405) {
			t.Errorf("%s: %s", path, a)
		}
	}
	// The challenge names the same place, whatever Host says.
	a := g.exchange("a challenge", strings.Join(echoed("evil.example", "X-Forwarded-Host: evil.example", "Content-Length: "+itoa(len(echoBody))), "\r\n")+"\r\n\r\n"+echoBody, true)
	if len(a) != 1 || a[0].status != 401 || !strings.Contains(a[0].header.Get("WWW-Authenticate"), `resource_metadata="`+base+`/mcp"`) {
		t.Errorf("a challenge: %v", a)
	}
	// A preflight needs no token, and gives nothing.
	for _, origin := range []string{"https://evil.example", "null"} {
		a := g.send("a preflight", http.MethodOptions, g.url, http.Header{"Origin": {origin}, "Access-Control-Request-Method": {"POST"}, "Access-Control-Request-Headers": {"authorization"}}, "")
		if a.status != http.StatusForbidden || a.header.Get("Access-Control-Allow-Origin") == origin {
			t.Errorf("a preflight of %s: %s, %v", origin, a, a.header)
		}
	}
	// A job's answer needs none either: it has its own.
	g.token = good
	id := g.task("park")
	job := <-g.jobs
	g.token = ""
	if a := g.send("a callback", http.MethodPost, job, http.Header{}, `"done"`); a.status != http.StatusNoContent {
		t.Errorf("a callback: %s", a)
	}
	g.token = good
	g.until(id, "completed")
}
