package policy

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// subject is a call made ready for patterns to be compared with.
type subject struct {
	call Call
	tool *tool // its entry, or nil
	kind kind
	text string // the resource, or what stands for it

	// doubts are why the call is never allowed: it has more than one reading.
	doubts []string
	// unclear is why the resource is not known for certain, or "". Allow
	// patterns with an argument do not match then, others may.
	unclear string
	// readings are the texts that deny and ask patterns are compared with. The
	// first is the resource, where that is clear.
	readings []reading
	compared bool // there is a deny or ask pattern for the tool
	parsed   int  // bytes of the readings parsed as scripts
}

// reading is one text that the resource may be.
type reading struct {
	text    string
	lower   string
	path    location // of a path
	problem string   // why a path is not understood, or ""
	script  *script  // of a shell command
}

// newSubject finds the resource of a call.
func (p *Policy) newSubject(c Call) *subject {
	s := &subject{call: c, tool: p.toolFor(c.Tool)}
	s.compared = anyFor(p.deny, c.Tool) || anyFor(p.ask, c.Tool)
	if s.tool != nil {
		s.kind = s.tool.kind
	}
	if doubt := nameDoubt(c.Tool); doubt != "" {
		s.doubts = append(s.doubts, doubt)
	}
	s.doubts = append(s.doubts, c.Ambiguous...)
	switch {
	case c.FreeText:
		s.readText()
	case s.tool != nil && s.tool.typed:
		s.readField()
	default:
		s.readWhole()
	}
	return s
}

// readText takes the text of a free-text tool as the resource.
func (s *subject) readText() {
	if len(s.call.Arguments) > MaxArguments {
		s.doubts = append(s.doubts, fmt.Sprintf("The text is larger than the %d MiB that are judged.", MaxArguments>>20))
	}
	if !utf8.ValidString(s.call.Arguments) {
		s.doubts = append(s.doubts, "The text is not valid UTF-8.")
	}
	s.text = s.call.Arguments
	s.add(s.text)
	s.clarify()
}

// readWhole takes all the arguments as the resource.
func (s *subject) readWhole() {
	args := s.call.Arguments
	doubts := CheckArguments(args)
	s.doubts = append(s.doubts, doubts...)
	s.kind = asPlain
	s.text = args
	if len(doubts) == 0 {
		s.text = canonical(args)
	} else {
		s.unclear = doubts[0]
	}
	s.add(s.text)
	s.addStrings()
	s.clarify()
}

// readField takes one field of the arguments as the resource.
func (s *subject) readField() {
	args := s.call.Arguments
	doubts := CheckArguments(args)
	s.doubts = append(s.doubts, doubts...)
	if len(s.tool.field) == 0 {
		s.missing("The policy does not say which field of the arguments to judge.")
		return
	}
	values := valuesAt(args, s.tool.field)
	field := strings.Join(s.tool.field, ".")
	switch {
	case len(doubts) > 0:
		for _, v := range values[:min(len(values), maxReadings)] {
			s.add(v.text)
		}
		s.missing(doubts[0])
	case len(values) == 0:
		s.missing(fmt.Sprintf("The arguments have no field %s, which the policy judges.", field))
	case values[0].folded:
		s.missing(fmt.Sprintf("The arguments have the field %s, which the policy judges, in another letter case.", field))
	case s.kind != asPlain && values[0].kind != '"':
		s.missing(fmt.Sprintf("The field %s of the arguments, which the policy judges, is not a text.", field))
	default:
		s.text = values[0].text
		s.add(s.text)
		s.clarify()
	}
}

// missing lets all the arguments stand for a resource that is not known.
func (s *subject) missing(why string) {
	s.text = s.call.Arguments
	s.add(s.text)
	s.addStrings()
	s.unclear = why
}

// addStrings adds the strings among the arguments to the readings, if anything
// is compared with them.
func (s *subject) addStrings() {
	if !s.compared {
		return
	}
	found, all := stringsIn(s.call.Arguments)
	for _, text := range found {
		s.add(text)
	}
	if !all && s.unclear == "" {
		s.unclear = "The arguments hold more texts than are judged."
	}
}

// clarify notes what the one reading there is leaves open.
func (s *subject) clarify() {
	r := &s.readings[0]
	switch {
	case s.unclear != "":
	case strings.ContainsRune(r.text, 0):
		s.unclear = "The resource holds a NUL character, where some programs end a text."
	case s.kind == asPath:
		s.unclear = r.problem
	case s.kind == asShell:
		s.unclear = r.script.problem
	}
}

// add adds a reading, and of a path the other ways in which programs take it.
func (s *subject) add(text string) {
	r := reading{text: text, lower: strings.ToLower(text)}
	switch s.kind {
	case asPath:
		r.path, r.problem = locate(text)
		s.readings = append(s.readings, r)
		for _, other := range otherPaths(text) {
			path, _ := locate(other)
			s.readings = append(s.readings, reading{text: other, lower: strings.ToLower(other), path: path})
		}
		return
	case asShell:
		r.script = s.parse(text)
	}
	s.readings = append(s.readings, r)
}

// parse parses a reading, up to a length in all that bounds the time it takes.
func (s *subject) parse(text string) *script {
	if s.parsed += len(text); len(s.readings) > 0 && s.parsed > maxScript {
		return &script{problem: "The arguments hold more text than is parsed."}
	}
	return parseScript(text)
}
