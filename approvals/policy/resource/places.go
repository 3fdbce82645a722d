package resource

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"
	"github.com/heldcall/heldcall/approvals/policy/shell/programs"
	"github.com/heldcall/heldcall/approvals/policy/workspace"
)

// Places is where the paths of a call are: in the workspace or outside.
type Places struct {
	call    *ParsedCall
	scratch bool                   // see CommandWithin
	folders []string               // of a shell, as the arguments name them
	outside string                 // see Outside
	uses    []shell.Use            // see Uses; nil: not needed yet
	use     map[*shell.Command]int // the first of uses of each command
	written []Written              // see Written; nil: not needed yet
	secret  *string                // see ParsedCall.Secret; nil: not needed yet
	globs   map[string]bool        // words with globs, and whether they may name secrets

	globCount int // see maxGlobs
}

// Written is a path that a shell command writes, moves or removes.
type Written struct {
	Candidate
	Certain bool // else it may: nothing is known of the command, or not of the whole path
}

// find returns where a path is.
func (p *Places) find(text string) workspace.Place {
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
	r.Path, r.Problem = match.Locate(r.Text)
	if p.call.Known.Workspace != nil {
		r.Place = p.find(r.Text)
	}
	if !r.Place.Listed {
		r.Secret = profiles.secretPath(r.Text, r.Path, tree)
	}
	for _, l := range r.Place.Forms() {
		if found := profiles.secretPath(l.Body, match.LocationOf(l.Body), tree); found != "" && r.Secret == "" {
			r.Secret = found
		}
	}
}

// Inside reports whether a path is certainly inside the workspace.
func (p *Places) Inside(path string) bool {
	place := p.find(path)
	return place.Inside()
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
			return s.NotSimple != "" || slices.ContainsFunc(s.All, func(command *shell.Command) bool { return !p.CommandWithin(command, false) })
		})
	case c.Kind == Path:
		return !slices.ContainsFunc(c.Resources(), func(r Candidate) bool { return !p.CandidateWithin(&r) })
	}
	return false
}

// CandidateWithin reports whether a path is inside the workspace.
func (p *Places) CandidateWithin(r *Candidate) bool { return p.note(r.Place.Outside) }

