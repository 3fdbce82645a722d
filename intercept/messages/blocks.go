package messages

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

const (
	maxBlocks = 2048
	maxCalls  = 512
)

// blockList contains the blocks of one upstream body, in the order in which they opened.
type blockList struct {
	list        []*block
	attempt     int // of the stream, see [body.restart]
	opened      int // how many blocks this attempt has opened
	misnumbered bool

	base    int    // how many blocks of earlier bodies the agent has got
	turnID  string // for made-up ids, which begin with the number firstID
	firstID int
}

// add appends a block. The error is an [*intercept.Error].
func (l *blockList) add(o *opening, index int) (*block, error) {
	if len(l.list) == maxBlocks {
		return nil, intercept.NotUnderstood("it has more than %d blocks", maxBlocks)
	}
	b := newBlock(o, index, l.attempt)
	if same := l.find(index); same != nil {
		b.addAmbiguity(ambiguousIndex)
		same.addAmbiguity(ambiguousIndex)
	}
	if err := l.compareIDs(b); err != nil {
		return nil, err
	}
	l.misnumbered = l.misnumbered || index != l.opened
	l.opened++
	l.list = append(l.list, b)
	return b, nil
}

// compareIDs marks a new call and the calls before it that have the same id.
func (l *blockList) compareIDs(b *block) error {
	if b.call == nil {
		return nil
	}
	calls := 0
	for _, other := range l.list {
		if other.call == nil {
			continue
		}
		if calls++; b.call.id != "" && other.call.id == b.call.id {
			b.AddAmbiguity(intercept.AmbiguousID)
			other.AddAmbiguity(intercept.AmbiguousID)
		}
	}
	if calls >= maxCalls {
		return intercept.NotUnderstood("it has more than %d calls", maxCalls)
	}
	return nil
}

// nextAttempt begins another attempt of the stream, after the blocks so far.
func (l *blockList) nextAttempt() {
	l.attempt++
	l.opened = 0
}

// keep removes the other blocks.
func (l *blockList) keep(keep func(*block) bool) {
	var kept []*block
	for _, b := range l.list {
		if keep(b) {
			kept = append(kept, b)
		}
	}
	l.list = kept
}

// last is the block that opened last, nil if there is none.
func (l *blockList) last() *block {
	if len(l.list) == 0 {
		return nil
	}
	return l.list[len(l.list)-1]
}

// growing reports whether a block is the last one and has not ended.
func (l *blockList) growing(b *block) bool { return b == l.last() && !b.ended }

// find returns the latest block of the current attempt with a number, nil if there is
// none.
func (l *blockList) find(index int) *block {
	for i := len(l.list) - 1; i >= 0; i-- {
		if b := l.list[i]; b.index == index && b.attempt == l.attempt {
			return b
		}
	}
	return nil
}

// calls lists the calls as units.
func (l *blockList) calls() (list []*intercept.Unit) {
	for _, b := range l.list {
		if b.call != nil {
			list = append(list, &b.Unit)
		}
	}
	return list
}

// left reports whether the agent has got a call before the end of the message.
func (l *blockList) left() bool {
	return slices.ContainsFunc(l.list, func(b *block) bool { return b.Left() })
}

// text is the model's text for the user.
func (l *blockList) text() string {
	var text strings.Builder
	for _, b := range l.list {
		text.WriteString(b.text())
	}
	return text.String()
}

// place is the number of a block in the agent's message, for nil that of the next block.
func (l *blockList) place(b *block, plan *intercept.Plan) int {
	n := l.base
	for _, other := range l.list {
		switch {
		case other == b:
			return n
		case plan.Reaches(&other.Unit):
			n++
		}
	}
	return n
}

// closings are the missing ends of the blocks that the agent has got.
func (l *blockList) closings(plan *intercept.Plan) (out []intercept.Event) {
	for _, b := range l.list {
		if !b.ended && plan.Reaches(&b.Unit) {
			b.ended = true
			out = appendBlockStop(out, l.place(b, plan))
		}
	}
	return out
}

// callID is the id of a call for the model: its own, or a made-up one if it has none or
// an earlier call has the same. It is "" for other blocks.
func (l *blockList) callID(b *block) string {
	if b.call == nil {
		return ""
	}
	taken := b.call.id == ""
	for i, other := range l.list {
		if other == b {
			if taken {
				return strictjson.MadeUpID(l.turnID, l.firstID+i)
			}
			break
		}
		taken = taken || (other.call != nil && other.call.id == b.call.id)
	}
	return b.call.id
}

// messages renders the blocks of the last attempt, and the result of each call, as two
// messages of a history.
func (l *blockList) messages() []string {
	var content, results []string
	for _, b := range l.list {
		if b.attempt != l.attempt {
			continue
		}
		id := l.callID(b)
		content = append(content, b.render(id))
		if b.call != nil {
			results = append(results, b.modelResult(id))
		}
	}
	return []string{assistantMessage(content), userMessage(results)}
}
