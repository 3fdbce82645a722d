package embedded

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"

	"github.com/minio/highwayhash"
)

// The files of a stream are those of nats-server's filestore.go: meta.inf with its checksum
// in meta.sum, and blocks (msgs/1.blk ...), each a series of records:
//
//	length(4) sequence(8) time(8) subject length(2) subject [headers length(4)] ... hash(8)
//
// The highest bit of the length marks headers. JetStream truncates a block at the first
// damaged record when it rebuilds its index, and else does not notice it.
const (
	recordHeader = 22
	recordHash   = 8
	recordLimit  = 32 << 20
	withHeaders  = 1 << 31
	erasedBit    = 1 << 63
	deletionBit  = 1 << 62
	resyncSpan   = 1 << 20 // sequences that may be missing between two records of a block
)

// block is what was read of a block.
type block struct {
	last    uint64 // the last sequence, of the blocks before this one too
	damaged int    // the number of damaged parts
	missing uint64 // the first sequence after the last intact record before the damage
	intact  []byte // the intact records
	end     bool   // the block ends with an intact record
}

// unfinished reports whether the only damage is at the end of the block, as an interrupted
// write leaves it.
func (b block) unfinished() bool { return b.damaged == 1 && !b.end }

// blockReader reads blocks. It uses its memory again: a start reads many.
type blockReader struct{ content, expanded []byte }

// read reads the file of a block. last is the last sequence of the blocks before it.
func (r *blockReader) read(path string, digest hash.Hash, last uint64) (b block, err error) {
	if r.content, err = readInto(r.content, path); err != nil || !isCompressed(r.content) {
		return readBlock(r.content, digest, last), err
	}
	readable := false
	r.expanded, readable = expand(r.expanded, r.content)
	if b = readBlock(r.expanded, digest, last); !readable {
		if b.damaged == 0 {
			b.damaged, b.intact = 1, r.expanded
		}
		b.end = true // it was complete
	}
	return b, nil
}

// records reads the file of a block, decompressed.
func (r *blockReader) records(path string) (content []byte, err error) {
	if r.content, err = readInto(r.content, path); err != nil || !isCompressed(r.content) {
		return r.content, err
	}
	r.expanded, _ = expand(r.expanded, r.content)
	return r.expanded, nil
}

// readBlock reads the records of a block. last is the last sequence of the blocks before it.
func readBlock(content []byte, digest hash.Hash, last uint64) block {
	b := block{last: last, end: true}
	for at := 0; at < len(content); {
		size, seq := readRecord(content[at:], digest)
		plausible := size > 0 && (b.end || seq <= b.last+resyncSpan)
		switch {
		case plausible:
			if b.damaged > 0 {
				b.intact = append(b.intact, content[at:at+size]...)
			}
			b.last, b.end = max(b.last, seq), true
			at += size
			continue
		case b.end: // a damaged part begins
			if b.damaged++; b.damaged == 1 {
				b.missing, b.intact = b.last+1, bytes.Clone(content[:at])
			}
			b.end = false
		}
		at++
	}
	return b
}

// readRecord returns the length and the sequence of the record at the start of content, 0 for
// a damaged one.
func readRecord(content []byte, digest hash.Hash) (size int, seq uint64) {
	if len(content) < recordHeader+recordHash {
		return 0, 0
	}
	length := binary.LittleEndian.Uint32(content)
	size, subject := int(length&^withHeaders), int(binary.LittleEndian.Uint16(content[20:]))
	seq = binary.LittleEndian.Uint64(content[4:]) &^ (erasedBit | deletionBit)
	start, end := recordHeader+subject, size-recordHash
	if length&withHeaders != 0 {
		start += 4
	}
	if size > len(content) || size > recordLimit || start > end || seq>>48 != 0 {
		return 0, 0
	}
	digest.Reset()
	digest.Write(content[4:20])
	digest.Write(content[recordHeader : recordHeader+subject])
	digest.Write(content[start:end])
	if !bytes.Equal(digest.Sum(nil), content[end:size]) {
		return 0, 0
	}
	return size, seq
}

// blockHash returns the hash of the records of a block.
func blockHash(stream string, index int) hash.Hash64 {
	return newRecordHash(fmt.Sprintf("%s-%d", stream, index))
}

// newRecordHash returns the hash of a stream's configuration or of the records of a block.
func newRecordHash(name string) hash.Hash64 {
	key := sha256.Sum256([]byte(name))
	digest, err := highwayhash.New64(key[:])
	if err != nil {
		panic(err) // the key has the wrong length
	}
	return digest
}
