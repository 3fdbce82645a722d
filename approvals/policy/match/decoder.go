package match

import (
	"bytes"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// maxKept is the size of the largest copied text whose memory is used again.
const maxKept = 16 << 10

// decoder decodes one text. Its memory is used again: values that it returns are valid until it
// is released, strings longer.
type decoder struct {
	jsontext.Decoder
	text   bytes.Buffer
	copied []byte
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

// decode returns a decoder of a text that does not change until the decoder is released.
func decode(text []byte, options ...jsontext.Options) *decoder {
	d := decoders.Get().(*decoder)
	d.text = *bytes.NewBuffer(text)
	d.Reset(&d.text, options...)
	return d
}

// decodeString is decode for a string.
func decodeString(text string, options ...jsontext.Options) *decoder {
	d := decoders.Get().(*decoder)
	d.copied = append(d.copied[:0], text...)
	d.text = *bytes.NewBuffer(d.copied)
	d.Reset(&d.text, options...)
	return d
}

// release gives the decoder back. It must not be used after that.
func (d *decoder) release() {
	d.text = bytes.Buffer{}
	d.Reset(&d.text)
	if cap(d.copied) > maxKept {
		d.copied = nil
	}
	decoders.Put(d)
}
