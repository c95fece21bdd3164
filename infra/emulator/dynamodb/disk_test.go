package dynamodb_test

import (
	"bufio"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"toolhost/infra/emulator/dynamodb"
	"toolhost/pkg/clock"
)

func TestDisk(t *testing.T) {
	dir := t.TempDir()
	var description, whole string
	describe := func(t *testing.T, f *fixture) string {
		out, err := f.DescribeTable(t.Context(), &sdk.DescribeTableInput{TableName: aws.String(items)})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(*out.Table.TableId, *out.Table.CreationDateTime, *out.Table.ItemCount, *out.Table.TableSizeBytes)
	}
	t.Run("first", func(t *testing.T) {
		f := start(t, dynamodb.Options{Dir: dir, Clock: clock.NewManual(epoch)})
		f.createTable(t, "gone", "id")
		f.put(t, sample)
		for i := range 5 {
			f.put(t, M{"pk": "p", "sk": fmt.Sprint(i), "expires": epoch.Unix() - 1})
		}
		if _, err := f.DeleteItem(t.Context(), &sdk.DeleteItemInput{TableName: aws.String(items), Key: key("p", "0")}); err != nil {
			t.Fatal(err)
		}
		if _, err := f.DeleteTable(t.Context(), &sdk.DeleteTableInput{TableName: aws.String("gone")}); err != nil {
			t.Fatal(err)
		}
		spec := &types.TimeToLiveSpecification{AttributeName: aws.String("expires"), Enabled: aws.Bool(true)}
		if _, err := f.UpdateTimeToLive(t.Context(), &sdk.UpdateTimeToLiveInput{TableName: aws.String(items), TimeToLiveSpecification: spec}); err != nil {
			t.Fatal(err)
		}
		description, whole = describe(t, f), show(t, f.get(t, "p", "s"))
		if _, err := dynamodb.New(dynamodb.Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "in use by another process") {
			t.Error("the directory was given twice:", err)
		}
	})
	t.Run("opened_again", func(t *testing.T) {
		f := open(t, dynamodb.Options{Dir: dir, Clock: clock.NewManual(epoch)})
		if got := describe(t, f); got != description {
			t.Errorf("got %s, want %s", got, description)
		}
		if got := show(t, f.get(t, "p", "s")); got != whole {
			t.Errorf("got %s, want %s", got, whole)
		}
		out, err := f.ListTables(t.Context(), &sdk.ListTablesInput{})
		if err != nil || len(out.TableNames) != 1 {
			t.Error(out, err)
		}
		page, err := f.Query(t.Context(), queryFor("pk = :p", M{":p": "p"}))
		if err != nil || sortKeys(page.Items) != "1 2 3 4 s" {
			t.Error(sortKeys(page.Items), err)
		}
		if n, err := f.server.Expire(); n != 4 || err != nil {
			t.Error(n, err)
		}
	})
	t.Run("expiry_lasts", func(t *testing.T) {
		f := open(t, dynamodb.Options{Dir: dir, Clock: clock.NewManual(epoch)})
		if f.get(t, "p", "1") != nil || f.get(t, "p", "s") == nil {
			t.Error("not what Expire left")
		}
	})
}

// victim names, to the process that TestKill starts, the directory to serve.
const victim = "DYNAMODB_EMULATOR_VICTIM"

// TestKill kills a serving process in the middle of its writes: each that it
// acknowledged is there afterwards.
func TestKill(t *testing.T) {
	if dir := os.Getenv(victim); dir != "" {
		s, err := dynamodb.New(dynamodb.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("serving", httptest.NewServer(s).URL)
		select {} // until killed
	}
	dir := t.TempDir()
	process := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKill$")
	process.Env = append(os.Environ(), victim+"="+dir)
	output, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	url, serving := strings.CutPrefix(strings.TrimSpace(line), "serving ")
	if err != nil || !serving {
		t.Fatal(line, err)
	}
	f := &fixture{Client: client(url)}
	f.createTable(t, items, "pk", "sk")
	const writers, enough = 4, 50
	acknowledged := make([]int, writers)
	kill := make(chan struct{}, writers)
	done := make(chan struct{})
	for w := range writers {
		go func() {
			defer func() { done <- struct{}{} }()
			for i := 0; ; i++ {
				_, err := f.PutItem(t.Context(), &sdk.PutItemInput{TableName: aws.String(items), Item: key(fmt.Sprint(w), fmt.Sprint(i))}, noRetry)
				if err != nil {
					return
				}
				acknowledged[w]++
				if i == enough {
					kill <- struct{}{}
				}
			}
		}()
	}
	<-kill
	if err := process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for range writers {
		<-done
	}
	_ = process.Wait() // it was killed

	again := open(t, dynamodb.Options{Dir: dir})
	for w, n := range acknowledged {
		for i := range n {
			if again.get(t, fmt.Sprint(w), fmt.Sprint(i)) == nil {
				t.Errorf("item %d of writer %d was acknowledged and is lost", i, w)
			}
		}
	}
}

func noRetry(o *sdk.Options) { o.RetryMaxAttempts = 1 }
