package rule

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/approvals/policy/call"
)

// hosted are the rules for tools that the provider runs. heldcall cannot hold their calls, so the
// request that offers them is judged.
type hosted struct {
	rule  string
	deny  bool        // those that names does not list
	names []*Pattern  // the allowed ones, where a list is given
	mcp   call.Action // of the calls of hosted MCP tools; "": ask
}

func (r *reader) hostedTools(n *yaml.Node, path string, h *hosted) {
	h.rule = r.Place(n.Line)
	if n.Kind != yaml.SequenceNode {
		h.deny = r.OneOf(n, path, []string{string(call.Allow), string(call.Deny)}) == string(call.Deny)
		return
	}
	h.deny = true
	r.List(n, path, "hosted tools", func(n *yaml.Node, path string) {
		text, ok := r.Text(n, path)
		if !ok {
			return
		}
		name, err := NewPattern(text)
		switch {
		case err != nil:
			r.Fail(n, path, "%s", err)
		case !name.Any:
			r.Fail(n, path, "must be the name of a hosted tool, or a glob, without an argument")
		default:
			h.names = append(h.names, name)
		}
	})
}

// keptPrompt is the name of a prompt that the provider keeps, with its tools.
const keptPrompt = "prompt"

// Judge returns the basis of a verdict on a tool that the provider runs, and whether hosted_tools
// lists it.
func (h *hosted) Judge(name string) (by Basis, listed bool) {
	listed = slices.ContainsFunc(h.names, func(p *Pattern) bool { return p.Tool.Match(name) })
	by = Basis{Action: call.Allow, Rule: h.rule, Reason: "The policy allows tools that the provider runs."}
	switch {
	case name == keptPrompt && !listed && h.mcp != call.Allow:
		by.Action, by.Reason = call.Deny, "A prompt stored by the provider may add hosted MCP tools that run without approval; hosted_tools does not list "+name+"."
	case h.deny && !listed:
		by.Action, by.Reason = call.Deny, "hosted_tools does not list the tool "+name+"."
		if len(h.names) == 0 {
			by.Reason = "The policy denies tools that the provider runs, because heldcall cannot hold their calls."
		}
	case strings.HasPrefix(name, "mcp:") && h.mcp != call.Allow:
		by.Action, by.Reason = call.Ask, "Calls of hosted MCP tools need approval."
	}
	return by, listed
}
