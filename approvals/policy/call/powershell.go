package call

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"
	"github.com/heldcall/heldcall/approvals/policy/shell/programs"
	"github.com/heldcall/heldcall/internal/strictyaml"
)

//go:embed powershell.yaml
var powershellFile []byte

// cmdlet is a cmdlet of PowerShell: see powershell.yaml.
type cmdlet struct {
	paths, texts, switches map[string]bool // parameters in lower case, without a dash
	operands               bool            // operands are paths
	search                 bool            // its one operand is the text that it looks for
	files                  bool            // it passes files on
	content                bool            // it shows the content of files, also of those that it is given
	first                  bool            // only its first operand is a path
	as                     string          // the program that writes its paths as it does; "": it only reads
}

func cmdlets() map[string]*cmdlet { return powershell().cmdlets }

func natives() map[string]bool { return powershell().programs }

// powershellTable is the cmdlets and programs that are known of PowerShell.
type powershellTable struct {
	cmdlets  map[string]*cmdlet
	programs map[string]bool // that no cmdlet or alias has the name of
}

var powershell = sync.OnceValue(func() *powershellTable {
	all := map[string]*cmdlet{}
	table := &powershellTable{cmdlets: all}
	r := &strictyaml.Reader{File: "powershell.yaml"}
	readCmdlets := func(name, value *yaml.Node, path string) {
		c := &cmdlet{}
		r.Mapping(value, path, []strictyaml.Key{
			{Name: "paths", Read: readWords(&c.paths)},
			{Name: "texts", Read: readWords(&c.texts)},
			{Name: "switches", Read: readWords(&c.switches)},
			{Name: "operands", Read: r.SetBool(&c.operands)},
			{Name: "search", Read: r.SetBool(&c.search)},
			{Name: "files", Read: r.SetBool(&c.files)},
			{Name: "content", Read: r.SetBool(&c.content)},
			{Name: "first", Read: r.SetBool(&c.first)},
			{Name: "as", Read: func(n *yaml.Node, path string) { c.as = r.OneOf(n, path, []string{"mkdir", "touch", "cp", "mv", "rm"}) }},
		})
		for one := range strings.SplitSeq(name.Value, ", ") {
			all[strings.ToLower(one)] = c
		}
	}
	r.Mapping(r.Root(powershellFile), "", []strictyaml.Key{
		{Name: "programs", Read: readWords(&table.programs)},
		{Name: "cmdlets", Read: func(n *yaml.Node, path string) { r.Members(n, path, readCmdlets) }},
	})
	if len(r.Errors) > 0 {
		panic("internal error: the table of cmdlets is not well formed: " + r.Errors.Error())
	}
	return table
})

// readsByPowerShell returns the tool of a call with a low risk if its script is nothing but pipelines of cmdlets, and of git,
// that only read files of the workspace.
func (c *Reading) readsByPowerShell() *Tool {
	t := c.Tool
	if !t.Builtin || !t.PowerShell || c.Kind != Plain || len(c.Resources()) != 1 || !c.Known.Workspace.HasFolders() || !c.onlyReadsFiles(c.Text) {
		return t
	}
	low := *t
	low.Risk = approvals.RiskLow
	return &low
}

// onlyReadsFiles reports whether a text is such pipelines.
func (c *Reading) onlyReadsFiles(text string) bool {
	for pipeline := range strings.SplitSeq(text, ";") {
		var given flow
		for command := range strings.SplitSeq(pipeline, "|") {
			words, ok := powershellWords(command)
			if !ok || len(words) == 0 {
				return false
			}
			known := cmdlets()[strings.ToLower(words[0])]
			switch {
			case words[0] == "git":
				if !c.onlyShowsRepository(words) {
					return false
				}
			case known == nil, known.as != "", !known.takes(given), !c.staysInside(known, words[1:]):
				return false
			default:
				given.files = given.files || known.files
			}
			given.any = true
		}
	}
	return true
}

// takes reports whether a cmdlet reads nothing beside its paths when it is given something: texts may be paths, and files have
// contents.
func (k *cmdlet) takes(given flow) bool {
	return !(k.content && given.files) && (!given.any || len(k.paths) == 0 || k.search)
}

// powershellWords returns the words of a command, where commas separate words too. It reports false for one with anything
// that PowerShell may evaluate.
func powershellWords(text string) (words []string, ok bool) {
	var w wordReader
	return w.all(text)
}

// all returns the words of a text.
func (w *wordReader) all(text string) (words []string, ok bool) {
	for _, r := range text {
		if !w.read(r) {
			return nil, false
		}
	}
	w.end()
	return w.words, w.quote == 0
}

// wordReader reads words of PowerShell.
type wordReader struct {
	words  []string
	word   strings.Builder
	quote  rune // 0: none is open
	quoted bool // the word is a text in quotes
	native bool // for a program: some signs within a word are its text
	commas bool // a comma is between words
}

