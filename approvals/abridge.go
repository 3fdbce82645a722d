package approvals

import (
	"slices"
	"strings"
)

const (
	// maxListed is the size, as [Request.Size] counts it, of the largest request
	// that lists have whole, in bytes.
	maxListed = 32 << 10
	// abridgedText is how much an abridged request keeps of a text, in bytes.
	abridgedText = 1 << 10
	// abridgedCommands is how many commands an abridged request keeps.
	abridgedCommands = 10
)

// Abridged returns the request as lists and event streams have it. A large one is
// without its arguments (JSON null), the text that the model wrote, the tool's
// parameters and the arguments of decisions; its other long texts are shortened, and
// [Details.Abridged] is true. It is no basis for a decision by arguments.
func (r *Request) Abridged() Request {
	short := *r
	if r.Size() <= maxListed {
		return short
	}
	short.Arguments, short.Details.RawArguments, short.Details.Abridged = nil, "", true
	short.Tool.Description, short.Tool.Parameters = beginning(r.Tool.Description), nil
	short.Resource = beginning(r.Resource)
	short.Details.Commands = slices.Clone(r.Details.Commands[:min(len(r.Details.Commands), abridgedCommands)])
	for i, command := range short.Details.Commands {
		short.Details.Commands[i] = beginning(command)
	}
	short.Decisions = slices.Clone(r.Decisions)
	for i := range short.Decisions {
		short.Decisions[i].ModifiedArgs = nil
		short.Decisions[i].Note = beginning(short.Decisions[i].Note)
	}
	return short
}

// beginning returns a text of at most abridgedText bytes, and the beginning of a longer
// one with an ellipsis.
func beginning(text string) string {
	if len(text) <= abridgedText {
		return text
	}
	return strings.ToValidUTF8(text[:abridgedText], "") + "…"
}

// Restored returns an abridged request with the call that an earlier state of it has
// whole; a request that is not abridged is returned as it is. The call of a request
// never changes. The result is still abridged where whole lacks the arguments of a
// decision.
func (r *Request) Restored(whole *Request) Request {
	full := *r
	if !r.Details.Abridged || whole.Details.Abridged {
		return full
	}
	full.Arguments, full.Tool, full.Resource = whole.Arguments, whole.Tool, whole.Resource
	full.Details.RawArguments, full.Details.Commands, full.Details.Abridged = whole.Details.RawArguments, whole.Details.Commands, false
	full.Decisions = slices.Clone(r.Decisions)
	for i := range full.Decisions {
		switch {
		case i < len(whole.Decisions):
			full.Decisions[i] = whole.Decisions[i]
		case full.Decisions[i].Action == ActionModifyArgs:
			full.Details.Abridged = true
		}
	}
	return full
}

// Abridge makes each request of the page an abridged one.
func (p *Page) Abridge() {
	for i := range p.Items {
		p.Items[i] = p.Items[i].Abridged()
	}
}
