// Package journal makes entries of the audit log durable before the embedded NATS server stores them. The
// server syncs each message; the journal has one write and one sync for all entries that are appended
// together, in a file that seldom grows. A goroutine then publishes them to the server, many at a time,
// and a start publishes what a crash has left in the file.
//
// Read journal.go (appending and reading), publisher.go, then file.go (the format).
package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/heldcall/heldcall/approvals/audit"
)

// FileName is the name of the file in the data folder.
const FileName = "heldcall.journal"

var errClosed = errors.New("the journal of the audit log is closed")

// GapError is the error of [Open] if the file has entries that do not continue the stream: either has lost
// entries, or they belong to different folders.
type GapError struct {
	End  uint64 // an entry of the stream, 0 for none
	Next uint64 // an entry of the file that does not follow it
}

// Error names the two sequences.
func (e *GapError) Error() string {
	return fmt.Sprintf("%s has entry %d, which does not follow entry %d of the audit log", FileName, e.Next, e.End)
}

// Journal is an [audit.Stream]: a stream that nobody else appends to, with the entries in the file that it
// does not have yet. It is safe for concurrent use.
type Journal struct {
	stream    audit.Stream
	publisher *publisher

	appending chan struct{} // has one element while a goroutine uses the fields below
	file      *os.File
	size      int  // of the file
	end       int  // of the records in it
	failed    bool // the last write: it may be durable in part
	closed    bool
	ids       recentIDs  // of events
	head      audit.Head // the end of the log
}

// Options configures [Open].
type Options struct {
	// DropGap leaves out the entries of the file that do not continue the stream, in place of a [*GapError].
	DropGap bool
	// Report is called with the result of each attempt to publish, except a conflict with another writer. It
	// returns that result, and may add a cause.
	Report func(error) error
}

// Open opens the file, makes it if it is missing, and publishes the entries that a crash has left in it. It
// fails with a [*GapError] if they do not continue the stream.
func Open(ctx context.Context, path string, stream audit.Stream, o Options) (*Journal, error) {
	file, content, err := openFile(path)
	if err != nil {
		return nil, fmt.Errorf("open the journal of the audit log: %w", err)
	}
	j := &Journal{
		stream: stream, publisher: newPublisher(stream, o.Report),
		appending: make(chan struct{}, 1), file: file, size: max(fileSize, len(content)),
	}
	err = j.recover(ctx, content)
	if errors.As(err, new(*GapError)) && o.DropGap {
		err = write(file, make([]byte, recordHead), 0)
	}
	if err != nil {
		j.publisher.end()
		return nil, errors.Join(err, file.Close())
	}
	return j, nil
}

// recover publishes those entries of the file that the stream does not have.
func (j *Journal) recover(ctx context.Context, content []byte) (err error) {
	if j.head, err = j.stream.Head(ctx); err != nil {
		return err
	}
	entries, unreadable := parse(content)
	n := 0 // entries that the stream has
	for n < len(entries) && entries[n].Seq <= j.head.Seq {
		n++
	}
	if n > 0 {
		if err := j.compare(ctx, entries[n-1]); err != nil {
			return err
		}
	}
	rest := entries[n:]
	if len(rest) > 0 && !follows(rest[0], j.head) {
		return &GapError{j.head.Seq, rest[0].Seq}
	}
	j.ids.add(entries)
	if err := j.publish(ctx, rest); err != nil {
		return err
	}
	if unreadable > j.head.Seq {
		return &GapError{j.head.Seq, unreadable}
	}
	return nil
}

// publish publishes the entries that a crash has left, and waits until the stream has them.
func (j *Journal) publish(ctx context.Context, rest []audit.Entry) error {
	if len(rest) == 0 {
		return nil
	}
	j.head = headOf(rest[len(rest)-1])
	j.publisher.add(rest)
	ctx, cancel := context.WithTimeout(ctx, recoverTime)
	defer cancel()
	for err := j.Flush(ctx); err != nil; err = j.Flush(ctx) {
		if ctx.Err() != nil {
			return fmt.Errorf("publish what the journal of the audit log contains: %w", err)
		}
	}
	return nil
}

// recoverTime is the time limit for the publication of what a crash has left. The server may be busy with
// its own recovery.
const recoverTime = 30 * time.Second

