package wire

import (
	"fmt"
	"strings"

	"github.com/heldcall/heldcall/intercept/sse"
	"github.com/tidwall/gjson"
)

// Head is the fields that all chunks of an answer share, as raw JSON values.
type Head struct{ ID, object, Created, Model, Fingerprint string }

// Like reports whether clients take the head of an event for that of the answer. Providers
// change the model and the time within an answer, and no client compares them.
func (h Head) Like(first Head) bool {
	return h.ID == first.ID && h.object == first.object && (h.Created == "") == (first.Created == "") && (h.Model == "") == (first.Model == "") &&
		(h.Created == "" || digits(h.Created))
}

// digits reports whether a raw value is a whole number without a sign, of a size that every
// client reads.
func digits(raw string) bool {
	for i := range len(raw) {
		if raw[i] < '0' || raw[i] > '9' {
			return false
		}
	}
	return raw != "" && len(raw) <= 15
}

// ChunkObject is the object field of a chunk.
const ChunkObject = "chat.completion.chunk"

// Choice renders a choice of a chunk from the fields of its delta and from a raw finish
// reason.
func Choice(index int, delta, finish string) string {
	return fmt.Sprintf(`{"index":%d,"delta":{%s},"finish_reason":%s}`, index, delta, finish)
}

// Event renders an event of a stream with the head and with choices.
func (h *Head) Event(choices ...string) []byte {
	return sse.AppendData(nil, "", []byte(h.Chunk(choices...)))
}

// Chunk renders a chunk with the head and with choices.
func (h *Head) Chunk(choices ...string) string {
	var b strings.Builder
	for _, f := range []struct{ name, raw string }{{"id", h.ID}, {"object", `"` + ChunkObject + `"`}, {"created", h.Created}, {"model", h.Model}, {"system_fingerprint", h.Fingerprint}} {
		if f.raw != "" {
			b.WriteString("{,"[min(b.Len(), 1):][:1] + `"` + f.name + `":` + f.raw)
		}
	}
	return b.String() + `,"choices":[` + strings.Join(choices, ",") + "]}"
}

// Readable returns the head without the values that some clients do not read.
func (h Head) Readable() Head {
	for _, raw := range []*string{&h.ID, &h.Model, &h.Fingerprint} {
		if gjson.Parse(*raw).Type != gjson.String {
			*raw = ""
		}
	}
	if !digits(h.Created) {
		h.Created = ""
	}
	return h
}
