package audit

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// BrokenError names the first bad entry of a log.
type BrokenError struct {
	Seq    uint64
	Reason string
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("audit chain broken at entry %d: %s", e.Seq, e.Reason)
}

// Report is what [Verifier.Verify] has found.
type Report struct {
	First       Head // the first checked entry
	Last        Head // the head; compare it with one that is kept elsewhere
	Count       uint64
	Checkpoints uint64            // signed ones
	Signed      uint64            // the last entry that a checkpoint covers
	Signers     []string          // keys of the checkpoints
	Kept        Head              // the highest entry that a trusted checkpoint names as the first
	Losses      []approvals.Event // of type loss_accepted
}

// Verifier checks the entries of a log and their checkpoints. Its zero value accepts
// checkpoints of any key.
type Verifier struct {
	Keys     []string               // that may sign, in base64; nil: any
	KeptKeys []string               // that may state where the log begins; nil: as Keys
	Against  []approvals.Checkpoint // that were kept elsewhere
	// AnyStart accepts a log that begins at any entry. Else it begins at entry 1, or where
	// a checkpoint states it.
	AnyStart bool
}

// Verify checks entries from the oldest on, and their checkpoints, if the log may begin at any
// entry: see [Verifier.Verify].
func Verify(entries iter.Seq2[Entry, error]) (Report, error) {
	return Verifier{AnyStart: true}.Verify(entries)
}

// Verify checks entries from the oldest on. It fails with a [*BrokenError] for the first bad
// entry, or with the first error of the iterator. It reads Seq and Data of an entry only. An
// entry before the one that a later checkpoint names as the first is not part of the log, so
// it may be bad: retention was interrupted, or the operator has accepted the loss.
func (v Verifier) Verify(entries iter.Seq2[Entry, error]) (Report, error) {
	state := verification{Verifier: v}
	for entry, err := range entries {
		if err != nil {
			return state.report, fmt.Errorf("read the audit log after entry %d: %w", state.report.Last.Seq, err)
		}
		state.add(entry)
	}
	for i := range v.Against {
		state.compare(&v.Against[i])
	}
	if state.broken != nil {
		return state.report, state.broken
	}
	return state.report, nil
}

// verification is a log as far as it was read.
type verification struct {
	Verifier
	report Report
	broken *BrokenError // the first bad entry
	hashes [][32]byte   // of the entries that follow each other without a break, up to the last
}

func (v *verification) fail(seq uint64, format string, args ...any) {
	if v.broken == nil {
		v.broken = &BrokenError{Seq: seq, Reason: fmt.Sprintf(format, args...)}
	}
}

// add checks the next entry.
func (v *verification) add(entry Entry) {
	head, err := parseHead(entry)
	if err == nil {
		err = v.checkLink(entry, head)
	}
	if v.report.Count == 0 {
		v.report.First = head.Head
		if err == nil && head.Seq != 1 && !v.AnyStart {
			v.fail(head.Seq, "the log begins here, and no checkpoint states that the entries before were removed by retention")
		}
	}
	v.report.Count++
	if err != nil {
		v.fail(entry.Seq, "%s", err)
		v.hashes = nil
		return
	}
	v.report.Last = head.Head
	sum, _ := hex.DecodeString(head.Hash)
	v.hashes = append(v.hashes, [32]byte(sum))
	v.checkEvent(entry)
}

// link is the end of an entry.
type link struct {
	Head
	prevHash string
}

// tail is the end of each entry: its last three members.
var tail = regexp.MustCompile(`,"seq":([1-9][0-9]{0,18}),"prev_hash":"([0-9a-f]{64}|)","hash":"([0-9a-f]{64})"\}$`)

// maxTail is the length of the longest end.
const maxTail = 256

// parseHead reads the end of an entry, and compares its hash with its bytes.
func parseHead(entry Entry) (link, error) {
	end := entry.Data[len(entry.Data)-min(len(entry.Data), maxTail):]
	m := tail.FindSubmatch(end)
	if m == nil {
		return link{}, errors.New("it does not end with its hash")
	}
	seq, err := strconv.ParseUint(string(m[1]), 10, 64)
	if err != nil {
		return link{}, fmt.Errorf("its seq is not a number: %w", err)
	}
	found := link{Head: Head{Seq: seq, Hash: string(m[3])}, prevHash: string(m[2])}
	body := entry.Data[:len(entry.Data)-len(hashMember+`""}`)-len(found.Hash)]
	if hash := hashOf(body); hash != found.Hash {
		return found, fmt.Errorf("its content has the hash %s, but hash is %s", hash, found.Hash)
	}
	return found, nil
}

