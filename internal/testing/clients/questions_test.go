//go:build clients

package clients_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// questionPolicy asks about every call, offers the model all tools for questions, and judges
// the results of the scenario secret.
const questionPolicy = `default: ask
questions: {offer: [clarification, decision, env_var, input]}
results:
  - deny: [lookup]
    contains: [do-not-read]
  - redact: [transfer]
    contains: ["7777"]
  - ask: [lookup]
    contains: [review-me]
`

// asked are calls of heldcall's own tools, with a part of the answer that the model gets.
var asked = []struct{ tool, arguments, told string }{
	{"request_decision", `{"question":"Which harbour?","type":"single_choice","options":[{"id":"north","label":"North"},{"id":"south","label":"South"}]}`, `"selected":["south"]`},
	{"request_clarification", `{"question":"How many crates?"}`, `{"answer":"Two.","selected":[],"answered_by":"person"}`},
	{"request_input", `{"questions":[{"id":"size","kind":"clarification","question":"Which size?"},{"id":"quay","kind":"env_var","fields":[{"name":"QUAY","secret":false}]}]}`, `"quay":{"QUAY":"7"}`},
	{"request_env_var", `{"fields":[{"name":"QUAY_TOKEN","required":true}]}`, `{"QUAY_TOKEN":"secret://QUAY_TOKEN"}`},
}

// callsOf are the calls of a job's model: those of its first answer, and in the scenario
// secret those of its second.
func callsOf(job string) []fakemodel.Call {
	var calls []fakemodel.Call
	add := func(name, arguments string) {
		id := strings.NewReplacer("/", "_", "-", "_", ".", "_").Replace(job)
		calls = append(calls, fakemodel.Call{ID: fmt.Sprintf("call_%d_%s", len(calls), id), Name: name, Arguments: arguments})
	}
	transfer := func() { add("transfer", fmt.Sprintf(`{"job":%q,"amount":1000}`, wordsOf(job))) }
	lookup := func(more string) { add("lookup", fmt.Sprintf(`{"job":%q}`, job+more)) }
	switch scenarioOf(job) {
	case approve, deny, edit, restart, announced, givesUp, sdkAsks, ann, bob, carol:
		transfer()
	case question:
		add(asked[0].tool, asked[0].arguments)
	case questions:
		for _, q := range asked[:3] {
			add(q.tool, q.arguments)
		}
		transfer()
	case secret:
		add(asked[3].tool, asked[3].arguments)
		add("transfer", fmt.Sprintf(`{"job":%q,"amount":7777}`, job+"#secret://QUAY_TOKEN"))
		lookup("#do-not-read")
		lookup("#review-me")
	default:
		transfer()
		lookup("")
	}
	return calls
}

// asks reports whether a call is a question to people.
func asks(c fakemodel.Call) bool { return strings.HasPrefix(c.Name, "request_") }

// inFirst returns how many of a job's calls are in the first answer of its model.
func inFirst(job string, calls []fakemodel.Call) int {
	if scenarioOf(job) == secret {
		return 1
	}
	return len(calls)
}

// tokenOf is the secret of a job.
func tokenOf(job string) string {
	sum := sha256.Sum256([]byte(job))
	return "tok_" + hex.EncodeToString(sum[:10])
}

var anyToken = regexp.MustCompile(`tok_[0-9a-f]{20}`)

// rulingOfQuestion is the decision on a question, or on a result that is asked about.
func rulingOfQuestion(r approvals.Request) *fakemodel.Ruling {
	ruling := &fakemodel.Ruling{Action: approvals.ActionAnswer}
	switch r.Kind {
	case approvals.KindDecision:
		ruling.Selected = []string{"south"}
	case approvals.KindClarification:
		ruling.Answer = "Two."
	case approvals.KindCombined:
		ruling.Responses = map[string]approvals.Response{"size": {Answer: "Large."}, "quay": {Values: map[string]string{"QUAY": "7"}}}
	case approvals.KindEnvVar:
		ruling.Values = map[string]string{"QUAY_TOKEN": tokenOf(r.Context.LastUserMessage)}
	default:
		ruling = &fakemodel.Ruling{Action: approvals.ActionModifyArgs, ModifiedArgs: json.RawMessage(`"reviewed"`)}
	}
	return ruling
}

// askedFor changes the expectations of a job with questions.
func (e *expected) askedFor(api fakemodel.API, job string) {
	for i, c := range e.calls {
		if asks(c) {
			at := slices.IndexFunc(asked, func(q struct{ tool, arguments, told string }) bool { return q.tool == c.Name })
			e.told[i] = asked[at].told
		}
	}
	e.calls = slices.DeleteFunc(slices.Clone(e.calls), asks)
	switch scenarioOf(job) {
	case question:
		e.finishes, e.requests, e.usage = finishes[api].stop, 3, continuedUsage
	case secret:
		e.calls[0].Arguments = strings.Replace(e.calls[0].Arguments, "secret://QUAY_TOKEN", tokenOf(job), 1)
		e.requests, e.usage = 3, continuedUsage
		e.told[1], e.told[2], e.told[3] = "[redacted]", "does not let you read the result", "reviewed"
	}
}
