package sqs

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func text(kind, value string) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: &kind, StringValue: &value}
}

func TestSend(t *testing.T) {
	t.Run("a message comes back as it was sent", func(t *testing.T) {
		e := serve(t, Options{})
		url := e.queue("jobs", nil)
		attributes := map[string]types.MessageAttributeValue{
			"s": text("String", "v"), "n": text("Number.int", "-1.5e3"), "b": {DataType: aws.String("Binary"), BinaryValue: []byte{0, 1, 255}},
		}
		const trace = "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1"
		sent, err := e.client.SendMessage(t.Context(), &awssqs.SendMessageInput{
			QueueUrl: &url, MessageBody: aws.String("<é>\t\U0001F600"), MessageGroupId: aws.String("caller"), MessageAttributes: attributes,
			MessageSystemAttributes: map[string]types.MessageSystemAttributeValue{"AWSTraceHeader": {DataType: aws.String("String"), StringValue: aws.String(trace)}},
		})
		e.must(err)
		got := e.one(url)
		if *got.Body != "<é>\t\U0001F600" || *got.MessageId != *sent.MessageId || *got.MD5OfMessageAttributes != *sent.MD5OfMessageAttributes {
			t.Fatalf("%+v", got)
		}
		if len(got.MessageAttributes) != 3 || *got.MessageAttributes["s"].StringValue != "v" || string(got.MessageAttributes["b"].BinaryValue) != "\x00\x01\xff" {
			t.Fatalf("%+v", got.MessageAttributes)
		}
		millis := fmt.Sprint(start.UnixMilli())
		want := map[string]string{
			"SenderId": "000000000000", "SentTimestamp": millis, "ApproximateReceiveCount": "1", "ApproximateFirstReceiveTimestamp": millis,
			"MessageGroupId": "caller", "AWSTraceHeader": trace,
		}
		if !maps.Equal(got.Attributes, want) {
			t.Fatalf("got %v\nwant %v", got.Attributes, want)
		}
	})

	t.Run("the MD5 of attributes is SQS's", func(t *testing.T) {
		// The sums are those of two independent implementations.
		for want, attributes := range map[string]map[string]attribute{
			"":                                 {},
			"235c5c510d26fb653d073faed50ae77c": {"timestamp": {DataType: "Number", StringValue: aws.String("1493147359900")}},
			"29fdcaad2128f333acfd83ad2b18117b": {
				"zeta": {DataType: "Binary.png", BinaryValue: []byte{0, 1, 255}}, "alpha": {DataType: "String", StringValue: aws.String("é")},
				"Beta": {DataType: "Number.int", StringValue: aws.String("-15")},
			},
		} {
			if got := attributesSum(attributes); got != want {
				t.Errorf("%v: %s, want %s", attributes, got, want)
			}
		}
	})

	t.Run("only the attributes that a receive asks for are returned, with their sum", func(t *testing.T) {
		e := serve(t, Options{})
		url := e.queue("jobs", map[string]string{"VisibilityTimeout": "0"})
		_, err := e.client.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("x"), MessageAttributes: map[string]types.MessageAttributeValue{
			"a.one": text("String", "1"), "a.two": text("String", "2"), "b": text("String", "3"),
		}})
		e.must(err)
		for pattern, want := range map[string]int{"All": 3, ".*": 3, "a.*": 2, "b": 1, "c": 0, "": 0} {
			out, err := e.client.ReceiveMessage(t.Context(), &awssqs.ReceiveMessageInput{QueueUrl: &url, MessageAttributeNames: []string{pattern},
				AttributeNames: []types.QueueAttributeName{"SentTimestamp"}})
			e.must(err)
			got := out.Messages[0]
			if len(got.MessageAttributes) != want || (got.MD5OfMessageAttributes != nil) != (want > 0) || len(got.Attributes) != 1 {
				t.Errorf("%q: %v %v", pattern, got.MessageAttributes, got.Attributes)
			}
		}
		_, err = e.client.ReceiveMessage(t.Context(), &awssqs.ReceiveMessageInput{QueueUrl: &url, MessageSystemAttributeNames: []types.MessageSystemAttributeName{"Nonsense"}})
		refused(t, err, "InvalidAttributeName")
	})

	t.Run("limits", func(t *testing.T) {
		e := serve(t, Options{})
		url := e.queue("jobs", nil)
		large := func(n int) *string { return aws.String(strings.Repeat("x", n)) }
		eleven := map[string]types.MessageAttributeValue{}
		for i := range 11 {
			eleven[fmt.Sprint("a", i)] = text("String", "x")
		}
		with := func(name string, a types.MessageAttributeValue) *awssqs.SendMessageInput {
			return &awssqs.SendMessageInput{MessageBody: aws.String("x"), MessageAttributes: map[string]types.MessageAttributeValue{name: a}}
		}
		system := func(name, kind, value string) *awssqs.SendMessageInput {
			return &awssqs.SendMessageInput{MessageBody: aws.String("x"), MessageSystemAttributes: map[string]types.MessageSystemAttributeValue{name: {DataType: &kind, StringValue: &value}}}
		}
		for _, row := range []struct {
			name, code string
			in         *awssqs.SendMessageInput
		}{
			{"exactly 1 MiB", "", &awssqs.SendMessageInput{MessageBody: large(maxBytes)}},
			{"a byte more", "InvalidParameterValue", &awssqs.SendMessageInput{MessageBody: large(maxBytes + 1)}},
			{"attributes count", "InvalidParameterValue", &awssqs.SendMessageInput{MessageBody: large(maxBytes - 7), MessageAttributes: map[string]types.MessageAttributeValue{"a": text("String", "x")}}},
			{"attributes fit", "", &awssqs.SendMessageInput{MessageBody: large(maxBytes - 8), MessageAttributes: map[string]types.MessageAttributeValue{"a": text("String", "x")}}},
			{"empty", "MissingParameter", &awssqs.SendMessageInput{MessageBody: aws.String("")}},
			{"control character", "InvalidMessageContents", &awssqs.SendMessageInput{MessageBody: aws.String("a\x00b")}},
			{"noncharacter", "InvalidMessageContents", &awssqs.SendMessageInput{MessageBody: aws.String("a\uFFFE")}},
			{"white space", "", &awssqs.SendMessageInput{MessageBody: aws.String("\t\r\n \uFFFD")}},
			{"900 s", "", &awssqs.SendMessageInput{MessageBody: aws.String("x"), DelaySeconds: 900}},
			{"901 s", "InvalidParameterValue", &awssqs.SendMessageInput{MessageBody: aws.String("x"), DelaySeconds: 901}},
			{"-1 s", "InvalidParameterValue", &awssqs.SendMessageInput{MessageBody: aws.String("x"), DelaySeconds: -1}},
			{"group", "", &awssqs.SendMessageInput{MessageBody: aws.String("x"), MessageGroupId: large(128)}},
			{"long group", "InvalidParameterValue", &awssqs.SendMessageInput{MessageBody: aws.String("x"), MessageGroupId: large(129)}},
			{"group with a space", "InvalidParameterValue", &awssqs.SendMessageInput{MessageBody: aws.String("x"), MessageGroupId: aws.String("a b")}},
			{"11 attributes", "InvalidParameterValue", &awssqs.SendMessageInput{MessageBody: aws.String("x"), MessageAttributes: eleven}},
			{"name of 256", "", with(strings.Repeat("n", 256), text("String", "x"))},
			{"name of 257", "InvalidParameterValue", with(strings.Repeat("n", 257), text("String", "x"))},
			{"name AWS.", "InvalidParameterValue", with("aWs.x", text("String", "x"))},
			{"name Amazon.", "InvalidParameterValue", with("Amazon.x", text("String", "x"))},
			{"name .x", "InvalidParameterValue", with(".x", text("String", "x"))},
			{"name x.", "InvalidParameterValue", with("x.", text("String", "x"))},
			{"name x..y", "InvalidParameterValue", with("x..y", text("String", "x"))},
			{"name with space", "InvalidParameterValue", with("x y", text("String", "x"))},
			{"type", "InvalidParameterValue", with("x", text("Text", "x"))},
			{"long type", "InvalidParameterValue", with("x", text("String."+strings.Repeat("t", 250), "x"))},
			{"no value", "InvalidParameterValue", with("x", text("String", ""))},
			{"binary as text", "InvalidParameterValue", with("x", text("Binary", "x"))},
			{"text as binary", "InvalidParameterValue", with("x", types.MessageAttributeValue{DataType: aws.String("String"), BinaryValue: []byte("x")})},
			{"not a number", "InvalidParameterValue", with("x", text("Number", "one"))},
			{"control character in attribute", "InvalidMessageContents", with("x", text("String", "\x01"))},
			{"list values", "UnsupportedOperation", with("x", types.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String("x"), StringListValues: []string{"x"}})},
			{"trace header", "", system("AWSTraceHeader", "String", "Root=1-5759e988-bd862e3fe1be46a994272793")},
			{"no trace header", "InvalidParameterValue", system("AWSTraceHeader", "String", "x")},
			{"trace header's type", "InvalidParameterValue", system("AWSTraceHeader", "Number", "1")},
			{"other system attribute", "InvalidParameterValue", system("Other", "String", "x")},
		} {
			row.in.QueueUrl = &url
			_, err := e.client.SendMessage(t.Context(), row.in)
			if row.code == "" {
				if err != nil {
					t.Errorf("%s: %v", row.name, err)
				}
				continue
			}
			t.Run(row.name, func(t *testing.T) { refused(t, err, row.code) })
		}
		e.must(e.set(url, "MaximumMessageSize", "1024"))
		_, err := e.client.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: large(1025)})
		refused(t, err, "InvalidParameterValue")
	})
}

