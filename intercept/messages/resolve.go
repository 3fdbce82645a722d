package messages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/notice"
	"github.com/tidwall/gjson"
)

// proceed sends the denials to the model, so that it continues the answer.
func (a *answer) proceed(plan *intercept.Plan) (intercept.Resolution, error) {
	messages := a.body.blocks.messages()
	body, err := a.nextBody(messages)
	if err != nil {
		return intercept.Resolution{}, fmt.Errorf("continue after a denial: %w", err)
	}
	for _, m := range messages {
		if err := plan.Store(len(m)); err != nil {
			return intercept.Resolution{}, err
		}
	}
	following := a.earlier
	following.add(&a.body, plan, messages)
	following.request = body
	a.next = &following
	next := a.req.With(body)
	return intercept.Resolution{Next: &next}, nil
}

// resolved is the resolution of an answer that is complete: with the record of what the agent did not
// get, for the later requests of the conversation, and the id by which they may continue it.
func (a *answer) resolved(plan *intercept.Plan) (r intercept.Resolution, err error) {
	if a.body.progress.failed || (plan.Aborted != nil && !a.req.threaded()) {
		return r, nil // the run, or the answer, is over
	}
	hides := a.hides(plan)
	if !hides && !a.req.threaded() {
		return r, nil
	}
	rec := a.record(plan)
	if a.req.threaded() {
		if r.Lost = !a.keep(rec, plan); rec.Response != "" {
			r.Refers, r.Threaded = []string{rec.Response}, true
		}
	}
	if !hides || plan.Aborted != nil {
		return r, nil
	}
	raw, err := intercept.EncodeRecord(rec)
	r.Hidden = [][]byte{raw}
	return r, err
}

// hides reports whether the agent gets less than the model's output, or another one.
func (a *answer) hides(plan *intercept.Plan) bool {
	return len(a.earlier.messages) > 0 || slices.ContainsFunc(a.body.blocks.list, func(b *block) bool {
		if _, edited := plan.Edited(&b.Unit); edited && b.call != nil {
			return true
		}
		return !plan.Reaches(&b.Unit) || a.body.blocks.isAbandoned(b)
	})
}

// record describes an answer that is complete.
func (a *answer) record(plan *intercept.Plan) *answerRecord {
	blocks := &a.body.blocks
	rec := &answerRecord{Turns: slices.Clone(a.earlier.messages), Pieces: slices.Clone(a.earlier.pieces)}
	rec.TurnFingerprint = intercept.TurnFingerprint{
		Turn: a.limits.TurnID, Before: a.req.Ending(), Opening: intercept.Opening(a.req.Opening().String()),
		Text: intercept.StripSpace(a.text() + plan.Notice),
	}
	denied := plan.AllDenied(blocks.calls())
	for _, b := range blocks.list {
		raw := b.render(blocks.callID(b))
		if !plan.Reaches(&b.Unit) {
			if !denied {
				rec.Pieces = append(rec.Pieces, piece{Raw: raw})
				rec.Results = append(rec.Results, b.modelResult(blocks.callID(b)))
			}
			continue
		}
		piece := piece{Key: blockKey(raw), Raw: raw, Before: denied || blocks.isAbandoned(b)}
		if b.call != nil {
			piece.Raw = ""
			rec.Calls = appendCall(rec.Calls, b, plan)
		}
		rec.Pieces = append(rec.Pieces, piece)
	}
	if denied {
		rec.Turns = append(rec.Turns, blocks.messages()...)
	}
	if plan.Notice != "" {
		raw := textBlock(strings.TrimSpace(plan.Notice))
		rec.Pieces = append(rec.Pieces, piece{Key: blockKey(raw), Raw: raw})
	}
	return rec
}

// isAbandoned reports whether the model does not know of a block, since it began another attempt after it.
func (l *blockList) isAbandoned(b *block) bool { return b.attempt != l.attempt && b.call == nil }

// appendCall appends a call as the agent got it.
func appendCall(list []intercept.CallFingerprint, b *block, plan *intercept.Plan) []intercept.CallFingerprint {
	arguments := b.call.arguments()
	replaced, edited := plan.Edited(&b.Unit)
	if edited {
		arguments = replaced
	}
	fingerprint := intercept.NewCallFingerprint(b.call.id, b.call.name, arguments)
	if edited {
		fingerprint.Note = b.modelMessage()
	}
	return append(list, fingerprint)
}

// Plan implements [intercept.Codec].
func (a *answer) Plan(plan *intercept.Plan) (intercept.Resolution, error) {
	calls := a.body.blocks.calls()
	denied := plan.AllDenied(calls)
	plan.Unchanged = len(calls) == 0 && !a.body.rewrites() && !a.body.blocks.misnumbered
	plan.Open = denied && a.continuable() && plan.MayContinue(calls, a.earlier.count, a.earlier.denials, a.limits.MaxContinuations)
	switch {
	case plan.Open:
		return a.proceed(plan)
	case !plan.Unchanged:
		plan.Notice = a.notice(plan, denied)
	case !a.req.threaded():
		return intercept.Resolution{}, nil
	}
	return a.resolved(plan)
}

// continuable reports whether heldcall can continue the answer: a thread only by the id of the message.
func (a *answer) continuable() bool {
	return a.req.continued() == "" || gjson.Parse(a.body.progress.id).Str != ""
}

// notice is the text that the agent reads in a message that lost all its calls.
func (a *answer) notice(plan *intercept.Plan, denied bool) string {
	switch {
	case a.body.progress.failed:
		return ""
	case plan.Aborted != nil:
		return plan.Aborted.ModelMessage
	case denied:
		return plan.Denial(a.earlier.denials)
	case a.earlier.count > 0 && a.silent(plan):
		if a.earlier.denials == 0 {
			return notice.NothingWritten()
		}
		return notice.CallsDenied()
	}
	return ""
}

// silent reports whether the message would end without text. Providers refuse a message
// in a history that is empty or ends in thinking.
func (a *answer) silent(plan *intercept.Plan) bool {
	if stop := a.body.progress.stop; stop == "pause_turn" || stop == "refusal" {
		return false
	}
	var last *block
	for _, b := range a.body.blocks.list {
		if !plan.Reaches(&b.Unit) {
			continue
		}
		if last = b; b.call != nil {
			return false
		}
	}
	if last != nil {
		return isThinking(last.opened)
	}
	return len(a.earlier.pieces) == 0 || a.earlier.thinking
}
