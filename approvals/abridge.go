package approvals

import (
	"slices"
	"strings"
)

const (
	// maxListed is the [Request.Size] of the largest request that lists contain in
	// full, in bytes.
	maxListed = 32 << 10
	// abridgedText is the longest text of an abridged request, in bytes.
	abridgedText = 1 << 10
	// abridgedCommands is the largest number of commands of an abridged request.
	abridgedCommands = 10
)

// Abridged returns the request for lists and event streams. A large request loses its
// arguments (they are JSON null), the text that the model wrote, its questions, its files, the
// parameters of the tool, and the arguments and answers of decisions. Its other long texts are shortened, and
// [Details.Abridged] is true. Do not decide by the arguments of an abridged request.
func (r *Request) Abridged() Request {
	short := *r
	if r.Size() <= maxListed {
		return short
	}
	short.Arguments, short.Details.RawArguments, short.Details.Abridged = nil, "", true
	short.Details.Questions, short.Details.Files = nil, nil
	short.Tool.Description, short.Tool.Parameters = beginning(r.Tool.Description), nil
	short.Resource = beginning(r.Resource)
	short.Details.Commands = slices.Clone(r.Details.Commands[:min(len(r.Details.Commands), abridgedCommands)])
	for i, command := range short.Details.Commands {
		short.Details.Commands[i] = beginning(command)
	}
	short.Decisions = slices.Clone(r.Decisions)
	for i := range short.Decisions {
		short.Decisions[i].ModifiedArgs = nil
		short.Decisions[i].Response, short.Decisions[i].Responses = Response{}, nil
		short.Decisions[i].Note = beginning(short.Decisions[i].Note)
	}
	return short
}

// beginning returns a text, cut after abridgedText bytes with an ellipsis.
func beginning(text string) string {
	if len(text) <= abridgedText {
		return text
	}
	return strings.ToValidUTF8(text[:abridgedText], "") + "…"
}

// Restored returns an abridged request with the call of an earlier, complete state of it.
// The call of a request never changes. The result is still abridged if whole lacks the
// arguments of a decision. A request that is not abridged is returned unchanged.
func (r *Request) Restored(whole *Request) Request {
	full := *r
	if !r.Details.Abridged || whole.Details.Abridged {
		return full
	}
	full.Arguments, full.Tool, full.Resource = whole.Arguments, whole.Tool, whole.Resource
	full.Details.Questions, full.Details.Files = whole.Details.Questions, whole.Details.Files
	full.Details.RawArguments, full.Details.Commands, full.Details.Abridged = whole.Details.RawArguments, whole.Details.Commands, false
	full.Decisions = slices.Clone(r.Decisions)
	for i := range full.Decisions {
		switch {
		case i < len(whole.Decisions):
			full.Decisions[i] = whole.Decisions[i]
		case full.Decisions[i].Action == ActionModifyArgs, full.Decisions[i].Action == ActionAnswer:
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
