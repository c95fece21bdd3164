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
	"toolhost/pkg/tool/tooltest"
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
		out := result[batchHTTPCheckOutput](t, tooltest.Start(t, reachable(), "batch_http_check", object{
			"urls": []string{s.URL, s.URL + "/missing", "ftp://x/"}, "method": "GET",
		}, tooltest.Sync()))
		if out.Checked != 3 || out.OK != 1 || out.Failed != 2 || out.Results[1].Status != 404 || out.Results[2].Error == "" {
			t.Errorf("got %+v", out)
		}
	})
	t.Run("refuses_private_addresses_unless_the_deployment_allows_them", func(t *testing.T) {
		var requests atomic.Int32
		s := countingServer(t, &requests)
		out := result[batchHTTPCheckOutput](t, tooltest.Start(t, Registry(), "batch_http_check", object{"urls": []string{s.URL}}))
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
			if says := tooltest.Start(t, Registry(), "batch_http_check", args).ToolError(); !strings.Contains(says, name) {
				t.Errorf("it says %q", says)
			}
		})
	}
	t.Run("no_URL_is_asked_twice_though_the_process_dies_after_each_step", func(t *testing.T) {
		var requests atomic.Int32
		s := countingServer(t, &requests)
		urls := make([]string, 2*urlsPerStep+5)
		for i := range urls {
			urls[i] = fmt.Sprintf("%s/%d", s.URL, i)
		}
		c := tooltest.Start(t, reachable(), "batch_http_check", object{"urls": urls})
		c.KillAfterEachStep()
		out := result[batchHTTPCheckOutput](t, c)
		if c.Runs() != 4 || int(requests.Load()) != len(urls) {
			t.Errorf("%d runs made %d requests for %d URLs", c.Runs(), requests.Load(), len(urls))
		}
		for i, r := range out.Results {
			if r.URL != urls[i] || !r.OK {
				t.Errorf("%d: got %+v", i, r)
			}
		}
		for i, p := range c.Reports() {
			if p.Done != float64(i+1) || p.Total != float64(len(urls)) {
				t.Errorf("report %d is %+v", i, p)
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
		outcome := make(chan tool.Outcome)
		go func() {
			outcome <- listed.Run(ctx, tool.Call{Arguments: []byte(`{"urls":["` + s.URL + `"]}`)})
		}()
		<-began
		cancel()
		if o := <-outcome; o.Kind != tool.Stopped {
			t.Errorf("the run ended %+v", o)
		}
		<-ended
	})
}
