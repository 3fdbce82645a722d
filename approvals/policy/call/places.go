package call

import (
	"cmp"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"
	"github.com/heldcall/heldcall/approvals/policy/workspace"
)

// Places is where the paths of a call are: in the workspace or outside.
type Places struct {
	call    *Reading
	folders []string                   // of a shell, as the arguments name them
	outside string                     // see Outside
	written []Written                  // see Written; nil: not needed yet
	listed  map[writtenPath]bool       // those of written
	screen  *string                    // see MayWrite; nil: not needed yet
	secret  *string                    // see Reading.Secret; nil: not needed yet
	globs   map[string]bool            // words with globs, and whether they may name secrets
	found   map[string]workspace.Place // by text
	reached *reached                   // what the call reaches, where heldcall sees the files

	globCount int // see maxGlobs
}

// writtenPath is what tells one [Written] from another.
type writtenPath struct {
	text    string
	certain bool
}

// Written is a path that a shell command writes, moves or removes.
type Written struct {
	Candidate
	Certain    bool // else it may: nothing is known of the command, or not of the whole path
	Selections []match.Selection
}

// find returns where a path is.
func (p *Places) find(text string) workspace.Place {
	if !p.call.Known.Workspace.HasFolders() {
		return p.call.Known.Workspace.Find(text, nil)
	}
	place, known := p.found[text]
	if !known {
		place = p.call.Known.Workspace.Find(text, p.call.Known.Profiles.isSensitive)
		if p.found == nil {
			p.found = map[string]workspace.Place{}
		}
		p.found[text] = place
	}
	return place
}

// leaves reports whether a path is not certainly inside the workspace.
func (p *Places) leaves(text string) bool {
	place := p.find(text)
	return !place.Inside()
}

// locate reads the text of a candidate as a path, and finds whether it may hold secrets. If the
// folder of the workspace is itself in the list of what may hold secrets, as /root/app is, its files
// are compared by their paths in it.
func (p *Places) locate(r *Candidate) {
	profiles, tree := p.call.Known.Profiles, p.call.IsTree()
	p.place(r)
	if !r.Place.Listed {
		r.Secret = profiles.secretPath(r.Text, r.Path, tree)
	}
	for _, l := range r.Place.Forms() {
		if found := profiles.secretPath(l.Body, match.LocationOf(l.Body), tree); found != "" && r.Secret == "" {
			r.Secret = found
		}
	}
}

// place reads the text of a candidate as a path.
func (p *Places) place(r *Candidate) {
	r.Path, r.Problem = match.Locate(r.Text)
	if p.call.Known.Workspace.HasFolders() {
		r.Place = p.find(r.Text)
	}
}

// Of returns where a path is, if that is certain.
func (p *Places) Of(text string) approvals.Place {
	l, problem := match.Locate(text)
	place := p.find(text)
	switch {
	case !p.call.Known.Workspace.HasFolders() || problem != "":
		return ""
	case place.Inside():
		return approvals.PlaceWorkspace
	case l.Anchor != "" || l.Up > 0:
		return approvals.PlaceOutside
	}
	return ""
}

// Within reports whether a call works in the workspace only: all its paths, or all commands of its
// scripts, are inside.
func (p *Places) Within() bool {
	c := p.call
	switch {
	case len(c.Doubts) > 0 || c.Ambiguity != "" || c.Partial != "" || c.Filter != "" || c.certain == 0:
		return false
	case c.Kind == Shell:
		return !c.AnyScript(func(s *shell.Script) bool {
			return s.NotSimple != "" || slices.ContainsFunc(s.All, func(command *shell.Command) bool { return !c.Execution(command).Within(false) })
		})
	case c.Kind == Path:
		return !slices.ContainsFunc(c.Resources(), func(r Candidate) bool { return !p.CandidateWithin(&r) })
	}
	return false
}

