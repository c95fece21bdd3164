package sqs

import "regexp"

const maxEntries = 10

// batchInput is the input of the operations that take several entries.
type batchInput[E entry] struct {
	QueueURL string `json:"QueueUrl"`
	Entries  []E
}

type entry interface{ id() string }

// entryID is an entry's name in its request, and in the answer.
type entryID struct {
	ID string `json:"Id"`
}

func (e entryID) id() string { return e.ID }

type batchOutput[Out any] struct {
	Successful []Out
	Failed     []failedEntry
}

type failedEntry struct {
	entryID
	Code        string
	Message     string
	SenderFault bool
}

var entryName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)

// check applies the rules that refuse a whole batch.
func (in *batchInput[E]) check() error {
	if len(in.Entries) == 0 {
		return emptyBatchRequest.errorf("There should be at least one entry in the request.")
	}
	if len(in.Entries) > maxEntries {
		return tooManyEntries.errorf("Maximum number of entries per request are %d. You have sent %d.", maxEntries, len(in.Entries))
	}
	seen := map[string]bool{}
	for _, e := range in.Entries {
		if !entryName.MatchString(e.id()) {
			return invalidBatchEntryID.errorf("A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long: %q.", e.id())
		}
		if seen[e.id()] {
			return batchEntryIDsNotDistinct.errorf("Id %s repeated.", e.id())
		}
		seen[e.id()] = true
	}
	return nil
}

// eachEntry does every entry, and gathers what succeeded and what failed.
func eachEntry[E entry, Out any](entries []E, do func(*E) (Out, error)) batchOutput[Out] {
	out := batchOutput[Out]{Successful: []Out{}, Failed: []failedEntry{}}
	for i := range entries {
		done, err := do(&entries[i])
		if err != nil {
			f := failureOf(err)
			out.Failed = append(out.Failed, failedEntry{entryID{entries[i].id()}, f.query, f.message, f.sender()})
			continue
		}
		out.Successful = append(out.Successful, done)
	}
	return out
}
