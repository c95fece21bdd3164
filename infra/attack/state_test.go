package attack

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"toolhost/pkg/callback"
	"toolhost/pkg/limits"
	"toolhost/pkg/protocol"
)

// spoiled are a sealed text changed at every place, and spelled in other ways.
func spoiled(sealed string) map[string]string {
	all := map[string]string{
		"empty": "", "cut at the end": sealed[:len(sealed)-1], "cut at the beginning": sealed[1:], "cut in half": sealed[:len(sealed)/2], "twice": sealed + sealed,
		"more": sealed + "A", "padded": sealed + "=", "padded more": sealed + "==", "a line break": sealed[:9] + "\n" + sealed[9:], "a return": sealed + "\r",
		"a space": sealed + " ", "a space before": " " + sealed, "NUL": sealed + "\x00", "a dot": sealed + ".", "three dots": sealed + ".a.b", "zeros": strings.Repeat("A", len(sealed)),
		"no base64": "%%%", "another alphabet": strings.NewReplacer("-", "+", "_", "/").Replace(sealed) + "+/", "quoted": `"` + sealed + `"`,
		"percent": strings.ReplaceAll(sealed, sealed[:1], fmt.Sprintf("%%%x", sealed[0])), "huge": strings.Repeat(sealed, 1+limits.MaxRequestState/len(sealed)),
	}
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	for i := range sealed {
		at := strings.IndexByte(alphabet, sealed[i])
		// One bit, the lowest: at the end it may be one that the decoder ignores.
		all[fmt.Sprint("changed at ", i)] = sealed[:i] + string(alphabet[at^1]) + sealed[i+1:]
	}
	if standard := strings.NewReplacer("-", "+", "_", "/").Replace(sealed); standard != sealed {
		all["the standard alphabet"] = standard
	}
	return all
}

// TestRequestState changes, replays and steals what a client keeps for the server
// between two rounds of a call.
func TestRequestState(t *testing.T) { // R-H9, R-H13
	g := attacked(t)
	arguments := map[string]any{"text": "hello"}
	answers := map[string]any{"who": map[string]any{"action": "accept", "content": map[string]string{"name": "Ada"}}}
	round := func(g *target, tool string, arguments any, state any) answer {
		g.t.Helper()
		return g.modern(protocol.MethodToolsCall, map[string]any{"name": tool, "arguments": arguments, "requestState": state, "inputResponses": answers})
	}
	begin := func(g *target, tool string) string {
		g.t.Helper()
		return g.call(tool, arguments).read(g.t).Result.RequestState
	}
	refused := func(what string, a answer) {
		t.Helper()
		if a.status != http.StatusOK || a.code() != -32602 || strings.Contains(string(a.body), "Ada") {
			t.Errorf("%s: %d %.300s", what, a.status, a.body)
		}
	}
	state := begin(g, "quiz")
	if raw, err := base64.RawURLEncoding.DecodeString(state); err != nil || strings.Contains(string(raw), "who") {
		t.Errorf("the state is not sealed: %q, %v", raw, err)
	}
	changed := spoiled(state)
	for what, wrong := range changed {
		refused(what, round(g, "quiz", arguments, wrong))
	}
	for _, wrong := range []any{1, nil, true, []string{state}, map[string]string{"state": state}} {
		refused(fmt.Sprint(wrong), round(g, "quiz", arguments, wrong))
	}
	g.alive()
	refused("another tool", round(g, "other-quiz", arguments, state))
	refused("other arguments", round(g, "quiz", map[string]any{"text": "hello "}, state))
	refused("more arguments", round(g, "quiz", map[string]any{"text": "hello", "more": 1}, state))
	refused("a task's tool", round(g, "ask", arguments, state))
	another := attacked(t)
	refused("another deployment", round(another, "quiz", arguments, state))
	refused("another's state", round(g, "quiz", arguments, begin(another, "quiz")))
	g.task("park")
	job := <-g.jobs
	refused("a callback's token", round(g, "quiz", arguments, job[strings.LastIndexByte(job, '/')+1:]))

	// The same call may be made again: nothing is kept, so it is what it was.
	first, second := round(g, "quiz", arguments, state), round(g, "quiz", arguments, state)
	if !strings.Contains(string(first.Result), "hello Ada") || string(first.body) != string(second.body) {
		t.Errorf("%s, then %s", first.body, second.body)
	}
	g.clock.Advance(limits.RequestStateTTL - time.Second)
	if a := round(g, "quiz", arguments, state); !strings.Contains(string(a.Result), "hello Ada") {
		t.Errorf("it expired too early: %s", a.body)
	}
	g.clock.Advance(time.Second)
	refused("expired", round(g, "quiz", arguments, state))
	g.alive()
	t.Logf("%d changed states", len(changed))
}

