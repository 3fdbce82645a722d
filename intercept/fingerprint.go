package intercept

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/gjson"
)

// TurnFingerprint is what the agent saw of an answer in which something was hidden from it
// or changed. [Match] finds the answer in the history of a later request by it.
type TurnFingerprint struct {
	// Turn is the id of the answer: [Limits.TurnID].
	Turn string `json:"turn,omitempty"`
	// Parallel marks a record of no answer: another conversation has begun with the
	// same words and is kept under the same key. See [ParallelConversation].
	Parallel bool `json:"parallel,omitempty"`
	// Before is the fingerprint of what the agent's request ended with: the
	// answer comes right after it.
	Before string `json:"before"`
	// Opening is the fingerprint of the message that opens the conversation, "" for
	// one that the request does not show.
	Opening string            `json:"opening,omitempty"`
	Text    string            `json:"text"`
	Calls   []CallFingerprint `json:"calls,omitempty"`
	// Items are the provider's ids of what the answer consists of, where the wire
	// has them.
	Items []string `json:"items,omitempty"`
}

// CallFingerprint is a call that the agent saw.
type CallFingerprint struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Note string `json:"note,omitempty"` // what the model reads before its result, after an edit
	// Input is the fingerprint of its input as the agent has it, where the id does
	// not tell the call from those of other conversations.
	Input string `json:"input,omitempty"`
}

// NewCallFingerprint is a call with a name, an id and an input that the agent has or
// shows: JSON or any text.
func NewCallFingerprint(id, name, input string) CallFingerprint {
	c := CallFingerprint{ID: id, Name: name}
	if !telling(id, name) {
		c.Input = Fingerprint(canonical(input))
	}
	return c
}

// canonical is the same for JSON that agents have read and written anew. No input
// at all is an empty object.
func canonical(input string) string {
	if strings.TrimSpace(input) == "" {
		return "{}"
	}
	v := jsontext.Value(input)
	if v.Canonicalize() != nil {
		return input
	}
	return string(v)
}

// tellingLength is how long a part of an id is that nobody makes up twice: the
// random ids of providers have 12 letters and digits and more in a row, counters
// (call_0, functions.add:0) less.
const tellingLength = 12

// telling reports whether an id is one of its own in all conversations. Many
// providers number the calls of each.
func telling(id, name string) bool {
	if name != "" {
		id = strings.ReplaceAll(id, name, " ")
	}
	for _, run := range strings.FieldsFunc(id, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(run) >= tellingLength && strings.ContainsFunc(run, unicode.IsDigit) && strings.ContainsFunc(run, unicode.IsLetter) {
			return true
		}
	}
	return false
}

// HistoryTurn is one answer in the history that an agent sends.
type HistoryTurn struct {
	Before string // fingerprint of what is right before it, "" at the beginning
	Text   string
	Calls  []CallFingerprint
	Items  []string
	// Long reports that the text is longer than any that was seen. Text is empty then.
	Long bool
}

// Fingerprint identifies a message by what it says, because agents render the
// messages of a history anew (cache marks come and go).
func Fingerprint(said ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(said, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// Opening is the fingerprint of the message that opens a conversation, "" without
// one.
func Opening(said string) string {
	if said == "" {
		return ""
	}
	return Fingerprint(said)
}

// Records decodes what [Resolution.Hidden] has kept. What is none is left out.
func Records[R any](hidden [][]byte) (records []*R) {
	for _, raw := range hidden {
		if rec := new(R); json.Unmarshal(raw, rec) == nil {
			records = append(records, rec)
		}
	}
	return records
}

// RewriteItems returns the array raw with each of its items replaced by what take
// returns for it, one item or several. The bytes between them stay.
func RewriteItems(raw []byte, items []gjson.Result, take func(i int, item gjson.Result) []string) []byte {
	out := make([]byte, 0, len(raw)+len(raw)/4)
	at := 0 // how far of the array has been written
	for i, item := range items {
		out = append(out, raw[at:item.Index]...)
		out = append(out, strings.Join(take(i, item), ",")...)
		at = item.Index + len(item.Raw)
	}
	return append(out, raw[at:]...)
}
