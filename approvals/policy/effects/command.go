package effects

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"
	"github.com/heldcall/heldcall/approvals/policy/shell/programs"
)

// subject is a command whose effects are added.
type subject struct {
	f         *finder
	execution *call.Execution // of the command, or of the one that has it in its words
	own       bool            // the execution is of the command itself
	remote    bool            // its files are on another machine, or in a container
	depth     int
	words     []shell.Word // the program and all that follows
	input     string       // what it reads, if the script has it
	before    *subject     // the command whose output it reads, or nil

	name    string
	program *program
	args    *arguments
	matched int    // words of the subcommand
	stated  bool   // the row has an effect with a target
	prefix  string // of the command that has this one in its words
}

// command adds the effects of a command.
func (f *finder) command(s *subject) {
	if len(s.words) == 0 || s.depth > maxDepth {
		f.unknown("")
		return
	}
	if s.own && s.execution.Command.Redirect {
		s.redirection()
		return
	}
	if s.isOfProject() {
		s.add(approvals.EffectCheck, s.words[0], formOf("path"), "", "")
		return
	}
	s.resolve()
	switch {
	case !s.words[0].Known || s.words[0].Glob:
		f.unknown(s.beginning(len(s.words)))
	case s.program == nil:
		s.byClass()
	case s.program.starts && s.startsOthers():
	case s.args.has("--help"), len(s.words) == 2 && slices.Contains([]string{"--version", "-V", "-v", "-version", "version"}, s.words[1].Text):
		s.add(approvals.EffectRead, shell.Word{}, "", "", "")
	default:
		s.byTable()
	}
}

// resolve finds the program in the tables, and reads its words by them.
func (s *subject) resolve() {
	s.name = baseName(s.words[0].Text)
	s.program = programNamed(s.name)
	if s.program == nil {
		return
	}
	if s.program.rewritten != "" {
		var words []shell.Word
		for word := range strings.FieldsSeq(s.program.rewritten) {
			words = append(words, shell.Word{Text: word, Known: true})
		}
		s.words = append(words, s.words[1:]...)
		s.name = words[0].Text
		s.program = programNamed(s.name)
	}
	s.args = s.program.parse(s.words[1:])
}

var versions = regexp.MustCompile(`^(python|pip|node|ruby|perl|php|gcc|clang|pg_dump|psql|lua)-?[0-9.]+$`)

// baseName returns the name of a program without folder, version and extension.
func baseName(word string) string {
	name, _ := programs.Names(word)
	if version := versions.FindStringSubmatch(name); version != nil {
		return version[1]
	}
	return name
}

func programNamed(name string) *program { return tables()[name] }

// startsOthers reports whether a command is one that only starts others, which are commands of their own.
func (s *subject) startsOthers() bool {
	return s.own && len(s.execution.Command.Inner()) > 0
}

// isOfProject reports whether the program is named by a path in the workspace, and no copy of a known one.
func (s *subject) isOfProject() bool {
	word := s.words[0].Text
	folder := path.Dir(word)
	if !strings.Contains(word, "/") || strings.HasPrefix(word, "/") || strings.HasSuffix(folder, "node_modules/.bin") || strings.HasSuffix(folder, "venv/bin") {
		return false
	}
	return !slices.Contains([]string{"gradlew", "mvnw", "manage.py", "artisan"}, path.Base(word))
}

// redirection adds the effect of a redirection to or from a file.
func (s *subject) redirection() {
	kind := approvals.EffectWrite
	if s.words[0].Text == "<" {
		kind = approvals.EffectRead
	}
	s.add(kind, s.words[1], formOf("path"), Uncertain, "")
}

// byTable adds the effects of the first row that fits.
func (s *subject) byTable() {
	for i := range s.program.rows {
		row := &s.program.rows[i]
		if !s.fits(row) {
			continue
		}
		s.matched = len(row.words)
		s.stated = false
		for k := range row.effects {
			s.state(&row.effects[k])
		}
		if first := &row.effects[0]; !s.stated {
			s.add(first.kind, shell.Word{}, "", first.undo, first.risk)
		}
		return
	}
	s.f.unknown(s.beginning(2))
}

// fits reports whether a row is about a command.
func (s *subject) fits(r *row) bool {
	operands := s.args.operands
	behind := len(operands) - len(r.words)
	if behind < r.least || (r.most >= 0 && behind > r.most) {
		return false
	}
	for i, alternatives := range r.words {
		if !slices.ContainsFunc(alternatives, func(text string) bool { return s.isWord(operands[i], text) }) {
			return false
		}
	}
	return !slices.ContainsFunc(r.options, func(test optionTest) bool { return !s.passes(test) })
}

