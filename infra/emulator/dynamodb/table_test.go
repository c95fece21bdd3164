package dynamodb_test

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"toolhost/infra/emulator/dynamodb"
	"toolhost/pkg/clock"
)

var epoch = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func TestTables(t *testing.T) {
	f := open(t, dynamodb.Options{Clock: clock.NewManual(epoch)})
	f.createTable(t, "b-table", "id")
	f.createTable(t, items, "pk", "sk")
	f.put(t, M{"pk": "p", "sk": "s"})

	t.Run("describe", func(t *testing.T) {
		out, err := f.DescribeTable(t.Context(), &sdk.DescribeTableInput{TableName: aws.String(items)})
		if err != nil {
			t.Fatal(err)
		}
		d := out.Table
		if d.TableStatus != types.TableStatusActive || *d.ItemCount != 1 || *d.TableSizeBytes != 6 || !d.CreationDateTime.Equal(epoch) ||
			len(d.KeySchema) != 2 || *d.KeySchema[1].AttributeName != "sk" || d.BillingModeSummary.BillingMode != types.BillingModePayPerRequest || *d.TableId == "" || *d.TableArn == "" {
			t.Errorf("%+v", d)
		}
		if err := sdk.NewTableExistsWaiter(f).Wait(t.Context(), &sdk.DescribeTableInput{TableName: aws.String(items)}, time.Minute); err != nil {
			t.Error(err)
		}
	})
	t.Run("list", func(t *testing.T) {
		var names []string
		for pages := sdk.NewListTablesPaginator(f, &sdk.ListTablesInput{Limit: aws.Int32(1)}); pages.HasMorePages(); {
			page, err := pages.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, page.TableNames...)
		}
		if !slices.Equal(names, []string{"b-table", items}) {
			t.Error(names)
		}
		_, err := f.ListTables(t.Context(), &sdk.ListTablesInput{Limit: aws.Int32(101)})
		wantInvalid(t, err, "Member must have value from 1 to 100")
	})
	t.Run("delete", func(t *testing.T) {
		if _, err := f.DeleteTable(t.Context(), &sdk.DeleteTableInput{TableName: aws.String(items)}); err != nil {
			t.Fatal(err)
		}
		wantCode(t, f.tryPut(M{"pk": "p", "sk": "s"}), "ResourceNotFoundException", "Requested resource not found")
		_, err := f.DescribeTable(t.Context(), &sdk.DescribeTableInput{TableName: aws.String(items)})
		wantCode(t, err, "ResourceNotFoundException", "Table: items not found")
		f.createTable(t, items, "pk", "sk")
		if f.get(t, "p", "s") != nil {
			t.Error("a new table has an old item")
		}
	})
}

