package requestindex

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"slices"

	"github.com/klauspost/compress/s2"
	bolt "go.etcd.io/bbolt"

	"github.com/heldcall/heldcall/approvals"
)

// group is the requests from one id on to the next group. A search by words looks at the filter of a
// group first, and reads the texts of its requests only if it may find one of them.
//
// Its stored form is a checksum, the filter, the ids, and the texts in the same order, compressed.
type group struct {
	filter approvals.SearchFilter
	texts  []text // by id
}

// text is the [approvals.SearchText] of a request: "" if it is large.
type text struct{ id, text string }

func compareIDs(t text, id string) int { return cmp.Compare(t.id, id) }

const (
	// groupRequests is the number of requests of a group. More have all short sequences of digits.
	groupRequests = 16
	// maxGroupTexts is the size in bytes beyond which a group is damaged.
	maxGroupTexts = 64 << 20
)

// firstGroup is the id with which the first group begins: it is before all others.
const firstGroup = "\x00"

// has reports whether the group has this text of a request.
func (g *group) has(id, searchText string) bool {
	at, found := slices.BinarySearchFunc(g.texts, id, compareIDs)
	return found && g.texts[at].text == searchText
}

// with returns the group with the text of a request.
func (g *group) with(id, searchText string) *group {
	texts := slices.Clone(g.texts)
	at, found := slices.BinarySearchFunc(texts, id, compareIDs)
	if !found {
		texts = slices.Insert(texts, at, text{})
	}
	texts[at] = text{id, searchText}
	return &group{g.filter.With(searchText), texts}
}

// split returns two groups: the texts before an index, and the others.
func (g *group) split(at int) (left, right *group) {
	return groupOf(g.texts[:at]), groupOf(g.texts[at:])
}

// groupOf returns the group of some texts.
func groupOf(texts []text) *group {
	g := &group{texts: slices.Clone(texts)}
	for _, t := range texts {
		g.filter = g.filter.With(t.text)
	}
	return g
}

// addLocked adds the text of a request to its group, and splits a group that is too large: before the request if that is
// its last one, so that groups are full although ids ascend. A damaged group stays: searches fail, and the next start
// makes the index again.
func (x *Index) addLocked(id, searchText string) {
	first, before, err := x.groupLocked(id)
	if err != nil {
		x.logRead(id, err)
		return
	}
	if before.has(id, searchText) { // what has changed is not searched, as the result of a call
		return
	}
	g := before.with(id, searchText)
	if len(g.texts) == 1 || (len(g.texts) <= groupRequests && !g.filter.HalfSet()) {
		x.groups[first] = g
		return
	}
	at := len(g.texts) / 2
	if end := len(g.texts) - 1; g.texts[end].id == id {
		at = end
	}
	left, right := g.split(at)
	x.groups[first], x.groups[right.texts[0].id] = left, right
}

// groupLocked returns the group of an id and the id with which it begins.
func (x *Index) groupLocked(id string) (first string, g *group, err error) {
	first, g = firstGroup, &group{}
	err = x.view(func(tx *bolt.Tx) (err error) {
		key, value := last(tx.Bucket(bucketGroups).Cursor(), nil, id+"\x00")
		if key == nil {
			return nil
		}
		if first = string(key); x.groups[first] == nil {
			g, err = parseGroup(value)
		}
		return err
	})
	for key, changed := range x.groups {
		if key >= first && key <= id {
			first, g = key, changed
		}
	}
	return first, g, err
}

