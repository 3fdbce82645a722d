package policy

import (
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
)

// tool is one entry of tools.
type tool struct {
	name     string
	names    glob
	where    string   // as a verdict's Rule names it
	field    []string // path of the resource in the arguments; none: all of them
	typed    bool     // the entry says what the resource is
	kind     kind
	risk     approvals.Risk
	fallback Action
}

// toolFor finds the most specific entry for a tool, or nil.
func (p *Policy) toolFor(name string) *tool {
	for i := range p.tools {
		if p.tools[i].names.match(name) {
			return &p.tools[i]
		}
	}
	return nil
}

// bySpecificity puts plain names before globs, longer text before shorter.
func bySpecificity(a, b tool) int {
	if a.names.literal() != b.names.literal() {
		if a.names.literal() {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(b.names.textLen(), a.names.textLen()), cmp.Compare(a.name, b.name))
}

func (t *tool) reason() string {
	says := map[Action]string{Allow: "allows", Deny: "denies", Ask: "asks about"}[t.fallback]
	return fmt.Sprintf("The policy %s calls of %s that no rule covers.", says, t.name)
}

func (t *tool) riskReason() string {
	if t.risk == approvals.RiskLow {
		return fmt.Sprintf("The policy rates %s as low risk, which needs no asking.", t.name)
	}
	return fmt.Sprintf("The policy rates %s as %s risk, and only low risk needs no asking.", t.name, t.risk)
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

// anyFor reports whether any of the patterns is for a tool.
func anyFor(patterns []*pattern, name string) bool {
	return slices.ContainsFunc(patterns, func(p *pattern) bool { return p.tool.match(name) })
}
