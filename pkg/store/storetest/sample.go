package storetest

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"toolhost/pkg/fault"
	"toolhost/pkg/store"
	"toolhost/pkg/task"
)

// now is the time of all tests: the real one, so that a real database does not
// delete what they wrote before they have read it.
var now = time.Now().UTC().Truncate(time.Millisecond)

// sample is a small new task.
func sample() task.Task {
	return task.Create(task.Spec{
		ID: "test-" + rand.Text(), Birth: rand.Text(), Owner: task.Owner{Issuer: "https://login.example.com", Subject: "ada"},
		Tool: "slow_compute", ToolVersion: "1", Arguments: task.NewPayload([]byte(`{"seconds":5}`)),
		Capabilities: []byte(`{"elicitation":{}}`), Protocol: "2026-07-28",
		Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	}, now)
}

func create(t *testing.T, s store.Store, v task.Task) task.Task {
	t.Helper()
	stored, created, err := s.Create(t.Context(), v, now)
	if err != nil || !created {
		t.Fatalf("Create: created %v, %v", created, err)
	}
	return stored
}

func save(t *testing.T, s store.Store, v task.Task) task.Task {
	t.Helper()
	saved, err := s.Save(t.Context(), v)
	if err != nil {
		t.Fatalf("Save: %v", err)
	}
	return saved
}

func load(t *testing.T, s store.Store, id string) task.Task {
	t.Helper()
	v, err := s.Load(t.Context(), id)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return v
}

// equal fails the test unless two tasks are the same to the last field.
func equal(t *testing.T, got, want task.Task) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got  %+v\nwant %+v", got, want)
	}
}

// is fails the test unless err is of the kind.
func is(t *testing.T, err error, kind fault.Kind) {
	t.Helper()
	if !fault.Is(err, kind) {
		t.Fatalf("got the error %v, want one of the kind %q", err, kind)
	}
}

// conflict returns the stored task that came with a conflict.
func conflict(t *testing.T, err error) task.Task {
	t.Helper()
	var c *store.ConflictError
	if !errors.As(err, &c) {
		t.Fatalf("got the error %v, want a conflict", err)
	}
	is(t, err, fault.Conflict)
	return c.Current
}

// holds fails the test unless the payload is the JSON.
func holds(t *testing.T, s store.Store, v task.Task, p task.Payload, json []byte) {
	t.Helper()
	got, err := s.Payload(t.Context(), v, p)
	if err != nil {
		t.Fatalf("Payload: %v", err)
	}
	if !bytes.Equal(got, json) {
		t.Fatalf("a payload of %d bytes came back as other %d bytes", len(json), len(got))
	}
}

// text is a JSON string of n bytes that shrinks well, noise one that hardly does.
func text(n int) []byte {
	return []byte(`"` + strings.Repeat("toolhost ", n/9+1)[:n-2] + `"`)
}

func noise(n int) []byte {
	b := make([]byte, n)
	rand.Read(b)
	return []byte(`"` + base64.StdEncoding.EncodeToString(b)[:n-2] + `"`)
}

var (
	payloadType  = reflect.TypeFor[task.Payload]()
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
	statusType   = reflect.TypeFor[task.Status]()
)

// fill gives every field in v, however deep, a value of its own. It panics at a
// kind of field that it does not know, so that a new one can't be forgotten.
func fill(v reflect.Value, n *int, payload func(n int) []byte) {
	*n++
	switch v.Type() {
	case payloadType:
		v.Set(reflect.ValueOf(task.NewPayload(payload(*n))))
		return
	case timeType:
		v.Set(reflect.ValueOf(now.Add(time.Duration(*n) * time.Millisecond)))
		return
	case durationType:
		v.SetInt(int64(24*time.Hour + time.Duration(*n)*time.Millisecond))
		return
	case statusType:
		v.SetString(string(task.InputRequired))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("é%d", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n, payload)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n, payload)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes(fmt.Appendf(nil, `{"n":%d}`, *n))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n, payload)
		fill(v.Index(1), n, payload)
	default:
		panic(fmt.Sprintf("storetest: fill does not know %s", v.Type()))
	}
}

// full is a task whose every field is set.
func full(payload func(n int) []byte) task.Task {
	var v task.Task
	n := 0
	fill(reflect.ValueOf(&v).Elem(), &n, payload)
	v.ID, v.Birth = "test-"+rand.Text(), rand.Text()
	return v
}

// payloads are pointers to all payloads in v, however deep.
func payloads(v reflect.Value) []*task.Payload {
	if v.Type() == payloadType {
		return []*task.Payload{v.Addr().Interface().(*task.Payload)}
	}
	var all []*task.Payload
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == timeType {
			return nil
		}
		for i := range v.NumField() {
			all = append(all, payloads(v.Field(i))...)
		}
	case reflect.Slice:
		for i := range v.Len() {
			all = append(all, payloads(v.Index(i))...)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			all = payloads(v.Elem())
		}
	}
	return all
}