// encode returns the stored form of the group.
func (g *group) encode() []byte {
	b := append(make([]byte, crc32.Size), g.filter...)
	b = binary.AppendUvarint(b, uint64(len(g.texts)))
	var texts []byte
	for _, t := range g.texts {
		b = appendString(b, t.id)
		texts = appendString(texts, t.text)
	}
	b = append(b, s2.Encode(nil, texts)...)
	binary.BigEndian.PutUint32(b, crc32.Checksum(b[crc32.Size:], checksums))
	return b
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var errGroup = errors.New("a group of the index cannot be read")

// storedFilter returns the filter of a stored group, and does not read the rest.
func storedFilter(b []byte) (approvals.SearchFilter, error) {
	if len(b) < crc32.Size+approvals.SearchFilterBytes {
		return nil, errGroup
	}
	return b[crc32.Size:][:approvals.SearchFilterBytes], nil
}

// storedIDs returns the ids of a stored group, in order, and its compressed texts.
func storedIDs(b []byte) (ids []string, texts []byte, err error) {
	if _, err := storedFilter(b); err != nil || binary.BigEndian.Uint32(b) != crc32.Checksum(b[crc32.Size:], checksums) {
		return nil, nil, errGroup
	}
	b = b[crc32.Size+approvals.SearchFilterBytes:]
	count, n := binary.Uvarint(b)
	if n <= 0 {
		return nil, nil, errGroup
	}
	for b = b[n:]; uint64(len(ids)) < count; {
		var id []byte
		if id, b, err = parseValue(b); err != nil {
			return nil, nil, errGroup
		}
		ids = append(ids, string(id))
	}
	return ids, b, nil
}

// parseGroup reads a stored group.
func parseGroup(b []byte) (*group, error) {
	ids, compressed, err := storedIDs(b)
	if err != nil {
		return nil, err
	}
	if size, err := s2.DecodedLen(compressed); err != nil || size > maxGroupTexts {
		return nil, errors.Join(errGroup, err)
	}
	rest, err := s2.Decode(nil, compressed)
	if err != nil {
		return nil, errors.Join(errGroup, err)
	}
	filter, _ := storedFilter(b)
	g := &group{slices.Clone(filter), make([]text, len(ids))} // the file may change
	for i, id := range ids {
		var value []byte
		if value, rest, err = parseValue(rest); err != nil {
			return nil, errGroup
		}
		g.texts[i] = text{id, string(value)}
	}
	return g, nil
}

// inGroups yields the ids in the file that a query with words selects, newest first.
func inGroups(tx *bolt.Tx, q *query) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		groups := tx.Bucket(bucketGroups).Cursor()
		for first, value := last(groups, nil, q.cursor); first != nil; first, value = groups.Prev() {
			ids, err := inGroup(tx, value, q)
			if err != nil {
				yield("", fmt.Errorf("group %q: %w", first, err))
				return
			}
			for _, id := range ids {
				if !yield(id, nil) {
					return
				}
			}
		}
	}
}

// inGroup returns the ids of a stored group that a query with words selects, newest first.
func inGroup(tx *bolt.Tx, value []byte, q *query) (ids []string, err error) {
	filter, err := storedFilter(value)
	if err != nil || !q.filter.May(filter) {
		return nil, err
	}
	g, err := parseGroup(value)
	if err != nil {
		return nil, err
	}
	for _, t := range slices.Backward(g.texts) {
		if (q.cursor != "" && t.id >= q.cursor) || !q.search.FindsText(t.text) {
			continue
		}
		stored := tx.Bucket(bucketRequests).Get([]byte(t.id))
		if stored == nil { // it was removed
			continue
		}
		selected, err := q.selectsStored(stored)
		if err != nil {
			return nil, fmt.Errorf("request %s: %w", t.id, err)
		}
		if selected {
			ids = append(ids, t.id)
		}
	}
	return ids, nil
}

// groupReader returns the groups of ascending ids, to check them.
type groupReader struct {
	groups      *bolt.Cursor
	next, value []byte   // the next group
	ids         []string // of the group
}

func newGroupReader(tx *bolt.Tx) *groupReader {
	g := &groupReader{groups: tx.Bucket(bucketGroups).Cursor()}
	g.next, g.value = g.groups.First()
	return g
}

// check fails if the group of a request is damaged or does not contain it.
func (g *groupReader) check(id []byte) (err error) {
	for ; g.next != nil && string(g.next) <= string(id); g.next, g.value = g.groups.Next() {
		if g.ids, _, err = storedIDs(g.value); err != nil {
			return fmt.Errorf("group %q: %w", g.next, err)
		}
	}
	if _, found := slices.BinarySearch(g.ids, string(id)); !found {
		return fmt.Errorf("the request %s is in no group", id)
	}
	return nil
}

// removeGroups removes the groups before the first request.
func (x *Index) removeGroups() error {
	x.flushing.Lock()
	defer x.flushing.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.use(func() error {
		return x.db.Update(func(tx *bolt.Tx) error {
			first, _ := tx.Bucket(bucketRequests).Cursor().First()
			groups := tx.Bucket(bucketGroups).Cursor()
			for group, _ := groups.First(); group != nil; group, _ = groups.First() {
				next, _ := groups.Next()
				if next == nil || string(next) > string(first) || x.changedBefore(string(next)) {
					return nil
				}
				if err := tx.Bucket(bucketGroups).Delete(group); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// changedBefore reports whether there is a change of a request before an id.
func (x *Index) changedBefore(id string) bool {
	for other := range x.changed {
		if other < id {
			return true
		}
	}
	return false
}
