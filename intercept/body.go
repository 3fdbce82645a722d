package intercept

import (
	"bytes"

	"github.com/heldcall/heldcall/intercept/strictjson"
)

// Form is the form of an upstream body.
type Form int

// The forms of a body. The first bytes decide, because Content-Type may be wrong.
const (
	FormUnknown Form = iota
	FormStream       // events as they come
	FormWhole        // one JSON value
)

// Body reads the bytes of one upstream body in the frame that its first bytes show. The zero value
// has no limit and is ready for use.
type Body struct {
	// Max bounds the buffered bytes; 0 for no limit.
	Max int
	// Must is the form of the bodies before it of the same answer.
	Must Form
	// NewFrame makes the frame of a stream, where the connection has decided it; nil where the first
	// bytes of the body do.
	NewFrame func() Frame

	form   Form
	given  Frame  // of NewFrame
	opened []byte // the bytes before the form is known
	led    byte   // the last byte of the lead, 0 if there is none
	stream Stream
	json   jsonBody
}

// Begin readies b for the next body of the same answer. At most limit bytes of
// it are buffered; 0 for no limit.
func (b *Body) Begin(limit int) {
	*b = Body{Max: limit, Must: b.Kind(), NewFrame: b.NewFrame}
	if b.NewFrame != nil {
		b.form, b.given = FormStream, b.NewFrame()
	}
}

// Form is the form of the body, as far as it is known.
func (b *Body) Form() Form { return b.form }

// Kind is the form of the answer: of this body or, until that is known, of the first.
func (b *Body) Kind() Form {
	if b.form == FormUnknown {
		return b.Must
	}
	return b.form
}

// frame is the frame of the answer.
func (b *Body) frame() Frame {
	switch {
	case b.given != nil:
		return b.given
	case b.Kind() == FormWhole:
		return &b.json
	}
	return &b.stream
}

// Write takes the next block. The parts of the body are then taken with [Body.Next]. Lead
// is what passes at once: blank lines before the body, with which some servers keep a
// connection alive, and the byte order mark of a stream, unless it continues an answer.
// The error is an [*Error].
func (b *Body) Write(p []byte) (lead []byte, err error) {
	if b.form == FormUnknown {
		return b.open(p)
	}
	return nil, b.frame().Write(p)
}

// open takes bytes before the form is known.
func (b *Body) open(p []byte) (lead []byte, err error) {
	if len(b.opened) > 0 {
		p = append(b.opened, p...)
	}
	text := bytes.TrimLeft(p, " \t\r\n")
	lines := 1 + bytes.LastIndexAny(p[:len(p)-len(text)], "\r\n")
	lead, p = p[:lines], p[lines:]
	if lines > 0 {
		b.led = lead[lines-1]
	}
	b.opened = nil
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
			b.stream.style = styleReturns
		}
		b.stream.split.Max = b.Max
	case FormWhole:
		b.json.max = b.Max
	default:
		if len(p) > maxBlanks {
			return lead, NotUnderstood("it begins with more than %d blanks", maxBlanks)
		}
		b.opened = bytes.Clone(p)
		return lead, nil
	}
	return lead, b.frame().Write(p)
}

// maxBlanks bounds the blanks before a body in one line, which are read again with each
// block.
const maxBlanks = 16 << 10

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

// Next returns the next whole part, see [Frame].
func (b *Body) Next() (part []byte, ok bool, err error) {
	if b.form == FormUnknown {
		return nil, false, nil
	}
	return b.frame().Next()
}

// Rest returns the rest at the end of the body that was not returned as lead or as a part.
func (b *Body) Rest() []byte {
	if b.form == FormUnknown {
		return b.opened
	}
	return b.frame().Rest()
}

// Shrink frees the buffers of a body that has ended.
func (b *Body) Shrink() { b.stream = Stream{style: b.stream.style} }

// EmptyContinuation is the error for an empty continuation of an answer.
func EmptyContinuation() *Error { return NotUnderstood("after a denial it is empty") }

// Cut is the error for a body that ended before it was complete.
func Cut() *Error {
	return &Error{Code: CodeUpstreamCut, Reason: "the upstream's answer was cut off before its end; what was held of it is void"}
}

// jsonBody is the frame of a body that is one JSON value.
type jsonBody struct {
	max   int // bytes, 0 for no limit
	bytes []byte
}

// Write implements [Frame].
func (b *jsonBody) Write(block []byte) error {
	if b.bytes = append(b.bytes, block...); b.max > 0 && len(b.bytes) > b.max {
		return TooLong()
	}
	return nil
}

// Next implements [Frame]: the part ends with the body.
func (b *jsonBody) Next() (part []byte, ok bool, err error) { return nil, false, nil }

// Rest implements [Frame].
func (b *jsonBody) Rest() []byte { return b.bytes }

// Parse implements [Frame].
func (b *jsonBody) Parse(p *Part) error {
	value := b.value(p.Bytes)
	if strictjson.Strict(value) != nil {
		return NotUnderstood("its body is not strict JSON (duplicate name, invalid UTF-8 or syntax)")
	}
	p.Payloads = [][]byte{value}
	return nil
}

// value is a body without the blanks and byte order mark before it.
func (*jsonBody) value(body []byte) []byte {
	return bytes.TrimPrefix(bytes.TrimLeft(body, " \t\r\n"), byteOrderMark)
}

// Check implements [Frame].
func (*jsonBody) Check(*Part) error { return nil }

// Single implements [Frame].
func (*jsonBody) Single([]byte, string) (data []byte, ok bool) { return nil, false }

// Append implements [Frame].
func (*jsonBody) Append(dst []byte, e Event) []byte { return append(dst, e.Data...) }

// Unended implements [Frame].
func (*jsonBody) Unended([]byte) string { return "" }

// Idle implements [Frame].
func (*jsonBody) Idle() string { return "\n" }
