package call

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"
	"github.com/heldcall/heldcall/approvals/policy/shell/programs"
	"github.com/heldcall/heldcall/internal/mask"
)

// Calls that may access secrets are asked about, even if a default, a risk, or a rule or grant that
// does not name the secret allows them. Secrets are the paths listed in profiles.yaml; searched
// folders near one of them; and filters that select one by more than its extension.

// maxPath is the length in bytes of the longest path. A longer one is treated as a secret.
const maxPath = 4 << 10

// secretPath returns a path, which leads to a location, if it, or for a tree a path below it, may be a secret, or "".
func (p *Profiles) secretPath(text string, l match.Location, tree bool) string {
	if len(text) > maxPath {
		return text
	}
	text = match.WindowsForm(text)
	switch {
	case p.isSensitive(l):
	case match.HasGlob(text):
		if !p.selects(text) && !(tree && p.nearSecrets(match.GlobRoot(text))) {
			return ""
		}
	case !tree || !p.nearSecrets(l):
		return ""
	}
	return text
}

// isSensitive reports whether a path is in the list.
func (p *Profiles) isSensitive(l match.Location) bool {
	if match.Lists(p.harmless, l) {
		l.Lower = strings.TrimSuffix(l.Lower, match.LastSegment(l.Lower)) + otherName // its folder decides
	}
	return match.Lists(p.sensitive, l) && (!p.isSource(l) || match.Lists(p.sensitive[p.speaking:], l))
}

// isSource reports whether a file is source code that only its name relates to secrets: of a language whose files are
// compiled, or one whose name tells what the code does, in a folder that does not speak of secrets.
func (p *Profiles) isSource(l match.Location) bool {
	name := match.LastSegment(l.Lower)
	stem, suffix, found := cutLast(name, ".")
	if !found {
		return false
	}
	if p.compiled[suffix] {
		return true
	}
	folder := match.Location{Anchor: l.Anchor, Up: l.Up, Lower: strings.TrimSuffix(l.Lower, name) + otherName}
	for _, spoken := range []string{"password", "credential", "secret"} { // PasswordField is two words
		stem = strings.ReplaceAll(stem, spoken, " ")
	}
	isWord := func(word string) bool { return p.codeWords[word] }
	words := strings.FieldsFunc(stem, func(r rune) bool { return r < 'a' || r > 'z' })
	return p.scripts[suffix] && slices.ContainsFunc(words, isWord) && !match.Lists(p.sensitive, folder)
}

func cutLast(text, sep string) (before, after string, found bool) {
	at := strings.LastIndex(text, sep)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(sep):], true
}

// otherName is a name that is not in the list.
const otherName = "x"

// NamesSecret reports whether the glob of an allow pattern is in the list itself.
func (p *Profiles) NamesSecret(g *match.PathGlob) bool {
	return p.isSensitive(match.Location{Anchor: g.Anchor, Up: g.Up, Lower: withoutStars(g.Lower)})
}

// withoutStars removes stars and the segments that consist of stars.
func withoutStars(glob string) string {
	segments := strings.Split(strings.ReplaceAll(glob, "*", ""), "/")
	return strings.Join(slices.DeleteFunc(segments, func(s string) bool { return s == "" }), "/")
}

// nearSecrets reports whether a search below a folder may meet secrets: the root, a home folder, a
// folder above the agent's own, or one that contains a listed hidden folder or absolute path.
func (p *Profiles) nearSecrets(l match.Location) bool {
	if l.Up > 0 || isHome(l) || p.isSensitive(l) {
		return true
	}
	return slices.ContainsFunc(p.sensitive, func(g *match.PathGlob) bool {
		fixed, _, _ := strings.Cut(strings.TrimPrefix(g.Lower, "**/"), "*")
		if !g.Anywhere {
			return g.Anchor == l.Anchor && strings.HasPrefix(fixed, l.Lower+"/")
		}
		for i, b := range []byte(fixed) {
			if b == '/' && fixed[0] == '.' && hasLastSegments(l.Lower, fixed[:i]) {
				return true
			}
		}
		return false
	})
}

func hasLastSegments(body, end string) bool {
	return body == end || strings.HasSuffix(body, "/"+end)
}

// isHome reports whether a folder is the root, a home folder or one of them.
func isHome(l match.Location) bool {
	folder, name, deeper := strings.Cut(l.Lower, "/")
	switch {
	case l.Anchor == "":
		return false
	case l.Lower == "":
		return true
	case strings.HasPrefix(l.Anchor, "~"):
		return false
	}
	return (folder == "home" || folder == "users") && (!deeper || !strings.Contains(name, "/"))
}

