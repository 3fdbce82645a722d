package watch

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/sanitize"
)

// form is an answer while it is typed: its entries, one after another, and, if there are
// several, a summary of them.
type form struct {
	entries []entry
	at      int  // the entry that is typed; len(entries) is the summary
	turns   int  // how often another entry was shown
	sent    bool // and not changed since
	save    bool // secrets are kept for all sessions of the agent
}

// entry is one text of an answer.
type entry struct {
	question *approvals.Question
	field    *approvals.QuestionField // whose value it is; nil: the answer to the question
	text     string
}

// newForm returns an empty form for a request. A request that asks no question takes words.
func newForm(r *approvals.Request) (f form) {
	if !r.Asks() {
		return form{entries: []entry{{question: &approvals.Question{AllowFreeText: true}}}}
	}
	for i := range r.Details.Questions {
		q := &r.Details.Questions[i]
		if q.Kind != approvals.KindEnvVar {
			f.entries = append(f.entries, entry{question: q})
		}
		for j := range q.Fields {
			f.entries = append(f.entries, entry{question: q, field: &q.Fields[j]})
		}
	}
	return f
}

func (f *form) several() bool { return len(f.entries) > 1 }

func (f *form) isSummary() bool { return f.at == len(f.entries) }

// isEnd reports whether nothing follows the entry: the answer is sent.
func (f *form) isEnd() bool { return f.isSummary() || !f.several() }

func (f *form) asksSecrets() bool {
	return slices.ContainsFunc(f.entries, func(e entry) bool { return e.secret() })
}

// turn keeps the text that was typed, and returns that of the entry that is shown next.
func (f *form) turn(typed string, to int) (text string) {
	f.entries = slices.Clone(f.entries)
	if !f.isSummary() {
		f.entries[f.at].text = typed
	}
	f.at = max(0, min(to, len(f.entries)))
	f.turns++
	if f.isSummary() {
		return ""
	}
	return f.entries[f.at].text
}

// find returns the index of the entry that is a field of a decision, such as
// responses.ID.values.NAME, -1 for none.
func (f *form) find(field string) int {
	return slices.IndexFunc(f.entries, func(e entry) bool {
		at := ""
		if e.question.ID != "" {
			at = "responses." + e.question.ID + "."
		}
		if e.field != nil {
			return field == at+"values."+e.field.Name
		}
		return field == at+"answer" || field == at+"selected"
	})
}

func (e *entry) secret() bool { return e.field != nil && e.field.Secret }

// shown returns a text of the entry, or as many dots if it is a secret.
func (e *entry) shown(text string) string {
	if e.secret() {
		return strings.Repeat("•", utf8.RuneCountInString(text))
	}
	return text
}

// name returns the name of the entry among those of the request.
func (e *entry) name() string {
	switch {
	case e.field == nil:
		return e.question.ID
	case e.question.ID == "":
		return e.field.Name
	}
	return e.question.ID + " " + e.field.Name
}

// prompt names the text to type.
func (e *entry) prompt(r *approvals.Request) string {
	switch q := e.question; {
	case !r.Asks():
		return "Message to the model (the call does not run): "
	case e.field != nil && e.field.Required:
		return "Value of " + e.field.Name + ": "
	case e.field != nil:
		return "Value of " + e.field.Name + " (optional): "
	case len(q.Options) == 0:
		return "Answer: "
	case q.AllowFreeText:
		return "Ids of options with commas between, or an answer in words: "
	}
	return "Ids of options with commas between: "
}

// prompt writes the entry that is typed, and returns the keys of the form.
func (f *form) prompt(to *footer, r *approvals.Request, input string) (keys string) {
	if f.asksSecrets() {
		to.add(styles.plain, map[bool]string{false: "Secrets are kept for this session only.", true: "Secrets are kept for all sessions of the agent."}[f.save])
		keys = " · Ctrl-S change"
	}
	if f.isSummary() {
		to.add(styles.label, "Send these answers?")
		return "Enter send · Shift-Tab back · Esc cancel" + keys + " · arrows scroll"
	}
	e := &f.entries[f.at]
	to.add(styles.label, e.prompt(r)+e.shown(input)+"▏")
	if f.several() {
		return "Enter next · Shift-Tab back · Esc cancel" + keys + " · arrows scroll"
	}
	return "Enter answer · Esc cancel" + keys
}

// page shows the question that is answered, and what was entered for the others.
func (f *form) page(width int) page {
	w := &writer{width: width}
	if !f.isSummary() {
		q := f.entries[f.at].question
		w.heading(fmt.Sprintf("%d of %d", f.at+1, len(f.entries)))
		w.text("  ", styles.plain, q.Describe())
		w.lines = append(w.lines, styles.dim.Render(strings.Repeat("─", width)))
	}
	w.heading("Your answers")
	for i := range f.entries {
		e := &f.entries[i]
		text, style := e.shown(e.text), styles.plain
		if text == "" {
			text, style = "–", styles.dim
		}
		mark := "  "
		if i == f.at {
			mark = "> "
		}
		w.text(mark, style, sanitize.Line(e.name())+": "+text)
	}
	return page{lines: w.lines, callEnd: len(w.lines)}
}

// decision returns the answer. The console checks it.
func (f *form) decision(r *approvals.Request) approvals.Decision {
	d := approvals.Decision{Action: approvals.ActionAnswer, Save: f.save}
	for i := range f.entries {
		e := &f.entries[i]
		if r.Kind != approvals.KindCombined {
			e.fill(&d.Response)
			continue
		}
		if d.Responses == nil {
			d.Responses = make(map[string]approvals.Response)
		}
		one := d.Responses[e.question.ID]
		e.fill(&one)
		d.Responses[e.question.ID] = one
	}
	return d
}

// fill adds an entry to the answer to its question: a value, or the ids of options, or words
// if a part of the text is no such id.
func (e *entry) fill(a *approvals.Response) {
	text := strings.TrimSpace(e.text)
	if e.field != nil {
		if e.secret() {
			text = e.text
		}
		if a.Values == nil {
			a.Values = make(map[string]string)
		}
		if text != "" {
			a.Values[e.field.Name] = text
		}
		return
	}
	known := func(id string) bool {
		return slices.ContainsFunc(e.question.Options, func(o approvals.Option) bool { return o.ID == id })
	}
	ids := []string{text}
	if !known(text) {
		ids = strings.Split(text, ",")
		for i := range ids {
			ids[i] = strings.TrimSpace(ids[i])
		}
	}
	if slices.ContainsFunc(ids, func(id string) bool { return !known(id) }) {
		a.Answer = text
		return
	}
	a.Selected = ids
}
