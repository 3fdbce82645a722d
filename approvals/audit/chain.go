// Package audit keeps the log of everything that happened as a chain: each entry
// holds the SHA-256 of itself and of the entry before it, so that a change, a
// gap or a reordering shows.
//
// # Format
//
// An entry is one JSON object, an [approvals.Event], whose last member is
// "hash". The hash is the SHA-256, in hex, of the entry's bytes up to and
// without `,"hash":`. "prev_hash" is the hash of the entry before, "seq" its
// sequence plus one. Any language verifies it by cutting the text and hashing.
//
// A chain cannot show by itself that its newest entries were cut off, nor that
// somebody rewrote it from some entry to the end: compare its head with one
// kept elsewhere.
package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/heldcall/heldcall/approvals"
)

// Entry is one link of the chain as it is stored.
type Entry struct {
	Seq   uint64          // position in the log, from 1
	Event approvals.Event // what Data says; not looked at by [Verify]
	Data  []byte          // the exact bytes; nil in a [Head] of an empty log
}

// Head is where the next entry is joined on.
type Head struct {
	Seq  uint64
	Hash string // "" when there is no entry to hold on to
}

const hashMember = `,"hash":`

// seal joins an event to the head and gives its entry.
func seal(e approvals.Event, head Head) (Entry, error) {
	e.Seq = head.Seq + 1
	e.PrevHash = head.Hash
	e.Hash = ""
	text, err := approvals.EncodeJSON(e)
	if err != nil {
		return Entry{}, fmt.Errorf("encode event %s: %w", e.ID, err)
	}
	body := text[:len(text)-len(hashMember+`""}`)]
	e.Hash = hashOf(body)
	data := fmt.Appendf(body, `%s%q}`, hashMember, e.Hash)
	return Entry{Seq: e.Seq, Event: e, Data: data}, nil
}

func hashOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// Parse reads an entry as it is stored.
func Parse(seq uint64, data []byte) (Entry, error) {
	entry := Entry{Seq: seq, Data: data}
	if err := json.Unmarshal(data, &entry.Event); err != nil {
		return entry, fmt.Errorf("audit entry %d: %w", seq, err)
	}
	return entry, nil
}
