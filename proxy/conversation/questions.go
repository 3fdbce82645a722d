package conversation

import (
	"slices"

	"github.com/heldcall/heldcall/approvals/questions"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/wrapped"
	"github.com/heldcall/heldcall/internal/toolname"
)

// Questions are the tools that a policy offers models to ask people, by their names in the
// policy.
type Questions interface {
	Questions() (offer []string, always bool)
}

// Offered are the tools by which the model of a request may ask people. Once they are known
// they stay the same for the request, also after its policy has changed.
type Offered struct {
	names  []string // of the tools that were added to the request
	known  []string // of the tools that the model may know: those, or for an answer that was made before those of the policy
	chosen bool
	forced bool // the agent's request forces the call of a certain tool
}

// add adds the tools of a policy, nil for none, to the request.
func (o *Offered) add(r intercept.Request, from Questions) {
	if o.chosen {
		if len(o.names) > 0 {
			r.Offer(toolsNamed(func(t *questions.Tool) bool { return slices.Contains(o.names, t.Name) }), true)
		}
		return
	}
	o.chosen = true
	if from == nil {
		return
	}
	offer, always := from.Questions()
	if len(offer) == 0 {
		return
	}
	o.forced = len(r.ForcedTools()) == 1
	tools := toolsNamed(func(t *questions.Tool) bool { return slices.Contains(offer, t.Offer) })
	o.names = r.Offer(tools, always)
	if o.known = o.names; len(o.names) == 0 {
		for _, t := range tools {
			o.known = append(o.known, t.Name)
		}
	}
}

func toolsNamed(is func(*questions.Tool) bool) (tools []intercept.OfferedTool) {
	for _, t := range questions.Tools() {
		if is(&t) {
			tools = append(tools, intercept.OfferedTool{Name: t.Name, Description: t.Description, Parameters: t.Parameters, Strict: t.Strict})
		}
	}
	return tools
}

// Tool returns the name of the tool of heldcall that a call means, "" if it means none: the model may write the name
// in another way, which agents would mend. A tool of the agent with the very name counts first. So does one of an MCP
// server that the provider may keep.
func (o *Offered) Tool(call intercept.Call, offer *intercept.Offer) string {
	name := questions.Canonical(call.Name)
	switch {
	case name == "" || call.Hosted != "":
		return ""
	case call.Offered || slices.Contains(o.names, call.Name):
		return name
	case offer.Has(call.Name), offer.More && toolname.IsMCP(call.Name), !o.nearest(name, call.Name, offer): // it is the agent's
		return ""
	case slices.Contains(o.names, name), call.Name != name && offer.More && slices.Contains(o.known, name):
		return name
	}
	return ""
}

// nearest reports whether a tool of heldcall, and none of the agent, is what a model most likely means by a name.
func (o *Offered) nearest(tool, written string, offer *intercept.Offer) bool {
	if slices.Contains(o.names, tool) {
		near := toolname.Near(written, append([]string{tool}, offer.All...))
		return len(near) > 0 && near[0] == tool
	}
	return len(toolname.Near(tool, offer.All)) == 0
}

// Misses returns the name of the tool of heldcall that a call means although neither heldcall nor the agent offers it
// now, or "".
func (o *Offered) Misses(call intercept.Call, offer *intercept.Offer) string {
	if name := questions.Canonical(call.Name); name != "" && call.Hosted == "" && o.Tool(call, offer) == "" &&
		!offer.More && len(toolname.Near(call.Name, offer.All)) == 0 {
		return name
	}
	return ""
}

// In returns the name of the tool of heldcall that a call of another tool contains a call of, or "".
func (o *Offered) In(call intercept.Call, offer *intercept.Offer) string {
	if len(o.known) == 0 {
		return ""
	}
	for _, inner := range wrapped.Names(call) {
		if name := questions.Canonical(inner); slices.Contains(o.known, name) && !offer.Has(inner) && o.nearest(name, inner, offer) {
			return name
		}
	}
	return ""
}

// Adds reports whether tools were added to the request: it is [intercept.Limits.Offers] for the answer.
func (o *Offered) Adds() bool { return len(o.names) > 0 }

// InAnswer is [intercept.Limits.Offered] for the answer. A request for an answer that was
// made before adds nothing itself.
func (o *Offered) InAnswer(name, description, parameters string) bool {
	if o.Adds() {
		return slices.Contains(o.names, name)
	}
	return questions.Defined(name, description, parameters)
}

// forces reports whether the agent's request forces the call of a certain tool.
func (o *Offered) forces(r intercept.Request) bool {
	if len(o.names) > 0 {
		return o.forced
	}
	return len(r.ForcedTools()) == 1
}
