package workspace

import (
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// MaxText is the most bytes of a file whose text is read.
const MaxText = 1 << 20

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
