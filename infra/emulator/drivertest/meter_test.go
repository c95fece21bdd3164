package drivertest

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"toolhost/pkg/store/dynamostore"
	"toolhost/pkg/store/storetest"
)

// meter asks for the capacity that each request consumed and adds it up. A
// failed condition tells none.
type meter struct {
	dynamostore.LedgerAPI

	mu    sync.Mutex
	total storetest.Usage
}

func (m *meter) usage() storetest.Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.total
}

func (m *meter) add(reads, writes *types.ConsumedCapacity) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.total.Requests++
	if reads != nil && reads.CapacityUnits != nil {
		m.total.ReadUnits += *reads.CapacityUnits
	}
	if writes != nil && writes.CapacityUnits != nil {
		m.total.WriteUnits += *writes.CapacityUnits
	}
}

const total = types.ReturnConsumedCapacityTotal

func (m *meter) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	in.ReturnConsumedCapacity = total
	out, err := m.LedgerAPI.PutItem(ctx, in, o...)
	if err != nil {
		m.add(nil, nil)
		return nil, err
	}
	m.add(nil, out.ConsumedCapacity)
	return out, nil
}

func (m *meter) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	in.ReturnConsumedCapacity = total
	out, err := m.LedgerAPI.GetItem(ctx, in, o...)
	if err != nil {
		m.add(nil, nil)
		return nil, err
	}
	m.add(out.ConsumedCapacity, nil)
	return out, nil
}

func (m *meter) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	in.ReturnConsumedCapacity = total
	out, err := m.LedgerAPI.BatchGetItem(ctx, in, o...)
	if err != nil || len(out.ConsumedCapacity) == 0 {
		m.add(nil, nil)
		return out, err
	}
	m.add(&out.ConsumedCapacity[0], nil) // one table, one entry
	return out, nil
}

func (m *meter) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	in.ReturnConsumedCapacity = total
	out, err := m.LedgerAPI.Query(ctx, in, o...)
	if err != nil {
		m.add(nil, nil)
		return nil, err
	}
	m.add(out.ConsumedCapacity, nil)
	return out, nil
}

func (m *meter) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	in.ReturnConsumedCapacity = total
	out, err := m.LedgerAPI.UpdateItem(ctx, in, o...)
	if err != nil {
		m.add(nil, nil)
		return nil, err
	}
	m.add(nil, out.ConsumedCapacity)
	return out, nil
}

func (m *meter) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	in.ReturnConsumedCapacity = total
	out, err := m.LedgerAPI.DeleteItem(ctx, in, o...)
	if err != nil {
		m.add(nil, nil)
		return nil, err
	}
	m.add(nil, out.ConsumedCapacity)
	return out, nil
}
