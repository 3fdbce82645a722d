// Package workspace finds which paths of calls are inside the folders in which an agent works.
package workspace

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/match"
)

// Workspace is the folders in which an agent works. It is immutable. Nil is no workspace: no path
// is inside.
type Workspace struct {
	folders folders
	start   string           // the agent's folder; "": not known
	seen    bool             // heldcall sees the files of the agent at the same paths
	entries int              // how many of them it looks at for one call
	own     []match.Location // files of heldcall, which are never inside
}

// New returns a workspace of some folders, nil of none.
func New(folders []Folder) *Workspace {
	if len(folders) == 0 {
		return nil
	}
	return &Workspace{folders: folders}
}

// HasFolders reports whether there are folders in which a path can be.
func (w *Workspace) HasFolders() bool { return w != nil && len(w.folders) > 0 }

// First returns the path of the first folder, "" of none.
func (w *Workspace) First() string {
	if !w.HasFolders() {
		return ""
	}
	return w.folders[0].Path()
}

// Agent is an agent as far as it decides which files the paths in its calls are.
type Agent struct {
	Folder string // from which relative paths count, absolute; "": not known
	Seen   bool   // heldcall sees the agent's files at the same paths, so it looks at what calls reach
	// Entries is how many files and folders are looked at for one call; 0: 30,000.
	Entries int
}

// maxEntries is how many files and folders are looked at for one call, if an agent has no other number.
const maxEntries = 30_000

// Of returns the same folders for an agent. Of no folders it is nil, unless heldcall sees the agent's files.
func (w *Workspace) Of(a Agent) *Workspace {
	var one Workspace
	switch {
	case w != nil:
		one = *w
	case !a.Seen:
		return nil
	}
	one.start, one.seen, one.entries = filepath.ToSlash(a.Folder), a.Seen, cmp.Or(a.Entries, maxEntries)
	return &one
}

// Without returns the workspace in which some files and folders count as outside.
func (w *Workspace) Without(files ...string) *Workspace {
	if w == nil {
		return nil
	}
	one := *w
	one.own = slices.Clip(one.own)
	for _, file := range files {
		for _, form := range []string{file, resolved(file)} {
			l := match.LocationOf(filepath.ToSlash(form))
			one.own = append(one.own, l)
		}
	}
	return &one
}

// With returns the workspace with more folders.
func (w *Workspace) With(more ...Folder) *Workspace {
	next := *w
	next.folders = append(slices.Clip(next.folders), more...)
	return &next
}

// Holds returns the folder of the workspace that holds a file, or "".
func (w *Workspace) Holds(file string) string {
	if w == nil {
		return ""
	}
	for _, form := range []string{file, resolved(file)} {
		l := match.LocationOf(filepath.ToSlash(form))
		for _, f := range w.folders {
			if f.holds(l) {
				return f.path
			}
		}
	}
	return ""
}

// Place is where a path of a call is.
type Place struct {
	// Below are the paths from each folder of the workspace that holds it; none: it is outside,
	// or that is not known.
	Below []match.Location
	// Target are the same of the file to which links in the path lead; none: there are no links,
	// or heldcall cannot see them.
	Target []match.Location
	// Outside is why it is not inside, as a part of a sentence, or "".
	Outside string
	// Listed is true if the folder itself is in a list of paths: see Find.
	Listed bool
}

// Forms are the paths in the workspace that a path may mean, by its name or by links.
func (p *Place) Forms() []match.Location { return slices.Concat(p.Below, p.Target) }

// Inside reports whether the path is certainly inside.
func (p *Place) Inside() bool { return p.Outside == "" && len(p.Below) > 0 }

// Find returns where a path is: inside only if it is so in each of its readings. Listed reports
// whether a folder is in a list of paths.
func (w *Workspace) Find(text string, listed func(match.Location) bool) (p Place) {
	if !w.HasFolders() {
		return Place{Outside: "the policy names no workspace"}
	}
	for _, reading := range match.Readings(text) {
		one := w.find(reading, listed)
		p.Below, p.Target = append(p.Below, one.Below...), append(p.Target, one.Target...)
		p.Outside, p.Listed = cmp.Or(p.Outside, one.Outside), p.Listed || one.Listed
	}
	return p
}