// NamesWord reports whether a word of an allow pattern has no * or is itself listed.
func (p *Profiles) NamesWord(g match.Glob) bool {
	if g.Literal() {
		return true
	}
	for text := range pathsIn(g.Text()) {
		if l := match.LocationOf(text); p.isSensitive(l) {
			return true
		}
	}
	return false
}

// isSecretWord reports whether a word names a listed path, also in an option (--file=.env), a
// revision (HEAD:.env) or an upload (@.env), or for a search a folder near one.
func (p *Profiles) isSecretWord(word string, searched bool) bool {
	if len(word) > maxPath {
		return true
	}
	word = mask.WithoutHandles(word)
	if match.HasGlob(word) && (p.selects(word) || p.selects(filterOf(word))) {
		return true
	}
	if p.screen.MayList(word, otherName) && p.listsPathIn(word) {
		return true
	}
	if !searched || strings.Contains(word, ":") {
		return false
	}
	return p.nearSecrets(match.LocationOf(word))
}

// listsPathIn reports whether a word has a path in the list.
func (p *Profiles) listsPathIn(word string) bool {
	for text := range pathsIn(word) {
		l := match.LocationOf(text)
		if p.isSensitive(l) && (!strings.ContainsAny(text, " \t\n") || strings.Contains(text, "/")) {
			return true
		}
	}
	return false
}

// filterOf returns the glob of an option such as --include=.e* or -g.e*, or of a pathspec with magic such as
// :(top).e*, or "".
func filterOf(word string) string {
	name, value, _ := strings.Cut(word, "=")
	switch {
	case strings.HasPrefix(name, "--include"), strings.HasPrefix(name, "--glob"), strings.HasPrefix(name, "--iglob"):
		return value
	case strings.HasPrefix(word, "-g"):
		return strings.TrimPrefix(word[len("-g"):], "=")
	case strings.HasPrefix(word, ":("):
		_, value, _ = strings.Cut(word, ")")
		return value
	case strings.HasPrefix(word, ":"):
		return strings.TrimLeft(word, ":/")
	}
	return ""
}

