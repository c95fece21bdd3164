package dynamodb_test

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"toolhost/infra/emulator/dynamodb"
)

// served lists, for each operation that is served, the members that are
// supported and those that are refused by name. Together they must be all that
// the SDK knows, so that a new version of it can't bring one that is overlooked.
var served = map[string]struct {
	input     any
	supported string
	refused   string
}{
	"CreateTable": {
		sdk.CreateTableInput{}, "TableName AttributeDefinitions KeySchema BillingMode",
		"DeletionProtectionEnabled GlobalSecondaryIndexes GlobalTableSettingsReplicationMode GlobalTableSourceArn LocalSecondaryIndexes OnDemandThroughput ProvisionedThroughput ResourcePolicy SSESpecification StreamSpecification TableClass Tags VectorIndexes WarmThroughput",
	},
	"DescribeTable":      {sdk.DescribeTableInput{}, "TableName", ""},
	"DeleteTable":        {sdk.DeleteTableInput{}, "TableName", ""},
	"ListTables":         {sdk.ListTablesInput{}, "ExclusiveStartTableName Limit", ""},
	"UpdateTimeToLive":   {sdk.UpdateTimeToLiveInput{}, "TableName TimeToLiveSpecification", ""},
	"DescribeTimeToLive": {sdk.DescribeTimeToLiveInput{}, "TableName", ""},
	"GetItem": {
		sdk.GetItemInput{}, "TableName Key ConsistentRead ProjectionExpression ExpressionAttributeNames ReturnConsumedCapacity",
		"AttributesToGet",
	},
	"PutItem": {
		sdk.PutItemInput{}, "TableName Item ConditionExpression ExpressionAttributeNames ExpressionAttributeValues ReturnConsumedCapacity ReturnValues ReturnValuesOnConditionCheckFailure",
		"ConditionalOperator Expected ReturnItemCollectionMetrics",
	},
	"UpdateItem": {
		sdk.UpdateItemInput{}, "TableName Key UpdateExpression ConditionExpression ExpressionAttributeNames ExpressionAttributeValues ReturnConsumedCapacity ReturnValues ReturnValuesOnConditionCheckFailure",
		"AttributeUpdates ConditionalOperator Expected ReturnItemCollectionMetrics",
	},
	"DeleteItem": {
		sdk.DeleteItemInput{}, "TableName Key ConditionExpression ExpressionAttributeNames ExpressionAttributeValues ReturnConsumedCapacity ReturnValues ReturnValuesOnConditionCheckFailure",
		"ConditionalOperator Expected ReturnItemCollectionMetrics",
	},
	"Query": {
		sdk.QueryInput{}, "TableName KeyConditionExpression FilterExpression ProjectionExpression ExpressionAttributeNames ExpressionAttributeValues ConsistentRead ExclusiveStartKey Limit ReturnConsumedCapacity ScanIndexForward",
		"AttributesToGet ConditionalOperator IndexName KeyConditions QueryFilter Select",
	},
	"Scan": {
		sdk.ScanInput{}, "TableName FilterExpression ProjectionExpression ExpressionAttributeNames ExpressionAttributeValues ConsistentRead ExclusiveStartKey Limit ReturnConsumedCapacity",
		"AttributesToGet ConditionalOperator IndexName ScanFilter Segment Select TotalSegments",
	},
	"BatchGetItem":   {sdk.BatchGetItemInput{}, "RequestItems ReturnConsumedCapacity", ""},
	"BatchWriteItem": {sdk.BatchWriteItemInput{}, "RequestItems ReturnConsumedCapacity", "ReturnItemCollectionMetrics"},
}

