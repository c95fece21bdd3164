package dynamodb_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"toolhost/infra/emulator"
	"toolhost/infra/emulator/dynamodb"
)

// atOnce retries as the SDK does, but without waiting.
func atOnce(o *sdk.Options) {
	o.Retryer = retry.NewStandard(func(r *retry.StandardOptions) { r.MaxBackoff = 1 })
}

func TestFaults(t *testing.T) {
	faults := &emulator.Faults{}
	f := start(t, dynamodb.Options{Faults: faults})
	for effect, row := range map[emulator.Effect]struct {
		name    string
		code    string // what a caller that does not retry sees; "" for a broken connection
		happens bool   // the write is done
	}{
		emulator.Throttle:  {"throttle", "ProvisionedThroughputExceededException", false},
		emulator.Fail:      {"fail", "InternalServerError", false},
		emulator.Lose:      {"lose", "", false},
		emulator.Drop:      {"drop", "", true},
		emulator.Duplicate: {"duplicate", "InternalServerError", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			put := &sdk.PutItemInput{
				TableName: aws.String(items), Item: key(row.name, "s"), ConditionExpression: aws.String("attribute_not_exists(pk)"),
				ReturnValuesOnConditionCheckFailure: "ALL_OLD",
			}
			inject(faults, effect)
			before := f.server.Meter()["PutItem"].Calls
			_, err := f.PutItem(t.Context(), put, noRetry)
			if row.code != "" {
				wantCode(t, err, row.code, "")
			} else if err == nil || !strings.Contains(err.Error(), "EOF") {
				t.Error("not a broken connection:", err)
			}
			if happened := f.get(t, row.name, "s") != nil; happened != row.happens {
				t.Errorf("written: %v", happened)
			}
			if calls := f.server.Meter()["PutItem"].Calls - before; (calls == 1) != row.happens {
				t.Errorf("%d calls were carried out", calls)
			}
		})
		t.Run(row.name+"_then_retried", func(t *testing.T) {
			inject(faults, effect)
			_, err := f.PutItem(t.Context(), &sdk.PutItemInput{
				TableName: aws.String(items), Item: key(row.name, "retried"), ConditionExpression: aws.String("attribute_not_exists(pk)"),
				ReturnValuesOnConditionCheckFailure: "ALL_OLD",
			}, atOnce)
			failed := (*types.ConditionalCheckFailedException)(nil)
			switch {
			case row.happens && (!errors.As(err, &failed) || failed.Item == nil):
				t.Error("the second try does not meet the first one's item:", err)
			case !row.happens && err != nil:
				t.Error(err)
			}
		})
	}
}

// inject makes the next PutItem, and only that, suffer the effect.
func inject(faults *emulator.Faults, effect emulator.Effect) {
	first := faults.Counts()["dynamodb/PutItem"] + 1
	faults.Inject(func(c emulator.Call) emulator.Effect {
		if c.Service == "dynamodb" && c.Operation == "PutItem" && c.N == first && strings.Contains(string(c.Body), `"TableName":"items"`) {
			return effect
		}
		return emulator.Serve
	})
}
