package call

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"
	"github.com/heldcall/heldcall/approvals/policy/shell/programs"
)

// Execution is one command that a call runs, or a redirection, with its effects and what it reaches. All that is decided and shown
// about a command is read from here; each fact is found once, when it is first needed.
type Execution struct {
	Command *shell.Command
	Use     shell.Use // of a command that only starts others, its words

	call    *Reading
	secrets fact[secretWords] // see Secrets
	foreign fact[string]      // see Foreign
	outside [2]fact[string]   // without and with the folder for temporary files: see Within
}

// fact is found when it is first needed.
type fact[T any] struct {
	known bool
	value T
}

func (f *fact[T]) get(find func() T) T {
	if !f.known {
		f.value, f.known = find(), true
	}
	return f.value
}

// Execution returns what a command of the call does.
func (c *Reading) Execution(of *shell.Command) *Execution {
	e := c.executions[of]
	if e == nil {
		e = &Execution{Command: of, Use: c.Known.Programs.Use(of), call: c}
		if c.executions == nil {
			c.executions = map[*shell.Command]*Execution{}
		}
		c.executions[of] = e
	}
	return e
}

// Executions returns the commands of the call's scripts in order, without those that only start others.
func (c *Reading) Executions() []*Execution {
	if c.acting == nil {
		c.acting = []*Execution{}
		for _, script := range c.Scripts() {
			for _, command := range script.Acting() {
				c.acting = append(c.acting, c.Execution(command))
			}
		}
	}
	return c.acting
}

// Within reports whether every path that the command may name is inside the workspace. Scratch: paths in the folder for
// temporary files count as inside.
func (e *Execution) Within(scratch bool) bool {
	scratch = scratch && e.Command.Words[0] != "cd" // checks and commits may follow
	at := 0
	if scratch {
		at = 1
	}
	return e.call.Places.note(e.outside[at].get(func() string { return e.findOutside(area{scratch: scratch}) }))
}

// Below reports whether every path that the command may name is in a folder. A folder that begins with ./ is that of the
// agent, and of a workspace each of its folders, where links count by where they lead. A command that names no path is in
// the agent's folder itself only.
func (e *Execution) Below(folder string) bool {
	l, problem := match.Locate(folder)
	switch {
	case problem != "", l.Body != "" && e.Use.Operands != programs.NoPaths && !e.hasOperand():
		return false
	case e.Use.Class == programs.Fetch && slices.ContainsFunc(e.Command.Words[1:], func(word string) bool { return strings.ContainsAny(word, "/:@") }):
		return false // it may name a thing of another place
	}
	return e.findOutside(area{below: &l}) == ""
}

// hasOperand reports whether the command has a path that is certainly an operand, and no value of an option: of a reader
// the table knows which these are.
func (e *Execution) hasOperand() bool {
	if e.Use.Class == programs.Read {
		return slices.ContainsFunc(e.Use.Paths, func(path shell.PathUse) bool { return path.Access == shell.Reads })
	}
	for i := max(e.Use.Named, 1); i < len(e.Use.Words); i++ {
		isCertain := i == e.Use.Named || shell.IsOperand(e.Use.Words[i-1].Text)
		if isCertain && shell.IsOperand(e.Use.Words[i].Text) {
			return true
		}
	}
	return false
}

// area is where the paths of a command must be: in the workspace, or below a folder.
type area struct {
	scratch bool            // paths in the folder for temporary files count as inside
	below   *match.Location // nil: the workspace
}

// outside returns why a path is not in the area, as a part of a sentence, or "".
func (a area) outside(p *Places, path string) string {
	if a.below != nil && (a.below.Anchor != "" || !p.call.Known.Workspace.HasFolders()) {
		l, problem := match.Locate(path)
		if problem == "" && l.Within(*a.below) {
			return ""
		}
		return match.Quote(path) + " is in another folder"
	}
	place := p.find(path)
	switch {
	case place.Outside != "":
		if a.scratch && p.call.Known.Workspace.Scratch(path) {
			return ""
		}
		return place.Outside
	case a.below != nil && slices.ContainsFunc(place.Forms(), func(l match.Location) bool { return !l.Within(*a.below) }):
		return match.Quote(path) + " is in another folder"
	}
	return ""
}

