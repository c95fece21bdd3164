package dynamostore

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"toolhost/pkg/task"
)

// This file alone spells the keys.

const (
	attrPK = "pk"
	attrSK = "sk"

	taskPart = "task"

	// maxID is DynamoDB's limit of a partition key, maxBirth and maxName what we
	// let a sort key hold within its 1,024 bytes; a longer name stands as its hash.
	maxID    = 2048
	maxBirth = 200
	maxName  = 500
)

// item is an item of the table, or its key.
type item map[string]types.AttributeValue

func key(id, part string) item {
	return item{attrPK: &types.AttributeValueMemberS{Value: id}, attrSK: &types.AttributeValueMemberS{Value: part}}
}

// key is the item's own.
func (it item) key() item { return item{attrPK: it[attrPK], attrSK: it[attrSK]} }

// part is the item's sort key.
func (it item) part() string {
	s, _ := it[attrSK].(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

func taskKey(id string) item { return key(id, taskPart) }

func blobKey(id, blob string, n int) item {
	return key(id, "blob#"+blob+"#"+strconv.Itoa(n))
}

// stepPrefix begins the keys of all steps of a task; births are ours and hold no "#".
func stepPrefix(birth string) string { return "step#" + birth + "#" }

func stepKey(id, birth, name string) item {
	if len(name) > maxName {
		sum := sha256.Sum256([]byte(name))
		name = strings.ToValidUTF8(name[:maxName], "") + "#sha256:" + hex.EncodeToString(sum[:])
	}
	return key(id, stepPrefix(birth)+name)
}

// ledgerID is the partition key of what is counted of an owner: a hash, so that any
// owner fits, and no name stands in a key. No task has such an id: those that a
// client can choose are none of ours.
func ledgerID(o task.Owner) string {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%q %q %q %q", o.Issuer, o.Subject, o.Tenant, o.Client)))
	return "quota#" + hex.EncodeToString(sum[:])
}

// slotPrefix begins the keys of an owner's slots.
const slotPrefix = "slot#"

func slotKey(o task.Owner, n int) item { return key(ledgerID(o), slotPrefix+strconv.Itoa(n)) }

func minuteKey(o task.Owner, minute time.Time) item {
	return key(ledgerID(o), "minute#"+strconv.FormatInt(minute.Unix(), 10))
}

// validID reports whether a task can have the id.
func validID(id string) bool { return id != "" && len(id) <= maxID && utf8.ValidString(id) }

func validBirth(birth string) bool {
	return birth != "" && len(birth) <= maxBirth && utf8.ValidString(birth) && !strings.Contains(birth, "#")
}

// Schema is the shape of the table: its creation, and the time to live that
// takes expired items away.
func Schema(table string) (*dynamodb.CreateTableInput, *dynamodb.UpdateTimeToLiveInput) {
	return &dynamodb.CreateTableInput{
			TableName:   aws.String(table),
			BillingMode: types.BillingModePayPerRequest,
			AttributeDefinitions: []types.AttributeDefinition{
				{AttributeName: aws.String(attrPK), AttributeType: types.ScalarAttributeTypeS},
				{AttributeName: aws.String(attrSK), AttributeType: types.ScalarAttributeTypeS},
			},
			KeySchema: []types.KeySchemaElement{
				{AttributeName: aws.String(attrPK), KeyType: types.KeyTypeHash},
				{AttributeName: aws.String(attrSK), KeyType: types.KeyTypeRange},
			},
		}, &dynamodb.UpdateTimeToLiveInput{
			TableName: aws.String(table),
			TimeToLiveSpecification: &types.TimeToLiveSpecification{
				AttributeName: aws.String(attrExpires), Enabled: aws.Bool(true)},
		}
}

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: fmt.Sprint(n)}
}
