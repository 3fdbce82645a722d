// Package effects finds the effects of a tool call by tables: what it reads and writes, sends,
// runs and destroys, and how much harm that can do.
//
// [Of] returns the effects of a parsed call. A call of a known tool has those of its kind, in
// tools.go; a shell command has those of each of its programs, in shell.go; SQL those of its
// statements, in sql.go. What no table has is [approvals.EffectUnknown]. [Risk] follows from the
// effects, and [Contained] reports whether they stay in the workspace.
package effects

import (
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/resource"
)

// Of returns the effects of a call, at least one. Equal ones are returned once.
func Of(c *resource.ParsedCall) []approvals.Effect {
	f := &finder{c: c, found: make([]approvals.Effect, 0, 2)}
	switch {
	case len(c.Doubts) > 0, c.Ambiguity != "" && len(c.Resources()) == 0:
		f.unknown(c.Call.Tool)
	case c.Kind == resource.Shell:
		f.scripts()
	default:
		f.tool()
	}
	if c.Ambiguity != "" || c.Partial != "" {
		f.unknown(c.Call.Tool)
	}
	if c.Filter != "" {
		f.add(approvals.EffectSecret, c.Filter, "", true)
	}
	for _, name := range c.Call.Secrets {
		f.add(approvals.EffectSecret, name, "", false)
	}
	if len(f.found) == 0 || f.more {
		f.found = append(f.found, approvals.Effect{Kind: approvals.EffectUnknown})
	}
	return f.found
}
