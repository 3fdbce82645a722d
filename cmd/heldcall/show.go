package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/humanize"
)

// printRequest shows a request to the person who decides it, and how to. flags
// are those that the commands need.
func printRequest(w io.Writer, r *approvals.Request, flags string, now time.Time) error {
	page := describeRequest(r, now)
	if !r.Status.Final() {
		page += fmt.Sprintf("\nheldcall approve %[1]s%[2]s\nheldcall deny %[1]s --note WHY%[2]s\nheldcall modify %[1]s%[2]s\n", printable(r.ID), printable(flags))
		if r.AllowRemember {
			page += fmt.Sprintf("heldcall approve %s --always%s\n", printable(r.ID), printable(flags))
		}
	}
	_, err := io.WriteString(w, page)
	return err
}

// describeRequest is all of a request, for a terminal: nothing is cut.
func describeRequest(r *approvals.Request, now time.Time) string {
	var page strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&page, "%-12s %s\n", name, indentMore(printableLines(value), 13))
		}
	}
	line("Request", r.ID)
	line("Status", statusText(r, now))
	line("Title", r.Title)
	line("Tool", r.ToolName)
	line("", r.Tool.Description)
	line("Risk", string(r.RiskLevel))
	line("Agent", r.AgentNote())
	line("Asked by", joinFilled(": ", r.Rule, r.Reason))
	line("Decided by", deciders(r))
	if r.Description != r.Tool.Description {
		line("Description", r.Description)
	}
	line("Principal", joinFilled(" / ", r.Principal.Tenant, r.Principal.User, r.Principal.Agent))
	line("Session", r.SessionID)
	line("Run", r.RunID)
	line("Model", r.Model)
	line("User", r.Context.LastUserMessage)
	line("Model text", r.Context.AssistantText)
	for _, flag := range r.Details.Flags {
		line("Warning", flag)
	}
	line("Resource", r.Resource)
	for _, command := range r.Details.Commands {
		line("Runs", command)
	}
	if !r.Status.Final() && r.AllowRemember {
		for _, pattern := range r.SuggestedPatterns {
			line("Suggested", pattern)
		}
		if always := r.DefaultGrant(); always != nil && len(always.Patterns) > 0 {
			line("--always", fmt.Sprintf("%s for %s, for %.0f hours", strings.Join(always.Patterns, " "), r.Whose(always.Scope), approvals.DefaultGrantTime.Hours()))
		}
	}
	page.WriteString("Arguments\n  " + indentMore(shownJSON(r.Arguments), 2) + "\n")
	if r.Details.RawArguments != "" {
		page.WriteString("Arguments as the model wrote them\n  " + indentMore(printableLines(r.Details.RawArguments), 2) + "\n")
	}
	for _, d := range r.Decisions {
		line("Decision", describeDecision(&d))
		if d.ModifiedArgs != nil {
			page.WriteString("Edited arguments\n  " + indentMore(shownJSON(d.ModifiedArgs), 2) + "\n")
		}
	}
	if result := r.Details.Result; result != nil {
		line("Released", result.Release())
		line("Result", result.Describe())
		line("Model then", result.NextText)
	}
	return page.String()
}

// statusText describes the state of a request and its next step.
func statusText(r *approvals.Request, now time.Time) string {
	if r.Status.Final() {
		return joinFilled(": ", string(r.Status), r.WhyCancelled())
	}
	then := fmt.Sprintf("expires in %s (will not run)", humanize.Left(r.ExpiresAt.Sub(now)))
	if r.OnTimeout == approvals.OnTimeoutApprove {
		then = fmt.Sprintf("runs automatically in %s", humanize.Left(r.ExpiresAt.Sub(now)))
	}
	return fmt.Sprintf("%s, asked %s ago; %s", r.Status, humanize.Ago(now.Sub(r.CreatedAt)), then)
}

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
	return joinFilled("; ", who, approvals, escalation(r))
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
		return string(r.Status) + " (edited)"
	}
	return string(r.Status)
}

func describeDecision(d *approvals.Decision) string {
	who := d.ReviewerID
	if d.OnBehalfOf != "" {
		who += " for " + d.OnBehalfOf
	}
	text := fmt.Sprintf("%s by %s, %s", d.Action, who, d.DecidedAt.UTC().Format(time.RFC3339))
	if d.Channel != "" {
		text += " over " + d.Channel
	}
	if d.GrantID != "" {
		text += fmt.Sprintf(" (grant %s: %s)", d.GrantID, strings.Join(d.Patterns, " "))
	}
	return joinFilled(": ", text, d.Note)
}

// indentMore moves every line but the first to the right.
func indentMore(text string, by int) string {
	return strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+strings.Repeat(" ", by))
}

// joinFilled joins the parts that are not empty.
func joinFilled(separator string, parts ...string) string {
	var filled []string
	for _, part := range parts {
		if part != "" {
			filled = append(filled, part)
		}
	}
	return strings.Join(filled, separator)
}
