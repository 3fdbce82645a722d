package shoutrrr

import (
	"fmt"
	"strings"

	"github.com/heldcall/heldcall/approvals"
)

// question is the message about a question of a model: its text, the options and the names
// of the values. It is answered in the inbox.
func (c composer) question(r *approvals.Request) string {
	f := c.format
	head := append([]string{fmt.Sprintf("heldcall: the agent %s.", approvals.WordsFor(r.Kind).Asks), f.who(r)}, f.warnings(r)...)
	tail := []string{ends(r), "Open it to answer: " + c.link(r.ID)}
	const cut = "The inbox has the rest."
	room := f.most - size(head) - size(tail) - len(cut) - 1
	for i := range r.Details.Questions {
		for _, line := range f.asked(&r.Details.Questions[i]) {
			if room -= len(line) + 1; room < 0 {
				return strings.Join(append(append(head, cut), tail...), "\n")
			}
			head = append(head, line)
		}
	}
	return strings.Join(append(head, tail...), "\n")
}

// asked is one question, its options and the values that it asks for, a line each.
func (f format) asked(q *approvals.Question) []string {
	text, _ := f.ending(q.Question, f.most/3)
	var lines []string
	if q.Question != "" {
		lines = append(lines, "Question: "+text)
	}
	for _, o := range q.Ranked() {
		label, _ := f.ending(o.Label, f.flag())
		mark := ""
		if o.Recommended {
			mark = " (recommended)"
		}
		lines = append(lines, "- Option"+mark+": "+label)
	}
	for i := range q.Fields {
		kind := "Value: "
		if q.Fields[i].Secret {
			kind = "Secret: "
		}
		lines = append(lines, "- "+kind+f.word(q.Fields[i].Name))
	}
	return lines
}
