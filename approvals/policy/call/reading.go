// Package call reads a tool call once, for all who decide about it or show it: rules, effects, suggestions, cards.
//
// [Read] returns a [Reading]: every text that a program may take for the path, URL, script or text that the call is
// about, why that is uncertain, and, of scripts, each command with what it does and reaches: [Execution]. [Known] has the
// tools of a policy and of the profiles of well-known agents, and [Profiles] the paths that may be secrets.
package call

import (
	"iter"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"
	"github.com/heldcall/heldcall/approvals/policy/workspace"
)

// Reading is a call and the texts that patterns are compared with.
type Reading struct {
	Call  Call
	Tool  *Tool // its description, or nil
	Kind  Kind
	Text  string // the resource, or the arguments if it is not known
	Known *Known // the tables by which the call was parsed

	// Doubts are the reasons, one sentence each, why the call is never allowed.
	Doubts []string
	// Ambiguity is why the resource is uncertain, or "". Then no allow pattern with an argument
	// matches.
	Ambiguity string
	// Partial is why other arguments count too, or "". Then no allow pattern with an argument
	// matches.
	Partial string
	// Filter is a filter that may select secrets, or "".
	Filter string

	// Candidates are the texts that deny and ask patterns are compared with. The first ones, as
	// many as certain, are the resources.
	Candidates []Candidate
	certain    int
	Unknown    []Candidate // texts of arguments that nothing is known of
	Keys       Keys

	Places     Places
	steps      *int                          // left of the bound: see Spend
	executions map[*shell.Command]*Execution // see Execution
	acting     []*Execution                  // see Executions; nil: not needed yet
	arguments  argumentTexts
}

// Bounds of the comparisons for one call, see [Reading.Spend]: so many, and so many for each pattern that denies or asks.
const (
	maxSteps  = 6_000
	eachSteps = 8
	parseStep = 16 // bytes of a script that are parsed in one step
)

// Spend counts steps, each about as long as the comparison of a pattern with a path. It reports false if there were too
// many: what they would have found is then as bad as it may be, and the call is never allowed. Steps are counted, and not
// time, so that all replicas agree.
func (c *Reading) Spend(steps int) bool {
	if *c.steps >= 0 {
		*c.steps -= steps
	}
	return *c.steps >= 0
}

// Steps returns how many steps are left: below 0 for a call that was not compared whole.
func (c *Reading) Steps() int { return *c.steps }

// Exhausted returns why a call was not compared whole, or "".
func (c *Reading) Exhausted() string {
	if c.Steps() >= 0 {
		return ""
	}
	return "The call needs more comparisons than heldcall makes for one."
}

// Candidate is one text that a resource may be.
type Candidate struct {
	Text    string
	Lower   string
	Path    match.Location  // of a path
	Place   workspace.Place // of a path, if there is a workspace
	URL     match.Address   // of a URL
	Problem string          // why a path or URL is not understood, or ""
	Script  *shell.Script   // of a shell command
	Secret  string          // of a path: the part of it that may hold secrets, or ""
	Foreign string          // of a path: why it may change a repository other than the workspace's own, or ""
}

// argumentTexts are the texts of the arguments, each found when it is first needed.
type argumentTexts struct {
	canonical string
	strings   []string
	complete  bool     // strings are all
	whole     []string // canonical and strings, and these in lower case
	lower     []string
}

// WholeTexts returns all arguments as text and the strings among them, these in lower case, and whether those are all.
func (c *Reading) WholeTexts() (texts, lower []string, all bool) {
	texts, all = c.Strings()
	a := &c.arguments
	if a.whole == nil {
		a.whole = append([]string{c.Whole()}, texts...)
		for _, text := range a.whole {
			a.lower = append(a.lower, match.FoldCase(text))
		}
	}
	return a.whole, a.lower, all
}

// Again reads a call that is this one for another tool, or as a rule has changed it. The bound is for both together.
func (c *Reading) Again(call Call, rules Rules) *Reading { return read(call, c.Known, rules, c.steps) }

// As returns the call, read as it is, of a tool with another name.
func (c *Reading) As(tool string) *Reading {
	other := *c
	other.Call.Tool, other.Places.call = tool, &other
	return &other
}

// Resources returns the texts that the call is about.
func (c *Reading) Resources() []Candidate { return c.Candidates[:c.certain] }

// IsTree reports whether the tool reads the whole tree below its path.
func (c *Reading) IsTree() bool { return c.Tool != nil && c.Tool.Tree }

// Whole returns the arguments as one line of JSON, or as text if they are not strict.
func (c *Reading) Whole() string {
	if c.arguments.canonical == "" {
		c.arguments.canonical = c.Call.Arguments
		if !c.Call.FreeText && len(c.Doubts) == 0 {
			c.arguments.canonical = match.Canonical(c.Call.Arguments)
		}
	}
	return c.arguments.canonical
}