// compare compares an entry with that of the stream, which may have deleted it by age.
func (j *Journal) compare(ctx context.Context, entry audit.Entry) error {
	published, err := j.stream.Entry(ctx, entry.Seq)
	switch {
	case errors.Is(err, audit.ErrNoEntry):
		return nil
	case err != nil:
		return err
	case !bytes.Equal(published.Data, entry.Data):
		return &GapError{entry.Seq - 1, entry.Seq}
	}
	return nil
}

// acquire waits for the right to append.
func (j *Journal) acquire(ctx context.Context) error {
	select {
	case j.appending <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the journal of the audit log: %w", ctx.Err())
	}
}

func (j *Journal) release() { <-j.appending }

// Head returns the end of the log, whether it is published or not.
func (j *Journal) Head(ctx context.Context) (audit.Head, error) {
	if err := j.acquire(ctx); err != nil {
		return audit.Head{}, err
	}
	defer j.release()
	return j.head, nil
}

// Entry returns a pending entry, or reads it from the stream.
func (j *Journal) Entry(ctx context.Context, seq uint64) (audit.Entry, error) {
	pending := j.Pending()
	if len(pending) > 0 && seq >= pending[0].Seq {
		if at := seq - pending[0].Seq; at < uint64(len(pending)) {
			return pending[at], nil
		}
		return audit.Entry{}, audit.ErrNoEntry
	}
	return j.stream.Entry(ctx, seq)
}

// Pending returns the entries that the stream does not have, or is just getting.
func (j *Journal) Pending() []audit.Entry { return j.publisher.unpublished() }

// Flush returns when the stream has all entries that were appended before the call. It fails if the stream does
// not accept them.
func (j *Journal) Flush(ctx context.Context) error { return j.publisher.flush(ctx) }

// AppendAfter appends all entries. After an error the log may have none of them, the first of them, or all: a
// write continues after the context has ended, and a crash may keep part of a failed write. If the stream does
// not accept earlier entries, AppendAfter returns its error.
func (j *Journal) AppendAfter(ctx context.Context, seq uint64, entries []audit.Entry) (int, error) {
	if err := j.acquire(ctx); err != nil {
		return 0, err
	}
	done := make(chan error, 1)
	go func() {
		defer j.release()
		done <- j.append(ctx, seq, entries)
	}()
	select {
	case err := <-done:
		if err != nil {
			return 0, err
		}
		return len(entries), nil
	case <-ctx.Done():
		return 0, fmt.Errorf("write the journal of the audit log: %w", ctx.Err())
	}
}

// append does the work of AppendAfter. The caller has acquired the journal.
func (j *Journal) append(ctx context.Context, seq uint64, entries []audit.Entry) error {
	if j.publisher.failing() {
		if err := j.Flush(ctx); err != nil {
			return err
		}
	}
	switch {
	case j.closed:
		return errClosed
	case seq != j.head.Seq:
		return audit.ErrMoved
	case j.ids.any(entries):
		return audit.ErrDuplicate
	}
	var records []byte
	for _, entry := range entries {
		records = appendRecord(records, entry)
	}
	if j.failed || j.end+len(records) > j.size {
		if err := j.rewind(ctx); err != nil {
			return err
		}
	}
	j.failed = true
	if err := write(j.file, records, j.end); err != nil {
		return err
	}
	j.failed = false
	j.end += len(records)
	j.size = max(j.size, j.end)
	j.ids.add(entries)
	j.head = headOf(entries[len(entries)-1])
	j.publisher.add(entries)
	return nil
}

// rewind waits until the stream has all entries, and makes the next write begin at the start of the file. If the
// last write failed, it opens the file again: the file system may have been mounted again.
func (j *Journal) rewind(ctx context.Context) error {
	if err := j.Flush(ctx); err != nil {
		return err
	}
	j.end = 0
	if !j.failed {
		return nil
	}
	file, content, err := openFile(j.file.Name())
	if err != nil {
		return fmt.Errorf("open the journal of the audit log: %w", err)
	}
	_ = j.file.Close() // nothing of it is needed
	j.file, j.size = file, max(fileSize, len(content))
	return nil
}

// Close publishes the pending entries, and closes the file. If they cannot be published now, the next [Open]
// does it. Later appends fail.
func (j *Journal) Close(ctx context.Context) error {
	defer j.publisher.end()
	if err := j.acquire(ctx); err != nil {
		return err
	}
	defer j.release()
	if j.closed {
		return nil
	}
	j.closed = true
	err := j.Flush(ctx)
	if err == nil {
		err = write(j.file, make([]byte, recordHead), 0) // nothing is left for the next start
	}
	return errors.Join(err, j.file.Close())
}
