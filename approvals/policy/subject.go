package policy

import (
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"

	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
)

// subject is a call made ready for patterns to be compared with.
type subject struct {
	policy  *Policy
	call    Call
	granted []*grantSet // the grants that count for the caller
	tool    *tool       // what is known of it, or nil
	kind    kind
	tree    bool
	text    string // the resource, or what stands for it

	// doubts are why the call is never allowed: it has more than one reading.
	doubts []string
	// unclear is why the resource is not known for certain, or "". Allow
	// patterns with an argument do not match then, others may.
	unclear string
	// beyond is why the resource is not all that counts, or "". Allow patterns
	// with an argument do not match then: see lookBeyond.
	beyond string
	// lifting are the ask patterns above which a grant has to stand to allow the call.
	lifting []*pattern
	// notes are what was learned while judging, for the reviewer.
	notes []string

	// readings are the texts that deny and ask patterns are compared with. The
	// first of them, so many as certain says, are the resources.
	readings []reading
	certain  int
	unknown  []reading // texts of arguments that nothing is known of
	filter   string    // a filter that may select what holds secrets, or ""
	secrets  map[*shell.Command][]int
	parsed   int // bytes of the readings parsed as scripts

	keys  []string // what patterns are looked up by
	every bool     // any pattern may match

	members   []match.Member // of the arguments
	canonical string
	texts     []string // the strings among the arguments
	allTexts  bool
	asked     map[string]any // the variables of conditions
}

// reading is one text that a resource may be.
type reading struct {
	text    string
	lower   string
	path    match.Location // of a path
	url     match.Address  // of a URL
	problem string         // why a path or URL is not understood, or ""
	script  *shell.Script  // of a shell command
	secret  string         // of a path: what of it may hold secrets, or ""
}

// resources are the readings that the call is about.
func (s *subject) resources() []reading { return s.readings[:s.certain] }

// risk is how much harm the call can do as far as its tool says.
func (s *subject) risk() approvals.Risk {
	if s.tool == nil {
		return approvals.RiskMedium
	}
	return cmp.Or(s.tool.risk, approvals.RiskMedium)
}

// whole is the arguments as one line of JSON, or their text where they are not
// strict.
func (s *subject) whole() string {
	if s.canonical == "" {
		s.canonical = s.call.Arguments
		if !s.call.FreeText && len(s.doubts) == 0 {
			s.canonical = match.Canonical(s.call.Arguments)
		}
	}
	return s.canonical
}

// strings are the strings among the arguments, and whether those are all.
func (s *subject) strings() ([]string, bool) {
	if s.texts == nil {
		if s.call.FreeText {
			s.texts, s.allTexts = []string{s.call.Arguments}, true
		} else {
			s.texts, s.allTexts = match.Strings(s.call.Arguments)
			s.allTexts = s.allTexts || len(s.doubts) > 0
		}
		s.texts = append([]string{}, s.texts...)
	}
	return s.texts, s.allTexts
}

// scripts are the scripts of the resources.
func (s *subject) scripts() []*shell.Script {
	if s.kind != asShell {
		return nil
	}
	var found []*shell.Script
	for i := range s.resources() {
		found = append(found, s.readings[i].script)
	}
	return found
}

// shownCommands are the commands found in the call as a reviewer is shown them, with
// the variables that are set for them, their redirections and here-documents.
func (s *subject) shownCommands() []string {
	var found []string
	for _, script := range s.scripts() {
		found = append(found, script.Shown()...)
	}
	return found
}

// commandTexts are the words of the commands found in the call, each as one would write
// it, with … for what only a shell can tell.
func (s *subject) commandTexts() []string {
	var found []string
	for _, script := range s.scripts() {
		for _, c := range script.All {
			found = append(found, c.Display())
		}
	}
	return found
}

// maxCommands is how many commands a reviewer is shown.
const maxCommands = 50

// firstOf are so many commands as a reviewer is shown, and how many there are
// besides.
func firstOf(commands []string) []string {
	if len(commands) <= maxCommands {
		return commands
	}
	return append(commands[:maxCommands:maxCommands], fmt.Sprintf("and %d more", len(commands)-maxCommands))
}

// notPlain is why the resource is a script of more than plain words, or "".
func (s *subject) notPlain() string {
	for _, script := range s.scripts() {
		if script.NotSimple != "" {
			return script.NotSimple
		}
	}
	return ""
}

// lookUp finds what patterns are looked up by.
func (s *subject) lookUp() {
	s.every = s.unclear != "" || s.tree || len(s.unknown) > 0 || len(s.readings) == 0
	for i := range s.readings {
		r := &s.readings[i]
		s.addAllowKeys(r)
		switch s.kind {
		case asPath:
			s.addKey(match.LastSegment(r.path.Lower))
			for segment := range strings.SplitSeq(r.path.Lower, "/") {
				s.addKey(match.SegmentKey(segment))
			}
		case asURL:
			s.keys = append(s.keys, r.url.Host)
		case asShell:
			var all bool
			s.keys, all = r.script.AppendKeys(s.keys, r.lower)
			s.every = s.every || !all
		default:
			s.keys = append(s.keys, r.lower)
		}
	}
	slices.Sort(s.keys)
	s.keys = slices.Compact(s.keys)
}

func (s *subject) addKey(key string) { s.keys = append(s.keys, key) }
