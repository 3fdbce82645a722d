package effects

import (
	"regexp"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/shell"
)

// codeCall is a call in a program that plainly has an effect.
type codeCall struct {
	call *regexp.Regexp // the first group is the quoted target, without quotes; a second one is the method or mode
	kind approvals.EffectKind
	undo Undo
	form formOf
}

const quoted = `\(\s*[brf]*["'` + "`" + `]([^"'` + "`" + `]*)["'` + "`" + `]`

func codePattern(names string) *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[^\w])(?:` + names + `)` + quoted)
}

// codeCalls are the calls of Python, JavaScript, Ruby, Perl and PHP that plainly change files or send requests.
var codeCalls = []codeCall{
	{codePattern(`shutil\.rmtree|os\.(?:remove|unlink|rmdir|removedirs)|(?:fs\.|\)\.|fsPromises\.|promises\.)?(?:rmSync|rmdirSync|unlinkSync)|fs\.(?:rm|rmdir|unlink)|promises\.(?:rm|rmdir|unlink)|FileUtils\.(?:rm|rm_r|rm_rf|rm_f|remove_dir|remove_entry)|File\.(?:delete|unlink)|Dir\.(?:rmdir|delete)|unlink|rmtree|rmdir`), approvals.EffectDestroy, Irreversible, "path"},
	{regexp.MustCompile(`Path\(\s*["']([^"']*)["']\s*\)\.(?:unlink|rmdir)\(`), approvals.EffectDestroy, Irreversible, "path"},
	{regexp.MustCompile(`open\(\s*["']([^"']*)["']\s*,\s*(?:mode\s*=\s*)?["'][rb+t]*[wax]`), approvals.EffectWrite, Uncertain, "path"},
	{regexp.MustCompile(`Path\(\s*["']([^"']*)["']\s*\)\.(?:write_text|write_bytes|touch|mkdir)\(`), approvals.EffectWrite, Uncertain, "path"},
	{codePattern(`(?:fs\.|\)\.|promises\.)?(?:writeFileSync|appendFileSync|mkdirSync|copyFileSync)|(?:fs|promises)\.(?:writeFile|appendFile|mkdir)|File\.write|IO\.write|file_put_contents|os\.(?:mkdir|makedirs)`), approvals.EffectWrite, Uncertain, "path"},
	{codePattern(`open|(?:fs\.|\)\.)?readFileSync|File\.read|file_get_contents`), approvals.EffectRead, Reversible, "path"},
	{regexp.MustCompile(`require\(\s*["'](\.{1,2}/[^"']*\.json)["']`), approvals.EffectRead, Reversible, "path"},
	{codePattern(`(?:requests|httpx|session|client|axios)\.delete`), approvals.EffectDestroy, Irreversible, "resource"},
	{codePattern(`(?:requests|httpx|session|client|axios)\.(?:post|put|patch)`), approvals.EffectSend, Uncertain, "host"},
	{codePattern(`(?:requests|httpx|session|client|axios)\.(?:get|head)|urlopen|urlretrieve`), approvals.EffectFetch, Reversible, "host"},
}

var (
	fetchCall  = regexp.MustCompile(`(?:^|[^\w.])fetch` + quoted)
	methodCall = regexp.MustCompile(`method["']?\s*:\s*["'](\w+)["']`)
	shellCall  = regexp.MustCompile(`(?:os\.system|os\.popen|execSync|exec|system|shell_exec|passthru|check_call|check_output|subprocess\.(?:run|call|Popen|getoutput))` + `\(\s*["']([^"']+)["']`)
	wordsCall  = regexp.MustCompile(`(?:subprocess\.(?:run|call|Popen|check_call|check_output)|execFileSync|spawnSync|system)\(\s*\[?((?:\s*["'][^"']*["']\s*,?)+)`)
	wordOfCall = regexp.MustCompile(`["']([^"']*)["']`)
	// strange are texts by which code may do more than its plain calls.
	strange = regexp.MustCompile(`\beval\b|\bexec\s*\(|__import__|getattr|subprocess|child_process|os\.system|socket|ctypes|importlib|Function\s*\(|` + "`" + `|pickle|%x|popen|spawn`)
)

// codeReader finds the plain calls in a text of a programming language. Each part of the text is read once.
type codeReader struct {
	s      *subject
	source string
	seen   [][2]int // the parts that are read
}

// code adds the effects of a text in a programming language, as far as its calls are plain. Other code runs.
func (s *subject) code(source string) {
	r := &codeReader{s: s, source: source}
	r.commands()
	r.requests()
	r.calls()
	switch isStrange := strange.MatchString(source); {
	case isStrange:
		s.add(approvals.EffectRun, text(s.beginning(1)), "", "", approvals.RiskHigh)
	case len(r.seen) == 0:
		s.add(approvals.EffectRun, text(s.beginning(1)), "", "", approvals.RiskMedium)
	}
}

// texts returns the first groups of the matches of a pattern in parts that are not read yet, and where each match ends.
func (r *codeReader) texts(pattern *regexp.Regexp) (groups []string, ends []int) {
	if !r.s.f.spend(len(r.source) / patternStep) {
		return nil, nil
	}
	for _, at := range pattern.FindAllStringSubmatchIndex(r.source, -1) {
		if slices.ContainsFunc(r.seen, func(part [2]int) bool { return part[0] <= at[2] && at[2] < part[1] }) {
			continue
		}
		r.seen = append(r.seen, [2]int{at[2], max(at[3], at[2]+1)})
		groups, ends = append(groups, r.source[at[2]:at[3]]), append(ends, at[1])
	}
	return groups, ends
}

// commands adds the effects of other programs that the code runs.
func (r *codeReader) commands() {
	groups, _ := r.texts(wordsCall)
	for _, group := range groups {
		var words []shell.Word
		for _, word := range wordOfCall.FindAllStringSubmatch(group, -1) {
			words = append(words, text(word[1]))
		}
		if len(words) == 1 {
			r.s.script(words[0].Text, r.s.remote)
		} else {
			r.s.inner(words)
		}
	}
	groups, _ = r.texts(shellCall)
	for _, script := range groups {
		r.s.script(script, r.s.remote)
	}
}

// requests adds the effects of fetch(URL, {method: ...}).
func (r *codeReader) requests() {
	urls, ends := r.texts(fetchCall)
	for i, url := range urls {
		x := exchange{url: text(url)}
		if method := methodCall.FindStringSubmatch(r.source[ends[i]:]); method != nil {
			x.method = method[1]
		}
		r.s.exchange(x)
	}
}

// patternStep is how many bytes of a text a pattern compares in one step.
const patternStep = 2

// calls adds the effects of functions that change files or send requests.
func (r *codeReader) calls() {
	if !strings.ContainsAny(r.source, "(") {
		return
	}
	for _, c := range codeCalls {
		targets, _ := r.texts(c.call)
		for _, target := range targets {
			if c.form == "resource" {
				r.s.add(c.kind, text(hostOf(target)+pathOf(target)), "", c.undo, "")
			} else {
				r.s.add(c.kind, text(target), c.form, c.undo, "")
			}
		}
	}
}

// inlineOptions are the options of interpreters that are code, by program; "" for others.
var inlineOptions = map[string][]string{
	"python": {"-c"}, "perl": {"-e", "-E"}, "ruby": {"-e", "-E"}, "php": {"-r"}, "": {"-e", "-E", "-r", "--eval", "-p", "--print"},
}

// checkOptions are the options by which interpreters only check a file.
var checkOptions = map[string][]string{"node": {"--check", "-c"}, "php": {"-l"}, "ruby": {"-c"}, "perl": {"-c"}}

// interpreter adds the effects of an interpreter: of the code in its options, of a module, or of a script.
func (s *subject) interpreter() {
	a := s.args
	inline, ok := inlineOptions[s.name]
	if !ok {
		inline = inlineOptions[""]
	}
	for _, name := range inline {
		if values := a.options[name]; len(values) > 0 {
			s.inlineCode(values)
			return
		}
	}
	switch hasScript := len(a.operands) > 0 && a.operands[0].Text != "-"; {
	case s.name == "python" && a.value("-m") != "":
		s.inner(append([]shell.Word{a.options["-m"][0]}, a.operands...))
	case a.has(checkOptions[s.name]...):
		s.reads(a.operands)
	case hasScript && slices.Contains([]string{"manage.py", "artisan"}, baseName(a.operands[0].Text)):
		s.inner(a.operands)
	case hasScript:
		s.add(approvals.EffectRun, a.operands[0], "", Uncertain, "")
	case s.input != "":
		s.code(s.input)
	case s.before != nil:
		s.runsOutput()
	default:
		s.add(approvals.EffectRun, text(s.beginning(1)), "", "", "")
	}
}

// inlineCode adds the effects of code in options. Perl and Ruby with -n or -p read the files in the operands, and change
// them with -i.
func (s *subject) inlineCode(values []shell.Word) {
	a := s.args
	isFilter := (s.name == "perl" || s.name == "ruby") && a.has("-n", "-p")
	switch {
	case isFilter && a.has("-i"):
		for _, word := range a.operands {
			s.add(approvals.EffectWrite, word, "path", Uncertain, "")
		}
	case isFilter:
		s.reads(a.operands)
	}
	for _, value := range values {
		if !isFilter || strange.MatchString(value.Text) {
			s.code(value.Text)
		}
	}
}

func (s *subject) reads(words []shell.Word) {
	for _, word := range words {
		s.add(approvals.EffectRead, word, "path", "", "")
	}
}

var (
	awkSystem = regexp.MustCompile(`system\(\s*"([^"]+)"`)
	awkOutput = regexp.MustCompile(`(?:print|printf)[^;}"]*(?:"[^"]*"[^;}"]*)*>>?\s*"([^"]+)"`)
)

// awk adds the effects of an awk program: it reads its operands, may write files, and may run commands.
func (s *subject) awk() {
	a := s.args
	operands, source := a.operands, ""
	switch {
	case a.has("-f", "--file"):
		s.add(approvals.EffectRun, text(a.value("-f", "--file")), "", "", "")
	case len(operands) > 0:
		source, operands = operands[0].Text, operands[1:]
	}
	for _, command := range awkSystem.FindAllStringSubmatch(source, -1) {
		s.script(command[1], s.remote)
	}
	for _, output := range awkOutput.FindAllStringSubmatch(source, -1) {
		s.add(approvals.EffectWrite, text(output[1]), "path", Uncertain, "")
	}
	if strings.Contains(source, "| getline") || (strings.Contains(source, "system(") && awkSystem.FindString(source) == "") {
		s.add(approvals.EffectRun, text(s.beginning(1)), "", "", "")
	}
	for _, word := range operands {
		if !strings.Contains(word.Text, "=") {
			s.add(approvals.EffectRead, word, "path", "", "")
		}
	}
	if len(operands) == 0 {
		s.add(approvals.EffectNone, shell.Word{}, "", "", "")
	}
}