// findOutside returns why not every path that the command may name is in an area, as a part of a sentence, or "".
func (e *Execution) findOutside(in area) string {
	words := e.Command.Words
	if why := cmp.Or(e.Foreign(), e.startsOutside(in)); why != "" {
		return why
	}
	code := e.Command.Sets()
	if e.Use.Class == programs.Project {
		code = append(slices.Clip(code), words[min(1, e.Use.Script):e.Use.Script+1]...) // options may name code too
	}
	for _, word := range code { // in the folder for temporary files it is not the project's
		if why := e.wordOutside(word, area{below: in.below}); why != "" {
			return why
		}
	}
	named := append(beforeSubcommand(&e.Use), e.Command.LeftOut()...)
	for _, path := range e.Use.Paths {
		named = append(named, path.Text)
	}
	for _, word := range named {
		if file, test, found := strings.Cut(word, "::"); found && e.Use.Class == programs.Check && !strings.Contains(test, "/") {
			word = file // a test in a file
		}
		if why := e.wordOutside(word, in); why != "" {
			return why
		}
	}
	return ""
}

// startsOutside returns why the command starts in another folder than those of an area, or leads to one that is not known, as
// a part of a sentence, or "". Below a folder of the agent's own it need not start.
func (e *Execution) startsOutside(in area) string {
	words := e.Command.Words
	switch {
	case words[0] == "cd" && !slices.ContainsFunc(words[1:], shell.IsOperand):
		return "the cd leads to the home folder, or back to one that is not known"
	case in.below != nil && in.below.Body != "":
		return ""
	}
	return e.pathOutside("", in)
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

// ancestor is a commit that git counts from the one that is checked out.
var ancestor = regexp.MustCompile(`^(?:HEAD|@)(?:[~^][0-9]*)+$`)

// goTools are programs whose operands are packages.
var goTools = []string{"go", "golangci-lint", "staticcheck", "revive", "govulncheck", "errcheck"}

// wordOutside returns why a word of the command may be a path that is not inside the workspace, or "".
func (e *Execution) wordOutside(word string, in area) string {
	program := e.Command.Words[0]
	if match.LeadsUp(word) {
		// A shell may be in another folder than its call: after a cd that failed, or one of an
		// earlier call.
		return match.Quote(word) + " leads upwards"
	}
	if slices.Contains(goTools, program) {
		word = strings.TrimSuffix(word, "...") // every package below
	}
	if program == "git" && ancestor.MatchString(word) {
		return "" // Windows reads the name of a file in the same folder, at most
	}
	if from, to, found := strings.Cut(word, ".."); found && program == "git" && shell.IsOperand(word) { // revisions
		return cmp.Or(e.wordOutside(from, in), e.wordOutside(strings.TrimPrefix(to, "."), in))
	}
	return e.pathsOutside(word, in)
}

// pathsOutside returns why one of the paths that a word may have is not inside the workspace, or "".
func (e *Execution) pathsOutside(word string, in area) string {
	for text := range pathsIn(word) {
		if text == "" || isDevice(text) || (match.HasDrive(word) && text == word[2:]) || (shell.IsOperand(word) && strings.HasPrefix(text, "-")) {
			continue
		}
		if namesRevision(text) {
			text = "./" + text // the file is a part of its own
		}
		if why := e.pathOutside(text, in); why != "" {
			return why
		}
	}
	return ""
}

// namesRevision reports whether a text may be a revision and a file of it.
func namesRevision(text string) bool {
	return !strings.Contains(text, "://") && strings.Contains(text, ":") && !strings.HasPrefix(text, "/") && !match.HasDrive(text)
}

// isDevice reports whether a path holds no file.
func isDevice(path string) bool {
	return path == "/dev/null" || path == "/dev/stdin" || path == "/dev/stdout" || path == "/dev/stderr"
}

// Place returns where a path of the command is, if that is certain. A cd before it may fail, so the path must be there
// from its folder and from that of the call.
func (e *Execution) Place(path shell.Word) (place approvals.Place) {
	if !path.Known {
		return ""
	}
	for i, folder := range []string{e.Command.Folder, ""} {
		for k, text := range e.call.Places.from(match.JoinFolder(folder, path.Text)) {
			one := e.call.Places.Of(text)
			if i+k > 0 && one != place {
				return ""
			}
			place = one
		}
	}
	return place
}

// pathOutside judges a path from each folder in which the command may run, or that folder.
func (e *Execution) pathOutside(text string, in area) string {
	p := &e.call.Places
	text = match.JoinFolder(e.Command.Folder, text)
	if len(p.folders) == 0 && text == "" {
		return "" // the agent's own
	}
	for _, path := range p.from(text) {
		if why := in.outside(p, path); why != "" {
			return why
		}
	}
	return ""
}
