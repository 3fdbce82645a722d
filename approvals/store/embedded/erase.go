package embedded

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// eraseOlder removes the records of the streams from their files that are not the last of their keys:
// earlier versions and crashes have left them. It also permits to delete messages, which the server does not
// change for a stream that an earlier version has made. The server must not run.
func (s *Server) eraseOlder() error {
	dir := folder(s.opts.Dir)
	for _, stream := range s.opts.Erased {
		if err := errors.Join(dir.permitDeletion(stream), dir.eraseOlder(stream)); err != nil {
			return fmt.Errorf("erase older records of %s: %w", stream, err)
		}
	}
	return nil
}

// span is the place of a record in its block.
type span struct{ from, to int }

// eraseOlder is [Server.eraseOlder] for one stream.
func (f folder) eraseOlder(stream string) error {
	messages, blocks, err := f.currentBlocks(filepath.Join(streamsFolder, stream))
	if err != nil {
		return err
	}
	last := map[string]uint64{} // the last sequence of each subject
	for _, index := range blocks {
		if _, err := f.eachRecord(messages, stream, index, func(_ span, seq uint64, subject string) {
			last[subject] = max(last[subject], seq)
		}); err != nil {
			return err
		}
	}
	for _, index := range blocks {
		var kept []span
		older := false
		content, err := f.eachRecord(messages, stream, index, func(at span, seq uint64, subject string) {
			if subject != "" && seq < last[subject] {
				older = true
				return
			}
			kept = append(kept, at)
		})
		if err != nil {
			return err
		}
		if !older {
			continue
		}
		var rest []byte
		for _, at := range kept {
			rest = append(rest, content[at.from:at.to]...)
		}
		if err := errors.Join(writeFile(f.path(messages, fmt.Sprint(index, blockSuffix)), rest), f.remove(messages, "index.db")); err != nil {
			return err
		}
	}
	return nil
}

// eachRecord calls use with each record of a block, and returns the content of the block. The subject of
// the mark of a removed record is "". It ends at the first damage.
func (f folder) eachRecord(messages, stream string, index int, use func(at span, seq uint64, subject string)) ([]byte, error) {
	var reader blockReader
	content, err := reader.records(f.path(messages, fmt.Sprint(index, blockSuffix)))
	if err != nil {
		return nil, err
	}
	digest := blockHash(stream, index)
	for at := 0; at < len(content); {
		size, seq := readRecord(content[at:], digest)
		if size == 0 {
			break
		}
		length := int(binary.LittleEndian.Uint16(content[at+20:]))
		subject := string(content[at+recordHeader : at+recordHeader+length])
		if binary.LittleEndian.Uint64(content[at+4:])&(erasedBit|deletionBit) != 0 {
			subject = ""
		}
		use(span{at, at + size}, seq, subject)
		at += size
	}
	return content, nil
}

// permitDeletion changes the configuration of a stream, if there is one.
func (f folder) permitDeletion(stream string) error {
	meta := f.path(streamsFolder, stream, "meta.inf")
	before, err := os.ReadFile(meta)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	after := bytes.Replace(before, []byte(`"deny_delete":true`), []byte(`"deny_delete":false`), 1)
	if bytes.Equal(before, after) {
		return nil
	}
	digest := newRecordHash(stream)
	digest.Write(after)
	return errors.Join(writeFile(meta, after), writeFile(f.path(streamsFolder, stream, "meta.sum"), []byte(hex.EncodeToString(digest.Sum(nil)))))
}
