package lambda

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// record is a message in the JSON that Lambda hands to a function. The types of
// aws-lambda-go are made to read it, and would write members that Lambda leaves out.
type record struct {
	MessageID         string                      `json:"messageId"`
	ReceiptHandle     string                      `json:"receiptHandle"`
	Body              string                      `json:"body"`
	Attributes        map[string]string           `json:"attributes"`
	MessageAttributes map[string]messageAttribute `json:"messageAttributes"`
	MD5OfAttributes   string                      `json:"md5OfMessageAttributes,omitempty"`
	MD5OfBody         string                      `json:"md5OfBody"`
	EventSource       string                      `json:"eventSource"`
	EventSourceARN    string                      `json:"eventSourceARN"`
	AWSRegion         string                      `json:"awsRegion"`
}

type messageAttribute struct {
	StringValue      *string  `json:"stringValue,omitempty"`
	BinaryValue      []byte   `json:"binaryValue,omitempty"`
	StringListValues []string `json:"stringListValues"`
	BinaryListValues [][]byte `json:"binaryListValues"`
	DataType         string   `json:"dataType"`
}

// event is the payload of an invocation.
func event(batch []types.Message, arn, region string) []byte {
	records := make([]record, len(batch))
	for i, m := range batch {
		attributes := make(map[string]messageAttribute, len(m.MessageAttributes))
		for name, a := range m.MessageAttributes {
			attributes[name] = messageAttribute{
				StringValue: a.StringValue, BinaryValue: a.BinaryValue, DataType: aws.ToString(a.DataType),
				StringListValues: []string{}, BinaryListValues: [][]byte{},
			}
		}
		records[i] = record{
			MessageID: aws.ToString(m.MessageId), ReceiptHandle: aws.ToString(m.ReceiptHandle), Body: aws.ToString(m.Body),
			Attributes: m.Attributes, MessageAttributes: attributes,
			MD5OfAttributes: aws.ToString(m.MD5OfMessageAttributes), MD5OfBody: aws.ToString(m.MD5OfBody),
			EventSource: "aws:sqs", EventSourceARN: arn, AWSRegion: region,
		}
	}
	payload, _ := json.Marshal(map[string][]record{"Records": records}) // strings and bytes can't fail
	return payload
}

// failures reads a function's answer under ReportBatchItemFailures: the ids of
// the messages that failed. Nothing, null and an empty list mean that none did.
// An error means that all did: the answer is no JSON object, or an item has no
// itemIdentifier, an empty one, or one that is not in the batch. Member names
// are compared exactly, as Lambda does: under any other name there is no list.
func failures(response []byte, batch []types.Message) (map[string]bool, error) {
	if len(bytes.TrimSpace(response)) == 0 {
		return nil, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(response, &members); err != nil {
		return nil, fmt.Errorf("the answer is not valid: %w", err)
	}
	var items []map[string]json.RawMessage
	if list, ok := members["batchItemFailures"]; ok {
		if err := json.Unmarshal(list, &items); err != nil {
			return nil, fmt.Errorf("batchItemFailures is not valid: %w", err)
		}
	}
	known := map[string]bool{}
	for _, m := range batch {
		known[aws.ToString(m.MessageId)] = true
	}
	failed := map[string]bool{}
	for _, item := range items {
		var id string
		if err := json.Unmarshal(item["itemIdentifier"], &id); err != nil || !known[id] {
			return nil, fmt.Errorf("an itemIdentifier is not in the batch: %s", item["itemIdentifier"])
		}
		failed[id] = true
	}
	return failed, nil
}
