package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// finding is one thing that was looked at. problem is empty if all was well.
type finding struct{ claim, problem string }

// check compares what should have come of an act with what did.
func (o outcome) check(s *scene) []finding {
	received, ids := callsOf(s.agent.History)
	last := s.model[len(s.model)-1].Messages
	made, madeIDs := callsOf(last)
	said := s.agent.Replies[len(s.agent.Replies)-1].Text
	var events []string
	for _, e := range s.events {
		events = append(events, DescribeEvent(e))
	}
	findings := []finding{
		same("the agent got and ran these calls and no other: "+listed(o.received), received, o.received),
		same("these files are left: "+listed(o.files), s.files, o.files),
		{"nothing of a call that was not released reached the agent", leaked(s, ids, madeIDs)},
		{"each answer reached the agent as one: one id, one role, one finish", brokenReply(s.agent.Replies)},
		same("the model knows of these calls: "+listed(o.made), made, o.made),
		{"the model got a result for each: " + listed(o.told), untold(last, o.told)},
		{"each request to the model begins with the one before it, as prompt caches need it", redrawn(s.model)},
		same("the audit log has exactly these events", events, o.events),
	}
	if o.secret != "" {
		findings = append(findings, finding{"the value of the secret reached the agent, and neither the model nor the audit log", spread(s, o.secret)})
	}
	account := finding{claim: "asked later, the model still knows: " + o.says}
	if !strings.Contains(said, o.says) {
		account.problem = "it answered " + said
	}
	return append(findings, account)
}

// same compares two lists.
func same(claim string, got, want []string) finding {
	f := finding{claim: claim}
	if !slices.Equal(got, want) {
		f.problem = "it is " + listed(got) + ", not " + listed(want)
	}
	return f
}

func listed(items []string) string {
	if len(items) == 0 {
		return "none"
	}
	return strings.Join(items, ", ")
}

// callsOf are the calls of a conversation, and their ids.
func callsOf(messages []fakemodel.Message) (calls, ids []string) {
	for _, m := range messages {
		for _, c := range m.Calls {
			calls, ids = append(calls, describe(c)), append(ids, c.ID)
		}
	}
	return calls, ids
}

// leaked looks for the ids of calls that the agent was not to get, in the bytes
// that it got.
func leaked(s *scene, received, made []string) string {
	for _, id := range made {
		for _, reply := range s.agent.Replies {
			if !slices.Contains(received, id) && bytes.Contains(reply.Raw, []byte(id)) {
				return fmt.Sprintf("the agent saw the call %s", id)
			}
		}
	}
	return ""
}

// spread looks for a secret where it must not be.
func spread(s *scene, secret string) string {
	holds := func(all any) bool {
		text, err := json.Marshal(all)
		return err != nil || bytes.Contains(text, []byte(secret))
	}
	received, _ := callsOf(s.agent.History)
	switch {
	case !strings.Contains(listed(received), secret):
		return "the agent did not get it"
	case holds(s.model):
		return "the model got it"
	case holds(s.events):
		return "the audit log has it"
	}
	return ""
}

func brokenReply(replies []Reply) string {
	for i, r := range replies {
		if len(r.IDs) != 1 || r.Roles != 1 || len(r.Finishes) != 1 {
			return fmt.Sprintf("answer %d has ids %q, %d roles, finishes %q", i+1, r.IDs, r.Roles, r.Finishes)
		}
	}
	return ""
}

// untold returns which tool message lacks its expected text.
func untold(messages []fakemodel.Message, texts []string) string {
	results := make(map[string]string)
	for _, m := range messages {
		if m.Role == "tool" {
			results[m.ToolCallID] = m.Content
		}
	}
	_, ids := callsOf(messages)
	if len(ids) != len(texts) || len(results) != len(texts) {
		return fmt.Sprintf("it knows of %d calls and %d results", len(ids), len(results))
	}
	for i, text := range texts {
		if told := results[ids[i]]; !strings.Contains(told, text) {
			return fmt.Sprintf("the model got %q, without %q", told, text)
		}
	}
	return ""
}

// redrawn finds the first request whose beginning is not the request before.
func redrawn(requests []fakemodel.Conversation) string {
	for i := 1; i < len(requests); i++ {
		before, now := requests[i-1].Messages, requests[i].Messages
		if len(now) < len(before) || !slices.EqualFunc(before, now[:len(before)], sameMessage) {
			return fmt.Sprintf("request %d does not", i+1)
		}
	}
	return ""
}

func sameMessage(a, b fakemodel.Message) bool {
	return a.Role == b.Role && a.Content == b.Content && a.ToolCallID == b.ToolCallID && slices.Equal(a.Calls, b.Calls)
}
