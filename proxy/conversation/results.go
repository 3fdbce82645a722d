package conversation

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
)

// ReleasedCalls are the released calls whose results are recorded. The results of a
// gate implement it.
type ReleasedCalls interface {
	// Any and AnyIn report whether a call, or one of a session, waits for its result.
	Any() bool
	AnyIn(principal approvals.Principal, session string) bool
	// Awaited returns the call with this id in the session that waits for its result.
	Awaited(principal approvals.Principal, session, call string) (approvals.RequestResult, bool)
	// Record records the result of a call, without waiting.
	Record(approvals.RequestResult)
	// Released records that the agent gets the calls of requests, without waiting.
	Released(requests ...*approvals.Request)
	// NotReleased records that the agent does not get the calls of those requests that were approved, without waiting.
	NotReleased(reason string, requests ...string)
}

// Results are the results of released calls in the agent's request, until the model has
// answered them.
type Results struct {
	conversation *Conversation
	unanswered   []approvals.RequestResult
}

// Read finds the results in the request. It costs nothing while no released call waits
// for one. Call it before the hidden turns are spliced in.
func (h *Results) Read() {
	c := h.conversation
	released := c.shared.Released
	if released == nil || !released.Any() {
		return
	}
	who := c.sessionIdentity()
	awaited := func(call string) bool {
		_, ok := released.Awaited(who.Principal, who.Session, call)
		return ok
	}
	if !released.AnyIn(who.Principal, who.Session) || !slices.ContainsFunc(c.Parsed.ResultIDs(), awaited) {
		return
	}
	received := c.Request.Began.UTC()
	for _, r := range c.Parsed.Results() {
		result, ok := released.Awaited(who.Principal, who.Session, r.CallID)
		if !ok {
			continue
		}
		result.Result.ReceivedAt, result.Result.Error = &received, r.Failed
		result.Result.Preview, result.Result.Truncated = c.shared.recordable(r.Text, r.Truncated, approvals.MaxResultPreview)
		h.unanswered = slices.DeleteFunc(h.unanswered, func(earlier approvals.RequestResult) bool { return earlier.Request == result.Request })
		h.unanswered = append(h.unanswered, result)
	}
}

// Record records the results with the text of the model's answer to them; nil if that is
// incomplete.
func (h *Results) Record(answer interface{ Text() string }) {
	if len(h.unanswered) == 0 {
		return
	}
	shared, next := h.conversation.shared, ""
	if answer != nil {
		const more = "…"
		cut := false
		if next, cut = shared.recordable(answer.Text(), false, approvals.MaxNextText-len(more)); cut {
			next += more
		}
	}
	for _, r := range h.unanswered {
		r.Result.NextText = next
		shared.Released.Record(r)
	}
	h.unanswered = nil
}

// Released records that the agent gets the calls of approved requests.
func (h *Results) Released(requests ...*approvals.Request) {
	if released := h.conversation.shared.Released; released != nil {
		released.Released(requests...)
	}
}

// NotReleased records that the agent does not get the calls of those requests that were approved.
func (h *Results) NotReleased(reason string, requests ...string) {
	if released := h.conversation.shared.Released; released != nil {
		released.NotReleased(reason, requests...)
	}
}

// Redact returns a text without the secrets that heldcall knows. Bytes of the upstream are without its key already, but
// text that is decoded and joined of them may spell it.
func (c *Conversation) Redact(text string) string {
	if redact := c.shared.Redact; redact != nil {
		return string(redact([]byte(text)))
	}
	return text
}

// secretRoom is longer than a secret, in bytes.
const secretRoom = 4 << 10

// recordable returns the beginning of a text as it is recorded: without secrets, at most
// limit bytes, and whether it was cut, now or before. The end of a text that was cut
// before could be the beginning of a secret, so it is left out.
func (s *Shared) recordable(text string, cut bool, limit int) (beginning string, truncated bool) {
	text = string(s.Redact([]byte(text)))
	if cut {
		text = text[:max(0, len(text)-secretRoom)]
	}
	if len(text) > limit {
		text, cut = text[:limit], true
	}
	return strings.Clone(strings.ToValidUTF8(text, "")), cut
}
