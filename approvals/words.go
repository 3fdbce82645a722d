package approvals

// Words are texts for people that depend on what a request is about.
type Words struct {
	Subject   string // that people read and may edit, a plural noun or not: "arguments"
	Automatic string // what happens if no one answers and that approves: "runs automatically"
	Unless    string // what does not happen after the request has expired: "not run"
	WillNot   string // the same before: "won't run"
	Edited    string // what an edit has approved: "with other arguments"
	Effects   string // of the decisions, where they are not about a call, else ""
	One, Many string // names of pending requests: "a call", "calls"
	Asks      string // what the agent does if the request is a question, else ""
}

// asks are the words for questions.
var asks = map[Kind]string{
	KindClarification: "asks a question",
	KindDecision:      "asks for a decision",
	KindEnvVar:        "asks for values",
	KindCombined:      "asks several questions",
}

// WordsFor returns the texts for a kind of request.
func WordsFor(k Kind) Words {
	words := Words{
		Subject: "arguments", Automatic: "runs automatically", Unless: "not run", WillNot: "won't run", Edited: "with other arguments",
		One: "a call", Many: "calls", Asks: asks[k],
	}
	switch {
	case words.Asks != "":
		words.One, words.Many = "a question", "questions"
	case k == KindResult:
		return Words{
			Subject: "result", Automatic: "the model reads it automatically", Unless: "not read by the model", WillNot: "the model won't read it",
			Edited:  "with another text",
			Effects: "Approve: the model reads the result. Edit: it reads your text in its place. Deny: it reads that it was denied, and your note.",
			One:     "the result of a call", Many: "results of calls",
		}
	}
	return words
}

// ManyFor returns the noun for several requests: "calls", or "requests" if they are of different
// kinds.
func ManyFor(requests []Request) string {
	many := ""
	for i := range requests {
		one := WordsFor(requests[i].Kind).Many
		if many != "" && many != one {
			return "requests"
		}
		many = one
	}
	return many
}

// IfExpired returns the end of a pending request if it is not decided in time: "won't run", or
// [Request.TimeoutOutcome] of a question.
func (r *Request) IfExpired() string {
	if r.Asks() {
		return r.TimeoutOutcome()
	}
	return WordsFor(r.Kind).WillNot
}