// expressionSigns removes what a name may have in an expression that selects it.
var expressionSigns = strings.NewReplacer("^", "", "$", "", `\`, "")

// pathsIn returns the texts of a word that may be paths: the word and the rest after certain signs.
func pathsIn(word string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !yield(word) {
			return
		}
		for i, more := 0, maxPathsIn-1; i+1 < len(word) && more > 0; i++ {
			if strings.IndexByte("=:@,", word[i]) < 0 {
				continue
			}
			if more--; !yield(word[i+1:]) {
				return
			}
		}
		if len(word) > 2 && word[0] == '-' && match.IsLetter(word[1]) {
			yield(word[2:])
		}
	}
}

// maxPathsIn is the most texts of a word that are read as paths, options of one letter aside.
const maxPathsIn = 16

// selects reports whether a filter selects listed paths by more than their extension.
func (p *Profiles) selects(filter string) bool {
	return match.FilterSelects(filter, p.sensitive, p.isSensitive)
}

// maxSecretWords is the most words of a command that are compared. The next one counts as a secret.
const maxSecretWords = 256

// printers are programs without file operands.
var printers = []string{"echo", "printf", "true", "false"}

// MindsSecrets reports whether the tool's calls are compared with the list.
func (c *Reading) MindsSecrets() bool { return c.Kind == Path || c.Kind == Shell }

// Secret returns the part of the call that may be a secret, or "".
func (c *Reading) Secret() string {
	if c.Places.secret == nil {
		found := c.findSecret()
		c.Places.secret = &found
	}
	return *c.Places.secret
}

func (c *Reading) findSecret() string {
	if c.Filter != "" {
		return c.Filter
	}
	for i := range c.Candidates {
		if found := c.Candidates[i].Secret; found != "" {
			return found
		}
	}
	for i, script := range c.Scripts() {
		for _, command := range script.All {
			if found := c.Execution(command).secret(); found != "" {
				return found
			}
		}
		if script.NotSimple == "" {
			continue
		}
		if found := c.secretIn(c.Candidates[i].Text); found != "" {
			return found
		}
	}
	return ""
}

// secretIn returns a word of a text that may be a secret, or "": redirections, here-documents, text that is not parsed.
func (c *Reading) secretIn(text string) string {
	compared := map[string]bool{}
	for word := range strings.FieldsFuncSeq(text, isShellSign) {
		if compared[word] {
			continue
		}
		compared[word] = true
		switch {
		case !c.Spend(1 + len(word)/wordStep):
			return notCompared
		case c.isSecretWord(word, false):
			return word
		}
	}
	return ""
}

// wordStep is how many bytes of a word are compared in one step.
const wordStep = 64

// notCompared is what counts as a secret where there is more to compare than heldcall does.
const notCompared = "more words than heldcall compares"

func isShellSign(r rune) bool { return strings.ContainsRune(" \t\n;|&()<>`'\"$", r) }

// maxGlobs is the most globs in the words of a call that are compared, each combination of braces as one. A further
// word with one counts as a secret.
const maxGlobs = 128

// globSteps is what it costs to compare a glob with the list.
const globSteps = 40

// isSecretWord is [Profiles.isSecretWord], once for each word of the call.
func (c *Reading) isSecretWord(word string, searched bool) bool {
	if searched || !match.HasGlob(word) {
		return c.Known.Profiles.isSecretWord(word, searched)
	}
	p := &c.Places
	if found, known := p.globs[word]; known {
		return found
	}
	if p.globs == nil {
		p.globs = map[string]bool{}
	}
	n := 1 << min(strings.Count(word, "{"), 6)
	p.globCount += n
	p.globs[word] = p.globCount > maxGlobs || !c.Spend(n*globSteps) || c.Known.Profiles.isSecretWord(word, false)
	return p.globs[word]
}

// SecretReason returns why a call that may access secrets needs approval.
func (c *Reading) SecretReason() string { return c.SecretFlag() + " No allow rule names it." }

// SecretFlag returns the flag of a call that may access secrets.
func (c *Reading) SecretFlag() string {
	return fmt.Sprintf("The call may access secrets: %s.", match.Visible(match.Tail(c.Secret(), 60)))
}

// secretWords is which words of a command may name secrets.
type secretWords struct {
	at      []int
	reached string // the file that one of them, or a patch, leads to, if that is why
}

// Secrets returns the indices of the words of the command that may name secrets.
func (e *Execution) Secrets() []int { return e.secrets.get(e.findSecrets).at }

// secret returns the word that may name a secret, or the file that it leads to, or "".
func (e *Execution) secret() string {
	at := e.Secrets()
	if len(at) == 0 || e.secrets.value.reached != "" {
		return e.secrets.value.reached
	}
	return e.Command.Words[at[0]]
}

func (e *Execution) findSecrets() (found secretWords) {
	switch {
	case slices.Contains(printers, e.Command.Words[0]):
		return found
	case e.Use.Class == programs.Write && e.Use.Operands == programs.PatchPaths:
		if found.reached = e.secretInPatch(); found.reached != "" {
			found.at = []int{len(e.Command.Words)} // no word of a pattern names it
		}
		return found
	}
	return e.secretsInWords()
}

func (e *Execution) secretsInWords() (found secretWords) {
	c, of := e.call, e.Command
	searches, pattern := c.Known.Programs.Searches(of), c.Known.Programs.SearchPattern(of)
	for i := range of.Words {
		switch {
		case i == 0, of.LeavesOut(i):
		case i > maxSecretWords, i != pattern && c.mayShowSecret(of, i, searches), of.SelectsNames() && c.isSecretWord(expressionSigns.Replace(of.Words[i]), false):
			found.at = append(found.at, i)
		}
		if i > maxSecretWords {
			break
		}
	}
	switch {
	case len(found.at) > 0 || len(of.Words) == 1:
	case searches && of.Folder != "" && c.isSecretWord(of.Folder, true):
		found.at = []int{len(of.Words) - 1}
	default:
		if secret, word := c.reachedSecret(of); secret != "" {
			found.at, found.reached = []int{word}, secret
		}
	}
	return found
}

// secretInPatch returns a file that the patch of the command names and that may hold secrets, or leads to one, or "".
func (e *Execution) secretInPatch() string {
	c, of := e.call, e.Command
	for _, path := range e.Use.Paths {
		if c.isSecretWord(path.Text, false) || c.isSecretWord(match.JoinFolder(of.Folder, path.Text), false) {
			return path.Text
		}
		if secret := c.reachedFrom(of, path.Text); secret != "" {
			return secret
		}
	}
	return ""
}

// isSecretFile reports whether a file is in the list. One that was found, and not named, is not if it is code and only
// its name, or that of its folder, speaks of secrets.
func (p *Profiles) isSecretFile(l match.Location, found bool) bool {
	if !p.isSensitive(l) {
		return false
	}
	return !found || !match.Lists(p.code, l) || match.Lists(p.sensitive[p.speaking:], l)
}

// mayShowSecret reports whether word i of a command may name a secret, also relative to the folder
// of a cd before it, or shows variables.
func (c *Reading) mayShowSecret(of *shell.Command, i int, searches bool) bool {
	word, operand := of.Words[i], shell.IsOperand(of.Words[i])
	if c.isSecretWord(word, searches && operand) || of.ShowsEnvironment(i) {
		return true
	}
	text := strings.ContainsAny(word, " \t\n") && !strings.Contains(word, "/") && !searches // see isSecretWord
	return of.Folder != "" && operand && !text && c.isSecretWord(match.JoinFolder(of.Folder, word), searches)
}
