package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/match"
)

// Folder is one folder of a workspace.
type Folder struct {
	path string // absolute
	real string // without links, as far as it is there
	at   match.Location
}

// Path returns the absolute path.
func (f Folder) Path() string { return f.path }

// own are the folders that heldcall uses if nothing else is configured, and ownIn its state in the folder where it was
// started. A heldcall.yaml there is a secret for tools and commands that name it, like any file of heldcall.
var (
	own   = []string{"/etc/heldcall", "/var/lib/heldcall"}
	ownIn = []string{"heldcall.lock", "data/heldcall.lock", "data/jetstream"}
)

// NewFolder reads a folder: an absolute path, or one relative to base. It returns an error for a
// folder that is too wide, or that holds heldcall's own files.
func NewFolder(text, base string) (Folder, error) {
	switch {
	case strings.TrimSpace(text) == "":
		return Folder{}, errors.New("is empty: write a folder, absolute or relative to the policy file")
	case strings.HasPrefix(text, "~") || strings.HasPrefix(text, "$"):
		return Folder{}, fmt.Errorf("%q depends on a user: write an absolute folder, or one relative to the policy file", text)
	case strings.ContainsAny(text, "*?["):
		return Folder{}, fmt.Errorf("%q is a pattern: write each folder", text)
	}
	f := Folder{path: filepath.Clean(text)}
	if l := match.LocationOf(filepath.ToSlash(text)); l.Anchor == "" {
		f.path = filepath.Join(base, text)
	}
	f.real = resolved(f.path)
	var problem string
	if f.at, problem = match.Locate(filepath.ToSlash(f.path)); problem != "" {
		return Folder{}, fmt.Errorf("%q is no folder: %s", text, match.SentencePart(problem))
	}
	for _, path := range []string{f.path, f.real} {
		if err := refuse(path); err != nil {
			return Folder{}, err
		}
	}
	return f, nil
}

// RepositoryOf returns the root of the repository that holds a path outside of the workspace. It is "" if heldcall does not
// see the agent's files, if there is none, and if it is hidden, as the configuration of programs is.
func (w *Workspace) RepositoryOf(text string) string {
	path := filepath.FromSlash(match.JoinFolder(w.start, text))
	if !w.seen || !filepath.IsAbs(path) {
		return ""
	}
	root := rootAbove(filepath.Clean(path))
	if strings.Contains(filepath.ToSlash(root), "/.") {
		return ""
	}
	return root
}

// refuse returns why a folder cannot be a workspace.
func refuse(path string) error {
	at := match.LocationOf(filepath.ToSlash(path))
	if at.Body == "" {
		return fmt.Errorf("%s is everything on this machine: name the folder of the project", path)
	}
	if home, err := os.UserHomeDir(); isHome(at) || (err == nil && holds(at, home)) {
		return fmt.Errorf("%s is a home folder or holds one: name the folder of the project", path)
	}
	for _, folder := range append(slices.Clip(own), stateFolder()) {
		if folder == "" {
			continue
		}
		if l := match.LocationOf(filepath.ToSlash(folder)); within(at, l) || within(l, at) {
			return fmt.Errorf("%s holds heldcall's own files (%s), which agents may not write", path, folder)
		}
	}
	for _, name := range ownIn {
		if _, err := os.Lstat(filepath.Join(path, filepath.FromSlash(name))); err == nil {
			return fmt.Errorf("%s holds heldcall's own files (%s), which agents may not write: move them (docs/hardening.md)", path, name)
		}
	}
	return nil
}

// isHome reports whether a folder is that of a user, or of all users.
func isHome(l match.Location) bool {
	first, rest, _ := strings.Cut(l.Lower, "/")
	return ((first == "home" || first == "users") && !strings.Contains(rest, "/")) || l.Lower == "root"
}

// stateFolder is where `heldcall run` keeps its state, "" if that is not known.
func stateFolder() string {
	if base := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, "heldcall")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "state", "heldcall")
}

// holds reports whether a file is in a folder or is the folder.
func holds(folder match.Location, file string) bool {
	for _, form := range []string{file, resolved(file)} {
		if l := match.LocationOf(filepath.ToSlash(form)); within(folder, l) {
			return true
		}
	}
	return false
}

// FolderHolds reports whether any folder, which need not be one of a workspace, is or holds a file.
func FolderHolds(folder, file string) bool {
	for _, path := range []string{filepath.Clean(folder), resolved(folder)} {
		if at := match.LocationOf(filepath.ToSlash(path)); at.Body == "" || holds(at, file) {
			return true
		}
	}
	return false
}

func (f Folder) holds(l match.Location) bool { return within(f.at, l) || within(f.realAt(), l) }

// realAt is the folder without links.
func (f Folder) realAt() match.Location {
	l := match.LocationOf(filepath.ToSlash(f.real))
	return l
}

// belowOf returns a path from a folder, if the folder holds it.
func belowOf(folder, l match.Location) (match.Location, bool) {
	switch {
	case l.Anchor != folder.Anchor || l.Up > 0:
	case l.Body == folder.Body:
		return match.Location{}, true
	case strings.HasPrefix(l.Body, folder.Body+"/"):
		body := l.Body[len(folder.Body)+1:]
		return match.Location{Body: body, Lower: match.FoldCase(body)}, true
	}
	return match.Location{}, false
}

// within reports whether a path is a folder or in it, in any letter case.
func within(folder, l match.Location) bool {
	return folder.Anchor == l.Anchor && folder.Up == l.Up && (l.Lower == folder.Lower || strings.HasPrefix(l.Lower, folder.Lower+"/"))
}
