package requestindex

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	bolt "go.etcd.io/bbolt"

	"github.com/heldcall/heldcall/approvals"
)

// Search returns the ids of a page, newest first, and whether there are more. Large requests, and those that have just
// been closed, may lack words of the text.
func (x *Index) Search(f approvals.Filter) (ids []string, more bool, err error) {
	q := newQuery(&f)
	changed, texts := x.changes(q.search.ByWords())
	err = x.view(func(tx *bolt.Tx) error {
		for id, err := range found(tx, q, changed, texts) {
			if err != nil {
				return err
			}
			if more = len(ids) == f.Limit; more {
				return nil
			}
			ids = append(ids, id)
		}
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("search the index of the requests: %w: %w", approvals.ErrStoreUnavailable, err)
	}
	return ids, more, nil
}

// changes returns the changes that are not in the file yet, and their texts by id if they are wanted. The text of a
// request that has been closed may be missing.
func (x *Index) changes(withTexts bool) (changed map[string]*entry, texts map[string]string) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	texts = map[string]string{}
	if withTexts {
		for _, g := range x.groups {
			for _, t := range g.texts {
				texts[t.id] = t.text
			}
		}
	}
	return maps.Clone(x.changed), texts
}

// found yields the ids that a query may select, newest first, from the changes and from the file.
func found(tx *bolt.Tx, q *query, changed map[string]*entry, texts map[string]string) iter.Seq2[string, error] {
	fresh := q.selectChanged(changed, texts)
	return func(yield func(string, error) bool) {
		for id, err := range stored(tx, q) {
			for ; len(fresh) > 0 && fresh[0] > id && err == nil; fresh = fresh[1:] {
				if !yield(fresh[0], nil) {
					return
				}
			}
			if _, replaced := changed[id]; !replaced && !yield(id, err) {
				return
			}
		}
		for _, id := range fresh {
			if !yield(id, nil) {
				return
			}
		}
	}
}

// selectChanged returns the ids of the changes that the query may select, newest first.
func (q *query) selectChanged(changed map[string]*entry, texts map[string]string) (ids []string) {
	for id, e := range changed {
		if e != nil && (q.cursor == "" || id < q.cursor) && q.selects(e) && q.search.FindsText(texts[id]) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return strings.Compare(b, a) })
	return ids
}

// stored yields the ids in the file that a query may select, newest first. It reads the groups if there are words,
// else the keys of the field by which, as a rule, the fewest requests are selected.
func stored(tx *bolt.Tx, q *query) iter.Seq2[string, error] {
	if q.search.ByWords() {
		return inGroups(tx, q)
	}
	prefix, others := q.narrowest()
	requests, cursor := tx.Bucket(bucketRequests), tx.Bucket(bucketRequests).Cursor()
	if prefix != nil {
		cursor = tx.Bucket(bucketFields).Cursor()
	}
	return func(yield func(string, error) bool) {
		for key, value := last(cursor, prefix, q.cursor); key != nil && bytes.HasPrefix(key, prefix); key, value = cursor.Prev() {
			id := key[len(prefix):]
			if others {
				if prefix != nil {
					value = requests.Get(id)
				}
				selected, err := q.selectsStored(value)
				if err != nil {
					yield("", fmt.Errorf("request %s: %w", id, err))
					return
				}
				if !selected {
					continue
				}
			}
			if !yield(string(id), nil) {
				return
			}
		}
	}
}

// narrowest returns the prefix of the keys to read, nil for all requests, and whether the entries must be
// compared too.
func (q *query) narrowest() (prefix []byte, others bool) {
	set := int(boolByte(q.tenants.Limited()))
	for _, value := range q.fields {
		set += int(boolByte(value != ""))
	}
	order := []int{fieldRun, fieldSession, fieldStatus, fieldKind, fieldRisk}
	if q.fields[fieldStatus] == string(approvals.StatusPending) {
		order = []int{fieldStatus}
	}
	for _, field := range order {
		if value := q.fields[field]; value != "" {
			return fieldPrefix(field, value), set > 1 || len(value) > longestValue
		}
	}
	return nil, set > 0
}

// last moves a cursor to the last key that has a prefix and then an id before the given one ("": any id).
func last(cursor *bolt.Cursor, prefix []byte, before string) (key, value []byte) {
	end := []byte(before)
	if before == "" {
		end = []byte{0xff}
	}
	if key, _ = cursor.Seek(append(bytes.Clone(prefix), end...)); key == nil {
		return cursor.Last()
	}
	return cursor.Prev()
}

// OpenRequests returns the ids of the requests that are not closed, in order, and the lowest of their revisions.
func (x *Index) OpenRequests() (ids []string, first uint64, err error) {
	changed, _ := x.changes(false)
	first = math.MaxUint64
	add := func(id string, e *entry) {
		if e != nil && e.open {
			ids, first = append(ids, id), min(first, e.revision)
		}
	}
	err = x.view(func(tx *bolt.Tx) error {
		entries := tx.Bucket(bucketRequests)
		return tx.Bucket(bucketOpen).ForEach(func(key, _ []byte) error {
			if _, replaced := changed[string(key)]; replaced {
				return nil
			}
			e, err := parseEntry(entries.Get(key))
			add(string(key), e)
			return err
		})
	})
	if err != nil {
		return nil, 0, fmt.Errorf("read the open requests of the index: %w: %w", approvals.ErrStoreUnavailable, err)
	}
	for id, e := range changed {
		add(id, e)
	}
	slices.Sort(ids)
	return ids, first, nil
}
