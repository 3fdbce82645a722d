package intercept

import (
	"bytes"
	"errors"

	"github.com/heldcall/heldcall/intercept/sse"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// Form is the form of an upstream body.
type Form int

// The forms of a body. It is told by the first bytes, because labels lie.
const (
	FormUnknown Form = iota
	FormStream       // server-sent events
	FormWhole        // one JSON value
)

// Body takes the bytes of one upstream body apart: a stream into its parts, a
// whole body into itself. The zero value has no limit and is ready for use.
type Body struct {
	// Max bounds what is buffered, in bytes; 0 for no limit.
	Max int
	// Must is the form that the body has to have, because the answer of which it
	// is the continuation has begun in that form.
	Must Form

	form  Form
	whole []byte // while the form is unknown, and of a whole body all of it
	led   byte   // the last byte of the lead, 0 while there is none
	split sse.Splitter
	style style // of its events so far
}

// Begin readies b for the next body of the same answer. At most limit bytes of
// it are buffered; 0 for no limit.
func (b *Body) Begin(limit int) { *b = Body{Max: limit, Must: b.Kind()} }

// Form is what the bytes so far tell.
func (b *Body) Form() Form { return b.form }

// Kind is the form of the answer: of this body or, until that tells, of the first.
func (b *Body) Kind() Form {
	if b.form == FormUnknown {
		return b.Must
	}
	return b.form
}

// Write takes the next block. Blank lines before the body pass at once, because
// that is how some servers keep a connection alive; they are returned as lead, and
// so is the byte order mark of a stream, unless it goes on with an answer.
// The parts of a stream are then taken with [Body.Next]. The error is an
// [*Error].
func (b *Body) Write(p []byte) (lead []byte, err error) {
	switch b.form {
	case FormUnknown:
		return b.open(p)
	case FormWhole:
		return nil, b.collect(p)
	}
	b.split.Write(p)
	return nil, nil
}

// open takes bytes while the form is not known.
func (b *Body) open(p []byte) (lead []byte, err error) {
	if len(b.whole) > 0 {
		p = append(b.whole, p...)
	}
	text := bytes.TrimLeft(p, " \t\r\n")
	lines := 1 + bytes.LastIndexAny(p[:len(p)-len(text)], "\r\n")
	lead, p = p[:lines], p[lines:]
	if lines > 0 {
		b.led = lead[lines-1]
	}
	b.whole = nil
	if err := b.sniff(text); err != nil {
		return lead, err
	}
	switch b.form {
	case FormStream:
		if n := len(byteOrderMark); b.led == 0 && bytes.HasPrefix(p, byteOrderMark) {
			if b.Must == FormUnknown { // it counts at the beginning of an answer only
				lead = p[:n]
			}
			p = p[n:]
		}
		if b.led == '\r' {
			b.style = styleReturns
		}
		b.split = sse.Splitter{Max: b.Max}
		b.split.Write(p)
		return lead, nil
	case FormUnknown:
		if len(p) > maxBlanks {
			return lead, NotUnderstood("it begins with more than %d blanks", maxBlanks)
		}
		p = bytes.Clone(p)
	}
	return lead, b.collect(p)
}

// maxBlanks bounds what may stand before a body in one line: all of it is looked at
// again with each block.
const maxBlanks = 16 << 10

func (b *Body) collect(p []byte) error {
	if b.whole = append(b.whole, p...); b.Max > 0 && len(b.whole) > b.Max {
		return TooLong()
	}
	return nil
}

// TooLong is the error for an answer of which more would have to be buffered
// than the limit allows.
func TooLong() *Error { return NotUnderstood("it is larger than proxy.max_body") }

var byteOrderMark = []byte("\xef\xbb\xbf")

// sniff tells the form by the first byte that is not blank, if that is there.
func (b *Body) sniff(text []byte) error {
	if bytes.HasPrefix(byteOrderMark, text) {
		return nil // nothing, or the beginning of a byte order mark
	}
	var form Form
	switch c := bytes.TrimPrefix(text, byteOrderMark)[0]; {
	case c == '{' || c == '[':
		form = FormWhole
	case c == ':' || c == ' ' || c == '\r' || c == '\n' || (c >= 'a' && c <= 'z'):
		form = FormStream
	default:
		return NotUnderstood("it is neither JSON nor an event stream")
	}
	if b.Must != FormUnknown && form != b.Must {
		return NotUnderstood("after a denial it goes on in another form than it began in")
	}
	b.form = form
	return nil
}

// Next returns the next whole part of a stream, or false when more bytes are
// needed. The part aliases the block written, or memory that the next Write
// reuses. The error is an [*Error].
func (b *Body) Next() (part []byte, ok bool, err error) {
	if b.form != FormStream {
		return nil, false, nil
	}
	part, ok, err = b.split.Next()
	if errors.Is(err, sse.ErrPartTooLong) {
		err = TooLong()
	}
	return part, ok, err
}

// Rest is what is left at the end of the body: of a stream a last part without
// its blank line, of anything else all that was not returned as lead.
func (b *Body) Rest() []byte {
	if b.form == FormStream {
		return b.split.Rest()
	}
	return b.whole
}

// Shrink gives back the buffers of a body that has ended. What was not taken of a
// stream is lost.
func (b *Body) Shrink() { b.split = sse.Splitter{Max: b.Max} }

// JSON is the rest without blanks and byte order mark before it: of a whole body
// the value.
func (b *Body) JSON() []byte {
	return bytes.TrimPrefix(bytes.TrimLeft(b.whole, " \t\r\n"), byteOrderMark)
}

// Value is the value that a whole body is, strict JSON. The error is an [*Error].
func (b *Body) Value(framed bool) ([]byte, error) {
	value := b.JSON()
	switch err := strictjson.Strict(value); {
	case err != nil && !framed:
		return nil, Cut()
	case err != nil:
		return nil, NotUnderstood("its body is not strict JSON (duplicate name, invalid UTF-8 or syntax)")
	}
	return value, nil
}

// Raw is the body as upstream sent it, of a stream what was kept of it.
func (b *Body) Raw(kept []byte) []byte {
	if b.form == FormWhole {
		return b.whole
	}
	return kept
}

// EmptyContinuation is the error for the continuation of an answer without anything in it.
func EmptyContinuation() *Error { return NotUnderstood("after a denial it says nothing") }

// Cut is the error for a body that ended before it was complete.
func Cut() *Error {
	return &Error{Code: CodeUpstreamCut, Reason: "the upstream's answer was cut off before its end; what was held of it is void"}
}
