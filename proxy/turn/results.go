package turn

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/gate"
)

// readResults reads the results of released calls in the agent's request.
func (t *Turn) readResults() {
	released := t.engine.Results
	principal, session, results := t.conversation.Results(released)
	received := t.request.Began.UTC()
	for _, r := range results {
		if r.CallID == "" {
			continue
		}
		result, ok := released.Awaited(principal, session, r.CallID)
		if !ok {
			continue
		}
		of := &result.Result
		of.ReceivedAt, of.Error = &received, r.Failed
		of.Preview, of.Truncated = t.engine.recordable(r.Text, r.Truncated, approvals.MaxResultPreview)
		t.results = slices.DeleteFunc(t.results, func(earlier gate.CallResult) bool { return earlier.Request == result.Request })
		t.results = append(t.results, result)
	}
}

// recordResults records the results, with the text of the model's answer to them, as soon
// as that is complete. If the turn ends before, it records them if the answer has begun:
// otherwise the agent will probably send the request again.
func (t *Turn) recordResults() {
	results := t.results
	t.results = nil
	if len(results) == 0 || (t.closed && !t.output.agent.Started()) {
		return
	}
	next := ""
	if !t.closed {
		next, _ = t.engine.recordable(t.output.answer.Text(), false, approvals.MaxNextText)
	}
	for _, r := range results {
		r.Result.NextText = next
		t.engine.Results.Record(r)
	}
}

// recordReleases records that the agent gets the calls that people have approved.
func (r *review) recordReleases() {
	var released []*approvals.Request
	for _, j := range r.calls {
		if j.request != nil && j.released() {
			released = append(released, j.request)
		}
	}
	r.engine.Results.Released(released...)
}

// keyRoom is longer than any secret, in bytes.
const keyRoom = 4 << 10

// recordable returns the beginning of a text as it is recorded: without secrets, at most
// limit bytes, and whether it was cut, now or before. The end of a text that was cut
// before could be the beginning of a secret, so it is left out.
func (e *Engine) recordable(text string, cut bool, limit int) (beginning string, truncated bool) {
	text = string(e.Redact([]byte(text)))
	if cut {
		text = text[:max(0, len(text)-keyRoom)]
	}
	if len(text) > limit {
		text, cut = text[:limit], true
	}
	return strings.Clone(strings.ToValidUTF8(text, "")), cut
}