func TestCreateTable_refused(t *testing.T) {
	f := start(t, dynamodb.Options{})
	define := func(name string, kind types.ScalarAttributeType) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: &name, AttributeType: kind}
	}
	element := func(name string, kind types.KeyType) types.KeySchemaElement {
		return types.KeySchemaElement{AttributeName: &name, KeyType: kind}
	}
	for name, row := range map[string]struct {
		change func(*sdk.CreateTableInput)
		code   string
		want   string
	}{
		"there_already": {func(in *sdk.CreateTableInput) { in.TableName = aws.String(items) }, "ResourceInUseException", "Table already exists: items"},
		"short_name":    {func(in *sdk.CreateTableInput) { in.TableName = aws.String("ab") }, "", "at least 3 characters long"},
		"bad_name":      {func(in *sdk.CreateTableInput) { in.TableName = aws.String("a/bc") }, "", "at least 3 characters long"},
		"provisioned":   {func(in *sdk.CreateTableInput) { in.BillingMode = types.BillingModeProvisioned }, "", "does not support a BillingMode other than PAY_PER_REQUEST"},
		"no_billing":    {func(in *sdk.CreateTableInput) { in.BillingMode = "" }, "", "does not support a BillingMode other than"},
		"no_keys":       {func(in *sdk.CreateTableInput) { in.KeySchema = []types.KeySchemaElement{} }, "", "KeySchema must have one or two elements"},
		"range_first":   {func(in *sdk.CreateTableInput) { in.KeySchema = []types.KeySchemaElement{element("id", "RANGE")} }, "", "Invalid KeySchema"},
		"undefined":     {func(in *sdk.CreateTableInput) { in.KeySchema = []types.KeySchemaElement{element("x", "HASH")} }, "", "not defined in AttributeDefinitions: x"},
		"too_many": {func(in *sdk.CreateTableInput) {
			in.AttributeDefinitions = append(in.AttributeDefinitions, define("x", "S"))
		}, "", "does not exactly match"},
		"number_key": {func(in *sdk.CreateTableInput) {
			in.AttributeDefinitions = []types.AttributeDefinition{define("id", "N")}
		}, "", `does not support a key of type "N"`},
		"same_attribute": {func(in *sdk.CreateTableInput) {
			in.KeySchema = append(in.KeySchema, element("id", "RANGE"))
			in.AttributeDefinitions = append(in.AttributeDefinitions, define("id", "S"))
		}, "", "have the same name"},
	} {
		t.Run(name, func(t *testing.T) {
			in := &sdk.CreateTableInput{
				TableName: aws.String("new"), BillingMode: types.BillingModePayPerRequest,
				AttributeDefinitions: []types.AttributeDefinition{define("id", "S")}, KeySchema: []types.KeySchemaElement{element("id", "HASH")},
			}
			row.change(in)
			_, err := f.CreateTable(t.Context(), in)
			if row.code == "" {
				row.code = "ValidationException"
			}
			wantCode(t, err, row.code, row.want)
		})
	}
}

func TestExpiry(t *testing.T) {
	now := clock.NewManual(epoch)
	f := start(t, dynamodb.Options{Clock: now})
	f.createTable(t, "other", "pk", "sk")
	turn := func(on bool, attribute string) error {
		_, err := f.UpdateTimeToLive(t.Context(), &sdk.UpdateTimeToLiveInput{
			TableName: aws.String(items), TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &attribute, Enabled: &on},
		})
		return err
	}
	status := func() string {
		out, err := f.DescribeTimeToLive(t.Context(), &sdk.DescribeTimeToLiveInput{TableName: aws.String(items)})
		if err != nil {
			t.Fatal(err)
		}
		return string(out.TimeToLiveDescription.TimeToLiveStatus) + " " + aws.ToString(out.TimeToLiveDescription.AttributeName)
	}
	expire := func() int {
		n, err := f.server.Expire()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for sk, expires := range map[string]any{
		"hour": epoch.Add(time.Hour).Unix(), "day": epoch.AddDate(0, 0, 1).Unix(), "text": "5", "ancient": epoch.AddDate(-6, 0, 0).Unix(), "milliseconds": epoch.UnixMilli(),
	} {
		f.put(t, M{"pk": "p", "sk": sk, "expires": expires})
	}
	f.put(t, M{"pk": "p", "sk": "never"})

	now.Advance(2 * time.Hour)
	if n := expire(); n != 0 {
		t.Errorf("%d expired in a table without time to live", n)
	}
	if got := status(); got != "DISABLED " {
		t.Error(got)
	}
	wantInvalid(t, turn(false, "expires"), "TimeToLive is already disabled")
	if err := turn(true, "expires"); err != nil {
		t.Fatal(err)
	}
	wantInvalid(t, turn(true, "expires"), "TimeToLive is already enabled")
	if got := status(); got != "ENABLED expires" {
		t.Error(got)
	}
	if f.get(t, "p", "hour") == nil {
		t.Error("an expired item is gone before Expire")
	}
	if n := expire(); n != 1 || f.get(t, "p", "hour") != nil || f.get(t, "p", "day") == nil {
		t.Errorf("%d expired", n)
	}
	now.Advance(48 * time.Hour)
	if n := expire(); n != 1 || f.get(t, "p", "never") == nil || f.get(t, "p", "ancient") == nil || f.get(t, "p", "text") == nil {
		t.Errorf("%d expired", n)
	}
	wantInvalid(t, turn(false, "x"), "active on a different AttributeName")
	if err := turn(false, "expires"); err != nil || status() != "DISABLED " {
		t.Error(err, status())
	}
}
