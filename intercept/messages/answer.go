package messages

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/sse"
	"github.com/tidwall/gjson"
)

const (
	maxBlocks = 2048
	maxCalls  = 512
	maxFields = 16 // of a block that come in pieces
)

// answer implements [intercept.Answer].
type answer struct {
	req    *request
	limits intercept.Limits
	body   []byte // the request that upstream is answering

	turn // what is known of the current upstream body
	past // what earlier upstream bodies of the same answer said

	upstream intercept.Body
	kept     intercept.Kept[[]*block] // with the blocks that the events of a part are about
	heard    int                      // bytes of what the model said that are remembered
	shapes   shapes
	out      intercept.Gather
}

// turn is the state of one upstream body.
type turn struct {
	blocks    []*block
	attempt   int    // see [answer.splice]
	joined    bool   // this attempt continues the message of the one before
	opened    int    // blocks that this attempt has opened
	irregular bool   // they are not numbered as clients count them
	started   bool   // the message has begun
	named     bool   // some of its events have a name that is their type
	unnamed   bool   // some have none
	labelled  bool   // some have a name, whatever it is
	skipped   bool   // clients do not agree on how many blocks it has
	usage     string // of the message: what its end says, and what only its start says
	stop      string // the stop reason
	container string
	due       string // the stop reason that only its start said, while the agent has not got it
	done      bool   // the message has ended
	over      bool   // the stream has said [DONE]
	failed    bool   // an error was reported inside
}

// past is what outlives a continuation.
type past struct {
	id, model     string // of the first message, raw
	begun         bool   // the start of the message has gone out
	continuations int
	base          int      // blocks of earlier turns that the agent has got
	hidden        []string // messages of whole turns that the agent does not see
	seen          []piece  // what it has seen of them
	whole         []string // the same, rendered, for a whole answer
	thinking      bool     // the last block of them is one of thinking
	text          string   // what the agent has read
	spent         []byte   // usage so far
	unended       string   // what the last event that went out lacks of its end
}

func newAnswer(r *request, limits intercept.Limits) *answer {
	return &answer{req: r, limits: limits, body: r.Envelope().Body}
}

// Begin implements [intercept.Answer].
func (a *answer) Begin(string) {
	a.turn = turn{named: a.named, unnamed: a.unnamed, labelled: a.labelled, skipped: a.skipped}
	a.kept, a.shapes = intercept.Kept[[]*block]{}, shapes{}
	a.upstream.Begin(a.limits.MaxBytes)
}

// Write implements [intercept.Answer].
func (a *answer) Write(p []byte) ([]byte, error) {
	return a.upstream.Feed(p, &a.out, a.part)
}

// End implements [intercept.Answer].
func (a *answer) End(framed bool) (out []byte, err error) {
	out, err = a.upstream.Close(framed, a.readWhole, a.endStream)
	if err == nil && a.continuations > 0 && !a.started && !a.failed {
		err = intercept.NotUnderstood("after a denial it says nothing")
	}
	return out, err
}

// Shrink implements [intercept.Answer].
func (a *answer) Shrink() {
	a.kept.Pack()
	a.upstream.Shrink()
	a.shapes = shapes{}
}

// Streamed implements [intercept.Answer].
func (a *answer) Streamed() bool { return a.upstream.Form() == intercept.FormStream }

// Complete implements [intercept.Answer].
func (a *answer) Complete() bool { return a.done }

// Holding implements [intercept.Answer].
func (a *answer) Holding() bool { return a.upstream.Form() == intercept.FormWhole || a.holding() }

// Calls implements [intercept.Answer].
func (a *answer) Calls() []intercept.Call {
	var list []intercept.Call
	for _, b := range a.pending() {
		b.call.judge()
		if !b.ended {
			b.call.Doubt(doubtOpenEnd)
		}
		if a.mixed() {
			b.call.Doubt(doubtUnnamed)
		}
		if a.cut() && b == a.last() {
			b.call.Doubt(intercept.DoubtCut)
		}
		c := b.asCall()
		if !a.uniform(b) {
			c.Flags = append(c.Flags, intercept.FlagCanonical)
		}
		list = append(list, c)
	}
	return list
}

// mixed reports whether some events of the message have a name and some have
// none. The SDKs skip these.
func (a *answer) mixed() bool { return a.named && a.unnamed }

// cut reports whether the answer ended otherwise than by the model's will.
func (a *answer) cut() bool {
	return slices.Contains([]string{"max_tokens", "model_context_window_exceeded", "refusal", "stop_sequence"}, a.stop)
}

// Passed implements [intercept.Answer].
func (a *answer) Passed() (list []intercept.Call) {
	for _, b := range a.blocks {
		if b.call != nil && b.call.passed {
			list = append(list, b.asCall())
		}
	}
	return list
}

// pending lists the blocks of the calls that need a ruling, in the order of the
// answer.
func (a *answer) pending() (list []*block) {
	for _, b := range a.blocks {
		if b.call != nil && !b.call.passed {
			list = append(list, b)
		}
	}
	return list
}

