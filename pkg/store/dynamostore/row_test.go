package dynamostore

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"toolhost/pkg/fault"
	"toolhost/pkg/task"
)

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func raw(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }

func fields(f map[string]types.AttributeValue) types.AttributeValue {
	return &types.AttributeValueMemberM{Value: f}
}

// sample is a task, and its item.
func sample(t *testing.T) (task.Task, item) {
	t.Helper()
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	v := task.Create(task.Spec{ID: "id", Birth: "birth", Tool: "greet", Arguments: task.NewPayload([]byte(`{"name":"Ada"}`))}, now)
	v.Revision = 1
	v.Lease = &task.Lease{Run: 1, Holder: "holder", Until: now}
	v.Inputs = []task.Input{{Key: "key", Method: "roots/list", Params: task.NewPayload([]byte(`{}`))}}
	v.Callbacks = []task.Callback{{Name: "name", Body: task.NewPayload([]byte(`{}`))}}
	it, err := encode("test", v, "nonce")
	if err != nil {
		t.Fatal(err)
	}
	return v, it
}

func TestDecode(t *testing.T) {
	_, good := sample(t)
	with := func(name string, v types.AttributeValue) item {
		it := maps.Clone(good)
		if it[name] = v; v == nil {
			delete(it, name)
		}
		return it
	}
	t.Run("an_unknown_format_is_for_the_log_alone", func(t *testing.T) {
		for _, v := range []types.AttributeValue{raw("2"), raw("0"), raw("1.5"), text("1"), nil, &types.AttributeValueMemberNULL{Value: true}} {
			_, err := decode("test", with(attrFormat, v))
			if !fault.Is(err, fault.Internal) || fault.Message(err) != "" || !strings.Contains(err.Error(), "format") { // R-V4, R-G7
				t.Errorf("%v: got %v", v, err)
			}
		}
	})
	t.Run("a_later_format_is_that_whatever_else_it_holds", func(t *testing.T) {
		_, err := decode("test", item{attrFormat: raw("7"), "status": raw("9")})
		if !fault.Is(err, fault.Internal) || !strings.Contains(err.Error(), "format 7") {
			t.Fatalf("got %v", err)
		}
	})
	blob := func(parts, size string) types.AttributeValue {
		return fields(map[string]types.AttributeValue{"b": text("id"), "n": raw(parts), "s": raw(size)})
	}
	t.Run("a_damaged_row_is_internal", func(t *testing.T) {
		for name, bad := range map[string]item{
			"no key":                    with(attrPK, nil),
			"no birth":                  with(attrBirth, nil),
			"no revision":               with(attrRevision, nil),
			"a negative revision":       with(attrRevision, raw("-1")),
			"a broken revision":         with(attrRevision, raw("1.5")),
			"too large a revision":      with(attrRevision, raw("99999999999999999999")),
			"a revision that is text":   with(attrRevision, text("1")),
			"no status":                 with("status", nil),
			"an unknown status":         with("status", text("paused")),
			"a status that is a number": with("status", raw("1")),
			"a lease that is text":      with("lease", text("mine")),
			"inputs that are a map":     with("inputs", fields(nil)),
			"an input that is text":     with("inputs", &types.AttributeValueMemberL{Value: []types.AttributeValue{text("a")}}),
			"arguments that are text":   with("args", text(`{}`)),
			"no size":                   with("args", fields(map[string]types.AttributeValue{"j": &types.AttributeValueMemberB{Value: []byte("{}")}})),
			"a blob without parts":      with("args", blob("0", "10")),
			"a blob of negative parts":  with("args", blob("-5", "10")),
			"a blob of endless parts":   with("args", blob("1000000000", "10")),
			"a blob of negative size":   with("args", blob("1", "-10")),
			"a blob of endless size":    with("args", blob("1", "1000000000000")),
			"both a blob and inline": with("args", fields(map[string]types.AttributeValue{
				"b": text("id"), "n": raw("1"), "s": raw("2"), "j": &types.AttributeValueMemberB{Value: []byte("{}")}})),
		} {
			if _, err := decode("test", bad); !fault.Is(err, fault.Internal) || fault.Message(err) != "" { // R-V4
				t.Errorf("%s: got %v", name, err)
			}
		}
	})
	t.Run("an_attribute_of_a_later_version_is_no_fault", func(t *testing.T) {
		want, _ := sample(t)
		got, err := decode("test", with("later", fields(nil)))
		if err != nil || got.ID != want.ID {
			t.Fatalf("got %+v, %v", got, err)
		}
	})
	t.Run("random_rows_never_panic", func(t *testing.T) {
		random := rand.New(rand.NewPCG(1, 2))
		values := []types.AttributeValue{text(""), raw("0"), raw("1e400"), raw("x"), fields(nil), &types.AttributeValueMemberL{},
			&types.AttributeValueMemberBOOL{Value: true}, &types.AttributeValueMemberNULL{Value: true}, &types.AttributeValueMemberB{}, nil}
		for range 5000 {
			it := maps.Clone(good)
			for name := range it {
				if name != attrFormat && random.IntN(8) == 0 {
					it[name] = values[random.IntN(len(values))]
				}
			}
			decode("test", it)
			decodeStep("test", it)
		}
	})
}