// isWord reports whether a word is one of a row, where * is any text. A word that only a running shell knows is none.
func (s *subject) isWord(word shell.Word, pattern string) bool {
	text := word.Text
	if s.program.fold {
		text = strings.ToLower(text)
	}
	if pattern == text || pattern == "*" {
		return true
	}
	if !word.Known || !strings.ContainsAny(pattern, "*?") {
		return false
	}
	slashes := strings.NewReplacer("/", "\x01") // which * does not match
	ok, err := path.Match(slashes.Replace(pattern), slashes.Replace(text))
	return err == nil && ok
}

func (s *subject) passes(test optionTest) bool {
	has := false
	for i, name := range test.names {
		if test.values[i] == "" {
			has = has || s.args.has(name)
			continue
		}
		has = has || slices.ContainsFunc(s.args.options[name], func(word shell.Word) bool { return s.isWord(word, test.values[i]) })
	}
	return has != test.absent
}

// state adds the effects of a statement.
func (s *subject) state(st *statement) {
	switch st.kind {
	case hooks:
		s.stated = true
		s.add(approvals.EffectCheck, text("hooks of "+s.beginning(2)), "", "", "")
		return
	case handled:
		s.stated = true
		s.handle(st.targets[0].places[0])
		return
	}
	required := len(st.targets) == 0
	stated := false
	for _, target := range st.targets {
		words := s.find(target.places)
		required = required || !target.optional
		switch st.kind {
		case innerCommand:
			s.stated = true
			s.inner(words)
			return
		case copied, mirrored:
			s.stated = true
			s.copies(words, st)
			return
		case statementsOf, codeOf:
			s.stated = true
			for _, word := range words {
				s.statements(st.kind, word)
			}
			return
		}
		for _, word := range words {
			stated, s.stated = true, true
			s.add(st.kind, word, formOf(target.form), st.undo, st.risk)
		}
	}
	if !stated && required {
		s.stated = true
		s.add(st.kind, shell.Word{}, "", st.undo, st.risk)
	}
}

func text(t string) shell.Word { return shell.Word{Text: t, Known: true} }

// formOf is how a word is read as a target.
type formOf string

// add adds an effect on what a word names.
func (s *subject) add(kind approvals.EffectKind, word shell.Word, form formOf, undo Undo, risk approvals.Risk) {
	word.Text = form.read(word.Text)
	if word.Text == "-" { // its input, or its output
		word.Text = ""
		if form == "path" || form == "file" {
			return
		}
	}
	if form == "" || form == "file" {
		form = formOf(map[bool]string{true: "path"}[form == "file"])
	}
	e := approvals.Effect{Kind: kind, Target: word.Text}
	if form != "path" || word.Text == "" {
		s.f.add(e, undo, risk)
		return
	}
	e.Target = inFolder(s.execution.Use.Folder, word.Text)
	if !s.remote {
		e.Place = s.execution.Place(word)
	}
	if isDevice := word.Text == "/dev/null" || word.Text == "/dev/stdout" || word.Text == "/dev/stdin" || word.Text == "/dev/stderr"; isDevice {
		return
	}
	s.f.file(e, undo, risk)
}

// inFolder returns a path as a reviewer reads it: from the folder that cd has changed to.
func inFolder(folder, text string) string {
	if text == "." && folder != "" {
		return folder
	}
	return match.JoinFolder(folder, text)
}

// read returns the target that a word names.
func (form formOf) read(word string) string {
	switch form {
	case "host":
		return hostOf(word)
	case "name": // kind/name
		return word[strings.LastIndexByte(word, '/')+1:]
	case "uri":
		_, name, ok := strings.Cut(word, "://")
		if !ok {
			name = word
		}
		return strings.TrimSuffix(name, "/")
	case "key":
		name, _, _ := strings.Cut(word, "=")
		return name
	case "value":
		_, value, ok := strings.Cut(word, "=")
		if !ok {
			return word
		}
		return value
	case "package":
		if at := strings.IndexAny(word, "<>=!~["); at > 0 {
			return word[:at]
		}
	case "file":
		for _, prefix := range []string{"fileb://", "file://", "@"} {
			word = strings.TrimPrefix(word, prefix)
		}
	case "member": // a reference of git: +SOURCE:TARGET
		word = strings.TrimPrefix(word, "+")
		if at := strings.IndexByte(word, ':'); at >= 0 {
			return word[at+1:]
		}
	case "remote": // user@host:path
		return word[strings.LastIndexByte(word, '@')+1:]
	}
	return word
}

