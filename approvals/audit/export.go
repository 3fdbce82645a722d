package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/heldcall/heldcall/approvals"
)

// maxLine bounds an entry of an exported log, in bytes. The largest message of NATS is 64 MiB.
const maxLine = 64 << 20

// lines yields the lines of a file without their ends, and their numbers from 1.
func lines(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		scanner := bufio.NewScanner(r)
		scanner.Buffer(make([]byte, 64<<10), maxLine)
		for scanner.Scan() {
			if !yield(bytes.Clone(scanner.Bytes()), nil) {
				return
			}
		}
		if err := scanner.Err(); err != nil {
			yield(nil, fmt.Errorf("read the exported log: %w", err))
		}
	}
}

// ReadExport yields the entries of an exported log: one a line. Each has the sequence that its
// place has after the first line; a line that is not an entry is yielded with Data alone.
func ReadExport(r io.Reader) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		next := uint64(0)
		for line, err := range lines(r) {
			if err != nil {
				yield(Entry{}, err)
				return
			}
			if next == 0 {
				head, _ := parseHead(Entry{Data: line}) // Verify reports the error
				next = max(head.Seq, 1)
			}
			if !yield(ParseAny(next, line), nil) {
				return
			}
			next++
		}
	}
}

// ReadCheckpoints returns the checkpoints in a file: an exported log, or lines of it, or the
// file that a [Keeper] writes.
func ReadCheckpoints(r io.Reader) ([]approvals.Checkpoint, error) {
	var found []approvals.Checkpoint
	for line, err := range lines(r) {
		if err != nil {
			return nil, err
		}
		var e struct {
			Checkpoint *approvals.Checkpoint `json:"checkpoint"`
		}
		if !bytes.Contains(line, []byte(`"checkpoint":`)) {
			continue
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("read a checkpoint: %w", err)
		}
		if e.Checkpoint != nil {
			found = append(found, *e.Checkpoint)
		}
	}
	if len(found) == 0 {
		return nil, errors.New("there is no checkpoint in it; export again when heldcall has signed one (audit.checkpoint)")
	}
	return found, nil
}
