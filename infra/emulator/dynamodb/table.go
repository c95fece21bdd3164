package dynamodb

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/tidwall/btree"
)

// schema is what is kept of a table beside its items.
type schema struct {
	Name    string
	ID      string
	Hash    string // attribute of the partition key
	Range   string // attribute of the sort key, or ""
	Created time.Time
	Expiry  string // the time to live attribute, or "" where it is off
}

// table is a table in memory. The server's lock guards it.
type table struct {
	schema
	rows btree.Map[string, row]
	size int // of all items
}

// row is a stored item. An item is never changed, only replaced.
type row struct {
	item item
	size int
}

// change is one row's step from before to after; an item of nil is no row.
type change struct {
	table         *table
	key           string
	before, after row
}

// apply makes the change in memory.
func (c change) apply() {
	c.table.size += c.after.size - c.before.size
	if c.after.item == nil {
		c.table.rows.Delete(c.key)
		return
	}
	c.table.rows.Set(c.key, c.after)
}

// endOfPartition sorts behind every range key: no UTF-8 text has this byte.
const endOfPartition = "\xff"

// after is the first text behind s.
func after(s string) string { return s + "\x00" }

// partitionKey is how all rows of a partition begin, and no others. As in
// DynamoDB, partitions stand in no order that a user could rely on.
func partitionKey(hash string) string {
	sum := sha256.Sum256([]byte(hash))
	b := binary.AppendUvarint(sum[:8], uint64(len(hash)))
	return string(b) + hash
}

// rowKey is where the item with this key stands among the rows: rows of one
// partition are together, in the order of their range keys.
func (t *table) rowKey(key item) string {
	k := partitionKey(key[t.Hash].text)
	if t.Range != "" {
		k += key[t.Range].text
	}
	return k
}

// keyNames are the attributes of the primary key.
func (t *table) keyNames() []string {
	if t.Range == "" {
		return []string{t.Hash}
	}
	return []string{t.Hash, t.Range}
}

// keyOf is the primary key of an item.
func (t *table) keyOf(it item) item {
	key := item{}
	for _, name := range t.keyNames() {
		key[name] = it[name]
	}
	return key
}

// checkItemKey checks the key attributes of an item to be put.
func (t *table) checkItemKey(it item) error {
	for _, name := range t.keyNames() {
		v, has := it[name]
		if !has {
			return invalidParameter("Missing the key %s in the item", name)
		}
		if v.kind != kindS {
			return invalidParameter("Type mismatch for key %s expected: S actual: %s", name, v.kind)
		}
		if err := checkKeyText(name, v.text, name == t.Hash); err != nil {
			return err
		}
	}
	return nil
}

// checkKey checks that key is a whole primary key and nothing more.
func (t *table) checkKey(key item) error {
	names := t.keyNames()
	if len(key) != len(names) {
		return invalid("The provided key element does not match the schema")
	}
	for _, name := range names {
		if v, has := key[name]; !has || v.kind != kindS {
			return invalid("The provided key element does not match the schema")
		}
	}
	return t.checkItemKey(key)
}

func checkKeyText(name, text string, isHash bool) error {
	switch {
	case text == "":
		return invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: %s", name)
	case isHash && len(text) > maxHashKeySize:
		return invalidParameter("Size of hashkey has exceeded the maximum size limit of %d bytes", maxHashKeySize)
	case !isHash && len(text) > maxRangeKeySize:
		return invalidParameter("Aggregated size of all range keys has exceeded the size limit of %d bytes", maxRangeKeySize)
	}
	return nil
}
