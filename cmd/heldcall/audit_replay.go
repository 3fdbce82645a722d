package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

type auditReplayCommand struct {
	auditSource
	RunID string `arg:"" name:"run" help:"The run, as the X-Heldcall-Run header, requests and entries name it."`
}

// Run prints the entries of a run in order, one a line.
func (c *auditReplayCommand) Run(ctx context.Context, s *streams) error {
	found := false
	for entry, err := range c.entries(ctx, 0, time.Time{}) {
		if err != nil {
			return err
		}
		if entry.Event.RunID != c.RunID {
			continue
		}
		found = true
		if _, err := fmt.Fprintln(s.out, story(&entry.Event)); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("the audit log has no entry of run %s", c.RunID)
	}
	return nil
}

// happened describes types of event. The name of another type is its description.
var happened = map[approvals.EventType]string{
	approvals.EventApprovalRequired:  "people are asked",
	approvals.EventApprovalEscalated: "more groups are asked",
	approvals.EventApprovalExpired:   "nobody decided in time",
	approvals.EventApprovalCancelled: "the request is cancelled",
	approvals.EventCallAllowed:       "policy allows the call",
	approvals.EventCallDenied:        "the call is denied",
	approvals.EventCallModified:      "the arguments are changed",
	approvals.EventCallReleased:      "the call is released to the agent",
	approvals.EventDenialTold:        "the model is told of the denial",
	approvals.EventRunPaused:         "the run is paused",
	approvals.EventRunResumed:        "the run is resumed",
	approvals.EventRunAborted:        "the run is ended",
}

// story returns an event as one line for people.
func story(e *approvals.Event) string {
	what, ok := happened[e.Type]
	if !ok {
		what = strings.ReplaceAll(string(e.Type), "_", " ")
	}
	if e.Type == approvals.EventApprovalDecision {
		what = "decision: " + string(e.Action)
	}
	line := fmt.Sprintf("%6d  %s  %s", e.Seq, e.Time.UTC().Format("2006-01-02 15:04:05"), what)
	for _, part := range []struct{ before, text string }{
		{"", strings.TrimSpace(e.ToolName + " " + string(e.Before))},
		{"to ", string(e.After)},
		{"by ", e.ReviewerID},
		{"for ", e.OnBehalfOf},
		{"rule ", e.Rule},
		{"outcome ", e.Outcome},
		{"request ", e.RequestID},
		{"note: ", e.Note},
	} {
		if part.text != "" {
			line += " | " + part.before + part.text
		}
	}
	return printable(line)
}
