package textview

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/humanize"
	"github.com/heldcall/heldcall/internal/sanitize"
)

// remembering writes what may be remembered of a decision.
func remembering(r *approvals.Request, line func(name, value string)) {
	possible := r.ActionsOf()
	if possible.Always.Reason != "" {
		return
	}
	if possible.Window.Reason == "" {
		line("--window", "TIME, at most 1h: reads and writes of the run in the workspace pass")
	}
	if r.Details.Folder != "" {
		line("Folder", fmt.Sprintf("%s is outside of the workspace; to add it for this run: heldcall runs add-folder %s %s", r.Details.Folder, r.RunID, r.Details.Folder))
	}
	for _, pattern := range possible.Always.Patterns {
		line("Suggested", pattern)
	}
	if always := r.DefaultGrant(); always != nil && len(always.Patterns) > 0 {
		line("--always", fmt.Sprintf("%s for %s, for %.0f hours", strings.Join(always.Patterns, " "), r.Whose(always.Scope), approvals.DefaultGrantTime.Hours()))
	}
}

// Suggestions are the patterns that cover more than one call, with their effect.
func Suggestions(all []approvals.Suggestion) string {
	var text strings.Builder
	for _, one := range all {
		if strings.Contains(one.Pattern, "*") {
			fmt.Fprintf(&text, "%-12s %s\n%-12s allows %s; would have covered %d of the last %d requests\n",
				"Wider", sanitize.Line(one.Pattern), "", sanitize.Line(one.Allows), one.Covered, one.Of)
		}
	}
	return text.String()
}

// JointQuestion is pending requests that are one question, with what they do together as its heading.
func JointQuestion(requests []approvals.Request, now time.Time) string {
	var page strings.Builder
	if heading := approvals.Heading(requests); len(requests) > 1 && heading != "" {
		fmt.Fprintf(&page, "%s (%d calls)\n\n", sanitize.Line(heading), len(requests))
	}
	for i := range requests {
		page.WriteString(Request(&requests[i], now) + "\n")
	}
	return page.String()
}

// DecisionCommands are the commands that decide a request, with their flags after a space.
func DecisionCommands(r *approvals.Request, id, flags string) string {
	deny := fmt.Sprintf("heldcall deny %s --note WHY%s\n", id, flags)
	switch {
	case r.Details.Passkey:
		return "\n" + deny
	case r.Details.Confirm != "":
		return fmt.Sprintf("\nheldcall approve %s --confirm %s%s\n", id, sanitize.Line(ShellWord(r.Details.Confirm)), flags) + deny
	}
	possible := r.ActionsOf()
	text := fmt.Sprintf("\nheldcall approve %s%s\n", id, flags) + deny
	if possible.Edit.Reason == "" {
		text += fmt.Sprintf("heldcall modify %s%s\n", id, flags)
	}
	if possible.Always.Reason == "" {
		text += fmt.Sprintf("heldcall approve %s --always%s\n", id, flags)
	}
	return text
}

// Request is all of a request, for a terminal: nothing is cut.
func Request(r *approvals.Request, now time.Time) string {
	var page strings.Builder
	words := approvals.WordsFor(r.Kind)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&page, "%-12s %s\n", name, Indent(sanitize.Lines(value), 13))
		}
	}
	line("Request", r.ID)
	line("Status", statusText(r, now))
	line("Title", r.Title)
	line("Tool", r.ToolName)
	line("", r.Tool.Description)
	line("Risk", string(r.RiskLevel))
	line("Effects", approvals.EffectsText(r.Effects))
	line("Agent", r.AgentNote(timeOf))
	line("Asked by", Join(": ", r.Rule, r.Reason))
	line("Decided by", deciders(r))
	line("Decisions", words.Effects)
	if r.Description != r.Tool.Description {
		line("Description", r.Description)
	}
	line("Principal", Join(" / ", r.Principal.Tenant, r.Principal.User, r.Principal.Agent))
	line("Session", r.SessionID)
	line("Run", r.RunID)
	line("Model", r.Model)
	line("Subagent", r.Details.Subagent)
	line("User", r.Context.LastUserMessage)
	line("Model text", r.Context.AssistantText)
	for _, flag := range r.Details.Flags {
		line("Warning", flag)
	}
	for i := range r.Details.Questions {
		line("Question", r.Details.Questions[i].Describe())
	}
	if !r.Asks() {
		line("Resource", r.Resource)
	}
	for _, command := range r.Details.Commands {
		line("Runs", command)
	}
	if !r.Status.Final() {
		confirming(r, line)
		remembering(r, line)
	}
	page.WriteString(capital(words.Subject) + "\n  " + Indent(sanitize.Arguments(r.Arguments, r.Details.FreeText), 2) + "\n")
	if r.Details.RawArguments != "" {
		page.WriteString("Arguments as the model wrote them\n  " + Indent(sanitize.Lines(r.Details.RawArguments), 2) + "\n")
	}
	line("Answer", r.AnswerText())
	for _, d := range r.Decisions {
		line("Decision", Decision(&d))
		if d.ModifiedArgs != nil {
			page.WriteString("Edited " + words.Subject + "\n  " + Indent(sanitize.Arguments(d.ModifiedArgs, r.Details.FreeText), 2) + "\n")
		}
	}
	if result := r.Details.Result; result != nil {
		line("Released", result.Release())
		line("Result", result.Describe())
		line("Model then", result.NextText)
	}
	return page.String()
}

