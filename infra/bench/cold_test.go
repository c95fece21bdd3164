package bench

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// BenchmarkColdStart builds the functions as they are deployed, but for this
// machine's processor, and starts each as Lambda does, by turns with one that is
// empty. For each it reports the size of its binary, and the ratios of the medians
// of two times, both from the start of the process: until it asks for its first
// event (init), and until it has answered that (first), which for all but mcp
// takes the first call to DynamoDB.
func BenchmarkColdStart(b *testing.B) {
	d := deploy(b)
	variables := environment(d.services.Table, d.services.QueueURL)
	variables["AWS_ENDPOINT_URL"], variables["AWS_REGION"] = d.services.Endpoint, "us-east-1"
	variables["AWS_ACCESS_KEY_ID"], variables["AWS_SECRET_ACCESS_KEY"] = "local", "local"
	functions := []string{"empty", "mcp", "tasks", "worker", "deadletter"}
	dir := b.TempDir()
	build := exec.Command("go", "build", "-o", dir, "-tags", "lambda.norpc", "-ldflags", "-s -w", "./testdata/empty",
		"../../functions/mcp", "../../functions/tasks", "../../functions/worker", "../../functions/deadletter")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	inits, firsts := map[string][]time.Duration{}, map[string][]time.Duration{}
	for b.Loop() {
		for _, f := range functions {
			event := []byte("{}")
			if f != "empty" {
				var err error
				event, err = os.ReadFile("../../functions/" + f + "/event.json")
				must(b, err)
			}
			init, first := boot(b, filepath.Join(dir, f), variables, event)
			inits[f], firsts[f] = append(inits[f], init), append(firsts[f], first)
		}
	}
	b.ReportMetric(0, "ns/op")
	for _, f := range functions {
		binary, err := os.Stat(filepath.Join(dir, f))
		must(b, err)
		b.ReportMetric(float64(binary.Size())/1e6, f+"-MB")
		if f != "empty" {
			b.ReportMetric(float64(median(inits[f]))/float64(median(inits["empty"])), f+"/empty-init")
			b.ReportMetric(float64(median(firsts[f]))/float64(median(firsts["empty"])), f+"/empty-first")
		}
	}
}

// boot starts a function, and ends it when it has answered one event.
func boot(b *testing.B, binary string, variables map[string]string, event []byte) (init, first time.Duration) {
	asked, answered := make(chan time.Time, 1), make(chan time.Time, 1)
	given := false
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/extension/register"):
			w.Header().Set("Lambda-Extension-Identifier", "extension-1")
		case strings.HasSuffix(r.URL.Path, "/invocation/next") && !given:
			given = true
			asked <- time.Now()
			w.Header().Set("Lambda-Runtime-Aws-Request-Id", "1")
			w.Header().Set("Lambda-Runtime-Deadline-Ms", fmt.Sprint(time.Now().Add(time.Minute).UnixMilli()))
			_, _ = w.Write(event)
		case strings.HasSuffix(r.URL.Path, "/response"):
			_, _ = io.Copy(io.Discard, r.Body)
			answered <- time.Now()
			w.WriteHeader(http.StatusAccepted)
		case strings.HasSuffix(r.URL.Path, "/error"):
			close(answered)
		default: // another event never comes
			<-r.Context().Done()
		}
	}))
	var log bytes.Buffer
	c := exec.Command(binary)
	c.Stderr = &log
	c.Env = []string{"AWS_LAMBDA_RUNTIME_API=" + strings.TrimPrefix(s.URL, "http://")}
	for name, value := range variables {
		c.Env = append(c.Env, name+"="+value)
	}
	begun := time.Now()
	must(b, c.Start())
	died := make(chan struct{})
	go func() {
		_ = c.Wait()
		close(died)
	}()
	defer func() {
		_ = c.Process.Kill()
		<-died
		s.CloseClientConnections()
		s.Close()
	}()
	select {
	case at, ok := <-answered:
		if ok {
			return (<-asked).Sub(begun), at.Sub(begun)
		}
	case <-died:
	}
	b.Fatalf("%s failed\n%s", binary, &log)
	return 0, 0
}
