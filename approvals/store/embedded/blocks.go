package embedded

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

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

const (
	streamsFolder = "jetstream/$G/streams"
	blockSuffix   = ".blk"
)

// folder is the data folder of a server.
type folder string

func (f folder) path(parts ...string) string {
	return filepath.Join(append([]string{string(f)}, parts...)...)
}

// streams returns the names of the streams that have a folder.
func (f folder) streams() ([]string, error) {
	entries, err := os.ReadDir(f.path(streamsFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") { // such a folder is being deleted
			names = append(names, entry.Name())
		}
	}
	return names, err
}

// check reads all records of the streams before a server changes the files, and returns what
// is missing of the recorded state. With repair it removes what is damaged, so that the server
// uses the rest. An unfinished write at the end of a stream is no loss: it was not
// acknowledged.
func (f folder) check(recorded manifest, repair bool) (losses []Loss, err error) {
	names, err := f.streams()
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(recorded.Streams)) {
		if !slices.Contains(names, name) {
			losses = append(losses, Loss{Stream: name, File: filepath.Join(streamsFolder, name), Seq: recorded.Streams[name].First, Problem: "the stream is missing"})
		}
	}
	for _, name := range names {
		found, err := f.checkStream(name, recorded.Streams[name].Last, repair)
		if err != nil {
			return nil, fmt.Errorf("check the stream %s: %w", name, err)
		}
		losses = append(losses, found...)
	}
	return losses, nil
}

// checkStream checks the files of a stream whose last recorded sequence is last.
func (f folder) checkStream(stream string, last uint64, repair bool) (losses []Loss, err error) {
	of := filepath.Join(streamsFolder, stream)
	if loss := f.checkMeta(stream, of); loss != nil {
		losses = append(losses, *loss)
		if repair { // the store creates the stream with the records in its folder
			err = errors.Join(f.remove(of, "meta.inf"), f.remove(of, "meta.sum"))
		}
	}
	damaged, blocksErr := f.checkBlocks(stream, of, last, repair)
	return append(losses, damaged...), errors.Join(err, blocksErr)
}

func (f folder) remove(parts ...string) error {
	if err := os.Remove(f.path(parts...)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// checkMeta compares the configuration of a stream with its checksum. The server ignores a
// stream without.
func (f folder) checkMeta(stream, of string) *Loss {
	file, sumFile := filepath.Join(of, "meta.inf"), filepath.Join(of, "meta.sum")
	meta, err := os.ReadFile(f.path(file))
	if err != nil {
		return &Loss{Stream: stream, File: file, Problem: causeOf(err)}
	}
	sum, err := os.ReadFile(f.path(sumFile))
	if err != nil {
		return &Loss{Stream: stream, File: sumFile, Problem: causeOf(err)}
	}
	digest := newRecordHash(stream)
	digest.Write(meta)
	if hex.EncodeToString(digest.Sum(nil)) != string(sum) {
		return &Loss{Stream: stream, File: file, Problem: "the checksum is wrong"}
	}
	return nil
}

// causeOf returns the cause of an error without the path.
func causeOf(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

// checkBlocks reads the blocks of a stream whose last recorded sequence is last.
func (f folder) checkBlocks(stream, of string, last uint64, repair bool) (losses []Loss, err error) {
	messages := filepath.Join(of, "__new_msgs__") // of a purge that was not finished
	blocks, err := f.blocks(messages)
	if len(blocks) == 0 && err == nil {
		messages = filepath.Join(of, "msgs")
		blocks, err = f.blocks(messages)
	}
	if err != nil {
		return nil, err
	}
	var found uint64 // the last sequence
	for i, index := range blocks {
		file := filepath.Join(messages, fmt.Sprint(index, blockSuffix))
		content, err := os.ReadFile(f.path(file))
		if err != nil {
			return nil, err
		}
		b := readBlock(content, newRecordHash(fmt.Sprintf("%s-%d", stream, index)), found)
		found = b.last
		if b.damaged == 0 || (i == len(blocks)-1 && b.unfinished() && b.last >= last) {
			continue
		}
		losses = append(losses, Loss{Stream: stream, File: file, Seq: b.missing, Problem: "damaged records"})
		if repair {
			if err := writeFile(f.path(file), b.intact); err != nil {
				return nil, err
			}
		}
	}
	if found < last && len(losses) == 0 {
		losses = append(losses, Loss{Stream: stream, File: messages, Seq: found + 1, Problem: fmt.Sprintf("records up to sequence %d are missing at the end", last)})
	}
	if repair && len(losses) > 0 { // the server reads the blocks then
		err = f.remove(messages, "index.db")
	}
	return losses, err
}

// blocks returns the numbers of the blocks in a folder, ascending.
func (f folder) blocks(messages string) (indexes []int, err error) {
	entries, err := os.ReadDir(f.path(messages))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, entry := range entries {
		var index int
		if _, err := fmt.Sscanf(entry.Name(), "%d"+blockSuffix, &index); err == nil && entry.Name() == fmt.Sprint(index, blockSuffix) {
			indexes = append(indexes, index)
		}
	}
	slices.Sort(indexes)
	return indexes, err
}

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

// newRecordHash returns the hash of a stream's configuration or of the records of a block.
func newRecordHash(name string) hash.Hash64 {
	key := sha256.Sum256([]byte(name))
	digest, err := highwayhash.New64(key[:])
	if err != nil {
		panic(err) // the key has the wrong length
	}
	return digest
}