// checkLink compares an entry with the one before it.
func (v *verification) checkLink(entry Entry, head link) error {
	before := v.report.Last
	switch {
	case head.Seq != entry.Seq:
		return fmt.Errorf("its seq is %d", head.Seq)
	case head.Seq == 1 && head.prevHash != "":
		return errors.New("the first entry refers to one before it")
	case len(v.hashes) == 0:
		return nil
	case head.Seq != before.Seq+1:
		return fmt.Errorf("it follows entry %d: entries are missing", before.Seq)
	case head.prevHash != before.Hash:
		return fmt.Errorf("it refers to an entry with the hash %s, the one before it has %s", head.prevHash, before.Hash)
	}
	return nil
}

// checkEvent checks the checkpoint in an entry, if it is one.
func (v *verification) checkEvent(entry Entry) {
	isCheckpoint := bytes.Contains(entry.Data, []byte(`"type":"`+string(approvals.EventCheckpoint)+`"`))
	if !isCheckpoint && !bytes.Contains(entry.Data, []byte(`"type":"`+string(approvals.EventLossAccepted)+`"`)) {
		return
	}
	var e approvals.Event
	if err := json.Unmarshal(entry.Data, &e); err != nil {
		v.fail(entry.Seq, "it is not an event: %v", err)
		return
	}
	switch {
	case e.Type == approvals.EventLossAccepted:
		v.report.Losses = append(v.report.Losses, e)
	case e.Type != approvals.EventCheckpoint: // the text is in an argument
	case e.Checkpoint == nil || e.Checkpoint.Seq >= entry.Seq:
		v.fail(entry.Seq, "it is a checkpoint of no entry before it")
	default:
		if !v.trusted(e.Checkpoint, entry.Seq) {
			return
		}
		v.compare(e.Checkpoint)
		v.report.Checkpoints++
		v.report.Signed = max(v.report.Signed, e.Checkpoint.Seq)
		if !slices.Contains(v.report.Signers, e.Checkpoint.Key) {
			v.report.Signers = append(v.report.Signers, e.Checkpoint.Key)
		}
	}
}

// trusted checks the signature of the checkpoint in an entry.
func (v *verification) trusted(c *approvals.Checkpoint, entry uint64) bool {
	if err := CheckSignature(c); err != nil {
		v.fail(entry, "it is a checkpoint, but %v", err)
		return false
	}
	if v.Keys != nil && !slices.Contains(v.Keys, c.Key) {
		v.fail(entry, "it is a checkpoint of the key %s, which is not one of the given keys", c.Key)
		return false
	}
	return true
}

// compare compares the log so far with a checkpoint.
func (v *verification) compare(c *approvals.Checkpoint) {
	if err := CheckSignature(c); err != nil {
		v.fail(c.Seq, "the checkpoint of this entry that was kept is not valid: %v", err)
		return
	}
	if c.Seq > v.report.Last.Seq {
		v.fail(v.report.Last.Seq+1, "it is missing: replica %s has signed a checkpoint up to entry %d at %s", c.Replica, c.Seq, c.Time.Format(time.RFC3339))
	} else if hash, ok := v.hashOf(c.Seq); ok && hash != c.Hash {
		v.fail(c.Seq, "its hash is %s, but replica %s has signed %s at %s: the log was rewritten", hash, c.Replica, c.Hash, c.Time.Format(time.RFC3339))
	}
	keys := v.KeptKeys
	if keys == nil {
		keys = v.Keys
	}
	hash, ok := v.hashOf(c.First)
	if !ok || hash != c.FirstHash || (keys != nil && !slices.Contains(keys, c.Key)) {
		return
	}
	if v.broken != nil && v.broken.Seq <= c.First {
		v.broken = nil
	}
	if c.First > v.report.Kept.Seq {
		v.report.Kept = Head{Seq: c.First, Hash: c.FirstHash}
	}
}

// hashOf returns the hash of an entry since the last break.
func (v *verification) hashOf(seq uint64) (hash string, ok bool) {
	from := v.report.Last.Seq - uint64(len(v.hashes)) // the entry before the first of hashes
	if seq <= from || seq > v.report.Last.Seq {
		return "", false
	}
	return hex.EncodeToString(v.hashes[seq-from-1][:]), true
}
