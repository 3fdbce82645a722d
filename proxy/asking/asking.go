// Package asking makes requests to people of calls and of results, with who may decide them and
// until when.
package asking

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/policy/rule"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/conversation"
)

// Request returns a request of a kind, made now by the verdict of a policy. It contains the
// cause of a tainted run. The subject is missing: the call, and the texts about it. maxWait is
// the longest time that people have; 0: as long as the policy allows.
func Request(c *conversation.Conversation, kind approvals.Kind, v *policy.Verdict, maxWait time.Duration) approvals.Request {
	who, now := c.Identity(), time.Now().UTC()
	q := approvals.Request{
		Kind: kind, Principal: who.Principal, SessionID: who.Session, RunID: who.Run,
		TurnID: c.Request.Turn, Dialect: c.Request.Dialect.Name(), Model: who.Model,
		Resource: v.Resource, RiskLevel: v.Risk, Reason: v.Reason, Rule: v.Rule,
		Context:   approvals.Context{LastUserMessage: Excerpt(c.Parsed.LastUser())},
		Reviewers: v.Reviewers, RequiredApprovals: v.RequiredApprovals,
		CreatedAt: now, OnTimeout: v.OnTimeout,
	}
	timeout := v.Timeout
	if maxWait > 0 && maxWait < timeout { // a time-out before that of the rule denies
		timeout, q.OnTimeout = maxWait, approvals.OnTimeoutDeny
	}
	q.ExpiresAt, q.Details.Escalation = now.Add(timeout), escalation(v.Escalate, now)
	for _, d := range v.Demands {
		q.Demands = append(q.Demands, approvals.Demand{
			Rule: d.Rule, Reviewers: d.Reviewers, RequiredApprovals: d.RequiredApprovals, Escalation: escalation(d.Escalate, now),
		})
	}
	q.Details.Tainted, q.Details.Passkey = c.Judged.Taint(), v.Passkey
	q.Details.Flags = slices.Clip(v.Flags)
	if cause := q.Details.Tainted; cause != "" {
		q.Details.Flags = append(q.Details.Flags, "The run is tainted: it has read "+cause+".")
	}
	return q
}

// escalation is that of a request made now, nil for none.
func escalation(e rule.Escalation, now time.Time) *approvals.Escalation {
	if e.After <= 0 {
		return nil
	}
	return &approvals.Escalation{At: now.Add(e.After), To: e.To}
}

const (
	// maxRequestBytes bounds the size of the requests about one answer: they are recorded,
	// published and shown many times.
	maxRequestBytes = 8 << 20
	// bytesRecording is about how many bytes of memory a byte of a request takes while it
	// is recorded.
	bytesRecording = 8
	// freeRequestBytes is the size of requests that need no reservation.
	freeRequestBytes = 16 << 10
)

// ErrOverloaded refuses requests for which there is no memory.
var ErrOverloaded = &intercept.Error{Code: intercept.CodeOverloaded, Reason: "the requests being served need all of proxy.memory; send the request again later"}

// Reserve reserves memory for requests that are about to be recorded. Memory reports whether
// there are n more bytes.
func Reserve(requests []approvals.Request, memory func(n int) bool) *intercept.Error {
	size := 0
	for i := range requests {
		size += requests[i].Size()
	}
	if size > maxRequestBytes {
		return &intercept.Error{Code: intercept.CodeAnswerNotUnderstood, Reason: fmt.Sprintf("its calls need %d bytes to be shown to reviewers, the limit is %d; none of it is released", size, maxRequestBytes)}
	}
	if size > freeRequestBytes && !memory(size*bytesRecording) {
		return ErrOverloaded
	}
	return nil
}

// excerptLength is how much of the texts of user and model a request contains: enough to
// understand a call, and never so much that a request cannot be recorded.
const excerptLength = 8 << 10

// Excerpt cuts a longer text in the middle, and marks where. It is a copy: requests that
// wait for people keep nothing of a long conversation in memory.
func Excerpt(text string) string {
	if len(text) <= excerptLength {
		return strings.Clone(text)
	}
	const half = excerptLength / 2
	left := len(text) - excerptLength
	return strings.ToValidUTF8(text[:half], "") + fmt.Sprintf(" […%d bytes left out…] ", left) + strings.ToValidUTF8(text[len(text)-half:], "")
}
