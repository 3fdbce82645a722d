package demo

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// Speaker is the author of a line of the transcript.
type Speaker string

// The speakers.
const (
	Heading    Speaker = "#"
	User       Speaker = "user"
	Model      Speaker = "model" // as the agent receives it
	AgentRuns  Speaker = "agent runs"
	ToolResult Speaker = "result"
	Heldcall   Speaker = "heldcall"
	Reviewer   Speaker = "reviewer"
	Audit      Speaker = "audit log"
	Passed     Speaker = "ok"
	Failed     Speaker = "FAILED"
)

// Line is one entry of the transcript. Its text holds what models and reviewers
// wrote: escape it before it reaches a terminal.
type Line struct {
	Who  Speaker
	Text string
}

// Tell receives the lines of the transcript in order, from several goroutines.
type Tell func(Line)

// WhoSaw returns the two conversations one after the other. A star marks the lines that
// only one of them has.
func WhoSaw(agent, model []fakemodel.Message) (lines []Line) {
	lines = append(lines, Line{Heading, "What the agent saw (* = hidden from the model)"})
	lines = append(lines, sawOf(agent, model)...)
	lines = append(lines, Line{Heading, "What the model saw (* = hidden from the agent)"})
	return append(lines, sawOf(model, agent)...)
}

// sawOf compares messages line by line, as one side may have got as one message
// what were several on the other.
func sawOf(messages, others []fakemodel.Message) (lines []Line) {
	for _, m := range messages {
		first := len(lines)
		add := func(text string, shared func(fakemodel.Message) bool) {
			who := Speaker("  " + m.Role)
			if !slices.ContainsFunc(others, shared) {
				who = Speaker("* " + m.Role)
			}
			if last := len(lines) - 1; last >= first && lines[last].Who == who {
				lines[last].Text += "\n" + text
				return
			}
			lines = append(lines, Line{who, text})
		}
		for text := range strings.Lines(m.Content) {
			text = strings.TrimSuffix(text, "\n")
			add(text, func(o fakemodel.Message) bool {
				return o.Role == m.Role && slices.Contains(strings.Split(o.Content, "\n"), text)
			})
		}
		for _, c := range m.Calls {
			first = len(lines)
			add("calls "+describe(c), func(o fakemodel.Message) bool { return slices.Contains(o.Calls, c) })
		}
	}
	return lines
}

// describe is a call on one line.
func describe(c fakemodel.Call) string { return c.Name + " " + c.Arguments }

// LastConversation is what the model was sent last.
func (s *Stage) LastConversation() ([]fakemodel.Message, error) {
	requests := s.Model.Requests()
	if len(requests) == 0 {
		return nil, nil
	}
	conversation, err := fakemodel.ParseConversation(requests[len(requests)-1].Body)
	return conversation.Messages, err
}

// DescribeEvent describes an event of the audit log in a few words.
func DescribeEvent(e approvals.Event) string {
	text := string(e.Type)
	if e.ToolName != "" {
		text += " " + e.ToolName
	}
	switch e.Type {
	case approvals.EventApprovalRequired:
	case approvals.EventApprovalDecision:
		text += " " + string(e.Action) + " by " + e.ReviewerID + " over " + e.Channel
	default:
		if e.Outcome != "" {
			text += " " + e.Outcome
		}
	}
	return text
}
