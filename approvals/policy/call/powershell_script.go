package call

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"
)

// powershellScript is a script of PowerShell as commands that do the same in a shell that is parsed: programs with their words,
// and for each cmdlet one that reads or writes its paths. Only parts that are certain is read; all else is refused.
type powershellScript struct {
	c        *Reading
	commands [][]string
}

// The forms of PowerShell, beside commands of plain words, that do nothing but read what they are given.
var (
	// versionTable is the version of PowerShell.
	versionTable = regexp.MustCompile(`^\$PSVersionTable(\.PSVersion)?$`)
	// countOf is how many objects a pipeline gives.
	countOf = regexp.MustCompile(`^\(([^()]*)\)\.(?:Count|Length)$`)
	// replaceIn is the text of a file with another one in place of a part.
	replaceIn = regexp.MustCompile(`^\((Get-Content [^()'"]*)\) -replace '[^']*', ?'[^']*'$`)
	// propertyOf is a stage that passes a property of each object, or those that have some value.
	propertyOf = regexp.MustCompile(`^(?:(?:ForEach-Object|%) *\{ *\$_\.\w+ *\}|(?:Where-Object|\?) *\{ *\$_\.\w+ +-(?:eq|ne|gt|ge|lt|le|like|notlike|match|notmatch) +(?:[0-9]+|'[^']*') *\})$`)
	// setting is a variable of the environment with a plain value.
	setting = regexp.MustCompile(`^\$env:(\w+) *= *(?:"([\w.-]*)"|'([\w.-]*)')$`)
	// nativeWord is a word that the programs of Windows, and cmd that starts some, take as it is.
	nativeWord = regexp.MustCompile(`^(?:[\w ./:=~+,#'-]|\\[\w.])+$`)
)

// AsShell returns a call that does the same as this one by commands that a shell is parsed for, if the script of this one is
// for PowerShell and all that it does is certain. The call is for a tool of the kind of shells.
func (c *Reading) AsShell() (Call, bool) {
	text, ok := c.powershellText()
	if !ok || len(c.Doubts) > 0 || c.Ambiguity != "" || c.Partial != "" || c.Filter != "" || !c.Known.Workspace.HasFolders() {
		return Call{}, false
	}
	s := &powershellScript{c: c}
	if !s.read(text) {
		return Call{}, false
	}
	var lines []string
	for _, words := range s.commands {
		lines = append(lines, shell.QuoteWords(words))
	}
	return c.inShell(strings.Join(lines, "\n"))
}

// inShell returns a call like this one with another script.
func (c *Reading) inShell(script string) (Call, bool) {
	other, field := c.Call, "command"
	if c.Kind != Shell {
		other.Tool = "bash"
	} else if len(c.Tool.Fields) == 0 || len(c.Tool.Fields[0]) != 1 {
		return Call{}, false
	} else {
		field = c.Tool.Fields[0][0]
	}
	arguments := map[string]string{}
	members := match.Members(match.OrEmptyObject(c.Call.Arguments))
	for _, path := range c.Tool.Workdir {
		for _, v := range match.ValuesAt(members, path) {
			if len(path) != 1 || v.Kind != '"' || v.Folded {
				return Call{}, false
			}
			arguments[path[0]] = v.Text
		}
	}
	arguments[field] = script
	text, err := json.Marshal(arguments)
	other.Arguments, other.FreeText = string(text), false
	return other, err == nil
}

// powershellText returns the script of PowerShell that the call runs: its resource, or what a shell starts PowerShell with.
func (c *Reading) powershellText() (string, bool) {
	t := c.Tool
	if t == nil || !t.Builtin || len(c.Resources()) != 1 {
		return "", false
	}
	if t.PowerShell && (c.Kind == Plain || match.HasDrive(c.Known.Workspace.First())) {
		return c.Text, true
	}
	if c.Kind != Shell || c.Resources()[0].Script.NotSimple != "" || len(c.Resources()[0].Script.Commands) != 1 {
		return "", false
	}
	use := c.Execution(c.Resources()[0].Script.Commands[0]).Use
	return startedText(use.Words)
}

// startedText returns the script in the words pwsh -Command SCRIPT.
func startedText(words []shell.Word) (string, bool) {
	n := len(words)
	if n < 3 || slices.ContainsFunc(words, func(w shell.Word) bool { return !w.Known || w.Glob }) {
		return "", false
	}
	if name := strings.TrimSuffix(strings.ToLower(words[0].Text), ".exe"); name != "pwsh" && name != "powershell" {
		return "", false
	}
	for _, option := range words[1 : n-2] {
		if !slices.Contains([]string{"-noprofile", "-nologo", "-noninteractive"}, strings.ToLower(option.Text)) {
			return "", false
		}
	}
	before := strings.ToLower(words[n-2].Text)
	return words[n-1].Text, before == "-command" || before == "-c"
}