func TestDecodeStep(t *testing.T) {
	packed := &types.AttributeValueMemberB{Value: pack([]byte(`"value"`))}
	for name, bad := range map[string]item{
		"not packed":       {"gz": &types.AttributeValueMemberB{Value: []byte("plain")}, "size": raw("7")},
		"cut off":          {"gz": &types.AttributeValueMemberB{Value: packed.Value[:len(packed.Value)-4]}, "size": raw("7")},
		"of another size":  {"gz": packed, "size": raw("6")},
		"of negative size": {"gz": packed, "size": raw("-1")},
		"of endless size":  {"gz": packed, "size": raw("1000000000000")},
		"twice":            {"gz": packed, "size": raw("7"), "value": fields(map[string]types.AttributeValue{"s": raw("0")})},
		"a name of bytes":  {"name": packed},
	} {
		bad[attrFormat] = number(format)
		if _, err := decodeStep("test", bad); !fault.Is(err, fault.Internal) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := decodeStep("test", item{attrFormat: raw("2")}); !fault.Is(err, fault.Invalid) {
		t.Errorf("another format: got %v", err)
	}
}

func TestUnpack(t *testing.T) {
	t.Run("no_more_is_unpacked_than_was_packed", func(t *testing.T) {
		bomb := pack(make([]byte, 64<<20))
		if _, err := unpack(bytes.NewReader(bomb), 1000); err == nil {
			t.Fatal("64 MB unpacked as 1,000 bytes")
		}
	})
	t.Run("a_changed_byte_is_noticed", func(t *testing.T) {
		value := bytes.Repeat([]byte("toolhost"), 100)
		good := pack(value)
		for i := 10; i < len(good); i++ { // behind gzip's header, which names a time and a system
			bad := bytes.Clone(good)
			bad[i] ^= 0x10
			if got, err := unpack(bytes.NewReader(bad), len(value)); err == nil && !bytes.Equal(got, value) {
				t.Fatalf("byte %d changed unnoticed", i)
			}
		}
	})
}

func TestSize(t *testing.T) {
	v, _ := sample(t)
	it, err := encode("test", v, "nonce")
	if err != nil {
		t.Fatal(err)
	}
	before := it.size()
	v.Arguments = task.NewPayload(append(v.Arguments.Inline, make([]byte, 1000)...))
	if it, err = encode("test", v, "nonce"); err != nil || it.size()-before < 1000 || it.size()-before > 1002 {
		t.Fatalf("1,000 bytes more made %d, %v", it.size()-before, err)
	}
}
