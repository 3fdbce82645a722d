package policy

import (
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"

	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// newSubject finds the resource of a call.
func (p *Policy) newSubject(c Call) *subject {
	s := &subject{policy: p, call: c, tool: p.toolFor(c.Tool), granted: p.grants.of(c.Principal, c.Session)}
	if s.tool != nil {
		s.kind, s.tree = s.tool.kind, s.tool.tree
	}
	if doubt := nameDoubt(c.Tool); doubt != "" {
		s.doubts = append(s.doubts, doubt)
	}
	s.doubts = append(s.doubts, c.Ambiguous...)
	if c.FreeText {
		s.readText()
	} else {
		doubts, numbers := match.Doubts(c.Arguments)
		if len(numbers) > 0 && !s.passesByName() {
			doubts = append(doubts, numbers...)
		}
		for _, doubt := range doubts {
			if !slices.Contains(s.doubts, doubt) { // who read the answer may have said so too
				s.doubts = append(s.doubts, doubt)
			}
		}
		if s.tool != nil && s.tool.typed {
			s.readFields(doubts)
		} else {
			s.readWhole(doubts)
		}
	}
	s.addOthers()
	s.lookUp()
	return s
}

// readText takes the text of a free-text tool as the resource.
func (s *subject) readText() {
	text := s.call.Arguments
	if len(text) > match.MaxArguments {
		s.doubts = append(s.doubts, fmt.Sprintf("The text is larger than the %d MiB that are judged.", match.MaxArguments>>20))
	}
	if !utf8.ValidString(text) {
		s.doubts = append(s.doubts, "The text is not valid UTF-8.")
	}
	s.text = text
	s.take("", "", match.Value{Text: text, Kind: '"'})
	s.clarify()
}

// readWhole takes all the arguments as the resource.
func (s *subject) readWhole(doubts []string) {
	s.kind = asPlain
	s.text = s.whole()
	s.resource(s.text)
	s.clarify()
	if len(doubts) > 0 {
		s.unclear = doubts[0]
	}
	s.addStrings()
}

// readFields takes fields of the arguments as the resource.
func (s *subject) readFields(doubts []string) {
	if len(s.tool.fields) == 0 {
		s.missing("The policy does not say which field of the arguments to judge.")
		return
	}
	s.members = match.Members([]byte(match.OrEmptyObject(s.call.Arguments)))
	folder := s.folder()
	if len(doubts) > 0 {
		s.readAmbiguous(folder)
		s.missing(doubts[0])
		return
	}
	for _, field := range s.tool.fields {
		for _, v := range match.ValuesAt(s.members, field) {
			if why := s.wrong(field, v); why != "" {
				s.missing(why)
				return
			}
			if why := s.take(folder, strings.Join(field, "."), v); why != "" {
				s.missing(why)
				return
			}
		}
	}
	if s.certain == 0 && s.tool.without != "" && !s.has(s.tool.fields) {
		s.take(folder, "", match.Value{Text: s.tool.without, Kind: '"'})
	}
	if s.certain == 0 {
		s.missing(fmt.Sprintf("The arguments have no field %s, which the policy judges.", s.tool.fieldNames()))
		return
	}
	texts := make([]string, s.certain)
	for i, r := range s.resources() {
		texts[i] = r.text
	}
	s.text = strings.Join(texts, ", ")
	s.clarify()
	s.lookBeyond()
}

// wrong says why a value cannot be the resource, or is "".
func (s *subject) wrong(field []string, v match.Value) string {
	name := strings.Join(field, ".")
	switch {
	case v.Folded:
		return fmt.Sprintf("The arguments have the field %s, which the policy judges, in another letter case.", name)
	case s.kind != asPlain && v.Kind != '"' && v.Kind != '[':
		return fmt.Sprintf("The field %s of the arguments, which the policy judges, is not a text.", name)
	}
	return ""
}

// take adds the value of a field as a resource, or as several. It says why it
// cannot, or is "".
func (s *subject) take(folder, field string, v match.Value) string {
	switch {
	case s.kind == asPlain:
		s.resource(v.Text)
	case v.Kind == '[':
		texts, ok := v.Elements()
		if !ok || len(texts) == 0 {
			return fmt.Sprintf("The field %s of the arguments, which the policy judges, is not a list of texts.", field)
		}
		if s.kind == asShell && !s.tool.each {
			s.command(texts)
			return ""
		}
		return s.several(folder, field, texts)
	case s.tool != nil && s.tool.patch:
		paths, problem := match.PatchPaths(v.Text)
		if s.unclear = problem; len(paths) == 0 {
			paths = []string{v.Text}
		}
		return s.several(folder, field, paths)
	default:
		return s.several(folder, field, []string{v.Text})
	}
	return ""
}

// several adds each of a field's texts as a resource.
func (s *subject) several(folder, field string, texts []string) string {
	if s.certain+len(texts) > match.MaxReadings {
		return fmt.Sprintf("The field %s of the arguments holds more texts than are judged.", field)
	}
	for _, text := range texts {
		if s.kind == asPath {
			text = match.JoinFolder(folder, text)
		}
		s.resource(text)
	}
	return ""
}

// command adds as the resource a command by its words.
func (s *subject) command(argv []string) {
	r := reading{text: shell.QuoteWords(argv), script: s.policy.programs.ParseArgv(argv)}
	if script, ok := shell.ShellCall(argv); ok {
		r.text = script
	}
	r.lower = match.FoldCase(r.text)
	s.readings = append(s.readings, r)
	s.certain++
}

// folder is the folder from which the paths of the call count, or "".
func (s *subject) folder() string {
	if s.kind != asPath {
		return ""
	}
	for _, field := range s.tool.workdir {
		for _, v := range match.ValuesAt(s.members, field) {
			if v.Kind == '"' && !v.Folded {
				return v.Text
			}
			s.unclear = "The working folder of the call is not a text."
		}
	}
	return ""
}

// readAmbiguous adds what any program could take for the resource.
func (s *subject) readAmbiguous(folder string) {
	for _, field := range s.tool.fields {
		for _, v := range match.ValuesAt(s.members, field) {
			if len(s.readings) < match.MaxReadings && s.take(folder, "", v) != "" {
				s.reading(v.Text)
			}
		}
	}
}

// has reports whether any of some fields is there, if only in another case.
func (s *subject) has(fields [][]string) bool {
	for _, field := range fields {
		if len(match.ValuesAt(s.members, field)) > 0 {
			return true
		}
	}
	return false
}

// missing lets all the arguments stand for a resource that is not known.
func (s *subject) missing(why string) {
	s.certain = 0
	s.unclear = why
	s.text = s.call.Arguments
	s.reading(s.text)
	s.addStrings()
}

// addStrings adds the strings among the arguments to the readings, if anything
// is compared with them.
func (s *subject) addStrings() {
	if !s.compares() {
		return
	}
	texts, all := s.strings()
	for _, text := range texts {
		s.reading(text)
	}
	if !all && s.unclear == "" {
		s.unclear = "The arguments hold more texts than are judged."
	}
}

// compares reports whether there is a deny or ask pattern for the tool.
func (s *subject) compares() bool {
	return s.policy.deny.anyFor(s.call.Tool, s.kind) || s.policy.ask.anyFor(s.call.Tool, s.kind)
}

// clarify notes what the resources leave open.
func (s *subject) clarify() {
	for i := range s.resources() {
		r := &s.readings[i]
		switch {
		case s.unclear != "":
		case strings.ContainsRune(r.text, 0):
			s.unclear = "The resource holds a NUL character, where some programs end a text."
		case s.kind == asShell:
			s.unclear = r.script.Problem
		default:
			s.unclear = r.problem
		}
	}
}

// resource adds a text that is the resource, or one of several.
func (s *subject) resource(text string) {
	s.certain++
	s.reading(text)
}

// addOthers adds the other ways in which programs take paths.
func (s *subject) addOthers() {
	if s.kind != asPath {
		return
	}
	for _, r := range s.readings[:len(s.readings):len(s.readings)] {
		for _, other := range match.OtherPaths(r.text) {
			s.reading(other)
		}
	}
}

// reading adds a text that the resource may be.
func (s *subject) reading(text string) { s.readings = append(s.readings, s.newReading(text)) }

func (s *subject) newReading(text string) reading {
	r := reading{text: text, lower: match.FoldCase(text)}
	switch s.kind {
	case asPath:
		r.path, r.problem = match.Locate(text)
		r.secret = s.policy.profiles.secretPath(text, s.tree)
	case asURL:
		r.url, r.problem = match.ParseURL(text)
	case asShell:
		r.script = s.parse(text)
	}
	return r
}

// parse parses a reading, up to a length in all that bounds the time it takes.
func (s *subject) parse(text string) *shell.Script {
	if s.parsed += len(text); len(s.readings) > 0 && s.parsed > shell.MaxScript {
		return shell.Unparsed("The arguments hold more text than is parsed.")
	}
	return s.policy.programs.Parse(text)
}
