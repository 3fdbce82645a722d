package policy

import (
	"github.com/heldcall/heldcall/approvals/policy/match"

	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/heldcall/heldcall/approvals"
)

// kind is what a resource is, and so how patterns are compared with it.
type kind int

const (
	asPlain kind = iota
	asPath
	asShell
	asURL
	kinds
)

// kindNames are the kinds as policies name them. A patch is the paths in it.
var kindNames = []string{"plain", "path", "shell", "url", "patch"}

// tool is what is known of a tool: an entry of tools, one of a built-in profile,
// or the former over the latter.
type tool struct {
	name  string
	names match.Glob
	where string // as a verdict's Rule names it

	typed   bool       // it is said what the resource is
	fields  [][]string // paths of the resource in the arguments; none: all of them
	kind    kind
	patch   bool       // the resource is a patch, whose paths are judged
	each    bool       // a list of texts is a list of scripts
	workdir [][]string // fields of the folder from which paths count
	args    []string   // the arguments that a call may have besides
	listed  bool       // it has no others; else none that holds a text
	without string     // what stands for a resource that is missing; "": nothing does
	below   []string   // arguments that may name nothing beyond the path
	tree    bool       // the tool reads the whole tree below its path
	leaves  string     // argument that, if false, has the tool read what it leaves out otherwise

	replace   bool // an entry counts in place of the built-in profile
	kinded    bool // an entry names the kind
	anyFolder bool // an entry names the working folder of a shell, so any folder is meant

	risk     approvals.Risk
	fallback Action
	builtin  bool // the risk is that of a profile
	own      bool // the policy has an entry
}

// toolFor finds what is known of a tool, or nil.
func (p *Policy) toolFor(name string) *tool {
	given, known := find(p.tools, name), p.profiles.find(name)
	switch {
	case given == nil:
		return known
	case known == nil:
		return given
	}
	return given.over(known)
}

// find is the most specific entry for a tool, or nil.
func find(tools []*tool, name string) *tool {
	for _, t := range tools {
		if t.names.Match(name) {
			return t
		}
	}
	return nil
}

// over is an entry of the policy added to a profile: its fields and arguments are
// judged and known beside those of the profile, and what else it sets counts in
// place of the profile's.
func (t *tool) over(known *tool) *tool {
	both := *known
	if t.replace {
		both = *t
	}
	both.name, both.names, both.where, both.own = t.name, t.names, t.where, true
	both.risk, both.fallback = cmp.Or(t.risk, known.risk), t.fallback
	both.builtin = t.risk == ""
	if t.replace {
		return &both
	}
	both.typed = t.typed || known.typed
	if t.kinded {
		both.kind, both.patch = t.kind, t.patch
	}
	both.fields = appendNew(known.fields, t.fields)
	both.workdir = appendNew(known.workdir, t.workdir)
	both.anyFolder = len(t.workdir) > 0
	both.args = append(slices.Clip(known.args), t.args...)
	both.listed = t.listed || known.listed && !t.typed
	return &both
}

// appendNew appends the fields that are not among those already there.
func appendNew(to, fields [][]string) [][]string {
	to = slices.Clip(to)
	for _, field := range fields {
		if !slices.ContainsFunc(to, func(one []string) bool { return slices.Equal(one, field) }) {
			to = append(to, field)
		}
	}
	return to
}

// unsaid reports whether only a built-in profile knows the tool.
func (t *tool) unsaid() bool { return t.builtin && !t.own }

// bySpecificity puts plain names before globs, longer text before shorter.
func bySpecificity(a, b *tool) int {
	if a.names.Literal() != b.names.Literal() {
		if a.names.Literal() {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(b.names.TextLen(), a.names.TextLen()), cmp.Compare(a.name, b.name))
}

// kindsFor are the kinds of the resources of the tools that a pattern may mean.
func (p *Policy) kindsFor(of *pattern) []kind {
	if of.shells {
		return []kind{asShell}
	}
	var found []kind
	names := of.tool
	if names.Literal() {
		if t := p.toolFor(names.Prefix()); t != nil {
			found = append(found, t.kind)
		}
		return found
	}
	for _, t := range p.tools {
		if names.Meets(t.names) && !slices.Contains(found, t.kind) {
			found = append(found, t.kind)
		}
	}
	return found
}

func (t *tool) reason() string {
	says := map[Action]string{Allow: "allows", Deny: "denies", Ask: "asks about"}[t.fallback]
	return fmt.Sprintf("The policy %s calls of %s that no rule covers.", says, t.name)
}

func (t *tool) riskReason() string {
	who := "The policy"
	if t.builtin {
		who = "heldcall"
	}
	if t.risk == approvals.RiskLow {
		return fmt.Sprintf("%s rates %s as low risk, which needs no asking.", who, t.name)
	}
	return fmt.Sprintf("%s rates %s as %s risk, and only low risk needs no asking.", who, t.name, t.risk)
}

// fieldNames are the fields of the resource, for a person.
func (t *tool) fieldNames() string {
	names := make([]string, len(t.fields))
	for i, field := range t.fields {
		names[i] = strings.Join(field, ".")
	}
	return strings.Join(names, " or ")
}

// nameDoubt says why a tool name is not trusted, or "": agents may trim, cut or
// normalise what is not plain ASCII.
func nameDoubt(name string) string {
	odd := func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsGraphic(r) || strings.ContainsRune(" *()'\"`\\", r)
	}
	if name == "" {
		return "The call names no tool."
	}
	if strings.ContainsFunc(name, odd) {
		return "The tool's name holds characters that do not belong in a tool name."
	}
	return ""
}