// CommandWithin reports whether every path that a command may name is inside the workspace.
// Scratch reports whether paths in the folder for temporary files count as inside.
func (p *Places) CommandWithin(of *shell.Command, scratch bool) bool {
	p.Uses() // once for all commands
	one := *p
	one.scratch = scratch && of.Words[0] != "cd" // checks and commits may follow
	return p.note(one.commandOutside(of))
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

func (p *Places) commandOutside(of *shell.Command) string {
	if why := p.pathOutside(of, ""); why != "" {
		return why
	}
	if of.Words[0] == "cd" && !slices.ContainsFunc(of.Words[1:], shell.IsOperand) {
		return "the cd leads to the home folder, or back to one that is not known"
	}
	use := p.UseOf(of)
	words := append(beforeSubcommand(&use), of.LeftOut()...)
	for _, path := range use.Paths {
		words = append(words, path.Text)
	}
	code := of.Sets()
	if use.Class == programs.Project {
		code = append(slices.Clip(code), of.Words[min(1, use.Script):use.Script+1]...) // options may name code too
	}
	strict := *p // code in the folder for temporary files is not the project's
	strict.scratch = false
	for _, word := range code {
		if why := strict.wordOutside(of, word); why != "" {
			return why
		}
	}
	for _, word := range words {
		if file, test, found := strings.Cut(word, "::"); found && use.Class == programs.Check && !strings.Contains(test, "/") {
			word = file // a test in a file
		}
		if why := p.wordOutside(of, word); why != "" {
			return why
		}
	}
	return ""
}

// beforeSubcommand returns the words in front of the last word of a subcommand, such as the values
// of options of the program.
func beforeSubcommand(use *shell.Use) []string {
	names := strings.Fields(use.Subcommand)
	var words []string
	for _, word := range use.Words[min(1, len(use.Words)):] {
		switch {
		case len(names) == 0 || word.Text == names[len(names)-1]:
			return words
		case !slices.Contains(names, word.Text):
			words = append(words, word.Text)
		}
	}
	return words
}

// goTools are programs whose operands are packages.
var goTools = []string{"go", "golangci-lint", "staticcheck", "revive", "govulncheck", "errcheck"}

// wordOutside returns why a word of a command may be a path that is not inside the workspace, or "".
func (p *Places) wordOutside(of *shell.Command, word string) string {
	if match.LeadsUp(word) {
		// A shell may be in another folder than its call: after a cd that failed, or one of an
		// earlier call.
		return match.Quote(word) + " leads upwards"
	}
	if slices.Contains(goTools, of.Words[0]) {
		word = strings.TrimSuffix(word, "...") // every package below
	}
	if from, to, found := strings.Cut(word, ".."); found && of.Words[0] == "git" && shell.IsOperand(word) { // revisions
		if why := p.wordOutside(of, from); why != "" {
			return why
		}
		return p.wordOutside(of, strings.TrimPrefix(to, "."))
	}
	return p.pathsOutside(of, word)
}

// pathsOutside is wordOutside for each path that a word may contain.
func (p *Places) pathsOutside(of *shell.Command, word string) string {
	for text := range pathsIn(word) {
		if text == "" || isDevice(text) || (match.HasDrive(word) && text == word[2:]) || (shell.IsOperand(word) && strings.HasPrefix(text, "-")) {
			continue
		}
		if namesRevision(text) {
			text = "./" + text // the file is a part of its own
		}
		if why := p.pathOutside(of, text); why != "" {
			return why
		}
	}
	return ""
}

// namesRevision reports whether a text may be a revision and a file of it.
func namesRevision(text string) bool {
	return !strings.Contains(text, "://") && strings.Contains(text, ":") && !strings.HasPrefix(text, "/") && !match.HasDrive(text)
}

// pathOutside judges a path from each folder in which the command may run, or that folder.
func (p *Places) pathOutside(of *shell.Command, text string) string {
	text = match.JoinFolder(of.Folder, text)
	if len(p.folders) == 0 && text == "" {
		return "" // the agent's own
	}
	for _, path := range p.from(text) {
		if place := p.find(path); place.Outside != "" && !(p.scratch && p.call.Known.Workspace.Scratch(path)) {
			return place.Outside
		}
	}
	return ""
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

// isDevice reports whether a path holds no file.
func isDevice(path string) bool {
	return path == "/dev/null" || path == "/dev/stdin" || path == "/dev/stdout" || path == "/dev/stderr"
}

// UseOf describes a command of the call.
func (p *Places) UseOf(of *shell.Command) shell.Use {
	if p.use == nil {
		p.use = map[*shell.Command]int{}
		for i, use := range p.Uses() {
			if _, earlier := p.use[use.Command]; !earlier {
				p.use[use.Command] = i
			}
		}
	}
	if i, found := p.use[of]; found {
		return p.uses[i]
	}
	use := shell.Use{Command: of} // it starts others
	for _, word := range of.Words[1:] {
		use.Paths = append(use.Paths, shell.PathUse{Word: shell.Word{Text: word}, Access: shell.Touches})
	}
	return use
}

// Uses describes the commands of the call's scripts.
func (p *Places) Uses() []shell.Use {
	if p.uses == nil {
		p.uses = []shell.Use{}
		for _, script := range p.call.Scripts() {
			p.uses = p.call.Known.Programs.AppendUses(p.uses, script)
		}
	}
	return p.uses
}

// Written returns the paths that the commands of the call write, or may write.
func (p *Places) Written() []Written {
	if p.written != nil {
		return p.written
	}
	p.written = []Written{}
	folders := []string{""} // of the commands so far: a cd may fail, or be in brackets
	for _, use := range p.Uses() {
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
		one := Written{Candidate{Text: path, Lower: match.FoldCase(path)}, certain}
		p.locate(&one.Candidate)
		p.written = append(p.written, one)
	}
}
