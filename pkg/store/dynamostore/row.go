package dynamostore

import (
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"toolhost/pkg/fault"
	"toolhost/pkg/limits"
	"toolhost/pkg/task"
)

// This file alone spells the attributes of a task's item.

// format is the version of the items written by this code.
const format = 1

// The attributes that conditions and other files speak of.
const (
	attrFormat   = "v"
	attrBirth    = "birth"
	attrRevision = "rev"
	attrSave     = "save"      // random for every save: whose write an item is
	attrGoneAt   = "goneAt"    // the logical expiry, in ms
	attrExpires  = "expiresAt" // the table's time to live, in s
)

const (
	// freeToCreate holds if nothing is stored, or what is has expired.
	freeToCreate = "attribute_not_exists(" + attrPK + ") OR " + attrGoneAt + " <= :now"
	// unchanged holds if the stored task is still the one that was loaded.
	unchanged = attrRevision + " = :rev AND " + attrBirth + " = :birth"
)

// row is a task's item. Times and durations are milliseconds, 0 for none; what
// is zero is left out.
type row struct {
	PK       string `dynamodbav:"pk"`
	SK       string `dynamodbav:"sk"`
	Format   int    `dynamodbav:"v"`
	Birth    string `dynamodbav:"birth"`
	Revision int64  `dynamodbav:"rev"`
	Save     string `dynamodbav:"save"`
	GoneAt   int64  `dynamodbav:"goneAt"`
	Expires  int64  `dynamodbav:"expiresAt"`

	Status  string `dynamodbav:"status"`
	Message string `dynamodbav:"message,omitempty"`

	Issuer  string `dynamodbav:"issuer,omitempty"`
	Subject string `dynamodbav:"subject,omitempty"`
	Tenant  string `dynamodbav:"tenant,omitempty"`
	Client  string `dynamodbav:"client,omitempty"`

	Tool         string      `dynamodbav:"tool"`
	ToolVersion  string      `dynamodbav:"toolv,omitempty"`
	Arguments    *payloadRow `dynamodbav:"args,omitempty"`
	Prepared     *payloadRow `dynamodbav:"prep,omitempty"`
	Capabilities []byte      `dynamodbav:"caps,omitempty"`
	Protocol     string      `dynamodbav:"proto,omitempty"`
	Trace        string      `dynamodbav:"trace,omitempty"`
	Fingerprint  string      `dynamodbav:"print,omitempty"`

	Claims      int64     `dynamodbav:"claims,omitempty"`
	Attempts    int       `dynamodbav:"tries,omitempty"`
	MaxAttempts int       `dynamodbav:"maxTries,omitempty"`
	Lease       *leaseRow `dynamodbav:"lease,omitempty"`
	Cancel      bool      `dynamodbav:"cancel,omitempty"`
	WakeAt      int64     `dynamodbav:"wakeAt,omitempty"`
	Awaiting    string    `dynamodbav:"awaits,omitempty"`
	Recorded    bool      `dynamodbav:"steps,omitempty"`
	Dispatched  int64     `dynamodbav:"sentAt,omitempty"`
	Nudges      int       `dynamodbav:"nudges,omitempty"`

	CreatedAt       int64 `dynamodbav:"madeAt,omitempty"`
	UpdatedAt       int64 `dynamodbav:"seenAt,omitempty"`
	TTL             int64 `dynamodbav:"ttl,omitempty"`
	Retention       int64 `dynamodbav:"keep,omitempty"`
	PollInterval    int64 `dynamodbav:"poll,omitempty"`
	MaxPollInterval int64 `dynamodbav:"maxPoll,omitempty"`

	Inputs    []inputRow    `dynamodbav:"inputs,omitempty"`
	Callbacks []callbackRow `dynamodbav:"calls,omitempty"`
	Outcome   *payloadRow   `dynamodbav:"out,omitempty"`
}

type payloadRow struct {
	JSON  []byte `dynamodbav:"j,omitempty"`
	Blob  string `dynamodbav:"b,omitempty"`
	Parts int    `dynamodbav:"n,omitempty"`
	Size  int    `dynamodbav:"s"` // of the JSON; never left out, so that one of no bytes is not an absent one
}