func TestRefusal(t *testing.T) {
	f := start(t, dynamodb.Options{})

	t.Run("operations_that_are_not_served", func(t *testing.T) {
		refused := 0
		for method := range reflect.TypeFor[*sdk.Client]().Methods() {
			if method.Type.NumIn() < 3 || !strings.HasSuffix(method.Type.In(2).String(), "."+method.Name+"Input") {
				continue
			}
			if _, is := served[method.Name]; is {
				continue
			}
			refused++
			t.Run(method.Name, func(t *testing.T) {
				status, kind, message := f.post(t, "DynamoDB_20120810."+method.Name, "{}")
				if status != http.StatusBadRequest || kind != "UnknownOperationException" || !strings.Contains(message, method.Name) {
					t.Errorf("got %d %s %q", status, kind, message)
				}
			})
		}
		if refused < 40 {
			t.Errorf("the SDK shows only %d operations more", refused)
		}
	})

	t.Run("members_that_are_not_supported", func(t *testing.T) {
		for operation, members := range served {
			for member := range strings.FieldsSeq(members.refused) {
				t.Run(operation+"/"+member, func(t *testing.T) {
					status, kind, message := f.post(t, "DynamoDB_20120810."+operation, `{"`+member+`":null}`)
					if status != http.StatusBadRequest || kind != "ValidationException" || !strings.Contains(message, "does not support the member "+member+" ") {
						t.Errorf("got %d %s %q", status, kind, message)
					}
				})
			}
		}
	})

	t.Run("no_member_is_overlooked", func(t *testing.T) {
		for operation, members := range served {
			known := strings.Fields(members.supported + " " + members.refused)
			for field := range reflect.TypeOf(members.input).Fields() {
				if field.IsExported() && !contains(known, field.Name) {
					t.Errorf("%s.%s is in no list", operation, field.Name)
				}
			}
		}
	})

	// The members inside of members.
	for name, body := range map[string]string{
		"AttributesToGet":                     `BatchGetItem {"RequestItems":{"items":{"Keys":[],"AttributesToGet":["a"]}}}`,
		"ReturnValuesOnConditionCheckFailure": `BatchWriteItem {"RequestItems":{"items":[{"PutRequest":{"Item":{},"ReturnValuesOnConditionCheckFailure":"NONE"}}]}}`,
		"X":                                   `PutItem {"TableName":"items","Item":{"pk":{"X":"a"}}}`,
	} {
		t.Run("nested/"+name, func(t *testing.T) {
			operation, text, _ := strings.Cut(body, " ")
			if _, kind, message := f.post(t, "DynamoDB_20120810."+operation, text); kind != "ValidationException" || !strings.Contains(message, name) {
				t.Errorf("got %s %q", kind, message)
			}
		})
	}

	for name, row := range map[string]struct{ target, body, kind string }{
		"no_target":       {"", "{}", "UnknownOperationException"},
		"another_service": {"AmazonSQS.SendMessage", "{}", "UnknownOperationException"},
		"another_version": {"DynamoDB_20111205.GetItem", "{}", "UnknownOperationException"},
		"no_body":         {"DynamoDB_20120810.GetItem", "", "SerializationException"},
		"not_JSON":        {"DynamoDB_20120810.GetItem", "{", "SerializationException"},
		"two_values":      {"DynamoDB_20120810.GetItem", "{}{}", "SerializationException"},
		"wrong_type":      {"DynamoDB_20120810.GetItem", `{"TableName":5}`, "SerializationException"},
		"deep":            {"DynamoDB_20120810.PutItem", `{"Item":{"a":` + strings.Repeat(`{"L":[`, 9000), "SerializationException"},
		"bad_base64":      {"DynamoDB_20120810.PutItem", `{"Item":{"a":{"B":"*"}}}`, "SerializationException"},
		"too_large":       {"DynamoDB_20120810.PutItem", `{"Item":{"a":{"S":"` + strings.Repeat("x", 17<<20) + `"}}}`, "RequestTooLargeException"},
	} {
		t.Run("protocol/"+name, func(t *testing.T) {
			if _, kind, message := f.post(t, row.target, row.body); kind != row.kind {
				t.Errorf("got %s %q, want %s", kind, message, row.kind)
			}
		})
	}
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}
