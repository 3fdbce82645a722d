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

// Offered are the tools by which the model of a request may ask people. Once they are known
// they stay the same for the request, also after its policy has changed.
type Offered struct {
	names  []string // of the tools that were added to the request
	chosen bool
	forced bool // the agent's request forces the call of a certain tool
	posts  bool // the request is for a new answer
}

// add adds the tools of a policy, nil for none, to the request.
func (o *Offered) add(r intercept.Request, from Questions) {
	o.posts = r.Envelope().Method == http.MethodPost
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

// Has reports whether heldcall has offered the model the tool of a call.
func (o *Offered) Has(call intercept.Call) bool {
	return call.Offered || slices.Contains(o.names, call.Name)
}

// InAnswer is [intercept.Limits.Offered] for the answer. A request for an answer that was
// made before offers nothing itself.
func (o *Offered) InAnswer() func(name, description string) bool {
	switch {
	case !o.posts:
		return questions.Defined
	case len(o.names) > 0:
		return func(name, description string) bool {
			return slices.Contains(o.names, name) && questions.Defined(name, description)
		}
	}
	return nil
}

// forces reports whether the agent's request forces the call of a certain tool.
func (o *Offered) forces(r intercept.Request) bool {
	if len(o.names) > 0 {
		return o.forced
	}
	return len(r.ForcedTools()) == 1
}