// read reads a script. It reports false if not all of it is certain.
func (s *powershellScript) read(text string) bool {
	for statement := range strings.SplitSeq(text, ";") {
		statement = strings.TrimSpace(statement)
		if found := countOf.FindStringSubmatch(statement); found != nil {
			statement = found[1]
		}
		switch set := setting.FindStringSubmatch(statement); {
		case statement == "": // after the last ;
		case versionTable.MatchString(statement):
			s.commands = append(s.commands, []string{"pwd"})
		case set != nil:
			if !s.c.Known.Programs.Variables.Sets(set[1], set[2]+set[3]) {
				return false
			}
		case !s.pipeline(statement):
			return false
		}
	}
	return len(s.commands) > 0
}

// pipeline reads a pipeline.
func (s *powershellScript) pipeline(text string) bool {
	var given flow
	for stage := range strings.SplitSeq(text, "|") {
		stage = strings.TrimSpace(stage)
		if found := replaceIn.FindStringSubmatch(stage); found != nil && !given.any {
			stage = found[1]
		}
		for _, end := range []string{" 2>&1", " 2>$null"} {
			stage = strings.TrimSuffix(stage, end)
		}
		if !(given.any && propertyOf.MatchString(stage)) && !s.stage(stage, &given) {
			return false
		}
		given.any = true
	}
	return true
}

// flow is what a stage of a pipeline is given by those before it.
type flow struct{ any, files bool }

// stage reads one command of a pipeline.
func (s *powershellScript) stage(text string, given *flow) bool {
	var w wordReader
	words, ok := w.all(text)
	if !ok || len(words) == 0 || cmdlets()[strings.ToLower(words[0])] == nil {
		return !given.any && s.native(text)
	}
	known := cmdlets()[strings.ToLower(words[0])]
	fits := known.takes(*given) || (known.as == "touch" && !w.commas)
	paths, ok := s.c.pathsOf(known, words[1:])
	if !ok || !fits || (known.as != "" && (w.commas || !known.writesAll(paths, words))) {
		return false
	}
	given.files = given.files || known.files
	s.commands = append(s.commands, known.commands(paths, words)...)
	return true
}

// writesAll reports whether the paths of a cmdlet that writes are what a shell's program takes: some, and of one that copies
// or moves the source and then where it becomes.
func (k *cmdlet) writesAll(paths, words []string) bool {
	if k.as != "cp" && k.as != "mv" {
		return len(paths) > 0
	}
	to := slices.IndexFunc(words, func(word string) bool { return strings.EqualFold(word, "-destination") })
	return len(paths) == 2 && (to < 0 || strings.ReplaceAll(words[to+1], `\`, "/") == paths[1])
}

// commands returns what reads or writes the paths of a cmdlet.
func (k *cmdlet) commands(paths, words []string) [][]string {
	has := func(name string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.EqualFold(word, "-"+name) })
	}
	isFolder := slices.ContainsFunc(words, func(word string) bool {
		return slices.Contains([]string{"directory", "mkdir", "md"}, strings.ToLower(word))
	})
	var begin []string
	switch {
	case k.as == "rm" && has("recurse"):
		begin = []string{"rm", "-rf"}
	case k.as == "cp" && has("recurse"):
		begin = []string{"cp", "-r"}
	case k.as == "mkdir" && !isFolder:
		begin = []string{"touch"}
	case k.as == "mkdir":
		begin = []string{"mkdir", "-p"}
	case k.as != "":
		begin = []string{k.as}
	case len(paths) == 0:
		return [][]string{{"pwd"}}
	case k.content:
		begin = []string{"cat"}
	default:
		begin = []string{"ls"}
	}
	return [][]string{append(begin, paths...)}
}

// native reads a program with its words. It must be one whose name no cmdlet has, and each word one that PowerShell, and cmd
// that starts some programs, pass on as it is.
func (s *powershellScript) native(text string) bool {
	w := wordReader{native: true}
	words, ok := w.all(text)
	if !ok || len(words) == 0 || slices.ContainsFunc(words, func(word string) bool { return !passesAsItIs(word) }) {
		return false
	}
	name := strings.ToLower(strings.ReplaceAll(words[0], `\`, "/"))
	for _, end := range []string{".exe", ".cmd", ".bat"} {
		name = strings.TrimSuffix(name, end)
	}
	switch {
	case name == "cd" || name == "set-location":
		words[0] = "cd"
	case !natives()[strings.TrimPrefix(name, "./")] || (strings.Contains(name, "/") && !slices.Contains([]string{"./gradlew", "./mvnw"}, name)):
		return false
	default:
		words[0] = name
	}
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], `\`, "/")
	}
	s.commands = append(s.commands, words)
	return true
}

// passesAsItIs reports whether a word reaches a program as it is. PowerShell ends an option at a dot or colon.
func passesAsItIs(word string) bool {
	return nativeWord.MatchString(word) && !(strings.HasPrefix(word, "-") && strings.ContainsAny(word, ".:"))
}
