package embedded

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/klauspost/compress/s2"
)

// A block that is complete may be compressed, as nats-server's filestore.go does it: a head, the
// records as a stream of S2 without their last bytes, and those, the hash of the last record.
// The stream is a series of chunks, each with a type, the length of its content and the content:
// https://github.com/google/snappy/blob/main/framing_format.txt, with blocks of S2.
const (
	compressedHead = "cmp\x01" // then the size of the records as a uvarint
	chunkHead      = 4
	chunkSum       = 4
	maxChunk       = 4 << 20 // decompressed, the most that S2 writes

	chunkCompressed = 0x00 // others above chunkPlain have no records
	chunkPlain      = 0x01
)

// isCompressed reports whether the content of a block is compressed.
func isCompressed(content []byte) bool { return bytes.HasPrefix(content, []byte(compressedHead)) }

// expand returns the records of the content of a compressed block, in the memory of a buffer if they
// fit there, and whether nats-server can read them. If it cannot, the records of damaged chunks are
// missing.
func expand(buffer, content []byte) (records []byte, readable bool) {
	compressed := content[len(compressedHead):]
	size, n := binary.Uvarint(compressed)
	if n <= 0 || len(compressed)-n < recordHash {
		return nil, false
	}
	chunks, last := compressed[n:len(compressed)-recordHash], compressed[len(compressed)-recordHash:]
	records = slices.Grow(buffer[:0], int(min(size, recordLimit))+bytes.MinRead)
	all := bytes.NewBuffer(records)
	if _, err := all.ReadFrom(s2.NewReader(bytes.NewReader(chunks))); err == nil {
		return append(all.Bytes(), last...), true
	}
	return append(expandChunks(records, chunks), last...), false
}

// expandChunks appends the records of the chunks that can be read.
func expandChunks(records, chunks []byte) []byte {
	for len(chunks) >= chunkHead {
		kind, length := chunks[0], int(binary.LittleEndian.Uint32(chunks)>>8)
		if length > len(chunks)-chunkHead {
			return records
		}
		chunk := chunks[chunkHead : chunkHead+length]
		chunks = chunks[chunkHead+length:]
		if kind > chunkPlain || length < chunkSum {
			continue
		}
		part := chunk[chunkSum:]
		if kind == chunkCompressed {
			if size, err := s2.DecodedLen(part); err != nil || size > maxChunk {
				continue
			}
			part, _ = s2.Decode(nil, part) // nil after an error
		}
		records = append(records, part...) // each record has a hash of its own
	}
	return records
}

// finishCompression removes what a crash may leave of compression in the blocks of a stream: files that
// are not complete, and a last block that is compressed. nats-server adds its next record to that block as
// it is. It compresses a block when it has begun the next one, and removes the next one at a start if it
// has no record.
func (f folder) finishCompression(stream string) error {
	messages, blocks, err := f.currentBlocks(filepath.Join(streamsFolder, stream))
	for _, index := range blocks {
		err = errors.Join(err, f.remove(messages, fmt.Sprint(index, blockSuffix, ".tmp")))
	}
	if err != nil {
		return err
	}
	for _, index := range slices.Backward(blocks) {
		path := f.path(messages, fmt.Sprint(index, blockSuffix))
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if isCompressed(content) {
			records, readable := expand(nil, content)
			if !readable {
				return nil // the server cannot read it either
			}
			return errors.Join(writeFile(path, records), f.remove(messages, "index.db"))
		}
		if size, _ := readRecord(content, blockHash(stream, index)); size > 0 {
			return nil
		}
	}
	return nil
}
