package chat

import (
	"fmt"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
)

// chunkHead is the fields that all chunks of an answer share, as raw JSON values.
type chunkHead struct{ id, object, created, model, fingerprint string }

// isDigits reports whether a raw value is a whole number without a sign, of a size that every
// client reads.
func isDigits(raw string) bool {
	for i := range len(raw) {
		if raw[i] < '0' || raw[i] > '9' {
			return false
		}
	}
	return raw != "" && len(raw) <= 15
}

// chunkObject is the object field of a chunk.
const chunkObject = "chat.completion.chunk"

// choiceJSON renders a choice of a chunk from the fields of its delta and from a raw finish
// reason.
func choiceJSON(index int, delta, finish string) string {
	return fmt.Sprintf(`{"index":%d,"delta":{%s},"finish_reason":%s}`, index, delta, finish)
}

// event returns an event of a stream with the head and with choices.
func (h *chunkHead) event(choices ...string) intercept.Event {
	return intercept.Event{Data: h.chunk(choices...)}
}

// chunk renders a chunk with the head and with choices.
func (h *chunkHead) chunk(choices ...string) string {
	var b strings.Builder
	for _, f := range []struct{ name, raw string }{{"id", h.id}, {"object", `"` + chunkObject + `"`}, {"created", h.created}, {"model", h.model}, {"system_fingerprint", h.fingerprint}} {
		if f.raw != "" {
			b.WriteString("{,"[min(b.Len(), 1):][:1] + `"` + f.name + `":` + f.raw)
		}
	}
	return b.String() + `,"choices":[` + strings.Join(choices, ",") + "]}"
}

// readable returns the head without the values that some clients do not read.
func (h chunkHead) readable() chunkHead {
	for _, raw := range []*string{&h.id, &h.model, &h.fingerprint} {
		if gjson.Parse(*raw).Type != gjson.String {
			*raw = ""
		}
	}
	if !isDigits(h.created) {
		h.created = ""
	}
	return h
}
