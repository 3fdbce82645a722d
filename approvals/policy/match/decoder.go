package match

import (
	"bytes"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// maxKept is the largest capacity of a copied text that is kept for the next decoder.
const maxKept = 16 << 10

// decoder decodes one text. Values that it returns are valid until it is released, because its memory
// is then used for other texts. Strings stay valid.
type decoder struct {
	jsontext.Decoder
	text   bytes.Buffer
	copied []byte
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

// decodeString returns a decoder of a string, which it copies.
func decodeString(text string, options ...jsontext.Options) *decoder {
	d := decoders.Get().(*decoder)
	d.copied = append(d.copied[:0], text...)
	d.text = *bytes.NewBuffer(d.copied)
	d.Reset(&d.text, options...)
	return d
}

// release returns the decoder to the pool. It must not be used after that.
func (d *decoder) release() {
	d.text = bytes.Buffer{}
	d.Reset(&d.text)
	if cap(d.copied) > maxKept {
		d.copied = nil
	}
	decoders.Put(d)
}
