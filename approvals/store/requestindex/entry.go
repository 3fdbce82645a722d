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
}

// The fields of an entry, in the order in which it is stored.
const (
	fieldStatus = iota
	fieldKind
	fieldRisk
	fieldSession
	fieldRun
	fieldTenant // without keys: a filter may have several
	fields
)

func entryOf(r *approvals.Request, revision uint64, at time.Time) *entry {
	values := [fields]string{string(r.Status), string(r.Kind), string(r.RiskLevel), r.SessionID, r.RunID, r.Principal.Tenant}
	return &entry{revision, at.Unix(), true, values}
}

// query is a filter of lists as entries are compared with it.
type query struct {
	fields  [fields]string // "": any value
	tenants approvals.TenantScope
	search  approvals.Search
	filter  *approvals.FilterQuery // of the search
	cursor  string
}

func newQuery(f *approvals.Filter) *query {
	search := approvals.NewSearch(f.Text)
	return &query{
		fields:  [fields]string{string(f.Status), string(f.Kind), string(f.Risk), f.SessionID, f.RunID},
		tenants: f.Tenants,
		search:  search,
		filter:  search.FilterQuery(),
		cursor:  f.Cursor,
	}
}

// selects reports whether the query selects the fields of an entry.
func (q *query) selects(e *entry) bool {
	for i, want := range q.fields {
		if want != "" && want != e.fields[i] {
			return false
		}
	}
	return q.tenants.Has(e.fields[fieldTenant])
}

// selectsStored is selects for a stored entry. It allocates nothing: a search may look at very many.
func (q *query) selectsStored(b []byte) (bool, error) {
	_, rest, err := parseHead(b)
	if err != nil {
		return false, err
	}
	var value []byte
	for _, want := range q.fields {
		if value, rest, err = parseValue(rest); err != nil {
			return false, err
		}
		if want != "" && want != string(value) {
			return false, nil
		}
	}
	return q.hasTenant(value), nil // that of the last field
}

// hasTenant reports whether a tenant is among those of the query.
func (q *query) hasTenant(tenant []byte) bool {
	return !q.tenants.Limited() || slices.ContainsFunc(q.tenants, func(wanted string) bool { return wanted == string(tenant) })
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
	e, b, err := parseHead(b)
	if err != nil {
		return nil, err
	}
	for i := range e.fields {
		var value []byte
		if value, b, err = parseValue(b); err != nil {
			return nil, err
		}
		e.fields[i] = string(value)
	}
	return &e, nil
}

// parseHead checks a stored entry and reads its head. The rest are the fields.
func parseHead(b []byte) (e entry, rest []byte, err error) {
	end := len(b) - crc32.Size
	if end < 0 || binary.BigEndian.Uint32(b[end:]) != crc32.Checksum(b[:end], checksums) {
		return e, nil, errEntry
	}
	b = b[:end]
	n, m := 0, 0
	if e.revision, n = binary.Uvarint(b); n <= 0 {
		return e, nil, errEntry
	}
	if e.at, m = binary.Varint(b[n:]); m <= 0 || len(b) == n+m {
		return e, nil, errEntry
	}
	e.open = b[n+m] == 1
	return e, b[n+m+1:], nil
}

// parseValue reads the value of the next field.
func parseValue(b []byte) (value, rest []byte, err error) {
	size, n := binary.Uvarint(b)
	if n <= 0 || uint64(len(b)-n) < size {
		return nil, nil, errEntry
	}
	return b[n : n+int(size)], b[n+int(size):], nil
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
		if value != "" && field != fieldTenant {
			keys = append(keys, append(fieldPrefix(field, value), id...))
		}
	}
	return keys
}

func has(keys [][]byte, key []byte) bool {
	return slices.ContainsFunc(keys, func(other []byte) bool { return bytes.Equal(other, key) })
}
