package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/heldcall/heldcall/approvals/audit"
)

// fileSize is the size of the file. It is written whole when it is made, so that a later write changes no
// metadata of the file system, which makes its sync faster.
const fileSize = 4 << 20

// A record is the length and the CRC-32C of what follows them, 4 bytes each, then the sequence of
// the entry, 8 bytes, all little-endian, and its JSON.
const (
	sumAt      = 4
	seqAt      = 8
	recordHead = 16
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendRecord appends the record of an entry.
func appendRecord(to []byte, entry audit.Entry) []byte {
	at := len(to)
	to = append(to, make([]byte, recordHead)...)
	to = append(to, entry.Data...)
	record := to[at:]
	binary.LittleEndian.PutUint32(record, uint32(len(record)-seqAt)) // #nosec G115 -- an entry is at most as large as a NATS message
	binary.LittleEndian.PutUint64(record[seqAt:], entry.Seq)
	binary.LittleEndian.PutUint32(record[sumAt:], crc32.Checksum(record[seqAt:], castagnoli))
	return to
}

// parse returns the entries at the start of a file, each of which continues the chain of the one before.
// It stops at an unfinished write or at a record of an earlier pass over the file. If it stops at an intact record
// that is not an event, unreadable is the sequence of that record, else 0.
func parse(content []byte) (entries []audit.Entry, unreadable uint64) {
	for len(content) >= recordHead {
		size := binary.LittleEndian.Uint32(content)
		if size < recordHead-seqAt || uint64(size) > uint64(len(content)-seqAt) {
			break
		}
		body := content[seqAt : seqAt+size]
		if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(content[sumAt:]) {
			break
		}
		seq, n := binary.LittleEndian.Uint64(body), len(entries)
		entry, err := audit.Parse(seq, body[recordHead-seqAt:])
		if err != nil && (n == 0 || seq == entries[n-1].Seq+1) {
			return entries, seq
		}
		if err != nil || (n > 0 && !follows(entry, headOf(entries[n-1]))) {
			break
		}
		entries = append(entries, entry)
		content = content[seqAt+size:]
	}
	return entries, 0
}

// follows reports whether an entry is the next one of a chain.
func follows(entry audit.Entry, end audit.Head) bool {
	return entry.Seq == end.Seq+1 && entry.Event.PrevHash == end.Hash
}

// openFile opens the file, and makes it if it is missing.
func openFile(path string) (*os.File, []byte, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, err
	}
	content, err := io.ReadAll(file)
	if err == nil && len(content) < fileSize {
		_, err = file.WriteAt(make([]byte, fileSize-len(content)), int64(len(content)))
	}
	if err == nil {
		err = errors.Join(file.Sync(), syncFolder(path)) // an earlier process may have ended before it synced
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, content, nil
}

// syncFolder syncs the folder of a file, so that it has the file after a power failure.
func syncFolder(path string) error {
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := folder.Sync(); err != nil && runtime.GOOS != "windows" { // which does not sync folders
		return err
	}
	return nil
}

// write writes records at a place, and syncs them.
func write(file *os.File, records []byte, at int) error {
	if _, err := file.WriteAt(records, int64(at)); err != nil {
		return fmt.Errorf("write the journal of the audit log: %w", err)
	}
	if err := file.Sync(); err != nil {
		return fmt.Errorf("sync the journal of the audit log: %w", err)
	}
	return nil
}
