package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// resolved returns a path without links, as far as it is there.
func resolved(path string) string {
	rest := ""
	for at := path; ; {
		if whole, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(whole, rest)
		}
		up := filepath.Dir(at)
		if up == at {
			return path
		}
		at, rest = up, filepath.Join(filepath.Base(at), rest)
	}
}

// folders are those of a workspace.
type folders []Folder

// follow returns where the links in a path lead, or "" if it has none below the folders of the
// workspace. Inside is false if one leads out of the workspace, or may. Between this look and the
// call the file system can change.
func (all folders) follow(path string) (target string, inside bool) {
	path = filepath.FromSlash(path)
	volume := filepath.VolumeName(path)
	at := volume + string(filepath.Separator)
	linked, found := false, false // the last name is a link; one was
	for name := range strings.SplitSeq(filepath.ToSlash(path[len(volume):]), "/") {
		if name == "" || name == "." {
			continue
		}
		if name == ".." && linked {
			return "", false // up from where the link leads to
		}
		at = filepath.Join(at, name)
		info, err := os.Lstat(at)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", false
		}
		linked = err == nil && info.Mode()&fs.ModeSymlink != 0
		if !linked || all.above(at) {
			continue
		}
		if found = true; !all.leadsInside(at) {
			return "", false
		}
	}
	if !found {
		return "", true
	}
	return resolved(path), true
}

// above reports whether a path is a folder of the workspace or above one.
func (all folders) above(path string) bool {
	return slices.ContainsFunc(all, func(f Folder) bool {
		return f.path == path || strings.HasPrefix(f.path, path+string(filepath.Separator))
	})
}

// leadsInside reports whether a link leads to a file that is there and in the workspace.
func (all folders) leadsInside(link string) bool {
	to, err := filepath.EvalSymlinks(link)
	return err == nil && slices.ContainsFunc(all, func(f Folder) bool {
		return to == f.real || strings.HasPrefix(to, f.real+string(filepath.Separator))
	})
}
