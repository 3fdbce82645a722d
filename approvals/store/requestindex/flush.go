package requestindex

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"
	bolt "go.etcd.io/bbolt"
)

const (
	// flushInterval is the time between two writes of the changes. Changes that a crash loses are
	// read again from the bucket.
	flushInterval = time.Second
	// flushSize is the number of changes that are written without the wait for the interval.
	flushSize = 4096
	// fillPercent is the part of a page that is used. Most keys are added in order.
	fillPercent = 0.9
	// expireBatch is the number of old requests that are removed in one write.
	expireBatch = 1000
)

func (x *Index) flushRegularly() {
	ticker := time.NewTicker(flushInterval)
	defer ticker.Stop()
	for {
		wake := x.wake
		if x.failing {
			wake = nil // many changes are left, and each one more would be a reason
		}
		select {
		case <-x.stop:
			return
		case <-ticker.C:
		case <-wake:
		}
		err := x.flush()
		if failing := err != nil; failing != x.failing {
			if x.failing = failing; failing {
				x.log.Warn("failed to write the index of the requests; trying again", "error", err)
			}
		}
	}
}

// flush writes the changes to the file. They stay in memory until then.
func (x *Index) flush() error {
	x.flushing.Lock()
	defer x.flushing.Unlock()
	x.mu.RLock()
	changed, groups, covered := maps.Clone(x.changed), maps.Clone(x.groups), x.covered
	clean := len(changed) == 0 && covered == x.written
	x.mu.RUnlock()
	if clean {
		return nil
	}
	err := x.use(func() error {
		return x.db.Update(func(tx *bolt.Tx) error { return write(tx, changed, groups, covered) })
	})
	if err != nil {
		return fmt.Errorf("write the index of the requests: %w", err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.written = covered
	x.changed = without(x.changed, changed)
	x.groups = without(x.groups, groups)
	return nil
}

// without returns the changes but those that were written. A map keeps the memory of deleted keys.
func without[T any](changed, written map[string]*T) map[string]*T {
	rest := map[string]*T{}
	for id, change := range changed {
		if flushed, exists := written[id]; !exists || flushed != change {
			rest[id] = change
		}
	}
	return rest
}

// write writes changes and the covered revision. Keys are written in their order.
func write(tx *bolt.Tx, changed map[string]*entry, groups map[string]*group, covered uint64) error {
	for _, name := range [][]byte{bucketRequests, bucketFields, bucketOpen} {
		tx.Bucket(name).FillPercent = fillPercent
	}
	for _, id := range slices.Sorted(maps.Keys(changed)) {
		if err := writeEntry(tx, id, changed[id]); err != nil {
			return err
		}
	}
	for _, first := range slices.Sorted(maps.Keys(groups)) {
		if err := tx.Bucket(bucketGroups).Put([]byte(first), groups[first].encode()); err != nil {
			return err
		}
	}
	return tx.Bucket(bucketMeta).Put(keyCovered, binary.BigEndian.AppendUint64(nil, covered))
}

// writeEntry replaces the entry of a request; nil removes it.
func writeEntry(tx *bolt.Tx, id string, e *entry) error {
	requests, fields := tx.Bucket(bucketRequests), tx.Bucket(bucketFields)
	old, err := parseEntry(requests.Get([]byte(id)))
	if err != nil {
		return err
	}
	var before, after [][]byte
	if old != nil {
		before = old.keys(id)
	}
	if e != nil {
		after = e.keys(id)
	}
	for _, key := range before {
		if !has(after, key) {
			if err := fields.Delete(key); err != nil {
				return err
			}
		}
	}
	for _, key := range after {
		if !has(before, key) {
			if err := fields.Put(key, []byte{}); err != nil {
				return err
			}
		}
	}
	if e == nil || !e.open {
		err = tx.Bucket(bucketOpen).Delete([]byte(id))
	} else {
		err = tx.Bucket(bucketOpen).Put([]byte(id), []byte{})
	}
	if err != nil {
		return err
	}
	if e == nil {
		return requests.Delete([]byte(id))
	}
	return requests.Put([]byte(id), e.encode())
}

// Expire removes the requests whose last revision was written before a time and is before the first
// revision of the bucket: the bucket has deleted them by age. The time alone may be wrong. It removes
// some at a time.
func (x *Index) Expire(before time.Time, first uint64) error {
	from, end := "", ulidAt(before) // a request that was created later was also written later
	if err := x.flush(); err != nil {
		return err
	}
	for {
		old, last, err := x.older(from, end, before, first)
		if err != nil {
			return fmt.Errorf("find old requests in the index: %w", err)
		}
		for _, id := range old {
			x.Remove(id)
		}
		if err := x.flush(); err != nil {
			return err
		}
		if last == "" {
			return x.removeGroups()
		}
		from = last
	}
}

// older returns some ids between from and end of requests whose last revision was written before a
// time and is before another one. last is the last id that it has read, "" if there are no more.
func (x *Index) older(from, end string, before time.Time, first uint64) (old []string, last string, err error) {
	err = x.view(func(tx *bolt.Tx) error {
		cursor := tx.Bucket(bucketRequests).Cursor()
		key, value := cursor.Seek([]byte(from))
		for ; key != nil && string(key) < end; key, value = cursor.Next() {
			e, err := parseEntry(value)
			if err != nil {
				return err
			}
			if string(key) > from && e.at < before.Unix() && e.revision < first {
				old = append(old, string(key))
			}
			if len(old) == expireBatch {
				last = string(key)
				return nil
			}
		}
		return nil
	})
	return old, last, err
}

// ulidAt returns the first ULID of a time.
func ulidAt(t time.Time) string {
	var id ulid.ULID
	if err := id.SetTime(ulid.Timestamp(t)); err != nil {
		return ""
	}
	return id.String()
}