// hostOf returns the host of a URL or of user@host:path.
func hostOf(word string) string {
	if strings.Contains(word, "://") {
		if address, problem := match.ParseURL(word); problem == "" && address.Host != "" {
			return address.Host
		}
	}
	word = word[strings.LastIndexByte(word, '@')+1:]
	host, _, _ := strings.Cut(word, "/")
	if at := strings.LastIndexByte(host, ':'); at > 0 {
		host = host[:at]
	}
	return host
}

// find returns the words at the first of some places where there is one: operands by number (2, 2+ for the second and
// those behind it, @2 with the words of the subcommand counted, last, first for all but the last), the values of an option,
// that of the option that names the object of the operation (named), the folder (.), the beginning of the command (cmd, call, call1).
func (s *subject) find(places []string) []shell.Word {
	for _, place := range places {
		words := s.textAt(place)
		switch {
		case words != nil:
		case place[0] == '-':
			words = s.args.options[place]
		case place == "named":
			words = s.named()
		default:
			words = s.operandsAt(place)
		}
		if len(words) > 0 {
			return words
		}
	}
	return nil
}

// textAt returns a text that is no word of the command, or nil.
func (s *subject) textAt(place string) []shell.Word {
	switch place {
	case ".":
		return []shell.Word{text(".")}
	case "cmd": // npm run TASK
		return []shell.Word{text(s.beginning(s.matched + 2))}
	case "call": // npm test
		return []shell.Word{text(s.beginning(s.matched + 1))}
	case "call1": // make TARGET
		return []shell.Word{text(s.beginning(2))}
	}
	return nil
}

// operandsAt returns operands by their number behind the subcommand, or with @ by that of all.
func (s *subject) operandsAt(place string) []shell.Word {
	operands := s.args.operands[s.matched:]
	switch place {
	case "last":
		return operands[max(len(operands)-1, 0):]
	case "first":
		return operands[:max(len(operands)-1, 0)]
	}
	if place[0] == '@' {
		operands, place = s.args.operands, place[1:]
	}
	number, many := strings.CutSuffix(place, "+")
	index, err := strconv.Atoi(number)
	switch {
	case err != nil || index > len(operands):
		return nil
	case many:
		return operands[index-1:]
	}
	return operands[index-1 : index]
}

// named returns the values of the option that names the object of a command of a cloud: one with the noun of the
// operation, such as --table-name of delete-table, else the first.
func (s *subject) named() []shell.Word {
	operation := ""
	if words := s.args.words(); len(words) > 1 {
		operation = words[1]
	}
	var first []shell.Word
	for _, name := range s.args.order {
		noun := naming.FindStringSubmatch(name)
		if noun == nil || len(s.args.options[name]) == 0 || elsewhereNamed[name] {
			continue
		}
		if of := noun[1] + noun[2]; of != "" && strings.Contains(operation, of) {
			return s.args.options[name]
		}
		if first == nil {
			first = s.args.options[name]
		}
	}
	return first
}

var naming = regexp.MustCompile(`^--(?:(?:(.*)-)?(?:names?|ids?|identifiers?|arns?|url)|(key|bucket|cluster|service|domain|resources?|alias|tasks?))$`)

// elsewhereNamed are options whose values are no targets.
var elsewhereNamed = map[string]bool{"--policy-arn": true, "--image-id": true, "--security-group-ids": true, "--subnet-id": true, "--subnet-ids": true, "--kms-key-id": true, "--final-db-snapshot-identifier": true, "--owner-ids": true, "--account-id": true}

// beginning returns the program and the first operands of a command: n words.
func (s *subject) beginning(n int) string {
	words := []string{s.words[0].Text}
	if s.words[0].Known {
		words[0] = path.Base(words[0])
	}
	if s.prefix != "" {
		words[0] = s.prefix + " " + words[0]
	}
	if s.args == nil {
		for _, word := range s.words[1:min(len(s.words), 3)] {
			words = append(words, word.Text)
		}
		return strings.Join(words, " ")
	}
	words = append(words, s.args.words()[:min(n-1, len(s.args.operands))]...)
	return strings.Join(words, " ")
}

