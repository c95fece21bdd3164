package dynamodb

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"toolhost/pkg/fault"
)

// disk keeps tables in a file. A nil disk keeps nothing.
//
// Every save is a transaction that is synced before it returns, so that what
// was acknowledged outlives the process and the machine's power. The file has a
// bucket of schemas by table name, and for each table a bucket of items by row key.
type disk struct{ db *bbolt.DB }

var schemaBucket = []byte("schemas")

func itemBucket(table string) []byte { return []byte("items/" + table) }

// lockPatience is how long to wait for another process to let go of the file.
const lockPatience = 2 * time.Second

func openDisk(dir string) (*disk, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fault.Wrap(fault.Internal, "dynamodb.New", err)
	}
	file := filepath.Join(dir, "dynamodb.db")
	db, err := bbolt.Open(file, 0o600, &bbolt.Options{Timeout: lockPatience, NoFreelistSync: true})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, fault.New(fault.Busy, "dynamodb.New", "%s is in use by another process", file)
	}
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "dynamodb.New", fmt.Errorf("%s: %w", file, err))
	}
	return &disk{db}, nil
}

func (d *disk) close() error {
	if d == nil {
		return nil
	}
	return d.db.Close()
}

// load reads all tables.
func (d *disk) load() (map[string]*table, error) {
	tables := map[string]*table{}
	err := d.db.View(func(tx *bbolt.Tx) error {
		schemas := tx.Bucket(schemaBucket)
		if schemas == nil {
			return nil
		}
		return schemas.ForEach(func(name, text []byte) error {
			t := &table{}
			if err := json.Unmarshal(text, &t.schema); err != nil {
				return fmt.Errorf("table %s: %w", name, err)
			}
			tables[t.Name] = t
			return tx.Bucket(itemBucket(t.Name)).ForEach(func(key, text []byte) error { return t.load(key, text) })
		})
	})
	return tables, fault.Wrap(fault.Internal, "dynamodb.New", err)
}

func (t *table) load(key, text []byte) error {
	var wire map[string]wireValue
	if err := json.Unmarshal(text, &wire); err != nil {
		return fmt.Errorf("an item of table %s: %w", t.Name, err)
	}
	it, err := parseItem(wire)
	if err != nil {
		return fmt.Errorf("an item of table %s: %w", t.Name, err)
	}
	change{table: t, key: string(key), after: row{it, it.size()}}.apply()
	return nil
}

// save keeps the changes, all or none.
func (d *disk) save(changes []change) error {
	if d == nil || len(changes) == 0 {
		return nil
	}
	return d.db.Update(func(tx *bbolt.Tx) error {
		for _, c := range changes {
			items := tx.Bucket(itemBucket(c.table.Name))
			if c.after.item == nil {
				if err := items.Delete([]byte(c.key)); err != nil {
					return err
				}
				continue
			}
			text, err := json.Marshal(c.after.item)
			if err != nil {
				return err
			}
			if err := items.Put([]byte(c.key), text); err != nil {
				return err
			}
		}
		return nil
	})
}

// saveSchema keeps a new table, or a table's new schema.
func (d *disk) saveSchema(s schema) error {
	if d == nil {
		return nil
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return d.db.Update(func(tx *bbolt.Tx) error {
		schemas, err := tx.CreateBucketIfNotExists(schemaBucket)
		if err != nil {
			return err
		}
		if _, err := tx.CreateBucketIfNotExists(itemBucket(s.Name)); err != nil {
			return err
		}
		return schemas.Put([]byte(s.Name), text)
	})
}

func (d *disk) dropTable(name string) error {
	if d == nil {
		return nil
	}
	return d.db.Update(func(tx *bbolt.Tx) error {
		if err := tx.DeleteBucket(itemBucket(name)); err != nil {
			return err
		}
		return tx.Bucket(schemaBucket).Delete([]byte(name))
	})
}