// TestCallbackTokens does the same to the tokens of callbacks.
func TestCallbackTokens(t *testing.T) { // R-V1, R-V4, R-G8; case 57
	g := attacked(t)
	id := g.task("park")
	job := <-g.jobs
	before := g.until(id, "working")
	base := job[:strings.LastIndexByte(job, '/')+1]
	token := strings.TrimPrefix(job, base)
	if !strings.HasSuffix(base, callback.Path) || strings.Contains(token, id) {
		t.Fatalf("the callback's URL is %s", job)
	}
	answered := func(what, method, url, body string, statuses ...int) answer {
		t.Helper()
		a := g.send(what, method, url, http.Header{}, body)
		if !oneOf(a.status, statuses...) {
			t.Errorf("%s: %d %.300s", what, a.status, a.body)
		}
		return a
	}
	path := func(token string) string {
		return base + strings.NewReplacer("%", "%25", "\n", "%0A", "\r", "%0D", "\x00", "%00", " ", "%20", `"`, "%22").Replace(token)
	}
	changed := spoiled(token)
	delete(changed, "huge")                  // no URL
	delete(changed, "empty")                 // no route
	delete(changed, "another alphabet")      // has a slash
	delete(changed, "the standard alphabet") // may have one
	for what, wrong := range changed {
		if a := answered(what, http.MethodPost, path(wrong), `"mine"`, http.StatusNotFound); string(a.body) != `{"error":"Unknown callback"}` {
			t.Errorf("%s: %s", what, a.body)
		}
	}
	answered("no token", http.MethodPost, base, `1`, http.StatusForbidden, http.StatusNotFound)
	answered("a slash", http.MethodPost, job+"/", `1`, http.StatusForbidden, http.StatusNotFound)
	answered("a coded slash", http.MethodPost, job+"%2F", `1`, http.StatusForbidden, http.StatusNotFound)
	answered("a state", http.MethodPost, path(g.call("quiz", words{}).read(t).Result.RequestState), `1`, http.StatusNotFound)
	answered("a task's id", http.MethodPost, path(id), `1`, http.StatusNotFound)
	answered("in the query", http.MethodPost, base+"x?token="+token, `1`, http.StatusNotFound)
	answered("a long one", http.MethodPost, path(strings.Repeat("A", 500_000)), `1`, http.StatusNotFound, http.StatusRequestHeaderFieldsTooLarge)
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete, http.MethodHead, http.MethodPatch, "FOO"} {
		answered(method, method, job, `"mine"`, http.StatusMethodNotAllowed)
	}
	answered("no JSON", http.MethodPost, job, `{"a":`, http.StatusBadRequest)
	answered("a name twice", http.MethodPost, job, `{"a":1,"a":2}`, http.StatusBadRequest)
	answered("a lone surrogate", http.MethodPost, job, `"\ud800"`, http.StatusBadRequest)
	answered("no UTF-8", http.MethodPost, job, "\"\xff\"", http.StatusBadRequest)
	answered("NUL", http.MethodPost, job, "\x00", http.StatusBadRequest)
	answered("deep", http.MethodPost, job, strings.Repeat("[", 100_000), http.StatusBadRequest)
	answered("large", http.MethodPost, job, `"`+strings.Repeat("x", limits.MaxAnswer)+`"`, http.StatusRequestEntityTooLarge)
	answered("larger than the gateway takes", http.MethodPost, job, strings.Repeat(" ", 10<<20)+"1", http.StatusRequestEntityTooLarge)
	another := attacked(t)
	if a := another.send("another deployment", http.MethodPost, strings.Replace(job, g.host, another.host, 1), http.Header{}, `"mine"`); a.status != http.StatusNotFound {
		t.Errorf("another deployment: %d %s", a.status, a.body)
	}
	if after := g.modern(protocol.MethodTasksGet, named(id)); string(after.body) != string(before.body) {
		t.Errorf("the task was moved from %s to %s", before.body, after.body)
	}

	answered("the right one", http.MethodPost, job, `"right"`, http.StatusNoContent)
	if end := g.until(id, "completed"); !strings.Contains(string(end.Result), "right") {
		t.Errorf("the task ended with %s", end.body)
	}
	answered("again, when it is over", http.MethodPost, job, `"right"`, http.StatusNotFound)
	answered("another answer", http.MethodPost, job, `"wrong"`, http.StatusNotFound)

	late := g.task("park")
	job = <-g.jobs
	g.until(late, "working")
	g.clock.Advance(limits.TTL)
	answered("expired", http.MethodPost, job, `"late"`, http.StatusNotFound)
	g.alive()
	for _, text := range []string{g.lines.String(), g.text.String()} {
		if strings.Contains(text, token[:40]) {
			t.Error("the log holds a token")
		}
	}
	t.Logf("%d changed tokens", len(changed))
}
