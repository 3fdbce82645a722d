package chat

import (
	"fmt"
	"strconv"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// rewriter rewrites the events of a body.
type rewriter struct {
	body *upstreamBody
	out  *output
	plan *intercept.Plan
}

// Rewrite implements [intercept.Codec].
func (a *answer) Rewrite(part *intercept.Part, p *intercept.Plan) ([]intercept.Event, error) {
	w := &rewriter{body: &a.body, out: &a.out, plan: p}
	if part.Whole {
		return w.whole()
	}
	return part.Map(func(_ int, e intercept.Event) ([]intercept.Event, error) {
		if intercept.IsDone([]byte(e.Data)) {
			notices := a.out.notices()
			if a.out.open {
				return notices, nil
			}
			return append(notices, e), nil
		}
		c, err := decodeChunk(e.Data)
		if err != nil {
			return nil, err
		}
		if !c.hasCalls() {
			return w.revise(nil, e.Name, c)
		}
		return w.takeApart(c)
	})
}

// revise appends an event without calls, with a name, as the agent gets it.
func (w *rewriter) revise(out []intercept.Event, name string, c *chunk) ([]intercept.Event, error) {
	for i := range c.choices {
		if d := &c.choices[i]; d.finish != "" {
			out = append(out, w.body.known(d.index).output.closingNotice(&w.out.head, false)...)
		}
	}
	e := edit{Patch: strictjson.Patch{JSON: c.raw}, w: w, chunk: c}
	if err := e.run(); err != nil {
		return nil, fmt.Errorf("rewrite an event: %w", err)
	}
	if e.drop {
		return out, nil
	}
	for i := range c.choices {
		d := &c.choices[i]
		w.body.known(d.index).output.send(d)
	}
	return append(out, intercept.Event{Name: name, Data: e.JSON}), nil
}

// edit is the rewriting of one chunk.
type edit struct {
	strictjson.Patch
	w     *rewriter
	chunk *chunk
	drop  bool // the agent would read nothing in the rest
}

func (e *edit) run() error {
	e.drop = len(e.chunk.choices) > 0
	for position := range e.chunk.choices {
		e.choice(fmt.Sprintf("choices.%d.", position), &e.chunk.choices[position])
	}
	e.sumUsage()
	if e.continues() {
		e.setHead()
	}
	return e.Err
}

// choice rewrites one choice of the chunk, at a path. Fields that do not go out are
// removed from d too.
func (e *edit) choice(path string, d *choiceDelta) {
	choice := e.w.body.known(d.index)
	l := choice.output
	if e.continues() {
		e.joinAudio(path, d, l)
		e.separate(path, d, l)
	}
	if choice.changes(e.w.plan) {
		e.withhold(path, d, choice)
	}
	if d.repeated && len(choice.calls()) > 0 && choice.messages[inDelta].any() { // in some clients it would replace the calls
		e.Delete(path + "message")
	}
	ends := d.finish != ""
	finish := e.finishReason(path, d, l)
	e.role(path, d, l)
	if l.index != d.index {
		e.Set(path+"index", strconv.Itoa(l.index))
	}
	remains := finish || d.role || d.carries || len(d.calls) > 0
	if remains || (!ends && !e.w.out.open && !e.continues()) {
		e.drop = false
	}
}

// continues reports whether the chunk is of a continuation.
func (e *edit) continues() bool { return e.w.out.continuing }

// role removes a role that the agent has received before.
func (e *edit) role(path string, d *choiceDelta, l *outputChoice) {
	if d.role && l.sent.role && (e.continues() || l.notice != "") {
		e.Delete(path + "delta.role")
		d.role = false
	}
}

// finishReason rewrites the finish reason of a choice without calls, and reports whether
// the agent reads one: the last one that is held of the choice, unless it continues.
func (e *edit) finishReason(path string, d *choiceDelta, l *outputChoice) bool {
	switch {
	case d.finish == "":
		return false
	case l.now.superseded() || e.w.out.open:
		e.Set(path+"finish_reason", "null")
		d.finish = ""
		return false
	case l.notice != "" && d.finish != "length" && d.finish != "content_filter":
		e.Set(path+"finish_reason", l.now.stopReason())
	}
	return true
}

// joinAudio makes the sound of a continuation part of the sound that the agent has begun
// to receive: that has one id and one time of expiry.
func (e *edit) joinAudio(path string, d *choiceDelta, l *outputChoice) {
	for _, t := range d.texts {
		if t.field != "audio" || t.place != inDelta || l.sent.audio == "" || !t.value.IsObject() {
			continue
		}
		left := strictjson.Patch{JSON: t.value.Raw}
		left.Delete("id")
		left.Delete("expires_at")
		switch {
		case left.Err != nil:
			e.Err = left.Err
		case len(gjson.Parse(left.JSON).Map()) > 0:
			e.Set(path+"delta.audio", left.JSON)
		default:
			e.Delete(path + "delta.audio")
			d.carries = len(d.texts) > 1
		}
	}
}

// separate puts an empty line between the text before a denial and the text after it.
func (e *edit) separate(path string, d *choiceDelta, l *outputChoice) {
	for _, t := range d.texts {
		if t.field != "content" || l.separated {
			continue
		}
		field := path + placeField[t.place] + "content"
		text := t.value
		if text.IsArray() {
			first := firstText(text)
			if first < 0 {
				continue
			}
			text = text.Get(strconv.Itoa(first) + ".text")
			field += "." + strconv.Itoa(first) + ".text"
		}
		if text.Type != gjson.String {
			continue
		}
		if lead := strictjson.Paragraph(l.prior.text, text.Str); lead != text.Str {
			e.Set(field, strictjson.Quote(lead))
		}
		l.separated = true
	}
}

// placeField is the path of each place in a choice.
var placeField = [...]string{inDelta: "delta.", inMessage: "message."}

// sumUsage adds the usage of earlier bodies.
func (e *edit) sumUsage() {
	switch prior := e.w.out.priorUsage; {
	case e.chunk.usage == "":
	case e.w.out.open:
		e.Delete("usage")
		e.drop = e.drop || len(e.chunk.choices) == 0
	default:
		e.drop = false
		if len(prior) > 0 {
			e.Set("usage", string(strictjson.AddUsage(prior, []byte(e.chunk.usage))))
		}
	}
}

// setHead gives the chunk the head of the answer that the agent has begun to read.
func (e *edit) setHead() {
	head, current := e.w.out.head, e.chunk.head
	for _, f := range []struct{ name, first, own string }{
		{"id", head.id, current.id},
		{"created", head.created, current.created},
		{"model", head.model, current.model},
		{"system_fingerprint", head.fingerprint, current.fingerprint},
	} {
		if f.first != "" && f.own != "" && f.first != f.own {
			e.Set(f.name, f.first)
		}
	}
}
