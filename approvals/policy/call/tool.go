package call

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"
	"github.com/heldcall/heldcall/approvals/policy/workspace"
	"github.com/heldcall/heldcall/internal/strictyaml"
	"github.com/heldcall/heldcall/internal/toolname"
)

// Kind is the kind of a resource.
type Kind int

// The kinds.
const (
	Plain Kind = iota
	Path
	Shell
	URL
	Kinds
)

// Tool describes a tool: by an entry of the policy, a built-in profile, or both.
type Tool struct {
	Name  string
	Names match.Glob
	Where string // as a verdict's Rule names it

	Typed   bool       // the resource is known
	Fields  [][]string // paths of the resource in the arguments; none: all of them
	Kind    Kind
	Patch   bool       // the resource is a patch, whose paths are judged
	Each    bool       // a list of texts is a list of scripts
	Workdir [][]string // fields of the folder from which paths count
	Args    []string   // the arguments that a call may have besides; name=value only with this value
	Listed  bool       // it has no others; else none that holds a text

	Optional bool   // a call may have no resource
	Without  string // what counts as one that is missing

	PowerShell bool // the resource is a script of PowerShell, whose risk is low if it only reads: see readsByPowerShell

	Below  []string // arguments that may name nothing beyond the path
	Tree   bool     // the tool reads the whole tree below its path
	Leaves string   // argument that, if false, has the tool read what it leaves out otherwise

	Replace   bool // an entry counts in place of the built-in profile
	Kinded    bool // an entry names the kind
	AnyFolder bool // an entry names the working folder of a shell, so any folder is meant

	Question bool // an entry gives its calls to people, who answer them in place of the agent

	Starts   string // argument with the first message to an agent that a call starts, "" for a tool that starts none
	Risk     approvals.Risk
	Low      []string // arguments with which the risk of a profile is low, as name=value
	Fallback Action
	Builtin  bool // the risk is that of a profile
	Own      bool // the policy has an entry
}

// over returns a profile extended by an entry of the policy. Fields and arguments of both apply;
// other settings of the entry replace those of the profile.
func (t *Tool) over(known *Tool) *Tool {
	both := *known
	if t.Replace {
		both = *t
	}
	both.Question = t.Question
	both.Name, both.Names, both.Where, both.Own = t.Name, t.Names, t.Where, true
	both.Risk, both.Fallback = cmp.Or(t.Risk, known.Risk), t.Fallback
	both.Builtin = t.Risk == ""
	if t.Replace {
		return &both
	}
	both.Typed = t.Typed || known.Typed
	if t.Kinded {
		both.Kind, both.Patch = t.Kind, t.Patch
	}
	both.Fields = appendNew(known.Fields, t.Fields)
	both.Workdir = appendNew(known.Workdir, t.Workdir)
	both.AnyFolder = len(t.Workdir) > 0
	both.Args = append(slices.Clip(known.Args), t.Args...)
	both.Listed = t.Listed || (known.Listed && !t.Typed)
	return &both
}

func appendNew(to, fields [][]string) [][]string {
	to = slices.Clip(to)
	for _, field := range fields {
		if !slices.ContainsFunc(to, func(one []string) bool { return slices.Equal(one, field) }) {
			to = append(to, field)
		}
	}
	return to
}

// lists reports whether a call may have an argument with a value beside its resource.
func (t *Tool) lists(name, value string) bool {
	return !strings.Contains(name, "=") && (slices.Contains(t.Args, name) || slices.Contains(t.Args, name+"="+value))
}

// forArguments returns the tool with the risk that its profile has for the values of a call's
// arguments.
func (t *Tool) forArguments(members []match.Member) *Tool {
	if !t.Builtin || len(t.Low) == 0 || members == nil {
		return t
	}
	for _, one := range t.Low {
		name, want, _ := strings.Cut(one, "=")
		values := match.ValuesAt(members, []string{name})
		if (len(values) == 0 && want != "") || slices.ContainsFunc(values, func(v match.Value) bool { return v.Text != want || v.Kind != '"' || v.Folded }) {
			return t
		}
	}
	low := *t
	low.Risk = approvals.RiskLow
	return &low
}

// LowAtTimes reports whether the risk of a call is low by its arguments or script, so that it is not that of others.
func (t *Tool) LowAtTimes() bool { return t.PowerShell || len(t.Low) > 0 }

// onlyBuiltin reports whether the policy has no entry for a built-in tool.
func (t *Tool) onlyBuiltin() bool { return t.Builtin && !t.Own }

