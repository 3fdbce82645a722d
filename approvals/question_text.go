package approvals

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// facts returns the facts of an option: recommended, risk, time and cost.
func (o *Option) facts() (facts []string) {
	if o.Recommended {
		facts = append(facts, "recommended")
	}
	for _, fact := range []struct{ name, value string }{{"risk", string(o.RiskLevel)}, {"time", o.EstimatedTime}, {"cost", o.EstimatedCost}} {
		if fact.value != "" {
			facts = append(facts, fact.name+" "+fact.value)
		}
	}
	return facts
}

// kind returns whether the field must be filled in, and is secret.
func (f *QuestionField) kind() string {
	kind := "optional"
	if f.Required {
		kind = "required"
	}
	if f.Secret {
		kind += ", secret"
	}
	return kind
}

// Describe describes the question on several lines, which are not escaped: recommended
// options are first.
func (q *Question) Describe() string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if q.ID != "" {
		add("[%s]", q.ID)
	}
	if q.Question != "" {
		add("%s", q.Question)
	}
	if q.Tool != "" {
		add("for %s", q.Tool)
	}
	for _, o := range q.Ranked() {
		add("  %s: %s", o.ID, strings.TrimSuffix(o.Label+": "+o.Description, ": "))
		if facts := o.facts(); len(facts) > 0 {
			add("    %s", strings.Join(facts, ", "))
		}
		for _, risk := range o.Risks {
			add("    ! %s", risk)
		}
	}
	if q.MaxSelections > 1 {
		add("  select up to %d", q.MaxSelections)
	}
	if q.AllowFreeText && len(q.Options) > 0 {
		add("  or answer in words")
	}
	for _, f := range q.Fields {
		add("  %s (%s, %s)", f.Name, f.InputType, f.kind())
		for _, fact := range []struct{ name, value string }{{"", f.Label}, {"", f.Description}, {"pattern ", f.Pattern}, {"default ", f.Default}, {"such as ", f.Placeholder}} {
			if fact.value != "" {
				add("    %s%s", fact.name, fact.value)
			}
		}
	}
	if q.Default != "" {
		add("  default at time-out: %s", q.Default)
	}
	for _, other := range q.Other {
		add("  other argument %s: %s", other.Name, other.Value)
	}
	return strings.Join(lines, "\n")
}

// Headline is what a model asks people, as one line: its first question and the number of the others. It is "" for
// requests that ask no question.
func (r *Request) Headline() string {
	switch others := len(r.Details.Questions) - 1; {
	case !r.Asks():
		return ""
	case others > 0 && r.ArgsPreview != "":
		return fmt.Sprintf("%s (and %d more)", r.ArgsPreview, others)
	}
	return cmp.Or(r.ArgsPreview, r.Title)
}

// Words returns the answer to the question as a text: the words of a person after the
// labels of the options that they have selected.
func (q *Question) Words(a *Response) string {
	var parts []string
	for _, id := range a.Selected {
		for _, o := range q.Options {
			if o.ID == id {
				parts = append(parts, o.Label)
			}
		}
	}
	if a.Answer != "" {
		parts = append(parts, a.Answer)
	}
	return strings.Join(parts, ", ")
}

// AnswerText returns the answer to an answered request on one line, "" for other requests.
// Of values it has the names only.
func (r *Request) AnswerText() string {
	d, _ := r.FinalDecision()
	switch {
	case d.Action != ActionAnswer:
		return ""
	case !r.Asks():
		return d.Answer
	}
	var parts []string
	for i := range r.Details.Questions {
		q := &r.Details.Questions[i]
		a := d.Response
		if r.Kind == KindCombined {
			a = d.Responses[q.ID]
		}
		text := q.Words(&a)
		if q.Kind == KindEnvVar {
			text = "no values"
			if len(a.Values) > 0 {
				text = "values of " + strings.Join(slices.Sorted(maps.Keys(a.Values)), ", ")
			}
		}
		if q.ID != "" {
			text = q.ID + ": " + text
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}