type leaseRow struct {
	Run    int64  `dynamodbav:"run"`
	Holder string `dynamodbav:"by"`
	Until  int64  `dynamodbav:"until"`
}

type inputRow struct {
	Key       string      `dynamodbav:"key"`
	Method    string      `dynamodbav:"method"`
	Params    *payloadRow `dynamodbav:"params,omitempty"`
	Response  *payloadRow `dynamodbav:"answer,omitempty"`
	Delivered bool        `dynamodbav:"given,omitempty"`
}

type callbackRow struct {
	Name      string      `dynamodbav:"name"`
	Body      *payloadRow `dynamodbav:"body,omitempty"`
	Digest    string      `dynamodbav:"digest,omitempty"`
	Delivered bool        `dynamodbav:"given,omitempty"`
}

// encode makes the item of a task. Times lose what is finer than a millisecond.
func encode(op string, t task.Task, nonce string) (item, error) {
	r := row{
		PK: t.ID, SK: taskPart, Format: format, Birth: t.Birth, Revision: t.Revision, Save: nonce,
		GoneAt: t.ExpiresAt().UnixMilli(), Expires: t.ExpiresAt().Add(limits.StoredExpiryLag).Unix(),
		Status: string(t.Status), Message: t.StatusMessage,
		Issuer: t.Owner.Issuer, Subject: t.Owner.Subject, Tenant: t.Owner.Tenant, Client: t.Owner.Client,
		Tool: t.Tool, ToolVersion: t.ToolVersion, Arguments: toPayload(t.Arguments), Prepared: toPayload(t.Prepared),
		Capabilities: t.Capabilities, Protocol: t.Protocol, Trace: t.Trace, Fingerprint: t.Fingerprint,
		Claims: t.Claims, Attempts: t.Attempts, MaxAttempts: t.MaxAttempts, Cancel: t.CancelRequested, Recorded: t.Recorded,
		WakeAt: toMilli(t.WakeAt), Awaiting: t.Awaiting, Dispatched: toMilli(t.DispatchedAt), Nudges: t.Nudges,
		CreatedAt: toMilli(t.CreatedAt), UpdatedAt: toMilli(t.UpdatedAt),
		TTL: t.TTL.Milliseconds(), Retention: t.Retention.Milliseconds(),
		PollInterval: t.PollInterval.Milliseconds(), MaxPollInterval: t.MaxPollInterval.Milliseconds(),
		Outcome: toPayload(t.Outcome),
	}
	if t.Lease != nil {
		r.Lease = &leaseRow{Run: t.Lease.Run, Holder: t.Lease.Holder, Until: toMilli(t.Lease.Until)}
	}
	for _, in := range t.Inputs {
		r.Inputs = append(r.Inputs, inputRow{Key: in.Key, Method: in.Method,
			Params: toPayload(in.Params), Response: toPayload(in.Response), Delivered: in.Delivered})
	}
	for _, c := range t.Callbacks {
		r.Callbacks = append(r.Callbacks, callbackRow{Name: c.Name, Body: toPayload(c.Body), Digest: c.Digest, Delivered: c.Delivered})
	}
	it, err := attributevalue.MarshalMap(r)
	return it, fault.Wrap(fault.Internal, op, err)
}

