package policy

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"go.yaml.in/yaml/v3"
)

// hosted is what policy says of tools that the provider runs itself. Their calls
// cannot be held, so the request that offers them is judged.
type hosted struct {
	rule   string
	deny   bool       // those that names does not list
	names  []*pattern // the allowed ones, where a list is given
	freely bool       // hosted MCP tools may run without approval
}

// keptPrompt is the name of a prompt that the provider keeps, with its tools.
const keptPrompt = "prompt"

// JudgeHosted says whether a request may offer the model a tool that the
// provider runs: [Allow], [Deny], or [Ask] where each call of it has to be
// approved, which only hosted MCP tools (mcp:SERVER) can be.
func (p *Policy) JudgeHosted(_ approvals.Principal, name string) Verdict {
	h := &p.hosted
	v := Verdict{Action: Allow, Rule: h.rule, Risk: approvals.RiskMedium, Resource: name, Reason: "Tools that the provider runs may be offered."}
	mcp := strings.HasPrefix(name, "mcp:")
	v.Listed = slices.ContainsFunc(h.names, func(p *pattern) bool { return p.tool.Match(name) })
	switch {
	case name == keptPrompt && !v.Listed && !h.freely:
		v.Action, v.Reason = Deny, "A prompt that the provider keeps may bring hosted MCP tools whose calls nobody is asked about; hosted_tools does not list "+name+"."
	case h.deny && !v.Listed:
		v.Action, v.Reason = Deny, "Policy does not list the hosted tool "+name+"."
		if len(h.names) == 0 {
			v.Reason = "Policy denies tools that the provider runs, because their calls cannot be held."
		}
	case mcp && !h.freely:
		v.Action, v.Reason = Ask, "Calls of hosted MCP tools need approval."
	}
	return v
}

// hostedTools reads allow, deny, or a list of names.
func (r *reader) hostedTools(n *yaml.Node, path string, h *hosted) {
	h.rule = r.Place(n.Line)
	if n.Kind != yaml.SequenceNode {
		h.deny = r.OneOf(n, path, []string{string(Allow), string(Deny)}) == string(Deny)
		return
	}
	h.deny = true
	r.List(n, path, "hosted tools", func(n *yaml.Node, path string) {
		text, ok := r.Text(n, path)
		if !ok {
			return
		}
		name, err := newPattern(text)
		switch {
		case err != nil:
			r.Fail(n, path, "%s", err)
		case !name.any:
			r.Fail(n, path, "must be the name of a hosted tool, or a glob, without an argument")
		default:
			h.names = append(h.names, name)
		}
	})
}
