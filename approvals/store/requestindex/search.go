package requestindex

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	bolt "go.etcd.io/bbolt"

	"github.com/heldcall/heldcall/approvals"
)

// Search returns the ids of a page, newest first, and whether there are more. The requests may lack words of the text.
func (x *Index) Search(f approvals.Filter) (ids []string, more bool, err error) {
	changed := x.changes()
	err = x.view(func(tx *bolt.Tx) error {
		for id, err := range found(tx, &f, changed) {
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

// changes returns the changes that are not in the file yet.
func (x *Index) changes() map[string]*entry {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return maps.Clone(x.changed)
}

// found yields the ids that a filter may select, newest first, from the changes and from the file.
func found(tx *bolt.Tx, f *approvals.Filter, changed map[string]*entry) iter.Seq2[string, error] {
	search := approvals.NewSearch(f.Text)
	var fresh []string // descending
	for id, e := range changed {
		if e != nil && (f.Cursor == "" || id < f.Cursor) && e.matches(f, search) {
			fresh = append(fresh, id)
		}
	}
	slices.SortFunc(fresh, func(a, b string) int { return strings.Compare(b, a) })
	return func(yield func(string, error) bool) {
		for id, err := range stored(tx, f, search) {
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

// stored yields the ids in the file that a filter may select, newest first. It reads the keys of the
// field by which, as a rule, the fewest requests are selected.
func stored(tx *bolt.Tx, f *approvals.Filter, search approvals.Search) iter.Seq2[string, error] {
	prefix, others := narrowest(f)
	requests, cursor := tx.Bucket(bucketRequests), tx.Bucket(bucketRequests).Cursor()
	if prefix != nil {
		cursor = tx.Bucket(bucketFields).Cursor()
	}
	return func(yield func(string, error) bool) {
		for key, value := last(cursor, prefix, f.Cursor); key != nil && bytes.HasPrefix(key, prefix); key, value = cursor.Prev() {
			id := key[len(prefix):]
			if others {
				if prefix != nil {
					value = requests.Get(id)
				}
				e, err := parseEntry(value)
				if err != nil || e == nil {
					yield("", fmt.Errorf("request %s: %w", id, errEntry))
					return
				}
				if !e.matches(f, search) {
					continue
				}
			}
			if !yield(string(id), nil) {
				return
			}
		}
	}
}

// narrowest returns the prefix of the keys to read for a filter, nil for all requests, and
// whether the entries must be compared too.
func narrowest(f *approvals.Filter) (prefix []byte, others bool) {
	values := [fields]string{string(f.Status), string(f.Kind), string(f.Risk), f.SessionID, f.RunID}
	set := 0
	for _, value := range values {
		set += int(boolByte(value != ""))
	}
	order := []int{fieldRun, fieldSession, fieldStatus, fieldKind, fieldRisk}
	if f.Status == approvals.StatusPending {
		order = []int{fieldStatus}
	}
	for _, field := range order {
		if values[field] != "" {
			return fieldPrefix(field, values[field]), set > 1 || f.Text != "" || len(values[field]) > longestValue
		}
	}
	return nil, f.Text != ""
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

// OpenRequests returns the ids of the requests that are not closed, in order.
func (x *Index) OpenRequests() (ids []string, err error) {
	changed := x.changes()
	err = x.view(func(tx *bolt.Tx) error {
		return tx.Bucket(bucketOpen).ForEach(func(key, _ []byte) error {
			if _, replaced := changed[string(key)]; !replaced {
				ids = append(ids, string(key))
			}
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read the open requests of the index: %w: %w", approvals.ErrStoreUnavailable, err)
	}
	for id, e := range changed {
		if e != nil && e.open {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}