// CandidateWithin reports whether a path is inside the workspace.
func (p *Places) CandidateWithin(r *Candidate) bool {
	return p.note(cmp.Or(r.Place.Outside, r.Foreign))
}

// Outside returns why a rule for the workspace does not cover the call, as a part of a sentence, or
// "".
func (p *Places) Outside() string { return p.outside }

// note keeps the first reason why something is not inside. It reports whether there is none.
func (p *Places) note(why string) bool {
	if p.outside == "" {
		p.outside = why
	}
	return why == ""
}

// from returns a path as it counts from each folder that the call names.
func (p *Places) from(text string) []string {
	if len(p.folders) == 0 {
		return []string{text}
	}
	paths := make([]string, len(p.folders))
	for i, folder := range p.folders {
		paths[i] = match.JoinFolder(folder, text)
	}
	return paths
}

// Written returns the paths that the commands of the call write, or may write.
func (p *Places) Written() []Written {
	if p.written != nil {
		return p.written
	}
	p.written = []Written{}
	folders := []string{""} // of the commands so far: a cd may fail, or be in brackets
	for _, execution := range p.call.Executions() {
		use := execution.Use
		if !slices.Contains(folders, use.Folder) {
			folders = append(folders, use.Folder)
		}
		for _, path := range use.Paths {
			for _, text := range mayWrite(&use, path) {
				certain := path.Access == shell.Writes && path.Known && !path.Glob
				for _, folder := range folders {
					if folder == use.Folder || match.JoinFolder(folder, text) != match.JoinFolder(use.Folder, text) {
						p.appendWritten(match.JoinFolder(folder, text), certain && folder == use.Folder)
					}
				}
			}
		}
	}
	return p.written
}

// MayWrite reports whether a path that the call may write has a text in its lower case, or may have it: a shell
// expands stars. It is the screen of many patterns.
func (p *Places) MayWrite(text string) bool {
	if p.screen == nil {
		p.screen = new(p.writtenNames())
	}
	return text == "" || strings.Contains(*p.screen, "*") || strings.Contains(*p.screen, "?") || strings.Contains(*p.screen, text)
}

// writtenNames joins the paths of Written, with those of links in them.
func (p *Places) writtenNames() string {
	var names strings.Builder
	for i := range p.Written() {
		written := &p.written[i]
		for _, l := range append(written.Place.Forms(), written.Path) {
			names.WriteString(l.Lower)
			names.WriteByte(0)
		}
	}
	return names.String()
}

// mayWrite returns what a command may write by one of its paths.
func mayWrite(use *shell.Use, path shell.PathUse) []string {
	last := use.Paths[len(use.Paths)-1]
	switch {
	case path.Access != shell.Reads && (path.Known || path.Access == shell.Writes):
		return slices.Collect(pathsIn(path.Text))
	case path.Access != shell.Reads:
		return nil
	case use.Program == "cd": // later commands: the next cd may fail or be in brackets, and some shells stay there for the next call
		return []string{path.Text}
	case last.Access == shell.Writes && path.Known && !path.Glob: // cp FILE FOLDER
		return []string{strings.TrimSuffix(last.Text, "/") + "/" + match.LastSegment(strings.TrimSuffix(path.Text, "/"))}
	}
	return nil
}

func (p *Places) appendWritten(text string, certain bool) {
	for _, path := range p.from(text) {
		key := writtenPath{path, certain}
		if p.listed[key] {
			continue
		}
		if !p.call.Spend(20) {
			return
		}
		if p.listed == nil {
			p.listed = map[writtenPath]bool{}
		}
		p.listed[key] = true
		one := Written{Candidate: Candidate{Text: path, Lower: match.FoldCase(path)}, Certain: certain}
		p.place(&one.Candidate)
		one.Selections = []match.Selection{match.NewSelection(one.Path)}
		for _, l := range one.Place.Forms() {
			one.Selections = append(one.Selections, match.NewSelection(l))
		}
		p.written = append(p.written, one)
	}
}
