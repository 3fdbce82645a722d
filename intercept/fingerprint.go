package intercept

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// TurnFingerprint describes an answer as the agent got it, with hidden or changed parts.
// [Match] finds the answer in the history of a later request by it.
type TurnFingerprint struct {
	// Turn is the id of the answer: [Limits.TurnID].
	Turn string `json:"turn,omitempty"`
	// Parallel marks a record of no answer: another conversation has the same opening and
	// is kept under the same key. See [ParallelConversation].
	Parallel bool `json:"parallel,omitempty"`
	// Before is the fingerprint of the end of the agent's request, which the answer
	// follows.
	Before string `json:"before"`
	// Opening is the fingerprint of the message that opens the conversation, "" if the
	// request does not contain it.
	Opening string            `json:"opening,omitempty"`
	Text    string            `json:"text"`
	Calls   []CallFingerprint `json:"calls,omitempty"`
	// Items are the provider's ids of the items of the answer, if it has any.
	Items []string `json:"items,omitempty"`
}

// CallFingerprint describes a call that the agent got.
type CallFingerprint struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Note string `json:"note,omitempty"` // the text before its result, after an edit
	// Input is the fingerprint of its input as the agent has it, "" if the id is unique
	// in all conversations.
	Input string `json:"input,omitempty"`
}

// NewCallFingerprint describes a call with a name, an id and an input: JSON or any text.
func NewCallFingerprint(id, name, input string) CallFingerprint {
	c := CallFingerprint{ID: id, Name: name}
	if !telling(id, name) {
		c.Input = Fingerprint(canonical(input))
	}
	return c
}

// canonical is equal for JSON that agents have decoded and encoded again. No input is an
// empty object.
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

// tellingLength is the length of a random part of an id: the random ids of providers have
// 12 letters and digits or more in a row, counters (call_0, functions.add:0) less.
const tellingLength = 12

// telling reports whether an id is unique in all conversations. Many providers number the
// calls of each.
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
	Before string // fingerprint of the message before it, "" at the beginning
	Text   string
	Calls  []CallFingerprint
	Items  []string
	// First and Last are the places of its items in the history.
	First, Last int
	// Long reports that the text is longer than that of any record. Text is empty then.
	Long bool
}

// Fingerprint identifies a message by its texts, because agents render the messages of a
// history in each request (with other cache marks).
func Fingerprint(texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// Opening is the fingerprint of the message that opens a conversation, "" for "".
func Opening(text string) string {
	if text == "" {
		return ""
	}
	return Fingerprint(text)
}

// EncodeRecord encodes a record for [Resolution.Hidden].
func EncodeRecord(record any) ([]byte, error) {
	raw, err := json.Marshal(record)
	if err != nil {
		return nil, fmt.Errorf("describe a hidden turn: %w", err)
	}
	return raw, nil
}

// Records decodes the records of [Resolution.Hidden]. It skips values that are none.
func Records[R any](hidden [][]byte) (records []*R) {
	for _, raw := range hidden {
		if rec := new(R); json.Unmarshal(raw, rec) == nil {
			records = append(records, rec)
		}
	}
	return records
}
