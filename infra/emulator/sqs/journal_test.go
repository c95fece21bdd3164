package sqs

import (
	"bufio"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	bolt "go.etcd.io/bbolt"

	"toolhost/pkg/clock"
	"toolhost/pkg/fault"
)

// serveDir, when set, makes the test binary serve that directory and say where,
// until it is killed.
const serveDir = "TOOLHOST_TEST_SQS_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(serveDir); dir != "" {
		server, err := New(Options{Dir: dir, Clock: clock.NewManual(start)})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(httptest.NewServer(server).URL)
		select {}
	}
	os.Exit(m.Run())
}

func TestJournal(t *testing.T) {
	t.Run("a killed server loses nothing that it acknowledged", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "state")
		process := exec.CommandContext(t.Context(), os.Args[0])
		process.Env = append(os.Environ(), serveDir+"="+dir)
		process.Stderr = os.Stderr
		stdout, err := process.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := process.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(stdout)
		if !lines.Scan() {
			t.Fatal("the server did not start")
		}
		e := &endpoint{t: t, client: clientOf(lines.Text())}
		e.queue("dead", nil)
		url := e.queue("jobs", map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead","maxReceiveCount":1}`, "VisibilityTimeout": "0"})
		e.send(url, "dies")
		e.one(url)
		e.none(url) // gone to the dead-letter queue
		e.must(e.set(url, "VisibilityTimeout", "60"))
		e.send(url, "done")
		e.delete(url, e.one(url).ReceiptHandle)
		e.send(url, "hidden")
		hidden := e.one(url)
		e.must(e.hide(url, hidden.ReceiptHandle, 100))
		_, err = e.client.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("delayed"), DelaySeconds: 200, MessageGroupId: aws.String("g")})
		e.must(err)
		e.send(url, "ready")
		gone := e.queue("gone", nil)
		e.send(gone, "x")
		_, err = e.client.DeleteQueue(t.Context(), &awssqs.DeleteQueueInput{QueueUrl: &gone})
		e.must(err)
		if err := process.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = process.Wait() // it says that it was killed

		again := serve(t, Options{Dir: dir})
		again.depth("jobs", 1, 1, 1)
		again.depth("dead", 1, 0, 0)
		if list, err := again.client.ListQueues(t.Context(), &awssqs.ListQueuesInput{}); err != nil || len(list.QueueUrls) != 2 {
			t.Fatal(list, err)
		}
		if m := again.one(url); *m.Body != "ready" {
			t.Fatal(*m.Body)
		}
		again.must(again.hide(url, hidden.ReceiptHandle, 110)) // its handle is still good
		again.clock.Advance(110 * time.Second)
		again.depth("jobs", 2, 1, 0)
		again.clock.Advance(90 * time.Second)
		if got := again.server.Messages("jobs"); len(got) != 3 || got[1].Body != "delayed" || got[1].Group != "g" || got[0].Receives != 1 {
			t.Fatalf("%+v", got)
		}
		again.send(url, "new") // takes nobody's place
		again.depth("jobs", 4, 0, 0)
	})

	t.Run("a directory serves one server at a time", func(t *testing.T) {
		dir := t.TempDir()
		serve(t, Options{Dir: dir})
		if _, err := New(Options{Dir: dir}); !fault.Is(err, fault.Busy) {
			t.Fatal(err)
		}
	})

	t.Run("a file of another format is refused", func(t *testing.T) {
		dir := t.TempDir()
		db, err := bolt.Open(filepath.Join(dir, "sqs.db"), 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = db.Update(func(tx *bolt.Tx) error { _, err := tx.CreateBucket([]byte("sqs format 2")); return err })
		if err != nil || db.Close() != nil {
			t.Fatal(err)
		}
		if _, err := New(Options{Dir: dir}); !fault.Is(err, fault.Invalid) {
			t.Fatal(err)
		}
	})

	t.Run("what can't be kept is not acknowledged", func(t *testing.T) {
		e := serve(t, Options{Dir: t.TempDir()})
		url := e.queue("jobs", nil)
		e.must(e.server.Close())
		_, err := e.client.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("x")})
		refused(t, err, "InternalFailure")
	})
}
