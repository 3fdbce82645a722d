package chat

import (
	"fmt"
	"strconv"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat/wire"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// RewriteItems implements [intercept.Codec].
func (a *answer) Rewrite(part []byte, units []*intercept.Unit, p *intercept.Plan) ([]byte, error) {
	payloads, err := intercept.Payloads(part)
	if err != nil {
		return nil, err
	}
	return intercept.RewritePart(part, payloads, func(_ int, payload []byte) (intercept.Rewrite, error) {
		if intercept.IsDone(payload) {
			return intercept.Rewrite{JSON: string(payload), Drop: a.open, Before: a.notices()}, nil
		}
		c, err := wire.Decode(string(payload))
		if err != nil {
			return intercept.Rewrite{}, err
		}
		n := c.Fragments()
		e := edit{answer: a, plan: p}
		own := units[:n]
		if units = units[n:]; n == 0 || !e.rendersCalls(c) {
			return a.revise(c, p)
		}
		out, err := e.takeApart(c, own)
		return intercept.Rewrite{Drop: true, Before: out}, err
	})
}

// revise returns what becomes of an event whose calls, if it has any, stay as they
// came.
func (a *answer) revise(c *wire.Chunk, p *intercept.Plan) (intercept.Rewrite, error) {
	before := a.noticesBefore(c)
	e := edit{answer: a, plan: p, Patch: strictjson.Patch{JSON: c.Raw}, chunk: c}
	if err := e.run(); err != nil {
		return intercept.Rewrite{}, fmt.Errorf("rewrite an event: %w", err)
	}
	if !e.hollow {
		a.noteSent(c)
	}
	return intercept.Rewrite{JSON: e.JSON, Drop: e.hollow, Before: before}, nil
}

// edit is the work on one chunk.
type edit struct {
	*answer
	strictjson.Patch
	plan   *intercept.Plan
	chunk  *wire.Chunk
	hollow bool // nothing is left that the agent would read
}

func (e *edit) run() error {
	if len(e.chunk.Choices) > 0 {
		e.hollow = true
	}
	for position := range e.chunk.Choices {
		e.choice(position, &e.chunk.Choices[position])
	}
	e.usageSum()
	if e.continuing != nil {
		e.rehead()
	}
	return e.Err
}

// choice rewrites what the chunk says of one choice. What does not go out with it
// is taken out of d too.
func (e *edit) choice(position int, d *wire.ChoiceDelta) {
	l := e.output(d.Index)
	path := fmt.Sprintf("choices.%d.", position)
	if e.continuing != nil {
		e.audio(path, d, l)
		e.separate(path, d, l)
	}
	if known := e.known(d.Index); known != nil && e.changed(known, e.plan) {
		e.withhold(path, d, known)
		if d.Repeated && known.says[wire.InDelta].any() { // clients that know it would let it replace the calls
			e.Delete(path + "message")
		}
	}
	left := d.Carries || len(d.Calls) > 0
	left = e.finishReason(path, d, l) || left
	if d.Role && l.role && (e.continuing != nil || l.notice != "") {
		e.Delete(path + "delta.role")
		d.Role = false
	}
	if l.index != d.Index {
		e.Set(path+"index", strconv.Itoa(l.index))
	}
	if left || d.Role || (!l.continues && e.continuing == nil) {
		e.hollow = false
	}
}

// finishReason rewrites the finish reason of a choice without calls, and
// reports whether the agent reads one.
func (e *edit) finishReason(path string, d *wire.ChoiceDelta, l *outputChoice) bool {
	switch {
	case d.Finish == "":
		return false
	case l.continues:
		e.Set(path+"finish_reason", "null")
		d.Finish = ""
		return false
	case l.notice != "" && d.Finish != "length" && d.Finish != "content_filter":
		e.Set(path+"finish_reason", `"stop"`)
	}
	return true
}

// separate puts an empty line between what the model said before a denial and
// after it.
func (e *edit) separate(path string, d *wire.ChoiceDelta, l *outputChoice) {
	for _, t := range d.Texts {
		if t.Field != "content" || l.separated {
			continue
		}
		at := path + [...]string{"delta.", "message."}[t.Place] + "content"
		text := t.Value
		if text.IsArray() {
			first := firstText(text)
			if first < 0 {
				continue
			}
			text = text.Get(strconv.Itoa(first) + ".text")
			at += "." + strconv.Itoa(first) + ".text"
		}
		if text.Type != gjson.String {
			continue
		}
		if lead := strictjson.Paragraph(l.text, text.Str); lead != text.Str {
			e.Set(at, strictjson.Quote(lead))
		}
		l.separated = true
	}
}

// usageSum adds what earlier turns of the answer have used.
func (e *edit) usageSum() {
	if e.chunk.Usage == "" {
		return
	}
	if e.open {
		e.Delete("usage")
		e.hollow = e.hollow || len(e.chunk.Choices) == 0
		return
	}
	e.hollow = false
	if len(e.priorUsage) > 0 {
		e.Set("usage", string(strictjson.AddUsage(e.priorUsage, []byte(e.chunk.Usage))))
	}
}

// rehead gives the chunk the id of the answer that the agent has begun to read.
func (e *edit) rehead() {
	for _, f := range []struct{ name, first, own string }{
		{"id", e.head.ID, e.chunk.Head.ID},
		{"created", e.head.Created, e.chunk.Head.Created},
		{"model", e.head.Model, e.chunk.Head.Model},
		{"system_fingerprint", e.head.Fingerprint, e.chunk.Head.Fingerprint},
	} {
		if f.first != "" && f.own != "" && f.first != f.own {
			e.Set(f.name, f.first)
		}
	}
}
