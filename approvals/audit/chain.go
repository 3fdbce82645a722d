// Package audit keeps the log of events as a chain: each entry contains the SHA-256 of itself
// and of the entry before it, so that changes, gaps and another order are detected.
//
// # Format
//
// An entry is one JSON object, an [approvals.Event], whose last members are "seq", "prev_hash"
// and "hash". The hash is the SHA-256, in hex, of the entry's bytes up to and
// without `,"hash":`. "prev_hash" is the hash of the entry before, "seq" its
// sequence plus one. Any language verifies it by cutting the text and hashing.
//
// A chain alone does not show that its newest entries were removed, or that it was rewritten
// from some entry to the end. A [Keeper] signs its end at intervals, and keeps what it has
// signed outside the store. docs/audit.md describes both forms.
//
// Read chain.go and log.go (writing), verify.go and export.go (reading), then key.go and
// keeper.go (checkpoints).
package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/heldcall/heldcall/approvals"
)

// Entry is one link of the chain as it is stored.
type Entry struct {
	Seq   uint64          // position in the log, from 1
	Event approvals.Event // decoded from Data; [Verify] ignores it
	Data  []byte          // the exact bytes; nil in a [Head] of an empty log
}

// Head is the end of the chain.
type Head struct {
	Seq  uint64
	Hash string // of the last entry, "" if there is none
}

// unsealed is an event that has no place in the chain yet.
type unsealed struct {
	event *approvals.Event
	text  []byte // its JSON up to the members that depend on the place
}

// The last members of an entry: without a place, and with it.
const (
	noPlace    = `"seq":0,"prev_hash":"","hash":""}`
	hashMember = `,"hash":`
	placeSize  = 256 // more than the members with it need
)

// encode encodes an event that has no place in the chain yet.
func encode(e approvals.Event) (unsealed, error) {
	e.Seq, e.PrevHash, e.Hash = 0, "", ""
	text, err := approvals.EncodeJSON(&e)
	if err != nil {
		return unsealed{}, fmt.Errorf("encode event %s: %w", e.ID, err)
	}
	return unsealed{&e, bytes.TrimSuffix(text, []byte(noPlace))}, nil
}

// size returns the size of the entry without its place, in bytes.
func (u unsealed) size() int { return len(u.text) + len(noPlace) }

// seal returns the entry of the event after a head.
func (u unsealed) seal(head Head) (Entry, error) {
	e := *u.event
	e.Seq, e.PrevHash = head.Seq+1, head.Hash
	prev, err := approvals.EncodeJSON(e.PrevHash)
	if err != nil {
		return Entry{}, fmt.Errorf("encode the hash before event %s: %w", e.ID, err)
	}
	data := append(make([]byte, 0, len(u.text)+placeSize), u.text...)
	data = strconv.AppendUint(append(data, `"seq":`...), e.Seq, 10)
	data = append(append(data, `,"prev_hash":`...), prev...)
	e.Hash = hashOf(data)
	data = append(strconv.AppendQuote(append(data, hashMember...), e.Hash), '}')
	return Entry{Seq: e.Seq, Event: e, Data: data}, nil
}

func hashOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// Parse parses a stored entry. Its error is a [*BrokenError].
func Parse(seq uint64, data []byte) (Entry, error) {
	entry := Entry{Seq: seq, Data: data}
	if err := json.Unmarshal(data, &entry.Event); err != nil {
		return entry, &BrokenError{seq, "it is not an event: " + err.Error()}
	}
	return entry, nil
}

// ParseAny parses a stored entry. One that is not an event, since somebody else has written
// it, has no event.
func ParseAny(seq uint64, data []byte) Entry {
	entry := Entry{Seq: seq, Data: data}
	if json.Unmarshal(data, &entry.Event) != nil {
		entry.Event = approvals.Event{}
	}
	return entry
}

// Read parses an entry that is not in its store. Its error is a [*BrokenError] for the
// expected sequence; else the entry has the sequence that it contains.
func Read(data []byte, expected uint64) (Entry, error) {
	entry, err := Parse(expected, data)
	if err == nil {
		entry.Seq = entry.Event.Seq
	}
	return entry, err
}
