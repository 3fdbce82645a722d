package shoutrrr

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/sanitize"
	"github.com/heldcall/heldcall/notify"
)

// minArguments is the least number of bytes of arguments in a message.
const minArguments = 60

const maxFlags = 3

// What some parts of a message may take, in bytes.
func (f format) name() int    { return f.most / 20 } // of a tool, a person, a rule
func (f format) reason() int  { return f.most / 10 }
func (f format) flag() int    { return f.most / 16 }
func (f format) preview() int { return f.most / 12 } // of a call among many

type composer struct {
	format format
	inbox  func() string // URL of the console
}

func (c composer) text(d notify.Delivery) string {
	waiting := slices.DeleteFunc(slices.Clone(d.Requests), func(r approvals.Request) bool { return r.Status.Final() })
	if len(waiting) == 0 {
		waiting = d.Requests
	}
	if len(waiting) == 1 {
		return c.one(&waiting[0])
	}
	return c.many(waiting, d.Grouped)
}

func (c composer) one(r *approvals.Request) string {
	if r.Asks() {
		return c.question(r)
	}
	f, words := c.format, approvals.WordsFor(r.Kind)
	subject, verb := "Arguments", "are"
	if r.Kind == approvals.KindResult {
		subject, verb = "Result", "is"
	}
	head := []string{fmt.Sprintf("heldcall holds %s of %s: %s risk.", words.One, f.word(r.ToolName), risk(r)), f.who(r)}
	if r.RuleTitle() != "" {
		title, _ := f.quote(r.Title, f.reason())
		head = append(head, title)
	}
	if r.Rule != "" || r.Reason != "" {
		reason, _ := f.quote(r.Reason, f.reason())
		head = append(head, fmt.Sprintf("Asked by rule %s: %s", f.word(r.Rule), reason))
	}
	head = append(head, f.warnings(r)...)
	tail := []string{ends(r), "Open it to decide: " + c.link(r.ID)}
	cut := "The " + words.Subject + " " + verb + " cut off."
	room := f.most - size(head) - size(tail) - len(subject+": \n"+cut+"\n")
	arguments, whole := f.ending(sanitize.Blanks(string(r.Arguments)), max(room, minArguments))
	head = append(head, subject+": "+arguments)
	if !whole {
		head = append(head, cut)
	}
	return strings.Join(append(head, tail...), "\n")
}

func (c composer) many(requests []approvals.Request, grouped bool) string {
	f := c.format
	first := &requests[0]
	worst, until := first, first.ExpiresAt
	for i := range requests {
		if r := &requests[i]; notify.RiskRank(r.RiskLevel) > notify.RiskRank(worst.RiskLevel) {
			worst = r
		}
		if at := requests[i].ExpiresAt; at.Before(until) {
			until = at
		}
	}
	head := []string{fmt.Sprintf("heldcall holds %d %s: up to %s risk.", len(requests), approvals.ManyFor(requests), risk(worst))}
	if !grouped {
		head = append(head, f.who(first))
	}
	tail := []string{"The first of them expires at " + moment(until) + ".", "Decide them in the inbox: " + c.link("")}
	const rest = "and %d more"
	room := f.most - size(head) - size(tail) - len(rest) - 10
	for i := range requests {
		r := &requests[i]
		line := "- " + f.line(r)
		if room -= len(line) + 1; room < 0 {
			head = append(head, fmt.Sprintf(rest, len(requests)-i))
			break
		}
		head = append(head, line)
	}
	return strings.Join(append(head, tail...), "\n")
}

// line is a request among many.
func (f format) line(r *approvals.Request) string {
	if words := approvals.WordsFor(r.Kind); r.Asks() {
		preview, _ := f.ending(r.ArgsPreview, f.preview())
		return fmt.Sprintf("The agent %s: %s", words.Asks, preview)
	}
	name := f.word(r.ToolName)
	if r.Kind == approvals.KindResult {
		name = "result of " + name
	}
	preview, _ := f.ending(cmp.Or(r.RuleTitle(), r.ArgsPreview, sanitize.Blanks(string(r.Arguments))), f.preview())
	return fmt.Sprintf("%s (%s risk): %s", name, risk(r), preview)
}

// warnings are the first flags of a request, a line each.
func (f format) warnings(r *approvals.Request) (lines []string) {
	for i, flag := range r.Details.Flags {
		if i == maxFlags {
			return append(lines, "The inbox has more warnings.")
		}
		fact, _ := approvals.FoldFlag(flag)
		warning, _ := f.quote(fact, f.flag())
		lines = append(lines, "Warning: "+warning)
	}
	return lines
}

func size(lines []string) int {
	n := 0
	for _, line := range lines {
		n += len(line) + 1
	}
	return n
}

func (f format) word(text string) string {
	quoted, _ := f.quote(text, f.name())
	return quoted
}

// who names the agent of a call, and its user and tenant.
func (f format) who(r *approvals.Request) string {
	return "For " + notify.Origin(", ", f.word, "agent", r.Principal.Agent, "user", r.Principal.User, "tenant", r.Principal.Tenant) + "."
}

// ends is the sentence about the end of a request.
func ends(r *approvals.Request) string {
	text := notify.Expiry(r, moment(r.ExpiresAt))
	text = strings.ToUpper(text[:1]) + text[1:] + "."
	if note := r.AgentNote(moment); note != "" && r.Agent.State != approvals.AgentAttached {
		text += " " + strings.ToUpper(note[:1]) + note[1:] + "."
	}
	return text
}

func moment(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05 MST") }

func (c composer) link(id string) string { return c.format.own(notify.InboxURL(c.inbox(), id)) }

func risk(r *approvals.Request) string { return cmp.Or(string(r.RiskLevel), "unknown") }
