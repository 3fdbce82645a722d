package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// ignoreRules are the lines of .gitignore files, by which rg and others leave out files of a repository.
type ignoreRules struct {
	inRepository bool
	lines        []ignoreLine
}

// ignoreLine is one line of a .gitignore file.
type ignoreLine struct {
	folder   string // of the file
	glob     string
	anywhere bool // the glob is of a name
	folders  bool // only of folders
	not      bool // takes back
}

// maxIgnoreFile is the most bytes of a .gitignore file that are read. A longer one counts as empty.
const maxIgnoreFile = 64 << 10

// ignoreRulesAbove returns the rules for a folder: of the files in it and above it, up to the root of the repository.
func ignoreRulesAbove(folder string) ignoreRules {
	var folders []string
	for dir := filepath.Clean(folder); ; dir = filepath.Dir(dir) {
		folders = append(folders, dir)
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			return ignoreRules{} // in no repository
		}
	}
	rules := ignoreRules{inRepository: true}
	for _, dir := range slices.Backward(folders) {
		rules = rules.with(dir)
	}
	return rules
}

// with adds the rules in a folder.
func (r ignoreRules) with(folder string) ignoreRules {
	file := filepath.Join(folder, ".gitignore")
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxIgnoreFile {
		return r
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return r
	}
	r.lines = slices.Clip(r.lines)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, " \t\r\n")
		if line == "" || line[0] == '#' {
			continue
		}
		rule := ignoreLine{folder: folder}
		line, rule.not = strings.CutPrefix(line, "!")
		line, rule.folders = strings.CutSuffix(line, "/")
		rule.anywhere = !strings.Contains(line, "/")
		rule.glob = strings.TrimPrefix(line, "/")
		r.lines = append(r.lines, rule)
	}
	return r
}

// match reports whether a path is left out. The last line that fits decides.
func (r ignoreRules) match(path string, folder bool) bool {
	for _, line := range slices.Backward(r.lines) {
		if line.folders && !folder {
			continue
		}
		below, err := filepath.Rel(line.folder, path)
		if err != nil || !filepath.IsLocal(below) {
			continue
		}
		if below = filepath.ToSlash(below); line.anywhere {
			below = filepath.Base(path)
		}
		if fits, err := doublestar.Match(line.glob, below); err == nil && fits {
			return !line.not
		}
	}
	return false
}
