package dynamodb_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"toolhost/infra/emulator/dynamodb"
)

// M is an item in Go's own values; see attrs.
type M = map[string]any

// attrs are attribute values: strings, numbers, []byte, bool, nil, []any, M,
// or a types.AttributeValue as it is.
func attrs(m M) map[string]types.AttributeValue {
	if m == nil {
		return nil
	}
	out := map[string]types.AttributeValue{}
	for k, v := range m {
		if given, is := v.(types.AttributeValue); is {
			out[k] = given
			continue
		}
		made, err := attributevalue.Marshal(v)
		if err != nil {
			panic(err)
		}
		out[k] = made
	}
	return out
}

func number(text string) types.AttributeValue { return &types.AttributeValueMemberN{Value: text} }

// show is an item as JSON in the protocol's form, for comparing.
func show(t testing.TB, it map[string]types.AttributeValue) string {
	t.Helper()
	text, err := attributevalue.MarshalMapJSON(it)
	if err != nil {
		t.Fatal(err)
	}
	var plain any
	if err := json.Unmarshal(text, &plain); err != nil {
		t.Fatal(err)
	}
	text, err = json.Marshal(plain)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// fixture is a server with the table "items" (pk, sk) and a client of it.
type fixture struct {
	*sdk.Client
	server *dynamodb.Server
	url    string
}

const items = "items"

func start(t testing.TB, o dynamodb.Options) *fixture {
	t.Helper()
	f := open(t, o)
	f.createTable(t, items, "pk", "sk")
	return f
}

// open is start without the table.
func open(t testing.TB, o dynamodb.Options) *fixture {
	t.Helper()
	s, err := dynamodb.New(o)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		h.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &fixture{Client: client(h.URL), server: s, url: h.URL}
}

func client(url string) *sdk.Client {
	return sdk.New(sdk.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(url),
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
}

func (f *fixture) createTable(t testing.TB, name string, keys ...string) {
	t.Helper()
	in := &sdk.CreateTableInput{TableName: &name, BillingMode: types.BillingModePayPerRequest}
	for i, key := range keys {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: aws.String(key), AttributeType: "S"})
		in.KeySchema = append(in.KeySchema, types.KeySchemaElement{AttributeName: aws.String(key), KeyType: []types.KeyType{"HASH", "RANGE"}[i]})
	}
	if _, err := f.CreateTable(t.Context(), in); err != nil {
		t.Fatal(err)
	}
}

func key(pk, sk string) map[string]types.AttributeValue { return attrs(M{"pk": pk, "sk": sk}) }

func (f *fixture) put(t testing.TB, it M) {
	t.Helper()
	if err := f.tryPut(it); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) tryPut(it M) error {
	_, err := f.PutItem(context.Background(), &sdk.PutItemInput{TableName: aws.String(items), Item: attrs(it)})
	return err
}

func (f *fixture) get(t testing.TB, pk, sk string) map[string]types.AttributeValue {
	t.Helper()
	out, err := f.GetItem(t.Context(), &sdk.GetItemInput{TableName: aws.String(items), Key: key(pk, sk), ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	return out.Item
}

// wantCode checks that err is a service's error of this code whose message has the text.
func wantCode(t testing.TB, err error, code, text string) {
	t.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != code || !strings.Contains(api.ErrorMessage(), text) {
		t.Errorf("got %v\nwant %s with %q", err, code, text)
	}
}

func wantInvalid(t testing.TB, err error, text string) {
	t.Helper()
	wantCode(t, err, "ValidationException", text)
}

// post sends a request that the SDK would not; it returns the status, the
// error's type without its namespace, and the message.
func (f *fixture) post(t testing.TB, target, body string) (status int, kind, message string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Amz-Target", target)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var reply struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
	}
	if err := json.NewDecoder(res.Body).Decode(&reply); err != nil {
		t.Fatal(err)
	}
	_, kind, _ = strings.Cut(reply.Type, "#")
	return res.StatusCode, kind, reply.Message
}
