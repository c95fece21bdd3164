package dynamodb

import (
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"time"
)

// createTableRequest names a table of string keys; what else a table can have
// is not served, and so its members are refused.
type createTableRequest struct {
	TableName            string
	AttributeDefinitions []attributeDefinition
	KeySchema            []keySchemaElement
	BillingMode          string
}

type attributeDefinition struct{ AttributeName, AttributeType string }

type keySchemaElement struct{ AttributeName, KeyType string }

type tableDescription struct {
	TableName            string
	TableStatus          string
	TableArn             string
	TableId              string
	CreationDateTime     float64 // seconds since 1970
	ItemCount            int
	TableSizeBytes       int
	AttributeDefinitions []attributeDefinition
	KeySchema            []keySchemaElement
	BillingModeSummary   billingModeSummary
}

type billingModeSummary struct{ BillingMode string }

type tableReply struct{ TableDescription tableDescription }

const onDemand = "PAY_PER_REQUEST"

func (s *Server) createTable(r *createTableRequest, _ *bill) (any, error) {
	made, err := r.schema()
	if err != nil {
		return nil, err
	}
	made.ID, made.Created = rand.Text(), s.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, exists := s.tables[made.Name]; exists {
		return nil, refuse(ownErrors+"ResourceInUseException", "Table already exists: %s", made.Name)
	}
	if err := s.saveSchema(made); err != nil {
		return nil, err
	}
	t := &table{schema: made}
	s.tables[made.Name] = t
	return tableReply{t.describe("CREATING")}, nil
}

// schema checks the request and is the table that it asks for.
func (r *createTableRequest) schema() (schema, error) {
	made := schema{Name: r.TableName}
	if err := checkTableName(r.TableName); err != nil {
		return made, err
	}
	if r.BillingMode != onDemand {
		return made, unsupported("a BillingMode other than %s", onDemand)
	}
	if n := len(r.KeySchema); n == 0 || n > 2 {
		return made, invalidParameter("KeySchema must have one or two elements, not %d", n)
	}
	for i, e := range r.KeySchema {
		if want := []string{"HASH", "RANGE"}[i]; e.KeyType != want {
			return made, invalid("Invalid KeySchema: element %d is of key type %q, not %s", i+1, e.KeyType, want)
		}
		if e.AttributeName == "" || len(e.AttributeName) > maxKeyName {
			return made, unconstrained("keySchema", e.AttributeName, "Member must have length from 1 to %d", maxKeyName)
		}
		at := slices.IndexFunc(r.AttributeDefinitions, func(d attributeDefinition) bool { return d.AttributeName == e.AttributeName })
		if at < 0 {
			return made, invalidParameter("Some index key attributes are not defined in AttributeDefinitions: %s", e.AttributeName)
		}
		if kind := r.AttributeDefinitions[at].AttributeType; kind != "S" {
			return made, unsupported("a key of type %q; keys are of type S", kind)
		}
	}
	if len(r.AttributeDefinitions) != len(r.KeySchema) {
		return made, invalidParameter("Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions")
	}
	made.Hash = r.KeySchema[0].AttributeName
	if len(r.KeySchema) == 2 {
		made.Range = r.KeySchema[1].AttributeName
	}
	if made.Hash == made.Range {
		return made, invalid("Both the Hash Key and the Range Key element in the KeySchema have the same name")
	}
	return made, nil
}

func (s *Server) saveSchema(made schema) error {
	if err := s.disk.saveSchema(made); err != nil {
		return internal("the table could not be kept: " + err.Error())
	}
	return nil
}

func (t *table) describe(status string) tableDescription {
	d := tableDescription{
		TableName: t.Name, TableStatus: status, TableArn: arn(t.Name), TableId: t.ID,
		CreationDateTime: float64(t.Created.UnixMilli()) / float64(time.Second/time.Millisecond),
		ItemCount:        t.rows.Len(), TableSizeBytes: t.size,
		BillingModeSummary: billingModeSummary{onDemand},
	}
	for i, name := range t.keyNames() {
		d.AttributeDefinitions = append(d.AttributeDefinitions, attributeDefinition{name, "S"})
		d.KeySchema = append(d.KeySchema, keySchemaElement{name, []string{"HASH", "RANGE"}[i]})
	}
	return d
}

func arn(name string) string {
	return fmt.Sprintf("arn:aws:dynamodb:us-east-1:000000000000:table/%s", name)
}

type tableRequest struct{ TableName string }

type describeTableReply struct{ Table tableDescription }

func (s *Server) describeTable(r *tableRequest, _ *bill) (any, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t, err := s.table(r.TableName)
	if err != nil {
		return nil, err
	}
	return describeTableReply{t.describe("ACTIVE")}, nil
}

func (s *Server) deleteTable(r *tableRequest, _ *bill) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.table(r.TableName)
	if err != nil {
		return nil, err
	}
	if err := s.disk.dropTable(t.Name); err != nil {
		return nil, internal("the table could not be deleted: " + err.Error())
	}
	delete(s.tables, t.Name)
	return tableReply{t.describe("DELETING")}, nil
}

type listTablesRequest struct {
	ExclusiveStartTableName string
	Limit                   *int
}

type listTablesReply struct {
	TableNames             []string
	LastEvaluatedTableName string `json:",omitempty"`
}

func (s *Server) listTables(r *listTablesRequest, _ *bill) (any, error) {
	limit := maxTablesListed
	if r.Limit != nil {
		limit = *r.Limit
	}
	if limit < 1 || limit > maxTablesListed {
		return nil, unconstrained("limit", limit, "Member must have value from 1 to %d", maxTablesListed)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	reply := listTablesReply{TableNames: []string{}}
	for _, name := range slices.Sorted(maps.Keys(s.tables)) {
		if name <= r.ExclusiveStartTableName {
			continue
		}
		if len(reply.TableNames) == limit {
			reply.LastEvaluatedTableName = reply.TableNames[limit-1]
			break
		}
		reply.TableNames = append(reply.TableNames, name)
	}
	return reply, nil
}
