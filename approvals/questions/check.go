package questions

import (
	"maps"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
)

// Check refuses a decision with the action answer that does not answer the request. The
// error is an [*approvals.InvalidError] with the field. A request that asks no question
// takes words only.
func Check(r *approvals.Request, d *approvals.Decision) error {
	list := r.Details.Questions
	if len(list) == 0 {
		list = []approvals.Question{{AllowFreeText: true}}
	}
	if r.Kind != approvals.KindCombined {
		if len(d.Responses) > 0 {
			return approvals.Invalid("responses", "the request asks one question; use answer, selected or values")
		}
		return checkResponse("", &list[0], &d.Response)
	}
	switch {
	case d.Answer != "":
		return approvals.Invalid("answer", "%s", useResponses)
	case len(d.Selected) > 0:
		return approvals.Invalid("selected", "%s", useResponses)
	case len(d.Values) > 0:
		return approvals.Invalid("values", "%s", useResponses)
	}
	for _, id := range slices.Sorted(maps.Keys(d.Responses)) {
		if !slices.ContainsFunc(list, func(q approvals.Question) bool { return q.ID == id }) {
			return approvals.Invalid("responses."+id, "the request has no such question")
		}
	}
	for i := range list {
		response := d.Responses[list[i].ID]
		if err := checkResponse("responses."+list[i].ID+".", &list[i], &response); err != nil {
			return err
		}
	}
	return nil
}

const useResponses = "the request asks several questions; answer each in responses, by its id"

// checkResponse checks the answer to one question. The fields in errors begin with at.
func checkResponse(at string, q *approvals.Question, a *approvals.Response) error {
	if q.Kind == approvals.KindEnvVar {
		return checkValues(at, q, a)
	}
	answered := strings.TrimSpace(a.Answer) != ""
	switch {
	case len(a.Values) > 0:
		return approvals.Invalid(at+"values", "the question asks for no values")
	case answered && !q.AllowFreeText:
		return approvals.Invalid(at+"answer", "free text is not allowed; select an option")
	case len(a.Answer) > maxText:
		return approvals.Invalid(at+"answer", "it is longer than %d bytes", maxText)
	case !answered && len(a.Selected) == 0:
		field := "answer"
		if len(q.Options) > 0 {
			field = "selected"
		}
		return approvals.Invalid(at+field, "the question is not answered")
	case len(a.Selected) > q.MaxSelections:
		return approvals.Invalid(at+"selected", "%d options are selected, at most %d may be", len(a.Selected), q.MaxSelections)
	}
	for i, id := range a.Selected {
		switch {
		case !slices.ContainsFunc(q.Options, func(o approvals.Option) bool { return o.ID == id }):
			return approvals.Invalid(at+"selected", "%q is not the id of an option", id)
		case slices.Contains(a.Selected[:i], id):
			return approvals.Invalid(at+"selected", "%q is selected twice", id)
		}
	}
	return nil
}

// checkValues checks the values of the fields. A field without a value has its default.
func checkValues(at string, q *approvals.Question, a *approvals.Response) error {
	switch {
	case a.Answer != "":
		return approvals.Invalid(at+"answer", "the question asks for values")
	case len(a.Selected) > 0:
		return approvals.Invalid(at+"selected", "the question asks for values")
	}
	for _, name := range slices.Sorted(maps.Keys(a.Values)) {
		if !slices.ContainsFunc(q.Fields, func(f approvals.QuestionField) bool { return f.Name == name }) {
			return approvals.Invalid(at+"values."+name, "the question has no such field")
		}
	}
	for i := range q.Fields {
		f := &q.Fields[i]
		value := a.Values[f.Name]
		reason := ""
		switch {
		case value != "":
			reason = valueFault(f, value)
		case f.Required && f.Default == "":
			reason = "a value is required"
		}
		if reason != "" {
			return approvals.Invalid(at+"values."+f.Name, "%s", reason)
		}
	}
	return nil
}

// CheckFor refuses an answer that is none to the request, and the fields of an answer in
// another action.
func CheckFor(r *approvals.Request, d *approvals.Decision) error {
	if d.Action == approvals.ActionAnswer {
		return Check(r, d)
	}
	for _, one := range []struct {
		field string
		given bool
	}{{"answer", d.Answer != ""}, {"selected", len(d.Selected) > 0}, {"values", len(d.Values) > 0}, {"responses", len(d.Responses) > 0}} {
		if one.given {
			return approvals.Invalid(one.field, "it needs the action %q, not %q", approvals.ActionAnswer, d.Action)
		}
	}
	return nil
}