// inner adds the effects of a command in the operands of another one. One that no table has is run.
func (s *subject) inner(words []shell.Word) {
	if len(words) == 0 {
		s.add(approvals.EffectRun, text(s.beginning(s.matched+1)), "", "", "")
		return
	}
	if words[0].Text == "-" || words[0].Text == "" { // trap - EXIT
		s.add(approvals.EffectNone, shell.Word{}, "", "", "")
		return
	}
	remote := s.remote || elsewhere[s.name]
	if len(words) == 1 && strings.ContainsAny(words[0].Text, " ;|&") {
		s.script(words[0].Text, remote)
		return
	}
	inner := &subject{f: s.f, execution: s.execution, remote: remote, depth: s.depth + 1, words: words, before: s.before, input: s.input, prefix: s.beginning(s.matched + 1)}
	if s.name == "python" || s.name == "php" {
		inner.prefix = s.beginning(1)
	}
	if s.name == "python" && s.args.has("-m") {
		inner.prefix += " -m"
	}
	if programNamed(baseName(words[0].Text)) == nil {
		s.add(approvals.EffectRun, words[0], "", "", approvals.RiskMedium)
		return
	}
	s.f.command(inner)
}

// script adds the effects of a shell script that another command has as a text.
func (s *subject) script(source string, remote bool) {
	if s.depth >= maxDepth || !s.f.spend(len(source)/4) {
		s.f.unknown("")
		return
	}
	script := s.f.c.Known.Programs.Parse(strings.ReplaceAll(source, "…", "$_"))
	for _, command := range script.Acting() {
		if command.Other {
			continue
		}
		if !s.f.spend(10 * len(command.Words)) {
			return
		}
		inner := s.f.subjectOf(s.f.c.Execution(command), remote)
		inner.depth = s.depth + 1
		s.f.command(inner)
	}
	if script.Problem != "" || script.NotSimple != "" {
		s.f.unknown("")
	}
}

// byClass adds the effects of a program that only the table of package programs has, or the policy.
func (s *subject) byClass() {
	if !s.own {
		s.f.unknown(s.beginning(len(s.words)))
		return
	}
	use := &s.execution.Use
	switch use.Class {
	case programs.Read:
		if use.Operands == programs.NoPaths {
			s.add(approvals.EffectRead, text(s.beginning(1)), "", "", "")
			return
		}
		s.paths(approvals.EffectRead)
	case programs.Write, programs.Format:
		s.paths(approvals.EffectWrite)
	case programs.Check:
		s.add(approvals.EffectCheck, text(strings.TrimSpace(use.Program+" "+use.Subcommand)), "", "", "")
	case programs.Project:
		s.add(approvals.EffectRun, text(s.beginning(2)), "", "", "")
	case programs.Fetch:
		s.add(approvals.EffectFetch, text(s.beginning(1)), "", "", "")
	default:
		s.f.unknown(s.beginning(len(s.words)))
	}
}

// paths adds an effect on the paths of a command; on its folder if it has none.
func (s *subject) paths(kind approvals.EffectKind) {
	uses := s.execution.Use.Paths
	if len(uses) == 0 {
		s.add(kind, text("."), "path", "", "")
	}
	for _, use := range uses {
		switch use.Access {
		case shell.Reads:
			s.add(approvals.EffectRead, use.Word, "path", "", "")
		case shell.Writes:
			s.add(kind, use.Word, "path", "", "")
		}
	}
}

// runner adds the effects of a program that runs another one, which it may fetch: npx, pnpm dlx, uv run, bundle exec.
func (s *subject) runner() {
	words := s.args.operands[s.matched:]
	if fetches := s.args.value("-p", "--package", "--from"); fetches != "" && len(words) == 0 {
		s.add(approvals.EffectRun, text(fetches), "", "", "")
		return
	}
	switch {
	case len(words) == 0:
		s.add(approvals.EffectRun, text(s.beginning(s.matched+1)), "", "", "")
	case programNamed(baseName(words[0].Text)) != nil || strings.HasSuffix(words[0].Text, ".py"):
		if strings.HasSuffix(words[0].Text, ".py") {
			words = append([]shell.Word{text("python")}, words...)
		}
		s.inner(words)
	default:
		s.add(approvals.EffectRun, words[0], "", "", "")
	}
}

// pod adds the effects of kubectl exec POD -- COMMAND.
func (s *subject) pod() {
	words := s.args.operands[s.matched:]
	s.stated = true
	if len(words) == 0 {
		s.f.unknown(s.beginning(2))
		return
	}
	if len(words) == 1 || (len(words) == 2 && isShell[baseName(words[1].Text)]) {
		s.add(approvals.EffectRun, shell.Word{Text: words[0].Text, Known: words[0].Known}, "name", Uncertain, "")
		return
	}
	s.add(approvals.EffectRun, words[0], "name", Uncertain, approvals.RiskMedium)
	s.inner(words[1:])
}
