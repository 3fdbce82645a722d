package watch

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/sanitize"
)

type page struct {
	of      pageOf
	lines   []string
	callEnd int // how many of them are of the call and its warnings: these must be seen
}

type pageOf struct {
	id        string
	status    approvals.Status
	decisions int
	escalated time.Time
	agent     string    // see [approvals.Request.AgentNote]
	result    time.Time // when it was received
	abridged  bool
	raw       bool
	draft     string
	turns     int  // of the form
	several   bool // texts of the form
	width     int
}

type writer struct {
	width int
	lines []string
}

func (w *writer) text(mark string, style lipgloss.Style, text string) {
	text = strings.ReplaceAll(sanitize.Lines(text), "\t", "    ")
	for _, line := range strings.Split(text, "\n") {
		for _, row := range wrap(line, w.width-lipgloss.Width(mark)) {
			w.lines = append(w.lines, style.Render(mark+row))
		}
	}
}

func (w *writer) heading(text string) { w.text("", styles.label, text) }

// field adds a name and its value, unless that is empty.
func (w *writer) field(name, value string) {
	if value == "" {
		return
	}
	w.heading(name)
	w.text("  ", styles.plain, value)
}

// call shows the arguments of a call and the commands that it runs.
func (w *writer) call(r *approvals.Request) {
	for _, p := range present(r) {
		w.heading(p.label)
		if p.diff == nil {
			w.text("  ", styles.plain, p.text)
			continue
		}
		w.diff(p.diff)
	}
	for _, command := range r.Details.Commands {
		first, rest, more := strings.Cut(command, "\n")
		w.text("runs ", styles.dim, first)
		if more { // a here-document
			w.text("     ", styles.dim, rest)
		}
	}
}

// requestPage shows all of a request: warnings and the call first, then the rule that asks
// about it and the agent that makes it.
func requestPage(r *approvals.Request, raw bool, width int) page {
	w := &writer{width: width}
	w.field("title", r.RuleTitle())
	if does := approvals.EffectsText(r.Effects); does != "" {
		w.text("", styles.label, does)
	}
	words := approvals.WordsFor(r.Kind)
	if words.Effects != "" {
		w.text("", styles.plain, r.Description)
		w.text("", styles.plain, words.Effects)
	}
	for _, flag := range r.Details.Flags {
		fact, patterns := approvals.FoldFlag(flag)
		w.text("! ", styles.warning, fact)
		for _, pattern := range patterns {
			w.text("    ", styles.plain, pattern)
		}
	}
	switch {
	case r.Details.Abridged:
		w.text("", styles.label, "Loading the whole call…")
		w.field("preview", r.ArgsPreview)
	case raw:
		w.heading(words.Subject + ", as JSON")
		w.text("  ", styles.plain, sanitize.Spaces(sanitize.Indented(r.Arguments)))
		if r.Details.RawArguments != "" {
			w.heading("as the model wrote them")
			w.text("  ", styles.plain, r.Details.RawArguments)
		}
	case r.Asks():
		for i := range r.Details.Questions {
			w.text("  ", styles.plain, r.Details.Questions[i].Describe())
		}
	default:
		w.call(r)
	}
	made := page{callEnd: len(w.lines)}
	w.lines = append(w.lines, styles.dim.Render(strings.Repeat("─", width)))
	for _, d := range r.Decisions {
		who := d.ReviewerID
		if d.OnBehalfOf != "" {
			who += " for " + d.OnBehalfOf
		}
		w.field("decided", fmt.Sprintf("%s by %s over %s %s %s", d.Action, who, d.Channel, timeOf(d.DecidedAt), d.Note))
		if d.ModifiedArgs != nil {
			w.diff(diffLines(sanitize.Indented(r.Arguments), sanitize.Indented(d.ModifiedArgs)))
		}
	}
	w.field("agent", r.AgentNote(timeOf))
	w.field("outcome", r.NotRun())
	if result := r.Details.Result; result != nil {
		w.field("released", result.Release())
		w.field("result", result.Describe())
		w.field("model's next message", result.NextText)
	}
	w.field("asked by "+r.Rule, r.Reason)
	w.field("approvers", deciders(r))
	w.field("user's message", r.Context.LastUserMessage)
	w.field("model's message", r.Context.AssistantText)
	w.field("tool description (from the agent)", r.Tool.Description)
	w.field("requested by", strings.Join(origin(r), " · "))
	w.field("request, session, run", strings.Join([]string{r.ID, r.SessionID, r.RunID}, "\n"))
	made.lines = w.lines
	return made
}

func timeOf(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func origin(r *approvals.Request) []string {
	var known []string
	for _, one := range []struct{ what, name string }{
		{"agent", r.Principal.Agent}, {"user", r.Principal.User}, {"tenant", r.Principal.Tenant}, {"model", r.Model},
	} {
		if one.name != "" {
			known = append(known, one.what+" "+one.name)
		}
	}
	return known
}

func draftPage(r *approvals.Request, draft []byte, width int) page {
	w := &writer{width: width}
	if r.Kind == approvals.KindResult {
		w.heading("edited: the model would read this in place of the result")
	} else {
		w.heading("edited: these arguments would run in place of the model's")
	}
	w.diff(diffLines(sanitize.Indented(r.Arguments), sanitize.Indented(bytes.TrimSpace(draft))))
	return page{lines: w.lines, callEnd: len(w.lines)}
}

func (w *writer) diff(lines []diffLine) {
	if len(lines) == 0 {
		w.text("  ", styles.dim, "nothing changes")
	}
	for _, line := range lines {
		w.text(string(line.sign)+" ", styles.of(line.sign), line.text)
	}
}

func deciders(r *approvals.Request) string {
	if len(r.Demands) > 0 {
		return strings.Join(r.DemandLines(), "\n")
	}
	var parts []string
	if len(r.Reviewers) > 0 {
		parts = append(parts, "members of "+strings.Join(r.Reviewers, " or "))
	}
	if r.RequiredApprovals > 1 {
		parts = append(parts, r.ApprovalCount()+" so far")
	}
	return strings.Join(parts, "; ")
}