// Strings returns the strings among the arguments, and whether those are all.
func (c *Reading) Strings() ([]string, bool) {
	a := &c.arguments
	if a.strings == nil {
		if c.Call.FreeText {
			a.strings, a.complete = []string{c.Call.Arguments}, true
		} else {
			a.strings, a.complete = match.Strings(c.Call.Arguments)
			a.complete = a.complete || len(c.Doubts) > 0
		}
		a.strings = append([]string{}, a.strings...)
	}
	return a.strings, a.complete
}

// Args returns the arguments as Go values, or an empty map if they are not an object.
func (c *Reading) Args() map[string]any {
	if c.Call.FreeText {
		return map[string]any{}
	}
	return match.DecodeObject(c.Call.Arguments)
}

// Scripts returns the scripts of the resources, with the indices of these.
func (c *Reading) Scripts() iter.Seq2[int, *shell.Script] {
	return func(yield func(int, *shell.Script) bool) {
		for i := range c.Resources() {
			if c.Kind != Shell || !yield(i, c.Candidates[i].Script) {
				return
			}
		}
	}
}

// AnyScript reports whether one of the scripts is like that.
func (c *Reading) AnyScript(like func(*shell.Script) bool) bool {
	for _, script := range c.Scripts() {
		if like(script) {
			return true
		}
	}
	return false
}

// ShownCommands returns the commands for a reviewer, with their variables, redirections and
// here-documents.
func (c *Reading) ShownCommands() []string {
	var found []string
	for _, script := range c.Scripts() {
		found = script.AppendShown(found)
	}
	return found
}

// CommandTexts returns the commands found in the call, without redirections, with … for text that only a shell knows.
func (c *Reading) CommandTexts() []string {
	var found []string
	for _, script := range c.Scripts() {
		for _, command := range script.All {
			if !command.Redirect && !command.Other {
				found = append(found, command.Display())
			}
		}
	}
	return found
}

// NotPlain returns why the resource is a script of more than plain words, or "".
func (c *Reading) NotPlain() string {
	for _, script := range c.Scripts() {
		if script.NotPlain != "" {
			return script.NotPlain
		}
	}
	return ""
}

// NotSimple returns why no patterns can cover the script that is the resource, or "".
func (c *Reading) NotSimple() string {
	for _, script := range c.Scripts() {
		if script.NotSimple != "" {
			return script.NotSimple
		}
	}
	return ""
}

// Preview returns the resource on one short line. Arguments are in the model's order.
func (c *Reading) Preview() string {
	if c.Kind != Plain || c.Call.FreeText || len(c.Doubts) > 0 || c.Text != c.Whole() {
		return match.Preview(c.Text)
	}
	v := jsontext.Value(match.OrEmptyObject(c.Call.Arguments))
	if v.Format() != nil {
		return match.Preview(c.Text)
	}
	return match.Preview(string(v))
}

// IsJudgedScript reports whether the policy contains that the tool runs shell scripts.
func (c *Reading) IsJudgedScript() bool {
	return c.Kind == Shell && !(c.Tool != nil && c.Tool.onlyBuiltin())
}

// Call is one tool call as policy sees it.
type Call struct {
	Tool      string // name as the model wrote it
	Arguments string // exact text the model wrote; blank counts as {}
	FreeText  bool   // the tool's input is free text by contract: the text is the resource
	Fixed     bool   // its arguments cannot be changed

	// Offered reports that the agent's request offers the tool by this very name. Otherwise deny and ask
	// rules also hold under the names for which agents may take it: see package toolname.
	Offered bool
	// Unoffered is why the tool is certainly not offered, in one sentence, or "". Such a call is never
	// allowed. Near are the offered tools that agents may run in its place.
	Unoffered string
	Near      []string
	// InToolset reports that the request offers the toolset in the name, and not which tools it has. The toolset is part
	// of the name.
	InToolset bool

	// Ambiguous are the reasons, one sentence each, why the wire format has several readings.
	Ambiguous []string

	// Secrets are the names of stored secrets whose values the call may get.
	Secrets []string

	Principal approvals.Principal
	Session   string
	Run       string
	Tainted   bool // the run has read a result of the policy's taint list
	Turn      string
	Model     string
	Dialect   string
	Subagent  string    // the agent at the provider that makes the call, "" for none
	Now       time.Time // zero: not known, so that conditions that ask for it fail
}

// Key is equal for calls of a tool with equal arguments, however written. Arguments that are not
// strict are compared as text.
func (c *Call) Key() string {
	if c.FreeText || len(match.CheckArguments(c.Arguments)) > 0 {
		return c.Tool + "\x00text\x00" + c.Arguments
	}
	return c.Tool + "\x00" + match.Canonical(c.Arguments)
}

// Action is the decision of a policy. The zero value is invalid and must not be read as [Allow].
type Action string

// The actions.
const (
	Allow Action = "allow"
	Deny  Action = "deny"
	Ask   Action = "ask"
)
