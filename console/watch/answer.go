package watch

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/sanitize"
)

// answerPrompt names what an answer to the request is made of.
func answerPrompt(r *approvals.Request) string {
	if len(r.Details.Questions) == 0 { // abridged
		return ""
	}
	switch q := &r.Details.Questions[0]; {
	case isOneSecret(r):
		return "Value of " + sanitize.Line(q.Fields[0].Name) + ": "
	case q.Kind == approvals.KindEnvVar:
		return "Values, NAME=VALUE with commas between: "
	case len(q.Options) == 0:
		return "Answer: "
	case q.AllowFreeText:
		return "Ids of options with commas between, or an answer in words: "
	}
	return "Ids of options with commas between: "
}

func (v *review) beginAnswering(r *approvals.Request) {
	switch {
	case !v.mayDecide(r, false):
	case len(r.Details.Questions) == 0:
		v.notice = "The question is loading."
	case r.Kind == approvals.KindCombined:
		v.notice = "Answer several questions in the inbox, or with heldcall answer."
	case hasSecret(r) && !isOneSecret(r):
		v.notice = "Enter several values with a secret in the inbox, or with heldcall answer."
	default:
		v.question.ask(answering)
	}
}

func (v *review) typeAnswer(r *approvals.Request, key tea.KeyPressMsg) tea.Cmd {
	switch key.String() {
	case "esc":
		v.question.ask(browsing)
	case "enter":
		if v.mayDecide(r, false) && len(r.Details.Questions) > 0 {
			return v.send(r, approvals.Decision{Action: approvals.ActionAnswer, Response: responseOf(&r.Details.Questions[0], v.question.input)})
		}
	default:
		v.question.typed(key)
	}
	return nil
}

// responseOf reads an answer as it was typed: values, the ids of options or, if a part is
// no such id, words. The server checks it.
func responseOf(q *approvals.Question, input string) (a approvals.Response) {
	if q.Kind == approvals.KindEnvVar && len(q.Fields) == 1 && q.Fields[0].Secret {
		a.Values = map[string]string{q.Fields[0].Name: input}
		return a
	}
	input = strings.TrimSpace(input)
	parts := strings.Split(input, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	if q.Kind == approvals.KindEnvVar {
		a.Values = map[string]string{}
		for _, part := range parts {
			if name, value, given := strings.Cut(part, "="); given {
				a.Values[name] = value
			}
		}
		return a
	}
	unknown := func(id string) bool {
		return !slices.ContainsFunc(q.Options, func(o approvals.Option) bool { return o.ID == id })
	}
	if len(q.Options) > 0 && !slices.ContainsFunc(parts, unknown) {
		a.Selected = parts
		return a
	}
	a.Answer = input
	return a
}

// hasSecret reports whether a request asks for a secret.
func hasSecret(r *approvals.Request) bool {
	return slices.ContainsFunc(r.Details.Questions, func(q approvals.Question) bool {
		return slices.ContainsFunc(q.Fields, func(f approvals.QuestionField) bool { return f.Secret })
	})
}

// isOneSecret reports whether a request asks for one value, which is a secret: then it is
// typed alone, and not shown.
func isOneSecret(r *approvals.Request) bool {
	return r.Kind == approvals.KindEnvVar && hasSecret(r) && len(r.Details.Questions[0].Fields) == 1
}