// confirming writes what an approval needs besides.
func confirming(r *approvals.Request, line func(name, value string)) {
	if r.Details.Confirm != "" {
		line("--confirm", fmt.Sprintf("%q must be typed to approve", r.Details.Confirm))
	}
	if r.Details.Passkey {
		line("Passkey", "needed to approve, in the inbox only")
	}
}

// Decided writes a request after a decision, and the grant that the decision gave.
func Decided(w io.Writer, request *approvals.Request) error {
	arguments := request.Arguments
	if last, ok := request.FinalDecision(); ok && last.ModifiedArgs != nil {
		arguments = last.ModifiedArgs
	}
	about := sanitize.Spaces(sanitize.JSON(CompactJSON(arguments)))
	if answer := request.AnswerText(); answer != "" {
		about = sanitize.Line(answer)
	}
	stands := string(request.Status)
	if !request.Status.Final() {
		stands = "you approved, waiting for " + request.Missing() + ":"
	}
	_, err := fmt.Fprintf(w, "%s %s: %s %s\n", sanitize.Line(stands), sanitize.Line(request.ID),
		sanitize.Line(request.ToolName), about)
	if after := request.AfterApproval(); after != "" && err == nil {
		_, err = fmt.Fprintf(w, "%s\n", after)
	}
	if last, ok := request.FinalDecision(); ok && last.GrantID != "" && err == nil {
		g := approvals.Grant{
			Effect: approvals.GrantAllow, Scope: last.Scope, Principal: request.Principal, SessionID: request.SessionID,
			Patterns: last.Patterns, ExpiresAt: last.GrantExpiresAt, Window: last.Window != "", RunID: request.RunID,
		}
		if last.Action == approvals.ActionDenyAlways {
			g.Effect = approvals.GrantDeny
		}
		_, err = fmt.Fprintf(w, "granted %s: %s\n", sanitize.Line(last.GrantID), Grant(&g))
	}
	return err
}

// statusText describes the state of a request and its next step.
func statusText(r *approvals.Request, now time.Time) string {
	if r.Status.Final() {
		return cmp.Or(r.NotRun(), Join(": ", string(r.Status), r.WhyCancelled()))
	}
	words := approvals.WordsFor(r.Kind)
	then := fmt.Sprintf("expires in %s (%s)", humanize.Left(r.ExpiresAt.Sub(now)), r.IfExpired())
	if r.OnTimeout == approvals.OnTimeoutApprove {
		then = fmt.Sprintf("%s in %s", words.Automatic, humanize.Left(r.ExpiresAt.Sub(now)))
	}
	return fmt.Sprintf("%s, asked %s ago; %s", r.Status, humanize.Ago(now.Sub(r.CreatedAt)), then)
}

func capital(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// deciders names who may decide a request, and how many must approve, where that is not any
// one reviewer.
func deciders(r *approvals.Request) string {
	if len(r.Demands) > 0 {
		return strings.Join(r.DemandLines(), "\n")
	}
	who, approvals := "", ""
	if len(r.Reviewers) > 0 {
		who = "members of " + strings.Join(r.Reviewers, " or ")
	}
	if r.RequiredApprovals > 1 {
		approvals = fmt.Sprintf("%d different reviewers must approve", r.RequiredApprovals)
		if !r.Status.Final() {
			approvals += fmt.Sprintf(", %d have", len(r.Decisions))
		}
	}
	return Join("; ", who, approvals, escalation(r))
}

// escalation names who may decide later, or may since when.
func escalation(r *approvals.Request) string {
	e := r.Details.Escalation
	if e == nil {
		return ""
	}
	to := "members of " + strings.Join(e.To, " or ")
	if e.EscalatedAt != nil {
		return to + " since " + e.EscalatedAt.UTC().Format(time.RFC3339)
	}
	return to + " too from " + e.At.UTC().Format(time.RFC3339)
}

// shortStatus is the state of a request in a word or two.
func shortStatus(r *approvals.Request, now time.Time) string {
	if !r.Status.Final() {
		return string(r.Status) + ", " + humanize.Left(r.ExpiresAt.Sub(now)) + " left"
	}
	if d, ok := r.FinalDecision(); ok && d.ModifiedArgs != nil {
		return cmp.Or(r.NotRun(), string(r.Status)+" (edited)")
	}
	return cmp.Or(r.NotRun(), string(r.Status))
}

// Decision describes a decision on one line, which is not escaped.
func Decision(d *approvals.Decision) string {
	who := d.ReviewerID
	if d.OnBehalfOf != "" {
		who += " for " + d.OnBehalfOf
	}
	text := fmt.Sprintf("%s by %s, %s", d.Action, who, d.DecidedAt.UTC().Format(time.RFC3339))
	if d.Channel != "" {
		text += " over " + d.Channel
	}
	switch {
	case d.Window != "" && d.GrantExpiresAt != nil:
		text += fmt.Sprintf(" (trust window %s until %s)", d.GrantID, d.GrantExpiresAt.UTC().Format(time.RFC3339))
	case d.GrantID != "":
		text += fmt.Sprintf(" (grant %s: %s)", d.GrantID, strings.Join(d.Patterns, " "))
	}
	return Join(": ", text, d.Note)
}
