package questions

import (
	"fmt"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/heldcall/heldcall/internal/sanitize"
)

// How long people have to answer where the policy does not state it.
const (
	Timeout       = 300 * time.Second
	ParkedTimeout = 24 * time.Hour // where the call may be parked
)

// previewLength is the length of [Preview] in characters.
const previewLength = 160

// Title is the title of a request.
func Title(kind approvals.Kind, list []approvals.Question) string {
	if kind == approvals.KindCombined {
		return fmt.Sprintf("The agent asks %d questions", len(list))
	}
	return "The agent " + approvals.WordsFor(kind).Asks
}

// Preview is the first question on one short line, with all characters visible.
func Preview(list []approvals.Question) string {
	text := list[0].Question
	if list[0].Kind == approvals.KindEnvVar && text == "" {
		text = fieldNames(&list[0])
	}
	line := []rune(sanitize.Line(strings.Join(strings.Fields(text), " ")))
	if len(line) > previewLength {
		return string(line[:previewLength-1]) + "…"
	}
	return string(line)
}

func fieldNames(q *approvals.Question) string {
	names := make([]string, len(q.Fields))
	for i := range q.Fields {
		names[i] = q.Fields[i].Name
	}
	return strings.Join(names, ", ")
}

// Invalid is the text for the model about a call that asks no valid question.
func Invalid(tool string, err error) string {
	return fmt.Sprintf("This call of %s is not valid, so nobody was asked: %s. Correct the arguments and call it again.", tool, err)
}

// Misplaced is the text for the model about a call of one of [Tools] that is in a call of another tool.
func Misplaced(tool, wrapper string) string {
	return fmt.Sprintf("Nothing in this call of %s was run: it contains a call of %s, which people answer. Call %s by itself, and the other tools without it.", wrapper, tool, tool)
}

// Unavailable is the text for the model about a call of one of [Tools] that it is not offered.
func Unavailable(tool string) string {
	return fmt.Sprintf("There is no tool %s now, so nobody was asked. Go on with what you know, or ask the user in your answer.", tool)
}

// ParkedNotice is the text for the user with which an answer ends while a question waits.
// It names no tool: the agent does not know of it.
func ParkedNotice(request string) string {
	return fmt.Sprintf("A question to people waits for an answer (request %s). We can go on with something else in the meantime.", request)
}

// Declined is the text for the model after a person has refused to answer.
func Declined(note string) string {
	text := "A person has read this question and does not want to answer it."
	if note = strings.TrimSpace(note); note != "" {
		text += " Their note: " + note
		if !strings.ContainsAny(note[len(note)-1:], ".!?") {
			text += "."
		}
	}
	return text + " Do not ask it again: go on with what you know, or tell the user what you need."
}

// Message is the text for the model in place of the result of a call that asks people, by
// the state of its request, and the outcome of the call. A request that asks no question
// must be answered.
func Message(r *approvals.Request) (text string, outcome approvals.Outcome) {
	d, _ := r.FinalDecision()
	switch {
	case !r.Asks():
		return fmt.Sprintf("A human reviewer read this call of %s. It was not run, and not refused either. They answer: %s", r.ToolName, d.Answer), approvals.OutcomeAnswered
	case r.Status == approvals.StatusAnswered:
		return result(r, &d, byPerson), approvals.OutcomeAnswered
	case r.Status == approvals.StatusPending:
		return fmt.Sprintf("This question waits for a person's answer (request %s). Go on with something else, or tell the user that it waits.", r.ID), approvals.OutcomeParked
	case r.Status == approvals.StatusDenied:
		return Declined(d.Note), approvals.OutcomeDeniedByPerson
	case r.Status == approvals.StatusExpired && r.HasDefaults():
		return "Nobody answered in time. These are the defaults that you gave: " + result(r, nil, "default"), approvals.OutcomeDefault
	case r.Status == approvals.StatusExpired:
		return "Nobody answered this question in time, and nobody has refused to answer it. Go on without the answer, or tell the user what you need to know.", approvals.OutcomeExpired
	}
	return "This question was cancelled before anybody answered it.", approvals.OutcomeCancelled
}

const byPerson = "person"

// result renders the answers to a request; d is nil where the defaults apply.
func result(r *approvals.Request, d *approvals.Decision, by string) string {
	list := r.Details.Questions
	answers := make([]approvals.Response, len(list))
	for i := range list {
		switch {
		case d == nil:
			answers[i] = defaultOf(&list[i])
		case r.Kind == approvals.KindCombined:
			answers[i] = d.Responses[list[i].ID]
		default:
			answers[i] = d.Response
		}
	}
	switch {
	case Canonical(r.ToolName) == "":
		return foreignResult(list, answers)
	case r.Kind != approvals.KindCombined:
		return render(&list[0], &answers[0], by)
	}
	members := make([]string, len(list))
	for i := range list {
		members[i] = strictjson.Quote(list[i].ID) + ":" + render(&list[i], &answers[i], by)
	}
	return "{" + strings.Join(members, ",") + "}"
}

// defaultOf is the answer that a question has itself.
func defaultOf(q *approvals.Question) approvals.Response {
	for _, o := range q.Options {
		if o.ID == q.Default {
			return approvals.Response{Selected: []string{o.ID}}
		}
	}
	return approvals.Response{Answer: q.Default}
}

// render renders the answer to one question of heldcall's own tools as a JSON object.
func render(q *approvals.Question, a *approvals.Response, by string) string {
	if q.Kind != approvals.KindEnvVar {
		return fmt.Sprintf(`{"answer":%s,"selected":%s,"answered_by":%s}`, strictjson.Quote(q.Words(a)), quoteAll(a.Selected), strictjson.Quote(by))
	}
	var members []string
	for _, f := range q.Fields {
		value := a.Values[f.Name]
		if value == "" {
			value = f.Default
		}
		if value != "" {
			members = append(members, strictjson.Quote(f.Name)+":"+strictjson.Quote(value))
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

// foreignResult renders answers as agents do: Codex by the ids that its model has given,
// others as sentences.
func foreignResult(list []approvals.Question, answers []approvals.Response) string {
	var pairs, byID []string
	for i := range list {
		text := list[i].Words(&answers[i])
		pairs = append(pairs, strictjson.Quote(list[i].Question)+"="+strictjson.Quote(text))
		if id := list[i].ID; id != "" {
			byID = append(byID, strictjson.Quote(id)+`:{"answers":[`+strictjson.Quote(text)+"]}")
		}
	}
	if len(byID) == len(list) && !numbered(list) {
		return `{"answers":{` + strings.Join(byID, ",") + "}}"
	}
	return "The user has answered your questions: " + strings.Join(pairs, ", ") + ". You can now continue with the answers in mind."
}

// numbered reports whether the ids of questions are those of readForeign.
func numbered(list []approvals.Question) bool {
	for i := range list {
		if list[i].ID != fmt.Sprint(i+1) {
			return false
		}
	}
	return true
}

func quoteAll(texts []string) string {
	quoted := make([]string, len(texts))
	for i, one := range texts {
		quoted[i] = strictjson.Quote(one)
	}
	return "[" + strings.Join(quoted, ",") + "]"
}
