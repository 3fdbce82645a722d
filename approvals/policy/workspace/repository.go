package workspace

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/match"
)

// git runs programs that the settings of a repository name, and finds the repository from its folder upwards. Only
// the workspace's own repository is one whose settings the agent cannot change unasked.

// ForeignRepository returns why git in a folder may use another repository than the workspace's own, as a part of a
// sentence, or "". Where heldcall does not see the files, the names of the folder tell.
func (w *Workspace) ForeignRepository(folder string) string {
	whole := w.Absolute(folder)
	if whole == "" {
		if namesRepository(match.LocationOf(folder)) {
			return match.Quote(folder) + " may be a repository of its own"
		}
		return ""
	}
	real, err := filepath.EvalSymlinks(whole)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return match.Quote(folder) + " is not there yet, so it may become a repository of its own"
	case err != nil:
		return match.Quote(folder) + " cannot be looked at"
	}
	if _, isOwn := w.worktreeOf(real); isOwn {
		return ""
	}
	if w.isForeign(real) {
		return match.Quote(folder) + " is in a repository of its own, whose settings can run programs"
	}
	return ""
}

// InBareRepository returns why a path is, or may be, in a repository that is no part of a working tree, as a part of a
// sentence, or "".
func (w *Workspace) InBareRepository(path string) string {
	whole := w.Absolute(path)
	if l := match.LocationOf(path); whole == "" {
		if folder := strings.TrimSuffix(l.Lower, match.LastSegment(l.Lower)); namesRepository(match.Location{Lower: folder}) {
			return match.Quote(path) + " may be a setting of a repository"
		}
		return ""
	}
	real := resolved(filepath.Clean(whole))
	for dir := real; ; dir = filepath.Dir(dir) {
		if isBare(dir) && filepath.Base(dir) != ".git" {
			return match.Quote(path) + " is in a repository, whose settings can run programs"
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// namesRepository reports whether a folder has a name like x.git, or is the .git of a folder below the agent's.
func namesRepository(l match.Location) bool {
	above := false
	for segment := range strings.SplitSeq(l.Lower, "/") {
		if (segment != ".git" || (above && l.Anchor == "")) && strings.HasSuffix(segment, ".git") {
			return true
		}
		above = above || segment != ""
	}
	return false
}

// isForeign reports whether the repository of a folder is bare, or is in the working tree of another one, or has its
// settings elsewhere than in that one.
func (w *Workspace) isForeign(folder string) bool {
	for dir := folder; ; dir = filepath.Dir(dir) {
		git := filepath.Join(dir, ".git")
		info, err := os.Lstat(git)
		switch {
		case err == nil:
			return !w.hasRoot(dir) && !w.isOwn(dir, git, info)
		case isBare(dir):
			return !w.hasRoot(dir) && !isGitFolder(dir, w)
		case dir == filepath.Dir(dir):
			return false // in no repository
		}
	}
}

// hasRoot reports whether a folder of the workspace is in a folder, or is it. Without a workspace the agent's folder counts.
func (w *Workspace) hasRoot(folder string) bool {
	holds := func(path string) bool {
		return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, string(filepath.Separator))+string(filepath.Separator))
	}
	if len(w.folders) == 0 {
		return holds(resolved(filepath.FromSlash(w.start)))
	}
	return slices.ContainsFunc(w.folders, func(f Folder) bool { return holds(f.real) })
}

// isOwn reports whether the working tree at a folder is one of the workspace's own: it is in no other, or belongs to
// the one that it is in, as those of git worktree and of submodules do.
func (w *Workspace) isOwn(dir, git string, info fs.FileInfo) bool {
	if info.Mode()&fs.ModeSymlink != 0 {
		return false
	}
	outer := rootAbove(filepath.Dir(dir))
	if info.IsDir() {
		return outer == ""
	}
	leads := gitFolderOf(git)
	if leads == "" || outer == "" {
		return false
	}
	own := filepath.Join(outer, ".git")
	return strings.HasPrefix(resolved(leads), resolved(own)+string(filepath.Separator))
}

// isGitFolder reports whether a folder is in the .git of the workspace's own repository.
func isGitFolder(folder string, w *Workspace) bool {
	for dir := folder; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if filepath.Base(dir) == ".git" {
			return w.hasRoot(filepath.Dir(dir)) || rootAbove(filepath.Dir(filepath.Dir(dir))) == ""
		}
	}
	return false
}

// rootAbove returns the nearest folder, from one upwards, that has a .git, or "".
func rootAbove(folder string) string {
	for dir := folder; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// gitFolderOf returns the folder that a .git file names, or "".
func gitFolderOf(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, err := bufio.NewReader(io.LimitReader(f, 4<<10)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	path, found := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "gitdir: ")
	if !found {
		return ""
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(file), path)
	}
	return path
}

// isBare reports whether git takes a folder for a repository.
func isBare(folder string) bool {
	has := func(name string) bool {
		_, err := os.Stat(filepath.Join(folder, name))
		return err == nil
	}
	_, err := os.Lstat(filepath.Join(folder, "HEAD")) // may be a link to a branch
	return err == nil && (has("commondir") || (has("objects") && has("refs")))
}
