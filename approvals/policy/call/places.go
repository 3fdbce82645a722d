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
	written usedPaths                  // see Used
	read    usedPaths                  // see Used
	secret  *string                    // see Reading.Secret; nil: not needed yet
	globs   map[string]bool            // words with globs, and whether they may name secrets
	found   map[string]workspace.Place // paths of the call, by text
	reached *reached                   // what the call reaches, where heldcall sees the files

	foreignShell fact[string]      // see findForeignShell
	repositories map[string]string // see foreignFolder

	globCount int // see maxGlobs
}

// usedPaths are the paths that the commands of a call use in one way.
type usedPaths struct {
	paths  []Used // nil: not needed yet
	listed map[usedPath]bool
	names  *string // see MayUse; nil: not needed yet
}

// usedPath is what tells one [Used] from another.
type usedPath struct {
	text    string
	certain bool
}

// Used is a path that a shell command reads, or that it writes, moves or removes.
type Used struct {
	Candidate
	Certain    bool // else it may: nothing is known of the command, or not of the whole path
	Selections []match.Selection
}

// find returns where a path of the call is.
func (p *Places) find(text string) workspace.Place {
	if !p.call.Known.Workspace.HasFolders() {
		return p.call.Known.Workspace.Find(text, nil)
	}
	place, known := p.found[text]
	if !known {
		place = p.Place(text)
		if p.found == nil {
			p.found = map[string]workspace.Place{}
		}
		p.found[text] = place
	}
	return place
}

// Place returns where a path is, as far as that is known. It need not be one of the call.
func (p *Places) Place(text string) workspace.Place {
	return p.call.Known.Workspace.Find(text, p.call.Known.Profiles.isSensitive)
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

// RepositoryOutside returns the one repository that holds all paths of the call that are outside the workspace, or "": see
// [workspace.Workspace.RepositoryOf].
func (p *Places) RepositoryOutside() (folder string) {
	for text, place := range p.found {
		if place.Inside() {
			continue
		}
		at := p.call.Known.Workspace.RepositoryOf(text)
		if at == "" || (folder != "" && at != folder) {
			return ""
		}
		folder = at
	}
	return folder
}

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

// Used returns the paths that the commands of the call use in a way, or may use.
func (p *Places) Used(as shell.Access) []Used {
	u := p.usedAs(as)
	if u.paths != nil {
		return u.paths
	}
	u.paths = []Used{}
	folders := []string{""} // of the commands so far: a cd may fail, or be in brackets
	for _, execution := range p.call.Executions() {
		use := execution.Use
		if !slices.Contains(folders, use.Folder) {
			folders = append(folders, use.Folder)
		}
		if p.call.Exhausted() != "" {
			break
		}
		for _, path := range use.Paths {
			certain := path.Access == as && path.Known && !path.Glob && !mayBeMessage(&use, path)
			for _, text := range mayUse(&use, path, as) {
				for _, folder := range folders {
					if folder == use.Folder || match.JoinFolder(folder, text) != match.JoinFolder(use.Folder, text) {
						p.appendUsed(u, match.JoinFolder(folder, text), certain && folder == use.Folder)
					}
				}
			}
		}
	}
	return u.paths
}

func (p *Places) usedAs(as shell.Access) *usedPaths {
	if as == shell.Reads {
		return &p.read
	}
	return &p.written
}

// MayUse reports whether a path that the call may use in a way has a text in its lower case, or may have it: a shell
// expands stars. It is the screen of many patterns.
func (p *Places) MayUse(as shell.Access, text string) bool {
	u := p.usedAs(as)
	if u.names == nil {
		u.names = new(joinedNames(p.Used(as)))
	}
	return text == "" || strings.Contains(*u.names, "*") || strings.Contains(*u.names, "?") || strings.Contains(*u.names, text)
}

// joinedNames are the paths with those of links in them, as one text.
func joinedNames(paths []Used) string {
	var names strings.Builder
	for i := range paths {
		for _, l := range append(paths[i].Place.Forms(), paths[i].Path) {
			names.WriteString(l.Lower)
			names.WriteByte(0)
		}
	}
	return names.String()
}

// mayBeMessage reports whether an operand of git that is only read may be the value of the option before it, such as
// the message of a commit.
func mayBeMessage(use *shell.Use, path shell.PathUse) bool {
	if use.Program != "git" || path.Access != shell.Reads {
		return false
	}
	i := slices.Index(use.Words, path.Word)
	return i > 0 && use.Words[i-1].Text != "--" && strings.HasPrefix(use.Words[i-1].Text, "-")
}

// mayUse returns the paths that a command uses or may use in a way, by one of its words.
func mayUse(use *shell.Use, path shell.PathUse, as shell.Access) []string {
	if as == shell.Writes {
		return mayWrite(use, path)
	}
	if path.Access != shell.Reads || !path.Known || use.Program == "cd" {
		return nil // what nothing is known of may be written too
	}
	return slices.Collect(pathsIn(path.Text))
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

func (p *Places) appendUsed(u *usedPaths, text string, certain bool) {
	for _, path := range p.from(text) {
		key := usedPath{path, certain}
		if u.listed[key] {
			continue
		}
		if !p.call.Spend(20) {
			return
		}
		if u.listed == nil {
			u.listed = map[usedPath]bool{}
		}
		u.listed[key] = true
		used := Used{Candidate: Candidate{Text: path, Lower: match.FoldCase(path)}, Certain: certain}
		p.place(&used.Candidate)
		used.Selections = []match.Selection{match.NewSelection(used.Path)}
		for _, l := range used.Place.Forms() {
			used.Selections = append(used.Selections, match.NewSelection(l))
		}
		u.paths = append(u.paths, used)
	}
}
