package limits_test

import (
	"testing"
	"time"

	. "toolhost/pkg/limits"
)

// TestRelations holds the numbers to each other: each line says what breaks otherwise.
func TestRelations(t *testing.T) {
	for _, r := range []struct {
		holds bool
		why   string
	}{
		{WorkerTimeout == 900*time.Second, "Lambda's own limit"},
		{LegMargin < WorkerTimeout/2, "a leg is mostly work"},
		{CancelGrace < LegMargin, "a tool that ignores its deadline leaves time to settle its task"},
		{CancelGrace < ExpiryMargin, "the same before the TTL"},
		{ExpiryMargin > Slack, "an outcome is saved before the TTL on any machine's clock"},
		{TTL > ExpiryMargin, "a tool with the default TTL runs"},
		{Visibility == Lease+Slack, "a killed worker's message is back when its lease is over, not before"},
		{Visibility < QueueVisibility, "a claim shortens the wait"},
		{QueueVisibility >= 6*WorkerTimeout, "AWS's advice for an event source"},
		{QueueVisibility <= 12*time.Hour, "SQS's limit"},
		{Lease/3 > CancelPoll, "a lease is renewed less often than the task is read"},
		{2*Lease/3 > Slack+CancelPoll, "one failed renewal does not lose the lease"},
		{CancelPoll <= 2*time.Second, "a cancel reaches the tool within 2 s (R-X3)"},
		{ReportEvery <= CancelPoll, "the ticker is as fine as what it looks for"},
		{ListenPace <= PollInterval && MaxListenPace <= MaxPollInterval, "a listener learns no later than one who polls"},
		{PollRate >= 10, "the official suite polls every 100 ms"},
		{MaxListen < 15*time.Minute, "API Gateway's limit of a stream, with time for the last answer"},
		{KeepAlive < 15*time.Second, "R-L5, with time for a slow network"},
		{MaxWatched <= 100, "DynamoDB's limit of a batch read"},
		{ResultWait < 29*time.Second, "API Gateway's limit of a buffered answer"},
		{CreationTime >= 12*Slack, "a creation is not cut off for the sake of a clock, nor for one slow put"},
		{MaxOpenTasks <= MostOpenTasks, "the default may be set"},
		{MaxDelay <= 15*time.Minute, "SQS's limit"},
		{MaxHops*MaxDelay >= 20*24*time.Hour, "a task may sleep for three weeks"},
		// A delayed message's time counts from WakeAt, so MaxDelay adds nothing here.
		{OverdueAfter > Lease+Slack+Visibility, "no read wakes a task whose replaced message or redelivery is still to come"},
		{OverdueMost > OverdueAfter, "the intervals grow"},
		{MaxReceives*Visibility < OverdueMost, "crashes reach the dead-letter queue before reads give up"},
		{MaxReceives > Attempts, "attempts run out before the dead-letter queue gets the message"},
		{MaxRedrives > 0 && MaxRedrives < 10, "redrives are bounded"},
		{StoredExpiryLag >= 24*time.Hour && PartExpiryLag > StoredExpiryLag, "the database deletes a task's parts after the task, and both after the logical expiry"},
		{PollInterval <= MaxPollInterval, "intervals grow"},
		{MaxArguments <= MaxBody && MaxAnswer <= MaxBody, "what is allowed fits into a request"},
		{MaxBody <= 6<<20 && MaxResult <= 6<<20, "Lambda's payload limit"},
		{BlobPiece < 400<<10, "DynamoDB's item limit, with room for the keys"},
		{InlineItem+MaxStatusMessage < BlobPiece, "an item stays small"},
	} {
		if !r.holds {
			t.Error("broken: " + r.why)
		}
	}
}
