package requestindex

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// entry is what the index has of a request.
type entry struct {
	revision uint64
	at       int64 // when the revision was written, unix seconds
	open     bool  // not closed: something may wait for the request
	fields   [fields]string
	texts    approvals.SearchFilter
}

// The fields of an entry, in the order in which it is stored.
const (
	fieldStatus = iota
	fieldKind
	fieldRisk
	fieldSession
	fieldRun
	fields
)

func entryOf(r *approvals.Request, revision uint64, at time.Time) *entry {
	values := [fields]string{string(r.Status), string(r.Kind), string(r.RiskLevel), r.SessionID, r.RunID}
	return &entry{revision, at.Unix(), true, values, approvals.NewSearchFilter(r)}
}

// matches reports whether a filter may select the request. It ignores Text, for which there is the search, and Cursor.
func (e *entry) matches(f *approvals.Filter, search approvals.Search) bool {
	return search.May(e.texts) && f.Matches(&approvals.Request{
		Status: approvals.Status(e.fields[fieldStatus]), Kind: approvals.Kind(e.fields[fieldKind]), RiskLevel: approvals.Risk(e.fields[fieldRisk]),
		SessionID: e.fields[fieldSession], RunID: e.fields[fieldRun],
	})
}

// encode returns the stored form of the entry, with a checksum. parseEntry reads it.
func (e *entry) encode() []byte {
	b := binary.AppendUvarint(nil, e.revision)
	b = binary.AppendVarint(b, e.at)
	b = append(b, boolByte(e.open))
	for _, value := range e.fields {
		b = binary.AppendUvarint(b, uint64(len(value)))
		b = append(b, value...)
	}
	b = append(b, e.texts...)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, checksums))
}

var checksums = crc32.MakeTable(crc32.Castagnoli)

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}

var errEntry = errors.New("an entry of the index cannot be read")

// parseEntry reads a stored entry, nil for nil.
func parseEntry(b []byte) (*entry, error) {
	if b == nil {
		return nil, nil
	}
	end := len(b) - crc32.Size
	if end < 0 || binary.BigEndian.Uint32(b[end:]) != crc32.Checksum(b[:end], checksums) {
		return nil, errEntry
	}
	b = b[:end]
	e, n, m := &entry{}, 0, 0
	if e.revision, n = binary.Uvarint(b); n <= 0 {
		return nil, errEntry
	}
	if e.at, m = binary.Varint(b[n:]); m <= 0 || len(b) == n+m {
		return nil, errEntry
	}
	e.open, b = b[n+m] == 1, b[n+m+1:]
	for i := range e.fields {
		size, n := binary.Uvarint(b)
		if n <= 0 || uint64(len(b)-n) < size {
			return nil, errEntry
		}
		e.fields[i], b = string(b[n:n+int(size)]), b[n+int(size):]
	}
	e.texts = bytes.Clone(b) // the file may change
	return e, nil
}

// longestValue is the length of the longest value that keys contain. Of a longer one they contain the hash.
const longestValue = 128

// fieldPrefix returns the prefix of the keys of the requests with a value of a field.
func fieldPrefix(field int, value string) []byte {
	kind := byte(0)
	if len(value) > longestValue {
		sum := sha256.Sum256([]byte(value))
		kind, value = 1, string(sum[:])
	}
	return append(append([]byte{byte(field), kind, byte(len(value))}, value...), 0)
}

// keys returns the keys of a request in the bucket of fields.
func (e *entry) keys(id string) (keys [][]byte) {
	for field, value := range e.fields {
		if value != "" {
			keys = append(keys, append(fieldPrefix(field, value), id...))
		}
	}
	return keys
}

func has(keys [][]byte, key []byte) bool {
	return slices.ContainsFunc(keys, func(other []byte) bool { return bytes.Equal(other, key) })
}
