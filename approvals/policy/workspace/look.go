package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/heldcall/heldcall/approvals/policy/match"
)

// Where heldcall sees the files of the agent, it looks at what a call reaches: by a link, by a glob, or by
// reading the files below a folder. Between this look and the call the files can change.

// Look bounds how much of the file system is looked at for one call.
type Look struct {
	left int // entries; below 0: there were more
}

// NewLook returns the look for one call.
func (w *Workspace) NewLook() *Look {
	if w == nil {
		return &Look{}
	}
	return &Look{left: w.entries}
}

// take counts an entry, and reports whether there are not too many.
func (l *Look) take() bool {
	l.left = max(l.left-1, -1)
	return l.left >= 0
}

// Exhausted reports whether there was more to look at than is looked at for one call.
func (l *Look) Exhausted() bool { return l.left < 0 }

// Sees reports whether heldcall sees the agent's files at the same paths.
func (w *Workspace) Sees() bool { return w != nil && w.seen }

// Absolute returns the absolute path of a text, or "" if heldcall does not see the files or it is not known. A .. stays:
// the system reads it from where a link before it leads to.
func (w *Workspace) Absolute(text string) string {
	if !w.Sees() || strings.ContainsRune(text, 0) {
		return ""
	}
	if l := match.LocationOf(text); l.Anchor == "~" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		_, below, _ := strings.Cut(text, "/")
		text = home + "/" + below
	}
	whole := filepath.FromSlash(match.JoinFolder(w.start, text))
	if !filepath.IsAbs(whole) {
		return ""
	}
	return whole
}

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

// Target returns the absolute path without links to which a path that is there leads, or "".
func (w *Workspace) Target(text string) string {
	whole := w.Absolute(text)
	if whole == "" {
		return ""
	}
	real, err := filepath.EvalSymlinks(whole)
	if err != nil {
		return ""
	}
	return real
}

// Locations returns the paths by which an absolute path is compared with a list: those from the folders of the
// workspace that hold it, else the path itself.
func (w *Workspace) Locations(path string) (locations []match.Location) {
	l := match.LocationOf(filepath.ToSlash(path))
	for _, f := range w.folders {
		for _, folder := range []match.Location{f.at, f.realAt()} {
			if below, inside := belowOf(folder, l); inside {
				locations = append(locations, below)
				break
			}
		}
	}
	if len(locations) == 0 {
		locations = append(locations, l)
	}
	return locations
}

// Expand returns the paths that a glob selects, as shells and agents' tools expand it: a name that begins with a dot only
// if the glob has that dot, ** as any folders.
func (w *Workspace) Expand(glob string, look *Look) (paths []string) {
	alternatives, ok := match.Alternatives(glob)
	if !ok {
		look.left = -1
		return nil
	}
	for _, alternative := range alternatives {
		whole := w.Absolute(alternative)
		if whole == "" {
			continue
		}
		volume := filepath.VolumeName(whole)
		segments := strings.Split(strings.Trim(filepath.ToSlash(whole[len(volume):]), "/"), "/")
		paths = appendExpanded(paths, volume+string(filepath.Separator), segments, look)
	}
	return paths
}

// appendExpanded adds what the segments of a glob select in a folder.
func appendExpanded(paths []string, folder string, segments []string, look *Look) []string {
	for i, segment := range segments {
		if !match.HasGlob(segment) {
			folder = filepath.Join(folder, segment)
			continue
		}
		remaining := segments[i+1:]
		if segment == "**" {
			paths = appendExpanded(paths, folder, append([]string{"*"}, remaining...), look)
			if len(remaining) > 0 {
				paths = appendExpanded(paths, folder, remaining, look)
			}
			remaining = segments[i:]
		}
		entries, _ := os.ReadDir(folder) // what cannot be read is not reached
		for _, entry := range entries {
			name := entry.Name()
			if !look.take() {
				return paths
			}
			if strings.HasPrefix(name, ".") && !strings.HasPrefix(segment, ".") {
				continue
			}
			selected, err := doublestar.Match(match.FoldCase(segment), match.FoldCase(name))
			path := filepath.Join(folder, name)
			switch {
			case segment == "**" && !entry.IsDir():
			case err == nil && !selected:
			case len(remaining) > 0:
				paths = appendExpanded(paths, path, remaining, look)
			default:
				paths = append(paths, path)
			}
		}
		return paths
	}
	if _, err := os.Lstat(folder); err == nil {
		paths = append(paths, folder)
	}
	return paths
}

// Tree is how a program reads the files below a folder.
type Tree struct {
	Hidden         bool // also those whose names begin with a dot
	Ignored        bool // also those that .gitignore names
	Links          bool // also files to which links lead
	Follow         bool // also folders to which links lead
	Depth          int  // how deep; 0: as deep as it goes
	Only           []string
	Without        []string // globs of names
	WithoutFolders []string
}

// reads reports whether the names of files are read.
func (t *Tree) reads(name string) bool {
	return (len(t.Only) == 0 || anySelects(t.Only, name)) && !anySelects(t.Without, name)
}

func anySelects(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool {
		selected, err := doublestar.Match(match.FoldCase(glob), match.FoldCase(name))
		return err == nil && selected
	})
}

// Walk calls visit with each file below a folder without links that a program reads so, until visit returns false. Link
// reports whether the file may be reached by a link.
func (w *Workspace) Walk(root string, t Tree, look *Look, visit func(path string, link bool) bool) {
	walk := walker{tree: t, look: look, visit: visit, seen: map[string]bool{}}
	var ignored ignoreRules
	if !t.Ignored {
		ignored = ignoreRulesAbove(root)
	}
	walk.folder(root, 1, ignored)
}

// walker goes through the files below a folder.
type walker struct {
	tree  Tree
	look  *Look
	visit func(path string, link bool) bool
	seen  map[string]bool // folders to which links lead
}

// folder visits the files of a folder, and reports whether to go on.
func (w *walker) folder(path string, depth int, ignored ignoreRules) bool {
	if w.tree.Follow {
		real := resolved(path)
		if w.seen[real] {
			return true
		}
		w.seen[real] = true
	}
	if depth > 1 && ignored.inRepository {
		ignored = ignored.with(path)
	}
	entries, _ := os.ReadDir(path) // what cannot be read is not reached
	for _, entry := range entries {
		if !w.look.take() || !w.entry(filepath.Join(path, entry.Name()), entry, depth, ignored) {
			return false
		}
	}
	return true
}

// entry visits a file, or those of a folder, and reports whether to go on.
func (w *walker) entry(path string, entry fs.DirEntry, depth int, ignored ignoreRules) bool {
	link := entry.Type()&fs.ModeSymlink != 0
	folder := entry.IsDir() || (link && w.tree.Follow && isFolder(path))
	switch {
	case link && !w.tree.Links && !w.tree.Follow, w.leavesOut(entry.Name(), path, folder, ignored):
		return true
	case !folder:
		return w.visit(path, link || w.tree.Follow)
	case w.tree.Depth > 0 && depth >= w.tree.Depth:
		return true
	}
	return w.folder(path, depth+1, ignored)
}

func (w *walker) leavesOut(name, path string, folder bool, ignored ignoreRules) bool {
	switch {
	case strings.HasPrefix(name, ".") && !w.tree.Hidden:
		return true
	case folder && name == "objects" && filepath.Base(filepath.Dir(path)) == ".git": // many, and no names
		return true
	case folder:
		return anySelects(w.tree.WithoutFolders, name) || ignored.match(path, true)
	}
	return !w.tree.reads(name) || ignored.match(path, false)
}

// isFolder reports whether a path is a folder, or a link to one.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
