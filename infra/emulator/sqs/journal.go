package sqs

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"toolhost/pkg/fault"
)

// The file's layout: one bucket that is named for the format's version, in it
// the queues by name, and for each queue a bucket of its messages by sequence
// number.
var (
	formatBucket   = []byte("sqs format 1")
	queuesBucket   = []byte("queues")
	messagesBucket = []byte("messages")
)

// journal keeps the server's state in a file. Changes are noted in their order
// under the server's lock, and made durable together before any of them is
// acknowledged. A nil journal keeps nothing.
type journal struct {
	db *bolt.DB

	mu      sync.Mutex
	pending []change

	committing sync.Mutex
	failed     error // memory is ahead of the file: nothing may be acknowledged any more
}

type change func(root *bolt.Bucket) error

// storedQueue is a queue as it is kept.
type storedQueue struct {
	ID         uint64     `json:"id"`
	Created    time.Time  `json:"created"`
	Modified   time.Time  `json:"modified"`
	Attributes attributes `json:"attributes"`
}

func openJournal(dir string) (*journal, error) {
	const op = "sqs.New"
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fault.Wrap(fault.Internal, op, err)
	}
	path := filepath.Join(dir, "sqs.db")
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: time.Second, FreelistType: bolt.FreelistMapType})
	if errors.Is(err, berrors.ErrTimeout) {
		return nil, fault.New(fault.Busy, op, "%s is in use by another process", path)
	}
	if err != nil {
		return nil, fault.Wrap(fault.Internal, op, err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		first, _ := tx.Cursor().First()
		if first != nil && tx.Bucket(formatBucket) == nil {
			return fault.New(fault.Invalid, op, "%s is of an unknown format", path)
		}
		root, err := tx.CreateBucketIfNotExists(formatBucket)
		if err != nil {
			return err
		}
		if _, err := root.CreateBucketIfNotExists(queuesBucket); err != nil {
			return err
		}
		_, err = root.CreateBucketIfNotExists(messagesBucket)
		return err
	})
	if err != nil {
		_ = db.Close()
		return nil, err
	}
	return &journal{db: db}, nil
}

// load fills the server with what the file holds.
func (j *journal) load(s *Server) error {
	now := s.options.Clock.Now()
	return j.db.View(func(tx *bolt.Tx) error {
		root := tx.Bucket(formatBucket)
		return root.Bucket(queuesBucket).ForEach(func(name, value []byte) error {
			var stored storedQueue
			if err := json.Unmarshal(value, &stored); err != nil {
				return fault.New(fault.Invalid, "sqs.New", "the kept queue %s is damaged: %v", name, err)
			}
			q := newQueue(string(name), stored.ID, stored.Attributes, stored.Created, s.random, s.options.Shuffle != 0)
			q.modified = stored.Modified
			s.queues[q.name] = q
			return root.Bucket(messagesBucket).Bucket(name).ForEach(func(_, value []byte) error {
				m := new(message)
				if err := json.Unmarshal(value, m); err != nil {
					return fault.New(fault.Invalid, "sqs.New", "a kept message of queue %s is damaged: %v", name, err)
				}
				q.add(m, now)
				s.last = max(s.last, m.Sequence)
				return nil
			})
		})
	})
}

func (j *journal) note(c change) {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.pending = append(j.pending, c)
}

func (j *journal) saveQueue(q *queue) {
	name := []byte(q.name)
	value, err := json.Marshal(storedQueue{q.id, q.created, q.modified, q.attributes})
	j.note(func(root *bolt.Bucket) error {
		if err != nil {
			return err
		}
		if _, err := root.Bucket(messagesBucket).CreateBucketIfNotExists(name); err != nil {
			return err
		}
		return root.Bucket(queuesBucket).Put(name, value)
	})
}

func (j *journal) dropQueue(q *queue) {
	name := []byte(q.name)
	j.note(func(root *bolt.Bucket) error {
		if err := root.Bucket(messagesBucket).DeleteBucket(name); err != nil {
			return err
		}
		return root.Bucket(queuesBucket).Delete(name)
	})
}

func (j *journal) save(q *queue, m *message) {
	if j == nil {
		return
	}
	name, key := []byte(q.name), key(m)
	value, err := json.Marshal(m)
	j.note(func(root *bolt.Bucket) error {
		if err != nil {
			return err
		}
		return root.Bucket(messagesBucket).Bucket(name).Put(key, value)
	})
}

func (j *journal) remove(q *queue, m *message) {
	name, key := []byte(q.name), key(m)
	j.note(func(root *bolt.Bucket) error {
		return root.Bucket(messagesBucket).Bucket(name).Delete(key)
	})
}

func key(m *message) []byte { return binary.BigEndian.AppendUint64(nil, m.Sequence) }

// commit returns when all that was noted before is durable. Callers that
// arrive while one writes share the next write.
func (j *journal) commit() error {
	if j == nil {
		return nil
	}
	j.committing.Lock()
	defer j.committing.Unlock()
	j.mu.Lock()
	changes := j.pending
	j.pending = nil
	j.mu.Unlock()
	if j.failed != nil || len(changes) == 0 {
		return j.failed
	}
	j.failed = j.db.Update(func(tx *bolt.Tx) error {
		root := tx.Bucket(formatBucket)
		for _, c := range changes {
			if err := c(root); err != nil {
				return err
			}
		}
		return nil
	})
	return j.failed
}

func (j *journal) close() error {
	if j == nil {
		return nil
	}
	return j.db.Close()
}
