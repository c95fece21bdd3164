package queue_test

import (
	"strings"
	"testing"

	"toolhost/pkg/fault"
	"toolhost/pkg/queue"
)

func TestEncode(t *testing.T) {
	t.Run("every_field_comes_back", func(t *testing.T) {
		m := queue.Message{TaskID: "a\x00\"é🎉", Birth: "b", Cause: queue.Slept, Hops: 7, Redrives: 2,
			Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
		got, err := queue.Decode(queue.Encode(m))
		m.Version = queue.Format
		if err != nil || got != m {
			t.Fatalf("got %+v, %v", got, err)
		}
	})
	t.Run("the_format_is_this_code's", func(t *testing.T) {
		got, err := queue.Decode(queue.Encode(queue.Message{Version: 99, TaskID: "a", Birth: "b"}))
		if err != nil || got.Version != queue.Format {
			t.Fatalf("got %+v, %v", got, err)
		}
	})
}

func TestDecode(t *testing.T) {
	t.Run("what_is_no_wake-up_is_invalid", func(t *testing.T) {
		for _, body := range []string{
			"", "null", "{}", "[]", "1", `"a"`, "{", "\xff\xfe\x00", "hello", `{"version":1}`, `{"version":1,"taskId":"a"}`,
			`{"version":1,"birth":"b"}`, `{"version":1,"taskId":"a","birth":""}`, `{"version":1,"taskId":7,"birth":"b"}`,
			`{"version":"1","taskId":"a","birth":"b"}`, `{"version":1,"taskId":"a","birth":"b","hops":-1}`,
			`{"version":1,"taskId":"a","birth":"b","hops":1.5}`, `{"version":1,"taskId":"a","birth":"b","hops":1e400}`,
			`{"version":1,"taskId":"a","birth":"b"} trailing`, strings.Repeat("[", 100_000),
		} {
			if m, err := queue.Decode(body); !fault.Is(err, fault.Invalid) {
				t.Errorf("%.60q: got %+v, %v", body, m, err)
			}
		}
	})
	t.Run("another_format_is_named", func(t *testing.T) {
		for _, body := range []string{`{"version":2,"taskId":"a","birth":"b"}`, `{"taskId":"a","birth":"b"}`} {
			if _, err := queue.Decode(body); !fault.Is(err, fault.Invalid) || !strings.Contains(fault.Message(err), "format") {
				t.Errorf("%s: got %v", body, err)
			}
		}
	})
	t.Run("a_later_field_is_no_fault", func(t *testing.T) {
		m, err := queue.Decode(`{"version":1,"taskId":"a","birth":"b","cause":"new","extra":{"x":[1]}}`)
		if err != nil || m.TaskID != "a" || m.Cause != "new" {
			t.Fatalf("got %+v, %v", m, err)
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add(queue.Encode(queue.Message{TaskID: "a", Birth: "b"}))
	f.Fuzz(func(t *testing.T, body string) {
		m, err := queue.Decode(body)
		if err != nil {
			return
		}
		if again, err := queue.Decode(queue.Encode(m)); err != nil || again != m {
			t.Fatalf("%+v became %+v, %v", m, again, err)
		}
	})
}
