package intercept

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/gjson"
)

// Seen is what the agent saw of an answer in which something was hidden from it
// or changed. It finds the answer again in the history of a later request, by
// what the agent echoes.
type Seen struct {
	// Before is the fingerprint of what the agent's request ended with: the
	// answer stands right behind it.
	Before string `json:"before"`
	// Opening is the fingerprint of the message that opens the conversation, "" for
	// one that the request does not show.
	Opening string     `json:"opening,omitempty"`
	Text    string     `json:"text"`
	Calls   []SeenCall `json:"calls,omitempty"`
	// Items are the provider's ids of what the answer consists of, where the wire
	// has them.
	Items []string `json:"items,omitempty"`
}

// SeenCall is a call that the agent saw.
type SeenCall struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Note string `json:"note,omitempty"` // what the model reads before its result, after an edit
	// Input is the fingerprint of its input as the agent has it, where the id does
	// not tell the call from those of other conversations.
	Input string `json:"input,omitempty"`
}

// NewSeenCall is a call with a name, an id and an input that the agent has or
// shows: JSON or any text.
func NewSeenCall(id, name, input string) SeenCall {
	c := SeenCall{ID: id, Name: name}
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

// Echo is one answer in the history that an agent sends.
type Echo struct {
	Before string // fingerprint of what stands right before it, "" at the beginning
	Text   string
	Calls  []SeenCall
	Items  []string
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

// Records decodes what [Settlement.Hidden] has kept. What is none is left out.
func Records[R any](hidden [][]byte) (records []*R) {
	for _, raw := range hidden {
		if rec := new(R); json.Unmarshal(raw, rec) == nil {
			records = append(records, rec)
		}
	}
	return records
}

// Remembered is a record of what was hidden in an answer. It embeds a [Seen].
type Remembered interface{ seen() *Seen }

func (s *Seen) seen() *Seen { return s }

// MatchMessages finds the assistant's message of each record, by its place in a
// history of messages. Echo reads the message at a place.
func MatchMessages[R Remembered](opening string, messages []gjson.Result, records []R, echo func(at int) Echo) map[int]R {
	var seen []*Seen
	for _, rec := range records {
		seen = append(seen, rec.seen())
	}
	var echoes []Echo
	var places []int
	for at, m := range messages {
		if m.Get("role").Str == "assistant" {
			echoes, places = append(echoes, echo(at)), append(places, at)
		}
	}
	found := make(map[int]R)
	for at, i := range Match(opening, echoes, seen) {
		found[places[at]] = records[i]
	}
	return found
}

// Match finds the echo of each answer that was seen: it maps places in echoes to
// places in seen. Ids repeat at many providers, so of several echoes that look
// alike it is the one that follows what the answer followed; without one, because
// agents shorten and rewrite their history, an echo with calls or with ids of its
// own counts if it is the only one, and if the ids or the opening of the history
// say that it is the same conversation.
func Match(opening string, echoes []Echo, seen []*Seen) map[int]int {
	found := make(map[int]int)
	var late []int
	for i, s := range seen {
		if at := s.follows(echoes, found); at >= 0 {
			found[at] = i
		} else {
			late = append(late, i)
		}
	}
	for _, i := range late {
		if at := seen[i].only(opening, echoes, found); at >= 0 {
			found[at] = i
		}
	}
	return found
}

func (s *Seen) follows(echoes []Echo, found map[int]int) int {
	for at, e := range echoes {
		if _, taken := found[at]; !taken && e.Before != "" && e.Before == s.Before && s.saw(e) {
			return at
		}
	}
	return -1
}

func (s *Seen) only(opening string, echoes []Echo, found map[int]int) int {
	only := -1
	for at, e := range echoes {
		if len(s.Calls) == 0 && !s.sawItems(e) || !s.saw(e) || s.Opening != "" && s.Opening != opening && !e.telling() {
			continue
		}
		if only >= 0 {
			return -1
		}
		only = at
	}
	if _, taken := found[only]; taken {
		return -1
	}
	return only
}

// telling reports whether an id in the echo is in no other conversation.
func (e *Echo) telling() bool {
	return slices.ContainsFunc(e.Calls, func(c SeenCall) bool { return telling(c.ID, c.Name) }) ||
		slices.ContainsFunc(e.Items, func(id string) bool { return telling(id, "") })
}

// saw reports whether an echo is what the agent saw of the answer. Some agents
// leave out the text beside calls, or refer to it by its id.
func (s *Seen) saw(e Echo) bool {
	text := strings.TrimSpace(e.Text)
	return s.sawCalls(e) && (text == strings.TrimSpace(s.Text) || text == "" && (len(s.Calls) > 0 || s.sawItems(e)))
}

// sawItems reports whether an echo consists of what the answer did, by its ids.
func (s *Seen) sawItems(e Echo) bool {
	for _, id := range e.Items {
		if !slices.Contains(s.Items, id) {
			return false
		}
	}
	return len(e.Items) > 0
}

func (s *Seen) sawCalls(e Echo) bool {
	if len(e.Calls) != len(s.Calls) {
		return false
	}
	for i, c := range e.Calls {
		seen := s.Calls[i]
		if c.Name != seen.Name || seen.ID != "" && c.ID != seen.ID || c.Input != "" && seen.Input != "" && c.Input != seen.Input {
			return false
		}
	}
	return true
}

// Rewrite returns the array raw with each of its items replaced by what take
// returns for it, one item or several. The bytes between them stay.
func Rewrite(raw []byte, items []gjson.Result, take func(i int, item gjson.Result) []string) []byte {
	out := make([]byte, 0, len(raw)+len(raw)/4)
	at := 0 // how far of the array has been written
	for i, item := range items {
		out = append(out, raw[at:item.Index]...)
		out = append(out, strings.Join(take(i, item), ",")...)
		at = item.Index + len(item.Raw)
	}
	return append(out, raw[at:]...)
}