func TestBatch(t *testing.T) {
	entry := func(id, body string) types.SendMessageBatchRequestEntry {
		return types.SendMessageBatchRequestEntry{Id: &id, MessageBody: &body}
	}

	t.Run("entries succeed and fail one by one", func(t *testing.T) {
		e := serve(t, Options{})
		url := e.queue("jobs", nil)
		late := entry("late", "x")
		late.DelaySeconds = 901
		sent, err := e.client.SendMessageBatch(t.Context(), &awssqs.SendMessageBatchInput{QueueUrl: &url, Entries: []types.SendMessageBatchRequestEntry{entry("a", "1"), late, entry("b", "2"), entry("bad", "\x00")}})
		e.must(err)
		if len(sent.Successful) != 2 || *sent.Successful[1].Id != "b" || len(sent.Failed) != 2 {
			t.Fatalf("%+v", sent)
		}
		if f := sent.Failed[1]; *f.Id != "bad" || *f.Code != "InvalidMessageContents" || !f.SenderFault || *f.Message == "" {
			t.Fatalf("%+v", f)
		}
		got := e.receive(url)
		if len(got) != 2 {
			t.Fatal(len(got))
		}
		changed, err := e.client.ChangeMessageVisibilityBatch(t.Context(), &awssqs.ChangeMessageVisibilityBatchInput{QueueUrl: &url, Entries: []types.ChangeMessageVisibilityBatchRequestEntry{
			{Id: aws.String("a"), ReceiptHandle: got[0].ReceiptHandle, VisibilityTimeout: 0}, {Id: aws.String("b"), ReceiptHandle: aws.String("x"), VisibilityTimeout: 1},
		}})
		e.must(err)
		if len(changed.Successful) != 1 || len(changed.Failed) != 1 || *changed.Failed[0].Code != "ReceiptHandleIsInvalid" {
			t.Fatalf("%+v", changed)
		}
		e.depth("jobs", 1, 0, 1)
		deleted, err := e.client.DeleteMessageBatch(t.Context(), &awssqs.DeleteMessageBatchInput{QueueUrl: &url, Entries: []types.DeleteMessageBatchRequestEntry{
			{Id: aws.String("a"), ReceiptHandle: got[0].ReceiptHandle}, {Id: aws.String("x"), ReceiptHandle: aws.String("x")}, {Id: aws.String("b"), ReceiptHandle: got[1].ReceiptHandle},
		}})
		e.must(err)
		if len(deleted.Successful) != 2 || len(deleted.Failed) != 1 || *deleted.Failed[0].Id != "x" {
			t.Fatalf("%+v", deleted)
		}
		e.depth("jobs", 0, 0, 0)
	})

	t.Run("a batch that breaks the rules is refused whole", func(t *testing.T) {
		e := serve(t, Options{})
		url := e.queue("jobs", nil)
		half := strings.Repeat("x", maxBytes/2)
		var eleven []types.SendMessageBatchRequestEntry
		for i := range 11 {
			eleven = append(eleven, entry(fmt.Sprint(i), "x"))
		}
		for name, row := range map[string]struct {
			entries []types.SendMessageBatchRequestEntry
			code    string
		}{
			"none": {[]types.SendMessageBatchRequestEntry{}, "EmptyBatchRequest"}, "eleven": {eleven, "TooManyEntriesInBatchRequest"},
			"same id":   {[]types.SendMessageBatchRequestEntry{entry("a", "1"), entry("a", "2")}, "BatchEntryIdsNotDistinct"},
			"empty id":  {[]types.SendMessageBatchRequestEntry{entry("", "1")}, "InvalidBatchEntryId"},
			"long id":   {[]types.SendMessageBatchRequestEntry{entry(strings.Repeat("a", 81), "1")}, "InvalidBatchEntryId"},
			"id syntax": {[]types.SendMessageBatchRequestEntry{entry("a.b", "1")}, "InvalidBatchEntryId"},
			"too large": {[]types.SendMessageBatchRequestEntry{entry("a", half), entry("b", half+"x")}, "BatchRequestTooLong"},
		} {
			t.Run(name, func(t *testing.T) {
				_, err := e.client.SendMessageBatch(t.Context(), &awssqs.SendMessageBatchInput{QueueUrl: &url, Entries: row.entries})
				refused(t, err, row.code)
			})
		}
		e.depth("jobs", 0, 0, 0)
		for _, operation := range []string{"DeleteMessageBatch", "ChangeMessageVisibilityBatch"} {
			if _, shape, _ := e.raw(operation, `{"QueueUrl":"/jobs","Entries":[]}`); shape != "com.amazonaws.sqs#EmptyBatchRequest" {
				t.Error(operation, shape)
			}
		}
		_, err := e.client.SendMessageBatch(t.Context(), &awssqs.SendMessageBatchInput{QueueUrl: &url, Entries: []types.SendMessageBatchRequestEntry{entry("a", half), entry("b", half)}})
		e.must(err)
		e.depth("jobs", 2, 0, 0)
	})
}