// decode reads a task's item. fault.Internal if it is damaged, or of a format that
// is not known: of a version of this code that is newer, most likely, and deployed
// beside this one. No caller is told, since whose it is is not known either; its
// message comes back until a process of that version gets it.
func decode(op string, it item) (task.Task, error) {
	if err := checkFormat(op, it); err != nil {
		return task.Task{}, fault.Wrap(fault.Internal, op, err)
	}
	var r row
	if err := attributevalue.UnmarshalMap(it, &r); err != nil {
		return task.Task{}, fault.Wrap(fault.Internal, op, err)
	}
	d := decoder{}
	t := task.Task{
		ID: r.PK, Birth: r.Birth, Revision: r.Revision, Status: task.Status(r.Status), StatusMessage: r.Message,
		Owner: task.Owner{Issuer: r.Issuer, Subject: r.Subject, Tenant: r.Tenant, Client: r.Client},
		Tool:  r.Tool, ToolVersion: r.ToolVersion, Arguments: d.payload(r.Arguments), Prepared: d.payload(r.Prepared),
		Capabilities: r.Capabilities, Protocol: r.Protocol, Trace: r.Trace, Fingerprint: r.Fingerprint,
		Claims: r.Claims, Attempts: r.Attempts, MaxAttempts: r.MaxAttempts, CancelRequested: r.Cancel, Recorded: r.Recorded,
		WakeAt: fromMilli(r.WakeAt), Awaiting: r.Awaiting, DispatchedAt: fromMilli(r.Dispatched), Nudges: r.Nudges,
		CreatedAt: fromMilli(r.CreatedAt), UpdatedAt: fromMilli(r.UpdatedAt),
		TTL: fromMillis(r.TTL), Retention: fromMillis(r.Retention),
		PollInterval: fromMillis(r.PollInterval), MaxPollInterval: fromMillis(r.MaxPollInterval),
		Outcome: d.payload(r.Outcome),
	}
	if r.Lease != nil {
		t.Lease = &task.Lease{Run: r.Lease.Run, Holder: r.Lease.Holder, Until: fromMilli(r.Lease.Until)}
	}
	for _, in := range r.Inputs {
		t.Inputs = append(t.Inputs, task.Input{Key: in.Key, Method: in.Method,
			Params: d.payload(in.Params), Response: d.payload(in.Response), Delivered: in.Delivered})
	}
	for _, c := range r.Callbacks {
		t.Callbacks = append(t.Callbacks, task.Callback{Name: c.Name, Body: d.payload(c.Body), Digest: c.Digest, Delivered: c.Delivered})
	}
	switch {
	case d.bad != nil:
	case t.ID == "" || t.Birth == "" || t.Revision < 1:
		d.bad = fmt.Errorf("an item without key, birth or revision")
	case !slices.Contains(task.Statuses, t.Status):
		d.bad = fmt.Errorf("unknown status %q", t.Status)
	}
	if d.bad != nil {
		return task.Task{}, fault.Wrap(fault.Internal, op, d.bad)
	}
	return t, nil
}

// checkFormat refuses an item that another version of this code wrote in
// another format, before anything else of it is read.
func checkFormat(op string, it item) error {
	v := "none"
	if n, ok := it[attrFormat].(*types.AttributeValueMemberN); ok {
		v = n.Value
	}
	if v != fmt.Sprint(format) {
		return fault.New(fault.Invalid, op, "unknown format %s of a stored task", v)
	}
	return nil
}

// sameSave reports whether both items are of one save.
func sameSave(a, b item) bool {
	x, _ := a[attrSave].(*types.AttributeValueMemberS)
	y, _ := b[attrSave].(*types.AttributeValueMemberS)
	return x != nil && y != nil && x.Value == y.Value
}

func toPayload(p task.Payload) *payloadRow {
	switch {
	case p.Blob != "":
		return &payloadRow{Blob: p.Blob, Parts: p.Parts, Size: p.Size}
	case p.Inline != nil:
		return &payloadRow{JSON: p.Inline, Size: len(p.Inline)}
	}
	return nil
}

// decoder keeps the first thing that is wrong with an item.
type decoder struct{ bad error }

func (d *decoder) payload(p *payloadRow) task.Payload {
	switch {
	case p == nil:
		return task.Payload{}
	case p.Blob == "" && len(p.JSON) == p.Size:
		return task.NewPayload(append([]byte{}, p.JSON...)) // not nil
	case p.Blob != "" && len(p.JSON) == 0 && possible(p.Parts, p.Size):
		return task.Payload{Blob: p.Blob, Parts: p.Parts, Size: p.Size}
	}
	d.bad = fmt.Errorf("a payload of %d parts and %d bytes", p.Parts, p.Size)
	return task.Payload{}
}

func toMilli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMilli(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

func fromMillis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
