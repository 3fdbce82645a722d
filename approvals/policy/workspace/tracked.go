package workspace

import (
	"bufio"
	"bytes"
	"crypto/sha1" //nolint:gosec // the name that git gives a content
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/match"
)

// The most bytes that are read of an index and of a file.
const (
	maxIndex = 64 << 20
	maxKept  = 8 << 20
)

// Keeps reports whether the workspace's own repository has a file as it is, so that git can bring it back when it is removed:
// the path is that of a regular file without links, and the index has its content.
func (w *Workspace) Keeps(path string) bool {
	whole := w.Absolute(path)
	if whole == "" || resolved(whole) != whole || w.ForeignRepository(filepath.Dir(whole)) != "" {
		return false
	}
	info, err := os.Lstat(whole)
	root := rootAbove(filepath.Dir(whole))
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxKept || root == "" || !w.Inside(path) {
		return false
	}
	name, err := filepath.Rel(root, whole)
	if err != nil || strings.HasPrefix(name, ".git"+string(filepath.Separator)) {
		return false
	}
	content, err := os.ReadFile(whole)
	if err != nil {
		return false
	}
	sum := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(content)), content...)) //nolint:gosec // see above
	kept, err := indexed(gitFolder(root), filepath.ToSlash(name))
	return err == nil && kept == sum
}

// Lacks reports whether there is certainly no file of a path.
func (w *Workspace) Lacks(path string) bool {
	whole := w.Absolute(path)
	if whole == "" {
		return false
	}
	_, err := os.Lstat(whole)
	return errors.Is(err, fs.ErrNotExist)
}

// Inside reports whether a path is certainly in the workspace.
func (w *Workspace) Inside(path string) bool {
	place := w.Find(path, func(match.Location) bool { return false })
	return place.Inside()
}

// gitFolder returns the folder with the settings of a working tree, "" if that is not known.
func gitFolder(root string) string {
	git := filepath.Join(root, ".git")
	info, err := os.Lstat(git)
	switch {
	case err != nil:
		return ""
	case info.IsDir():
		return git
	}
	return gitFolderOf(git)
}

var errIndex = errors.New("the index has another form")

// indexed returns the name of the content that an index has for a file, of a merge that is not in conflict.
func indexed(gitFolder, name string) (sum [sha1.Size]byte, err error) {
	file, err := os.Open(filepath.Join(gitFolder, "index"))
	if err != nil {
		return sum, err
	}
	defer file.Close()
	r := bufio.NewReader(io.LimitReader(file, maxIndex))
	var head struct {
		Sign             [4]byte
		Version, Entries uint32
	}
	if err := binary.Read(r, binary.BigEndian, &head); err != nil {
		return sum, err
	}
	if string(head.Sign[:]) != "DIRC" || head.Version < 2 || head.Version > 3 {
		return sum, errIndex
	}
	for range head.Entries {
		entry, err := readIndexEntry(r)
		if err != nil {
			return sum, err
		}
		if entry.name == name && entry.isFile {
			return entry.sum, nil
		}
	}
	return sum, fmt.Errorf("the index has no %s", name)
}

type indexEntry struct {
	name   string
	sum    [sha1.Size]byte
	isFile bool // a regular file that is in no conflict
}

// readIndexEntry reads an entry of an index of version 2 or 3: numbers about the file, the name of its content, flags and
// its name, filled up with zeros to a multiple of eight bytes.
func readIndexEntry(r *bufio.Reader) (e indexEntry, err error) {
	var fixed struct {
		Times [6]uint32
		Mode  uint32
		Owner [3]uint32
		Sum   [sha1.Size]byte
		Flags uint16
	}
	if err := binary.Read(r, binary.BigEndian, &fixed); err != nil {
		return e, err
	}
	length := binary.Size(fixed)
	if fixed.Flags&0x4000 != 0 { // more flags, of version 3
		if _, err := r.Discard(2); err != nil {
			return e, err
		}
		length += 2
	}
	name, err := r.ReadBytes(0)
	if err != nil {
		return e, err
	}
	length += len(name)
	if _, err := r.Discard((8 - length%8) % 8); err != nil {
		return e, err
	}
	e.name, e.sum = string(bytes.TrimSuffix(name, []byte{0})), fixed.Sum
	e.isFile = fixed.Mode>>12 == 8 && fixed.Flags&0x3000 == 0
	return e, nil
}

// HasBranch reports whether the workspace's own repository, seen from a folder, has a branch, and the folder no file, of a
// name.
func (w *Workspace) HasBranch(folder, name string) bool {
	whole := w.Absolute(folder)
	if whole == "" || w.ForeignRepository(folder) != "" || strings.Contains(name, "..") || strings.HasPrefix(name, "-") {
		return false
	}
	if _, err := os.Lstat(filepath.Join(whole, filepath.FromSlash(name))); err == nil {
		return false
	}
	git := commonGitFolder(rootAbove(resolved(whole)))
	if git == "" {
		return false
	}
	if info, err := os.Lstat(filepath.Join(git, "refs", "heads", filepath.FromSlash(name))); err == nil {
		return info.Mode().IsRegular()
	}
	packed, err := os.Open(filepath.Join(git, "packed-refs"))
	if err != nil {
		return false
	}
	defer packed.Close()
	lines := bufio.NewScanner(io.LimitReader(packed, maxKept))
	for lines.Scan() {
		if strings.HasSuffix(lines.Text(), " refs/heads/"+name) {
			return true
		}
	}
	return false
}
