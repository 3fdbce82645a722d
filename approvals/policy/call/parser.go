package call

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"
)

// Rules is the part of a policy's rules that parsing a call depends on.
type Rules interface {
	// Compares reports whether a deny or ask rule is for a tool with a resource of a kind.
	Compares(tool string, k Kind) bool
	// Patterns returns how many patterns deny or ask.
	Patterns() int
	// AllowsAny reports whether the tool is allowed whatever its arguments.
	AllowsAny(c *Call) bool
}

// Read reads a call: the texts that it is about, and the commands that it runs.
func Read(call Call, known *Known, rules Rules) *Reading {
	return read(call, known, rules, new(maxSteps+eachSteps*rules.Patterns()))
}

func read(call Call, known *Known, rules Rules, steps *int) *Reading {
	c := &Reading{Call: call, Tool: known.Tool(call.Tool), Known: known, steps: steps}
	c.Places.call = c
	c.Places.reached = &reached{known: known, look: known.Workspace.NewLook()}
	p := &parser{c: c, rules: rules}
	if c.Tool != nil {
		c.Kind = c.Tool.Kind
	}
	if doubt := NameDoubt(call.Tool); doubt != "" {
		c.Doubts = append(c.Doubts, doubt)
	}
	c.Doubts = append(c.Doubts, call.Ambiguous...)
	if call.FreeText {
		p.readText()
	} else {
		p.readArguments()
	}
	p.addOthers()
	if c.Tool != nil && len(c.Doubts) == 0 {
		c.Tool = c.Tool.forArguments(p.members)
		c.Tool = c.readsByPowerShell()
	}
	c.lookAtPaths()
	c.lookAtRepositories()
	c.Keys = c.lookupKeys()
	return c
}

type parser struct {
	c       *Reading
	rules   Rules
	members []match.Member // of the arguments
	scripts int            // bytes of the candidates parsed as scripts
}

func (p *parser) readArguments() {
	c := p.c
	doubts, numbers := match.Doubts(c.Call.Arguments)
	if len(numbers) > 0 && !p.rules.AllowsAny(&c.Call) {
		doubts = append(doubts, numbers...)
	}
	for _, doubt := range doubts { // which the reader of the answer may have found too, without the cause
		general := slices.Index(c.Doubts, match.InvalidJSON+".")
		switch {
		case slices.Contains(c.Doubts, doubt):
		case general >= 0 && strings.HasPrefix(doubt, match.InvalidJSON):
			c.Doubts[general] = doubt
		default:
			c.Doubts = append(c.Doubts, doubt)
		}
	}
	if c.Tool != nil && c.Tool.Typed {
		p.readFields(doubts)
	} else {
		p.readWhole(doubts)
	}
}

func (p *parser) readText() {
	text := p.c.Call.Arguments
	if len(text) > match.MaxArguments {
		p.c.Doubts = append(p.c.Doubts, fmt.Sprintf("The text is larger than %d MiB, the limit for judging.", match.MaxArguments>>20))
	}
	if !utf8.ValidString(text) {
		p.c.Doubts = append(p.c.Doubts, "The text is not valid UTF-8.")
	}
	p.c.Text = text
	p.take("", "", match.Value{Text: text, Kind: '"'})
	p.clarify()
}

func (p *parser) readWhole(doubts []string) {
	p.c.Kind = Plain
	p.c.Text = p.c.Whole()
	p.resource(p.c.Text)
	p.clarify()
	if len(doubts) > 0 {
		p.c.Ambiguity = doubts[0]
	}
	p.addStrings()
	if p.c.Tool != nil && p.c.Tool.Listed && len(doubts) == 0 {
		p.lookUnknown(match.Members(match.OrEmptyObject(p.c.Call.Arguments)), true)
	}
}

func (p *parser) readFields(doubts []string) {
	if len(p.c.Tool.Fields) == 0 {
		p.missing("The policy names no field of the arguments to judge.")
		return
	}
	p.members = match.Members(match.OrEmptyObject(p.c.Call.Arguments))
	folder := p.folder()
	if len(doubts) > 0 {
		p.readAmbiguous(folder)
		p.missing(doubts[0])
		return
	}
	for _, field := range p.c.Tool.Fields {
		for _, v := range match.ValuesAt(p.members, field) {
			if why := p.c.Kind.wrong(field, v); why != "" {
				p.missing(why)
				return
			}
			if why := p.take(folder, strings.Join(field, "."), v); why != "" {
				p.missing(why)
				return
			}
		}
	}
	if p.c.certain == 0 && p.c.Tool.Optional && !slices.ContainsFunc(p.c.Tool.Fields, func(field []string) bool { return len(match.ValuesAt(p.members, field)) > 0 }) {
		p.take(folder, "", match.Value{Text: p.c.Tool.Without, Kind: '"'})
	}
	if p.c.certain == 0 {
		p.missing(fmt.Sprintf("The arguments do not have the field %s, which the policy judges.", p.c.Tool.FieldNames()))
		return
	}
	p.c.Text = textOf(p.c.Resources())
	p.clarify()
	p.lookBeyond()
}

func (k Kind) wrong(field []string, v match.Value) string {
	name := strings.Join(field, ".")
	switch {
	case v.Folded:
		return fmt.Sprintf("The arguments have the field %s, which the policy judges, in another letter case.", name)
	case k != Plain && v.Kind != '"' && v.Kind != '[':
		return fmt.Sprintf("The field %s of the arguments, which the policy judges, is not a string.", name)
	}
	return ""
}

