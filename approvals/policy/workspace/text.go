package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// MaxText is the most bytes of a file whose text is read.
const MaxText = 1 << 20

// IsThere reports whether a file is at a path. known is false if heldcall does not see the files, or cannot look there.
func (w *Workspace) IsThere(text string) (there, known bool) {
	whole := w.Absolute(text)
	if whole == "" {
		return false, false
	}
	_, err := os.Lstat(whole)
	return err == nil, err == nil || errors.Is(err, fs.ErrNotExist)
}

// ReadText returns the text of a file of the workspace, at most [MaxText] bytes. It reads no file to which a link leads, none
// that is hidden or in a hidden folder, and no binary file.
func (w *Workspace) ReadText(text string) (content string, ok bool) {
	whole := w.Absolute(text)
	if whole == "" {
		return "", false
	}
	for _, f := range w.folders {
		below, err := filepath.Rel(f.path, filepath.Clean(whole))
		if err != nil || !filepath.IsLocal(below) || strings.Contains("/"+filepath.ToSlash(below), "/.") {
			continue
		}
		if real, err := filepath.EvalSymlinks(whole); err == nil && real == filepath.Join(f.real, below) {
			return f.readText(below)
		}
	}
	return "", false
}

// readText reads a file in the folder, from which no link leads.
func (f *Folder) readText(below string) (content string, ok bool) {
	root, err := os.OpenRoot(f.real)
	if err != nil {
		return "", false
	}
	defer root.Close()
	info, err := root.Lstat(below)
	if err != nil || !info.Mode().IsRegular() || info.Size() > MaxText {
		return "", false
	}
	file, err := root.Open(below)
	if err != nil {
		return "", false
	}
	defer file.Close()
	if opened, err := file.Stat(); err != nil || !os.SameFile(info, opened) {
		return "", false // it was replaced meanwhile
	}
	data, err := io.ReadAll(io.LimitReader(file, MaxText+1))
	if content = string(data); err != nil || len(data) > MaxText || strings.ContainsRune(content, 0) || !utf8.ValidString(content) {
		return "", false
	}
	return content, true
}