// find returns where one reading of a path is.
func (w *Workspace) find(text string, listed func(match.Location) bool) Place {
	whole := match.JoinFolder(w.start, text)
	l, problem := match.Locate(whole)
	switch {
	case problem != "":
		return Place{Outside: match.SentencePart(problem)}
	case l.Anchor == "" && w.start == "":
		return Place{Outside: fmt.Sprintf("where %s is depends on the agent's folder, which is not known", match.Quote(text))}
	}
	p, all := w.folders.belowOf(l, listed), w.folders
	if len(p.Below) == 0 {
		if tree, isOwn := w.worktreeOf(l.Absolute()); isOwn {
			all = append(slices.Clip(all), tree)
			p = all.belowOf(l, listed)
		}
	}
	switch {
	case len(p.Below) == 0:
		p.Outside = match.Quote(text) + " is outside the workspace"
	case slices.ContainsFunc(w.own, func(own match.Location) bool { return within(own, l) }):
		p.Outside = match.Quote(text) + " belongs to heldcall"
	case w.seen:
		w.findTarget(&p, all, whole)
	}
	return p
}

// belowOf returns where a path is from each folder that holds it.
func (all folders) belowOf(l match.Location, listed func(match.Location) bool) (p Place) {
	for _, f := range all {
		if below, inside := belowOf(f.at, l); inside {
			p.Below = append(p.Below, below)
			p.Listed = p.Listed || listed(f.at)
		}
	}
	return p
}

// findTarget follows the links in a path to the folders in which it may be.
func (w *Workspace) findTarget(p *Place, all folders, whole string) {
	target, inside := all.follow(whole)
	if !inside {
		p.Outside = "a link leads from " + match.Quote(whole) + " out of the workspace"
	}
	if target == "" {
		return
	}
	l := match.LocationOf(filepath.ToSlash(target))
	for _, f := range all {
		if below, inside := belowOf(f.realAt(), l); inside {
			p.Target = append(p.Target, below)
		}
	}
	if slices.ContainsFunc(w.own, func(own match.Location) bool { return within(own, l) }) {
		p.Outside = match.Quote(whole) + " is a link to a file that belongs to heldcall"
	}
}

// Scratch reports whether a path is in a folder for temporary files, such as /tmp, and neither a hidden
// file, nor one of heldcall's, nor, where heldcall sees the files, reached by a link.
func (w *Workspace) Scratch(text string) bool {
	if !w.HasFolders() {
		return false
	}
	whole := match.JoinFolder(w.start, text)
	l, problem := match.Locate(whole)
	base := temporaryFolder(l)
	if problem != "" || base == "" || strings.Contains(l.Body, "/.") {
		return false
	}
	if slices.ContainsFunc(w.own, func(own match.Location) bool { return within(own, l) }) {
		return false
	}
	if l.Anchor != "/" { // of another system than this one
		return !w.seen
	}
	real, rest := resolved("/"+l.Body), strings.TrimPrefix(l.Body, base)
	return !w.seen || real == resolved("/"+base)+rest
}

// temporaryFolder returns the folder for temporary files that holds a path, without its anchor, or "": /tmp; of macOS also
// /private/tmp and the folder T of a user in /var/folders; of Windows AppData/Local/Temp in a user's folder.
func temporaryFolder(l match.Location) string {
	segments := strings.Split(l.Body, "/")
	first := func(n int) string { return strings.Join(segments[:n], "/") }
	private := 0
	if segments[0] == "private" {
		private = 1
	}
	switch {
	case l.Up > 0:
	case l.Anchor == "/" && len(segments) > private && segments[private] == "tmp":
		return first(private + 1)
	case l.Anchor == "/" && len(segments) > private+4 && first(private + 2)[private*len("private/"):] == "var/folders" && segments[private+4] == "T":
		return first(private + 5)
	case match.HasDrive(l.Anchor) && len(segments) > 5 && strings.HasPrefix(l.Lower, "users/"):
		if lower := strings.Split(l.Lower, "/"); strings.Join(lower[2:5], "/") == "appdata/local/temp" {
			return first(5)
		}
	}
	return ""
}
