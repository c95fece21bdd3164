package tools

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"toolhost/functions/tools/httpcheck"
	"toolhost/pkg/tool"
)

// reachable is a registry whose batch_http_check may reach this machine.
func reachable() *tool.Registry {
	reg := tool.New()
	addBatchHTTPCheck(reg, httpcheck.Options{Private: true})
	return reg
}

func countingServer(t *testing.T, requests *atomic.Int32) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if strings.HasPrefix(r.URL.Path, "/missing") {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func TestBatchHTTPCheck(t *testing.T) {
	t.Run("counts_what_answered", func(t *testing.T) {
		s := countingServer(t, new(atomic.Int32))
		_, out := finished[batchHTTPCheckOutput](t, call(t, reachable(), "batch_http_check", object{"urls": []string{s.URL, s.URL + "/missing", "ftp://x/"}, "method": "GET"}, tool.Call{}))
		if out.Checked != 3 || out.OK != 1 || out.Failed != 2 || out.Results[1].Status != 404 || out.Results[2].Error == "" {
			t.Errorf("got %+v", out)
		}
	})
	t.Run("refuses_private_addresses_unless_the_deployment_allows_them", func(t *testing.T) {
		var requests atomic.Int32
		s := countingServer(t, &requests)
		_, out := finished[batchHTTPCheckOutput](t, call(t, Registry(), "batch_http_check", object{"urls": []string{s.URL}}, tool.Call{}))
		if out.OK != 0 || !strings.Contains(out.Results[0].Error, "not a public one") || requests.Load() != 0 {
			t.Errorf("got %+v after %d requests", out, requests.Load())
		}
	})
	for name, args := range map[string]object{
		"urls":        {"urls": []string{}},
		"method":      {"urls": []string{"http://x"}, "method": "POST"},
		"timeout_ms":  {"urls": []string{"http://x"}, "timeout_ms": 31_000},
		"concurrency": {"urls": []string{"http://x"}, "concurrency": 17},
	} {
		t.Run(name+"_out_of_bounds_is_a_tool_error_that_names_it", func(t *testing.T) { // R-H8
			r, _ := finished[batchHTTPCheckOutput](t, call(t, Registry(), "batch_http_check", args, tool.Call{}))
			if !r.IsError || !strings.Contains(r.Content[0].Text, name) {
				t.Errorf("got %+v", r)
			}
		})
	}
	t.Run("finished_steps_are_not_repeated_and_progress_goes_on", func(t *testing.T) {
		var requests atomic.Int32
		s := countingServer(t, &requests)
		urls := make([]string, 2*urlsPerStep+5)
		for i := range urls {
			urls[i] = fmt.Sprintf("%s/%d", s.URL, i)
		}
		kept := newRecord()
		_, first := finished[batchHTTPCheckOutput](t, call(t, reachable(), "batch_http_check", object{"urls": urls}, tool.Call{Steps: kept}))
		delete(kept.steps, fmt.Sprintf("urls %d-%d", 2*urlsPerStep+1, len(urls))) // the run died in its last step
		requests.Store(0)
		var last tool.Progress
		_, second := finished[batchHTTPCheckOutput](t, call(t, reachable(), "batch_http_check", object{"urls": urls}, tool.Call{
			Steps: kept, Report: func(p tool.Progress) { last = p },
		}))
		if requests.Load() != 5 {
			t.Errorf("%d requests, want those of the last step alone", requests.Load())
		}
		if last.Done != float64(len(urls)) || last.Total != last.Done {
			t.Errorf("last progress is %+v", last)
		}
		for i := range urls {
			if first.Results[i].URL != urls[i] || second.Results[i].URL != urls[i] {
				t.Fatalf("result %d is another URL's", i)
			}
		}
	})
	t.Run("a_cancel_stops_it_at_once", func(t *testing.T) { // R-X3
		began, ended := make(chan struct{}), make(chan struct{})
		s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			close(began)
			<-r.Context().Done()
			close(ended)
		}))
		defer s.Close()
		ctx, cancel := context.WithCancel(t.Context())
		listed, _ := reachable().Lookup("batch_http_check")
		kept, outcome := newRecord(), make(chan tool.Outcome)
		go func() {
			outcome <- listed.Run(ctx, tool.Call{Arguments: marshal(t, object{"urls": []string{s.URL}}), Steps: kept})
		}()
		<-began
		cancel()
		if o := <-outcome; o.Kind != tool.Stopped {
			t.Errorf("the run ended %+v", o)
		}
		<-ended
		if len(kept.Names()) != 0 {
			t.Errorf("recorded %v", kept.Names())
		}
	})
}