func (w *wordReader) end() {
	if w.word.Len() > 0 || w.quoted {
		w.words = append(w.words, w.word.String())
	}
	w.word.Reset()
	w.quoted = false
}

// read takes a character. It reports false for one that PowerShell may evaluate.
func (w *wordReader) read(r rune) bool {
	switch {
	case !w.isPlain(r):
		return false
	case w.quote != 0 && r != w.quote:
		w.word.WriteRune(r)
	case w.quote != 0:
		w.quote = 0
	case r == ' ' || r == ',':
		w.commas = w.commas || r == ','
		w.end()
	case w.quoted: // a word of its own begins, or a quote is doubled
		return false
	case r == '\'' || r == '"':
		w.quote, w.quoted = r, true
		return w.word.Len() == 0
	case w.evaluates(r):
		return false
	default:
		w.word.WriteRune(r)
	}
	return true
}

// isPlain reports whether PowerShell gives a character no meaning in the quotes that are open.
func (w *wordReader) isPlain(r rune) bool {
	return ' ' <= r && r <= '~' && r != '`' && (r != '$' || w.quote == '\'')
}

// evaluates reports whether PowerShell may give a character outside of quotes a meaning. Within a word for a program some have
// none.
func (w *wordReader) evaluates(r rune) bool {
	isText := w.native && w.word.Len() > 0 && strings.ContainsRune("~=+", r)
	return !isText && strings.ContainsRune("(){}<>&@#%!^~=+", r)
}

// staysInside reports whether the parameters of a cmdlet are known, and its paths in the workspace and no secrets.
func (c *Reading) staysInside(known *cmdlet, words []string) bool {
	_, ok := c.pathsOf(known, words)
	return ok
}

// pathsOf returns the paths of a cmdlet, with slashes. It reports false if a parameter is not known, or a path not in the
// workspace or a secret.
func (c *Reading) pathsOf(known *cmdlet, words []string) (paths []string, ok bool) {
	texts := 0
	for i := 0; i < len(words); i++ {
		name, isParameter := strings.CutPrefix(strings.ToLower(words[i]), "-")
		isPath := known.operands && !(known.first && len(paths) > 0)
		if isParameter && known.switches[name] {
			continue
		}
		if isParameter {
			if i++; i == len(words) || !known.mayBe(name, words[i]) {
				return nil, false
			}
			isPath = known.paths[name]
		}
		if known.search && (!isParameter || name == "pattern") {
			texts++
		}
		if isPath && !c.isReadable(known, words[i]) {
			return nil, false
		}
		if isPath {
			paths = append(paths, strings.ReplaceAll(words[i], `\`, "/"))
		}
	}
	return paths, texts <= 1 // the next operand would be a path
}

// mayBe reports whether a parameter of a cmdlet is known and may have a value. Items that are links are not known.
func (k *cmdlet) mayBe(name, value string) bool {
	if name == "itemtype" && !strings.EqualFold(value, "directory") && !strings.EqualFold(value, "file") {
		return false
	}
	return k.paths[name] || k.texts[name] || name == "erroraction"
}

// isReadable reports whether a path, or all that a glob means, is in the workspace and may be shown. PowerShell has names that
// begin with a dot among those of a *: of files whose content is shown a glob must end with a suffix of code.
func (c *Reading) isReadable(known *cmdlet, path string) bool {
	slashed := strings.ReplaceAll(path, `\`, "/")
	rest := slashed
	if match.HasDrive(rest) {
		rest = rest[2:]
	}
	switch {
	case path == "", strings.HasPrefix(slashed, "//"), strings.ContainsAny(rest, ":[]?"), match.LeadsUp(slashed), strings.HasPrefix(slashed, "-"):
		return false
	case strings.Contains(slashed, "*") && known.content:
		_, suffix, _ := cutLast(slashed, ".")
		if !c.Known.Profiles.compiled[suffix] && !c.Known.Profiles.scripts[suffix] {
			return false
		}
	}
	place := c.Known.Workspace.Find(strings.ReplaceAll(slashed, "*", "x"), c.Known.Profiles.isSensitive)
	return place.Inside() && !c.Known.Profiles.isSecretWord(slashed, false)
}

// onlyShowsRepository reports whether a command of git shows the workspace's own repository. Windows PowerShell passes quotes
// and a backslash before a quote on as they are, and git begins another word there.
func (c *Reading) onlyShowsRepository(words []string) bool {
	if slices.ContainsFunc(words, func(word string) bool { return strings.Contains(word, `"`) || strings.HasSuffix(word, `\`) }) {
		return false
	}
	script := c.Known.Programs.ParseArgv(words)
	if script.NotSimple != "" || len(script.Acting()) != 1 {
		return false
	}
	return !slices.ContainsFunc(script.All, func(command *shell.Command) bool {
		e := c.Execution(command)
		return (e.Use.Class != programs.Read && len(command.Instead()) == 0) || !e.Within(false) || len(e.Secrets()) > 0
	})
}
