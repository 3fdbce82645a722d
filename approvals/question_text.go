package approvals

import (
	"fmt"
	"strings"
)

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
		facts := []string{}
		if o.Recommended {
			facts = append(facts, "recommended")
		}
		for _, fact := range []struct{ name, value string }{{"risk", string(o.RiskLevel)}, {"time", o.EstimatedTime}, {"cost", o.EstimatedCost}} {
			if fact.value != "" {
				facts = append(facts, fact.name+" "+fact.value)
			}
		}
		add("  %s: %s", o.ID, strings.TrimSuffix(o.Label+": "+o.Description, ": "))
		if len(facts) > 0 {
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
		kind := "optional"
		if f.Required {
			kind = "required"
		}
		if f.Secret {
			kind += ", secret"
		}
		add("  %s (%s, %s)", f.Name, f.InputType, kind)
		for _, fact := range []struct{ name, value string }{{"", f.Label}, {"", f.Description}, {"pattern ", f.Pattern}, {"default ", f.Default}, {"such as ", f.Placeholder}} {
			if fact.value != "" {
				add("    %s%s", fact.name, fact.value)
			}
		}
	}
	if q.Default != "" {
		add("  default at time-out: %s", q.Default)
	}
	return strings.Join(lines, "\n")
}
