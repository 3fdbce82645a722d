package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
)

// BrokenError names the first broken link of a chain.
type BrokenError struct {
	Seq    uint64
	Reason string
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("audit chain broken at entry %d: %s", e.Seq, e.Reason)
}

// Report is the intact part of a chain that [Verify] has checked.
type Report struct {
	First Head // the first checked entry
	Last  Head // the head; compare it with one that is kept elsewhere
	Count uint64
}

// Verify checks entries from the oldest on. It stops at the first broken link with a
// [*BrokenError], or at the first error of the iterator. It reads Seq and Data of an entry
// only. The first entry may refer to one that retention has deleted.
func Verify(entries iter.Seq2[Entry, error]) (Report, error) {
	var report Report
	for entry, err := range entries {
		if err != nil {
			return report, fmt.Errorf("read the audit log after entry %d: %w", report.Last.Seq, err)
		}
		head, err := verifyLink(entry, report)
		if err != nil {
			return report, err
		}
		if report.Count == 0 {
			report.First = head
		}
		report.Last = head
		report.Count++
	}
	return report, nil
}

// verifyLink checks one entry, and its link to the entry before.
func verifyLink(entry Entry, before Report) (Head, error) {
	broken := func(format string, args ...any) (Head, error) {
		return Head{}, &BrokenError{Seq: entry.Seq, Reason: fmt.Sprintf(format, args...)}
	}
	var link struct {
		Seq      uint64 `json:"seq"`
		PrevHash string `json:"prev_hash"`
		Hash     string `json:"hash"`
	}
	if err := json.Unmarshal(entry.Data, &link); err != nil {
		return broken("it is not an event: %v", err)
	}
	tail := fmt.Appendf(nil, `%s%q}`, hashMember, link.Hash)
	body, cut := bytes.CutSuffix(entry.Data, tail)
	if !cut {
		return broken("it does not end with its hash")
	}
	if hash := hashOf(body); hash != link.Hash {
		return broken("its content has the hash %s, but hash is %s", hash, link.Hash)
	}
	if link.Seq != entry.Seq {
		return broken("its seq is %d", link.Seq)
	}
	if link.Seq == 1 && link.PrevHash != "" {
		return broken("the first entry refers to one before it")
	}
	if before.Count > 0 && link.Seq != before.Last.Seq+1 {
		return broken("it follows entry %d: entries are missing", before.Last.Seq)
	}
	if before.Count > 0 && link.PrevHash != before.Last.Hash {
		return broken("it refers to an entry with the hash %s, the one before it has %s", link.PrevHash, before.Last.Hash)
	}
	return Head{Seq: link.Seq, Hash: link.Hash}, nil
}
