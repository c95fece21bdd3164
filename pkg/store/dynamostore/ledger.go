package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"toolhost/pkg/fault"
	"toolhost/pkg/limits"
	"toolhost/pkg/store"
	"toolhost/pkg/task"
)

// LedgerAPI is what a Ledger needs of the SDK's client.
type LedgerAPI interface {
	API
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
}

// Ledger is a store.Ledger in the table of a Store. Each of its writes is one
// request and one write unit.
type Ledger struct {
	client LedgerAPI
	store  *Store
}

var _ store.Ledger = (*Ledger)(nil)

// NewLedger makes a Ledger on an existing table.
func NewLedger(client LedgerAPI, table string) *Ledger {
	return &Ledger{client, New(client, table, Options{})}
}

// The attributes of a minute's item.
const (
	attrMade   = "made"   // how many creations
	attrLatest = "latest" // the birth of the last one
)

const (
	// countable holds if the minute has room, and the last creation is not this one.
	countable = "attribute_not_exists(" + attrPK + ") OR " + attrMade + " < :most AND " + attrLatest + " <> :birth"
	count     = "SET " + attrLatest + " = :birth, " + attrExpires + " = :expires ADD " + attrMade + " :one"
	// heldBy holds if the slot is still the reservation's.
	heldBy = attrBirth + " = :birth"
)

// slotRow is a slot's item. Times are milliseconds.
type slotRow struct {
	Format  int    `dynamodbav:"v"`
	Number  int    `dynamodbav:"slot"`
	TaskID  string `dynamodbav:"task"`
	Birth   string `dynamodbav:"birth"`
	At      int64  `dynamodbav:"madeAt"`
	GoneAt  int64  `dynamodbav:"goneAt"`
	Expires int64  `dynamodbav:"expiresAt"`
}

// Count implements store.Ledger with one conditional update.
func (l *Ledger) Count(ctx context.Context, o task.Owner, birth string, now time.Time, most int) (bool, error) {
	const op = "dynamostore.Count"
	minute := now.Truncate(time.Minute)
	k, ours := minuteKey(o, minute), &types.AttributeValueMemberS{Value: birth}
	_, err := l.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: aws.String(l.store.table), Key: k, UpdateExpression: aws.String(count), ConditionExpression: aws.String(countable),
		ExpressionAttributeValues: map[string]types.AttributeValue{":birth": ours, ":one": number(1), ":most": number(int64(most)),
			":expires": number(minute.Add(limits.StoredExpiryLag).Unix())},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	stored, err := l.store.met(ctx, op, k, err)
	if err != nil || stored == nil {
		return err == nil, err
	}
	latest, _ := stored[attrLatest].(*types.AttributeValueMemberS)
	return latest != nil && latest.Value == birth, nil
}

// Reserve implements store.Ledger with one conditional put.
func (l *Ledger) Reserve(ctx context.Context, o task.Owner, r store.Reservation, now time.Time) (bool, error) {
	const op = "dynamostore.Reserve"
	it, err := attributevalue.MarshalMap(slotRow{Format: format, Number: r.Slot, TaskID: r.TaskID, Birth: r.Birth, At: toMilli(r.At),
		GoneAt: r.Until.UnixMilli(), Expires: r.Until.Add(limits.StoredExpiryLag).Unix()})
	if err != nil {
		return false, fault.Wrap(fault.Internal, op, err)
	}
	for name, v := range slotKey(o, r.Slot) {
		it[name] = v
	}
	stored, err := l.store.put(ctx, op, it, freeToCreate, map[string]types.AttributeValue{":now": number(now.UnixMilli())})
	if err != nil || stored == nil {
		return err == nil, err
	}
	holder, _ := stored[attrBirth].(*types.AttributeValueMemberS)
	return holder != nil && holder.Value == r.Birth, nil
}

// Reservations implements store.Ledger with one consistent query a MB.
func (l *Ledger) Reservations(ctx context.Context, o task.Owner) ([]store.Reservation, error) {
	const op = "dynamostore.Reservations"
	var all []store.Reservation
	err := l.store.query(ctx, op, ledgerID(o), slotPrefix, func(it item) error {
		if err := checkFormat(op, it); err != nil {
			return err
		}
		var r slotRow
		if err := attributevalue.UnmarshalMap(it, &r); err != nil {
			return fault.Wrap(fault.Internal, op, err)
		}
		if r.TaskID == "" || r.Birth == "" || r.GoneAt == 0 {
			return fault.Wrap(fault.Internal, op, fmt.Errorf("a slot without a task"))
		}
		all = append(all, store.Reservation{Slot: r.Number, TaskID: r.TaskID, Birth: r.Birth, At: fromMilli(r.At), Until: fromMilli(r.GoneAt)})
		return nil
	})
	return all, err
}

// Release implements store.Ledger with one conditional delete.
func (l *Ledger) Release(ctx context.Context, o task.Owner, r store.Reservation) error {
	_, err := l.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: aws.String(l.store.table), Key: slotKey(o, r.Slot), ConditionExpression: aws.String(heldBy),
		ExpressionAttributeValues: map[string]types.AttributeValue{":birth": &types.AttributeValueMemberS{Value: r.Birth}},
	})
	var failed *types.ConditionalCheckFailedException
	if err == nil || errors.As(err, &failed) {
		return nil
	}
	return explain(ctx, "dynamostore.Release", err)
}