// take adds the value of a field as resources. It returns the reason if it cannot, or "".
func (p *parser) take(folder, field string, v match.Value) string {
	switch {
	case p.c.Kind == Plain:
		p.resource(v.Text)
	case v.Kind == '[':
		texts, ok := v.Elements()
		if !ok || len(texts) == 0 {
			return fmt.Sprintf("The field %s of the arguments, which the policy judges, is not a list of strings.", field)
		}
		if p.c.Kind == Shell && !p.c.Tool.Each {
			p.command(texts)
			return ""
		}
		return p.several(folder, field, texts)
	case p.c.Tool != nil && p.c.Tool.Patch:
		paths, problem := match.PatchPaths(v.Text)
		if p.c.Ambiguity = problem; len(paths) == 0 {
			paths = []string{v.Text}
		}
		return p.several(folder, field, paths)
	default:
		return p.several(folder, field, []string{v.Text})
	}
	return ""
}

func (p *parser) several(folder, field string, texts []string) string {
	if p.c.Kind == Path {
		texts = pathReadings(folder, texts)
	}
	if p.c.certain+len(texts) > match.MaxReadings {
		return fmt.Sprintf("The field %s of the arguments contains more strings than heldcall compares.", field)
	}
	for _, text := range texts {
		p.resource(text)
	}
	return ""
}

// textOf returns the texts of resources without the other readings of paths.
func textOf(resources []Candidate) string {
	texts := make([]string, 0, 8)
	for i := range resources {
		if i > 0 {
			if before := match.Readings(resources[i-1].Text); len(before) > 1 && before[1] == resources[i].Text {
				continue
			}
		}
		texts = append(texts, resources[i].Text)
	}
	return strings.Join(texts, ", ")
}

// pathReadings returns the paths that some texts are in a folder, each with its other certain
// readings after it.
func pathReadings(folder string, texts []string) []string {
	var all []string
	for _, text := range texts {
		all = append(all, match.Readings(match.JoinFolder(folder, text))...)
	}
	return all
}

func (p *parser) command(argv []string) {
	r := Candidate{Text: shell.QuoteWords(argv), Script: p.c.Known.Programs.ParseArgv(argv)}
	if script, ok := shell.ShellCall(argv); ok {
		r.Text = script
	}
	r.Lower = match.FoldCase(r.Text)
	p.c.Candidates = append(p.c.Candidates, r)
	p.c.certain++
}

// folder is the folder from which the paths of the call count, or "".
func (p *parser) folder() string {
	if p.c.Kind != Path {
		return ""
	}
	for _, field := range p.c.Tool.Workdir {
		for _, v := range match.ValuesAt(p.members, field) {
			if v.Kind == '"' && !v.Folded {
				return v.Text
			}
			p.c.Ambiguity = "The working folder of the call is not a string."
		}
	}
	return ""
}

// readAmbiguous adds every text that a program may read as the resource.
func (p *parser) readAmbiguous(folder string) {
	for _, field := range p.c.Tool.Fields {
		for _, v := range match.ValuesAt(p.members, field) {
			if len(p.c.Candidates) < match.MaxReadings && p.take(folder, "", v) != "" {
				p.candidate(v.Text)
			}
		}
	}
}

// missing uses all the arguments in place of an unknown resource.
func (p *parser) missing(why string) {
	p.c.certain = 0
	p.c.Ambiguity = why
	p.c.Text = p.c.Call.Arguments
	p.candidate(p.c.Text)
	p.addStrings()
}

// addStrings adds the strings of the arguments as candidates if a pattern is for the tool.
func (p *parser) addStrings() {
	if !p.compares() {
		return
	}
	texts, all := p.c.Strings()
	for _, text := range texts {
		p.candidate(text)
	}
	if !all && p.c.Ambiguity == "" {
		p.c.Ambiguity = "The arguments contain more strings than heldcall compares."
	}
}

func (p *parser) compares() bool {
	return p.rules.Compares(p.c.Call.Tool, p.c.Kind)
}

// clarify notes the ambiguity of the resources.
func (p *parser) clarify() {
	for i := range p.c.Resources() {
		r := &p.c.Candidates[i]
		switch {
		case p.c.Ambiguity != "":
		case strings.ContainsRune(r.Text, 0):
			p.c.Ambiguity = "The resource contains a NUL character, at which some programs end a string."
		case p.c.Kind == Shell:
			p.c.Ambiguity = r.Script.Problem
		case r.Problem == "" && p.c.IsTree() && match.MayEscape(r.Text):
			p.c.Ambiguity = "The path contains a backslash, which some programs read as an escape."
		default:
			p.c.Ambiguity = r.Problem
		}
	}
}

func (p *parser) resource(text string) {
	p.c.certain++
	p.candidate(text)
}

// addOthers adds other readings of paths.
func (p *parser) addOthers() {
	if p.c.Kind != Path {
		return
	}
	for _, r := range p.c.Candidates[:len(p.c.Candidates):len(p.c.Candidates)] {
		for _, other := range match.OtherPaths(r.Text) {
			p.candidate(other)
		}
	}
}

func (p *parser) candidate(text string) {
	p.c.Candidates = append(p.c.Candidates, p.newCandidate(text))
}

func (p *parser) newCandidate(text string) Candidate {
	r := Candidate{Text: text, Lower: match.FoldCase(text)}
	switch p.c.Kind {
	case Path:
		p.c.Places.locate(&r)
	case URL:
		r.URL, r.Problem = match.ParseURL(text)
	case Shell:
		r.Script = p.parse(text)
	}
	return r
}

// parse parses a candidate as a script, within a limit for the call that bounds the time.
func (p *parser) parse(text string) *shell.Script {
	if p.scripts += len(text); len(p.c.Candidates) > 0 && p.scripts > shell.MaxScript {
		return shell.Unparsed("The arguments contain more text than heldcall parses.")
	}
	p.c.Spend(len(text) / parseStep)
	return p.c.Known.Programs.Parse(text)
}
