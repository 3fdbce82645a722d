package embedded

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	messages, blocks, err := f.currentBlocks(of)
	if err != nil {
		return nil, err
	}
	var found uint64 // the last sequence
	var reader blockReader
	for i, index := range blocks {
		file := filepath.Join(messages, fmt.Sprint(index, blockSuffix))
		b, err := reader.read(f.path(file), blockHash(stream, index), found)
		if err != nil {
			return nil, err
		}
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

// readInto reads a file into the memory of a buffer, if it fits there: a start reads many files.
func readInto(buffer []byte, path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	content := slices.Grow(buffer[:0], int(info.Size()))[:info.Size()]
	_, err = io.ReadFull(file, content)
	return content, err
}

// currentBlocks returns the folder of the blocks of a stream, and their numbers.
func (f folder) currentBlocks(of string) (messages string, blocks []int, err error) {
	messages = filepath.Join(of, "__new_msgs__") // of a purge that was not finished
	if blocks, err = f.blocks(messages); len(blocks) == 0 && err == nil {
		messages = filepath.Join(of, "msgs")
		blocks, err = f.blocks(messages)
	}
	return messages, blocks, err
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

// writeFile replaces a file, and syncs it.
func writeFile(path string, content []byte) error {
	next, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = next.Write(content)
	if err = errors.Join(err, next.Sync(), next.Close()); err == nil {
		err = os.Rename(next.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(next.Name()))
	}
	return nil
}
