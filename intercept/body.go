package intercept

import (
	"bytes"
	"errors"

	"github.com/heldcall/heldcall/intercept/sse"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// Form is the form of an upstream body.
type Form int

// The forms of a body. The first bytes decide, because Content-Type may be wrong.
const (
	FormUnknown Form = iota
	FormStream       // server-sent events
	FormWhole        // one JSON value
)

// Body reads the bytes of one upstream body: a stream as its parts, another body as one
// value. The zero value has no limit and is ready for use.
type Body struct {
	// Max bounds the buffered bytes; 0 for no limit.
	Max int
	// Must is the form of the bodies before it of the same answer.
	Must Form
	// Texts reads the long texts of its events.
	Texts strictjson.Texts

	form  Form
	whole []byte // all bytes, unless it is a stream
	led   byte   // the last byte of the lead, 0 if there is none
	split sse.Splitter
	style style // of its events
}

// Begin readies b for the next body of the same answer. At most limit bytes of
// it are buffered; 0 for no limit.
func (b *Body) Begin(limit int) { *b = Body{Max: limit, Must: b.Kind()} }

// Form is the form of the body, as far as it is known.
func (b *Body) Form() Form { return b.form }

// Kind is the form of the answer: of this body or, until that is known, of the first.
func (b *Body) Kind() Form {
	if b.form == FormUnknown {
		return b.Must
	}
	return b.form
}

// Write takes the next block. The parts of a stream are then taken with [Body.Next]. Lead
// is what passes at once: blank lines before the body, with which some servers keep a
// connection alive, and the byte order mark of a stream, unless it continues an answer.
// The error is an [*Error].
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

// open takes bytes before the form is known.
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
			if b.Must == FormUnknown { // at the beginning of an answer
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

// maxBlanks bounds the blanks before a body in one line, which are read again with each
// block.
const maxBlanks = 16 << 10

func (b *Body) collect(p []byte) error {
	if b.whole = append(b.whole, p...); b.Max > 0 && len(b.whole) > b.Max {
		return TooLong()
	}
	return nil
}

// TooLong is the error for an answer that is larger than the limit.
func TooLong() *Error { return NotUnderstood("it is larger than proxy.max_body") }

var byteOrderMark = []byte("\xef\xbb\xbf")

// sniff sets the form by the first byte that is not blank, if there is one.
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
		return NotUnderstood("after a denial it continues in another form")
	}
	b.form = form
	return nil
}

// Next returns the next whole part of a stream, or false if more bytes are needed. The
// part aliases the block written, or memory that the next Write reuses. The error is an
// [*Error].
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

// Rest returns the rest at the end of the body: of a stream a last part without its blank
// line, of another body all that was not returned as lead.
func (b *Body) Rest() []byte {
	if b.form == FormStream {
		return b.split.Rest()
	}
	return b.whole
}

// Shrink frees the buffers of a body that has ended.
func (b *Body) Shrink() { b.split, b.Texts = sse.Splitter{Max: b.Max}, strictjson.Texts{} }

// JSON is the rest without the blanks and byte order mark before it.
func (b *Body) JSON() []byte {
	return bytes.TrimPrefix(bytes.TrimLeft(b.whole, " \t\r\n"), byteOrderMark)
}

// Value returns the value of a whole body, strict JSON. The error is an [*Error].
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

// Raw is the body as upstream sent it, of a stream the kept parts.
func (b *Body) Raw(kept []byte) []byte {
	if b.form == FormWhole {
		return b.whole
	}
	return kept
}

// EmptyContinuation is the error for an empty continuation of an answer.
func EmptyContinuation() *Error { return NotUnderstood("after a denial it is empty") }

// Cut is the error for a body that ended before it was complete.
func Cut() *Error {
	return &Error{Code: CodeUpstreamCut, Reason: "the upstream's answer was cut off before its end; what was held of it is void"}
}