// BySpecificity puts plain names before globs, longer text before shorter.
func BySpecificity(a, b *Tool) int {
	if a.Names.Literal() != b.Names.Literal() {
		if a.Names.Literal() {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(b.Names.TextLen(), a.Names.TextLen()), cmp.Compare(a.Name, b.Name))
}

// Reason returns in one sentence why the default of the tool decides.
func (t *Tool) Reason() string {
	return fmt.Sprintf("No rule matches this call; the policy's default for %s is to %s.", t.Name, t.Fallback)
}

// RiskReason returns in one sentence why the risk of the tool decides.
func (t *Tool) RiskReason() string {
	if t.Risk == approvals.RiskLow {
		return t.Name + " is rated low risk; low-risk tools run without approval."
	}
	return fmt.Sprintf("%s is rated %s risk; only low-risk tools run without approval.", t.Name, t.Risk)
}

// FieldNames are the fields of the resource, for a person.
func (t *Tool) FieldNames() string {
	names := make([]string, len(t.Fields))
	for i, field := range t.Fields {
		names[i] = strings.Join(field, ".")
	}
	return strings.Join(names, " or ")
}

// RiskOr returns a risk if it is set, else that of the tool, which may be nil.
func (t *Tool) RiskOr(given approvals.Risk) approvals.Risk {
	if t != nil {
		given = cmp.Or(given, t.Risk)
	}
	return cmp.Or(given, approvals.RiskMedium)
}

// NameDoubt returns why a tool name is not trusted, or "": agents may change names beyond plain
// ASCII.
func NameDoubt(name string) string {
	odd := func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsGraphic(r) || strings.ContainsRune(" *()'\"`\\", r)
	}
	if name == "" {
		return "The call names no tool."
	}
	if strings.ContainsFunc(name, odd) {
		return "The tool's name contains characters that are not valid in a tool name."
	}
	return ""
}

// ReadKind reads the kind of the resource of a tool.
func ReadKind(r *strictyaml.Reader, n *yaml.Node, path string, t *Tool) {
	switch r.OneOf(n, path, KindNames) {
	case "path":
		t.Kind = Path
	case "shell":
		t.Kind = Shell
	case "url":
		t.Kind = URL
	case "patch":
		t.Kind, t.Patch = Path, true
	}
}

// SetRisk returns a function that reads the risk of a tool or a rule.
func SetRisk(r *strictyaml.Reader, to *approvals.Risk) func(*yaml.Node, string) {
	return SetOneOf(r, to, approvals.RiskLow, approvals.RiskMedium, approvals.RiskHigh, approvals.RiskCritical)
}

// SetAction returns a function that reads an action.
func SetAction(r *strictyaml.Reader, to *Action) func(*yaml.Node, string) {
	return SetOneOf(r, to, Ask, Allow, Deny)
}

// SetOneOf returns a function that reads one of some values.
func SetOneOf[T ~string](r *strictyaml.Reader, to *T, values ...T) func(*yaml.Node, string) {
	known := make([]string, len(values))
	for i, value := range values {
		known[i] = string(value)
	}
	return func(n *yaml.Node, path string) { *to = T(r.OneOf(n, path, known)) }
}

// Known is the entries of a policy and the built-in tables.
type Known struct {
	Tools    []*Tool // by falling specificity
	Profiles *Profiles
	Programs *shell.Programs

	Workspace *workspace.Workspace // nil: the policy names none

	joined map[string]*Tool // see Join
}

// Join joins each entry of the policy for one tool with its built-in profile, once for all calls. Tools and Profiles
// do not change after that.
func (k *Known) Join() {
	joined := map[string]*Tool{}
	for _, t := range k.Tools {
		if t.Names.Literal() {
			joined[t.Name] = k.Tool(t.Name)
		}
	}
	k.joined = joined
}

// Tool returns the description of a tool, or nil.
func (k *Known) Tool(name string) *Tool {
	if t := k.joined[name]; t != nil {
		return t
	}
	given, known := find(k.Tools, name), k.Profiles.Find(name)
	switch {
	case given == nil:
		return known
	case known == nil:
		return given
	}
	return given.over(known)
}

// Meant returns the names of known tools for which agents may take a wrong name with some
// [toolname.Keys].
func (k *Known) Meant(keys []string) (names []string) {
	for _, t := range k.Tools {
		if t.Names.Literal() && slices.Contains(keys, toolname.Key(t.Name)) {
			names = append(names, t.Name)
		}
	}
	for _, key := range keys {
		names = append(names, k.Profiles.keyed[key]...)
	}
	return names
}

func find(tools []*Tool, name string) *Tool {
	for _, t := range tools {
		if t.Names.Match(name) {
			return t
		}
	}
	return nil
}

// Question is the value of as for a tool whose calls are questions to people.
const Question = "question"

// KindNames are the kinds as policies name them. A patch is the paths in it.
var KindNames = []string{"plain", "path", "shell", "url", "patch"}