// Text implements [intercept.Answer].
func (a *answer) Text() string {
	return strings.TrimSpace(a.text + intercept.Paragraph(a.text, a.said()))
}

// said is what the model says to the user in the current turn.
func (a *answer) said() string {
	var b strings.Builder
	for _, block := range a.blocks {
		b.WriteString(block.text())
	}
	return b.String()
}

// Heartbeat implements [intercept.Answer]: the event ping, which the API sends
// itself and which all known clients tolerate anywhere. A whole answer is kept
// alive by blanks before the JSON.
func (a *answer) Heartbeat(pulse intercept.Pulse) []byte {
	switch {
	case a.upstream.Kind() == intercept.FormWhole:
		return []byte("\n")
	case a.upstream.Kind() == intercept.FormStream && pulse == intercept.PulseComment:
		return []byte(": keepalive\n")
	case a.upstream.Kind() == intercept.FormStream:
		return appendEvent(nil, "ping", `{"type": "ping"}`)
	}
	return nil
}

// Fail implements [intercept.Answer]. A whole answer whose head has gone out is
// failed by an error for its body.
func (a *answer) Fail(e *intercept.Error) []byte {
	if a.upstream.Kind() == intercept.FormWhole {
		return errorBody(e)
	}
	return appendEvent([]byte(a.unended), "error", string(errorBody(e)))
}

func appendEvent(dst []byte, name, payload string) []byte {
	return sse.AppendData(dst, name, []byte(payload))
}

// last is the block that opened last, nil when there is none.
func (a *answer) last() *block {
	if len(a.blocks) == 0 {
		return nil
	}
	return a.blocks[len(a.blocks)-1]
}

// find returns the latest block with a number in the current attempt, nil where
// there is none.
func (a *answer) find(index int) *block {
	for i := len(a.blocks) - 1; i >= 0; i-- {
		if b := a.blocks[i]; b.index == index && b.attempt == a.attempt {
			return b
		}
	}
	return nil
}

// hear bounds what is remembered of what the model says.
func (a *answer) hear(n int) error {
	if a.heard += n; a.limits.MaxBytes > 0 && a.heard > a.limits.MaxBytes {
		return intercept.TooLong()
	}
	return nil
}

// open adds a block.
func (a *answer) open(o *opening, index int) (*block, error) {
	switch {
	case a.done:
		return nil, intercept.NotUnderstood("a block is after the end of the message")
	case o.role == roleCall && (a.stop != "" || a.over):
		return nil, intercept.NotUnderstood("a call is after the reason why the message stopped, or after [DONE]")
	case o.role == roleCall && a.skipped:
		return nil, intercept.NotUnderstood("a call is after a block that some clients skip or count twice, and they go by its place")
	case o.role == roleHosted && a.impersonates(o):
		return nil, intercept.NotUnderstood("a tool of the agent's own is called as if the provider ran it")
	case len(a.blocks) == maxBlocks:
		return nil, intercept.NotUnderstood("it has more than %d blocks", maxBlocks)
	}
	b := newBlock(o, index, a.attempt)
	if same := a.find(index); same != nil {
		if same.call != nil && same.call.begun() {
			return nil, errOdd() // some clients add to the call what is of the new block
		}
		b.doubt(doubtShared)
		same.doubt(doubtShared)
	}
	if b.call != nil {
		b.call.extras, b.call.uniform = a.extras(gjson.Parse(o.raw), o.name)
		if err := a.enlist(b); err != nil {
			return nil, err
		}
	}
	a.irregular = a.irregular || index != a.opened
	a.opened++
	a.blocks = append(a.blocks, b)
	return b, a.hear(len(o.raw))
}

// impersonates reports whether a block says of a tool of the agent's own that the
// provider runs it. A hosted MCP server may have one of the same name.
func (a *answer) impersonates(o *opening) bool {
	_, own := a.req.Tool(o.name)
	return own && (gjson.Get(o.raw, "type").Str == "server_tool_use" || len(a.req.Hosted()) == 0)
}

// enlist compares a new call with those before it.
func (a *answer) enlist(b *block) error {
	calls := 0
	for _, other := range a.blocks {
		if other.call == nil {
			continue
		}
		if calls++; b.call.id != "" && other.call.id == b.call.id {
			b.call.suspect(intercept.DoubtSharedID)
			other.call.suspect(intercept.DoubtSharedID)
		}
	}
	if calls >= maxCalls {
		return intercept.NotUnderstood("it has more than %d calls", maxCalls)
	}
	return nil
}

// learn notes what a message says of itself at its start or end.
func (a *answer) learn(m *message) {
	if m.usage != "" {
		a.usage = overlay(a.usage, m.usage)
	}
	if m.stop != "" {
		a.stop = strings.Clone(m.stop)
	}
	if m.container != "" {
		a.container = strings.Clone(m.container)
	}
}
