package workspace

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/match"
)

// worktreeOf returns the working tree of the workspace's own repository that holds an absolute path outside the folders of
// the workspace. The repository and the tree must name each other: the tree's .git the folder .git/worktrees/NAME of the
// repository, and the file gitdir there the tree's .git. An agent that people ask about writes into .git and outside the
// workspace can make neither alone.
func (w *Workspace) worktreeOf(path string) (Folder, bool) {
	if !w.seen || !filepath.IsAbs(path) {
		return Folder{}, false
	}
	root := rootAbove(resolved(filepath.Dir(filepath.Join(path, "x"))))
	if root == "" {
		return Folder{}, false
	}
	git := filepath.Join(root, ".git")
	info, err := os.Lstat(git)
	if err != nil || !info.Mode().IsRegular() {
		return Folder{}, false
	}
	settings := resolved(gitFolderOf(git))
	if backFrom(settings) != git {
		return Folder{}, false
	}
	for _, f := range w.folders {
		if common := commonGitFolder(rootAbove(f.real)); common != "" && filepath.Dir(settings) == filepath.Join(common, "worktrees") && !within(match.LocationOf(filepath.ToSlash(root)), f.realAt()) {
			folder, err := NewFolder(root, "")
			return folder, err == nil
		}
	}
	return Folder{}, false
}

// backFrom returns the .git of the working tree that the settings of one name, without links, or "".
func backFrom(settings string) string {
	text, err := os.ReadFile(filepath.Join(settings, "gitdir"))
	if err != nil {
		return ""
	}
	path := strings.TrimRight(string(text), "\r\n")
	if !filepath.IsAbs(path) {
		path = filepath.Join(settings, path)
	}
	return resolved(path)
}

// commonGitFolder returns the folder of the repository of a working tree, without links, or "".
func commonGitFolder(root string) string {
	if root == "" {
		return ""
	}
	git := filepath.Join(root, ".git")
	info, err := os.Lstat(git)
	switch {
	case err != nil:
		return ""
	case info.IsDir():
		return git
	case !info.Mode().IsRegular():
		return ""
	}
	worktrees := filepath.Dir(resolved(gitFolderOf(git)))
	if filepath.Base(worktrees) != "worktrees" {
		return ""
	}
	return filepath.Dir(worktrees)
}
