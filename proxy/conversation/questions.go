package conversation

import (
	"net/http"
	"slices"

	"github.com/heldcall/heldcall/approvals/questions"
	"github.com/heldcall/heldcall/intercept"
)

// Questions are the tools that a policy offers models to ask people, by their names in the
// policy.
type Questions interface {
	Questions() (offer []string, always bool)
}

// offered are the tools by which the model of a request may ask people. Once they are known
// they stay the same for the request, also after its policy has changed.
type offered struct {
	names  []string // of the tools that were added to the request
	chosen bool
	forced bool // see [intercept.Request.Forced], of the agent's request
}

// offer adds the tools that the policy offers to the request.
func (c *Conversation) offer(r intercept.Request) {
	o := &c.offered
	if o.chosen {
		if len(o.names) > 0 {
			r.Offer(toolsNamed(func(t *questions.Tool) bool { return slices.Contains(o.names, t.Name) }), true)
		}
		return
	}
	o.chosen = true
	if c.shared.Questions == nil {
		return
	}
	offer, always := c.shared.Questions(c.Request.Client).Questions()
	if len(offer) == 0 {
		return
	}
	o.forced = r.Forced()
	o.names = r.Offer(toolsNamed(func(t *questions.Tool) bool { return slices.Contains(offer, t.Offer) }), always)
}

func toolsNamed(is func(*questions.Tool) bool) (tools []intercept.OfferedTool) {
	for _, t := range questions.Tools() {
		if is(&t) {
			tools = append(tools, intercept.OfferedTool{Name: t.Name, Description: t.Description, Parameters: t.Parameters, Strict: t.Strict})
		}
	}
	return tools
}

// Offers reports whether heldcall has offered the model the tool of a call.
func (c *Conversation) Offers(call intercept.Call) bool {
	return call.Offered || slices.Contains(c.offered.names, call.Name)
}

// OfferedInAnswer is [intercept.Limits.Offered] for the answer. A request for an answer that
// was made before offers nothing itself.
func (c *Conversation) OfferedInAnswer() func(name, description string) bool {
	switch {
	case c.Parsed.Envelope().Method != http.MethodPost:
		return questions.Defined
	case len(c.offered.names) > 0:
		return func(name, description string) bool {
			return slices.Contains(c.offered.names, name) && questions.Defined(name, description)
		}
	}
	return nil
}

// forced reports whether the agent's request forces the call of a certain tool.
func (c *Conversation) forced() bool {
	if len(c.offered.names) > 0 {
		return c.offered.forced
	}
	return c.Parsed.Forced()
}
