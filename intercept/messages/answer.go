package messages

import (
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/sse"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

const (
	maxBlocks = 2048
	maxCalls  = 512
	maxFields = 16 // of a block that come in pieces
)

// answer implements [intercept.Codec].
type answer struct {
	req    *request
	limits intercept.Limits
	body   []byte // the request that upstream is answering
	whole  bool   // the answer is one JSON value, no stream

	bodyState   // what is known of the current upstream body
	answerState // what earlier upstream bodies of the same answer contained
	batch       eventBatch
}

// bodyState is the state of one upstream body.
type bodyState struct {
	blocks    []*block
	attempt   int    // see [eventBatch.restart]
	joined    bool   // this attempt continues the message of the one before
	opened    int    // blocks that this attempt has opened
	misnumber bool   // blocks are not numbered as clients count them
	started   bool   // the message has begun
	named     bool   // some of its events have a name that is their type
	unnamed   bool   // some have none
	labelled  bool   // some have a name, whatever it is
	skipped   bool   // clients do not agree on how many blocks it has
	usage     string // of the message: that of its end, and what only its start has
	stop      string // the stop reason
	container string
	due       string // the stop reason that only its start has, while the agent has not got it
	done      bool   // the message has ended
	over      bool   // [DONE] was there
	failed    bool   // an error was reported inside
}

// answerState is what outlives a continuation.
type answerState struct {
	id, model     string // of the first message, raw
	begun         bool   // the start of the message has gone out
	continuations int
	base          int      // blocks of earlier bodies that the agent has got
	hidden        []string // messages of whole turns that the agent does not see
	seen          []piece  // the blocks of them that it has seen
	rendered      []string // the same, rendered, for a whole answer
	thinking      bool     // the last block of them is one of thinking
	text          string   // what the agent has read
	priorUsage    []byte   // of the bodies before
	noticed       bool     // the closing notice has gone out
}

func newAnswer(r *request, limits intercept.Limits) *answer {
	return &answer{req: r, limits: limits, body: r.Envelope().Body}
}

// Traits implements [intercept.Codec].
func (*answer) Traits() intercept.Traits { return intercept.Traits{} }

// Begin implements [intercept.Codec].
func (a *answer) Begin() {
	a.bodyState = bodyState{named: a.named, unnamed: a.unnamed, labelled: a.labelled, skipped: a.skipped}
}

// Close implements [intercept.Codec]. A stream may end after the end of the message
// if there are calls in it, otherwise also where the framing of the connection ends it.
func (a *answer) Close(framed, _ bool) error {
	ended := a.whole || a.done || a.failed || a.stop != ""
	switch {
	case !ended && (!framed || a.hasCalls()):
		return intercept.Cut()
	case a.continuations > 0 && !a.started && !a.failed:
		return intercept.EmptyContinuation()
	}
	return nil
}

// Calls implements [intercept.Codec].
func (a *answer) Calls() (list []*intercept.Unit) {
	for _, b := range a.blocks {
		if b.call != nil {
			list = append(list, &b.Unit)
		}
	}
	return list
}

func (a *answer) hasCalls() bool {
	for _, b := range a.blocks {
		if b.call != nil {
			return true
		}
	}
	return false
}

// Judge implements [intercept.Codec].
func (a *answer) Judge(u *intercept.Unit) {
	b := blockOf(u)
	b.judge()
	if !b.ended {
		b.AddAmbiguity(doubtOpenEnd)
	}
	if a.mixed() {
		b.AddAmbiguity(doubtUnnamed)
	}
	if a.cut() && b == a.last() {
		b.AddAmbiguity(intercept.AmbiguousCut)
	}
}

// Call implements [intercept.Codec].
func (a *answer) Call(u *intercept.Unit) intercept.Call {
	c := blockOf(u).call
	return intercept.Call{ID: c.id, Name: c.name, Arguments: c.arguments(), Ambiguous: u.Ambiguities}
}

// mixed reports whether some events of the message have a name and some have
// none. The SDKs skip these.
func (a *answer) mixed() bool { return a.named && a.unnamed }

// cut reports whether the answer ended otherwise than by the model's will.
func (a *answer) cut() bool {
	switch a.stop {
	case "max_tokens", "model_context_window_exceeded", "refusal", "stop_sequence":
		return true
	}
	return false
}

// Text implements [intercept.Codec].
func (a *answer) Text() string { return a.text + strictjson.Paragraph(a.text, a.said()) }

// said is the model's text for the user in the current body.
func (a *answer) said() string {
	var b strings.Builder
	for _, block := range a.blocks {
		b.WriteString(block.text())
	}
	return b.String()
}

// Heartbeat implements [intercept.Codec]: the event ping, which the API sends
// itself and which all known clients tolerate anywhere.
func (*answer) Heartbeat(form intercept.Form, pulse intercept.Heartbeat) []byte {
	if form == intercept.FormWhole || pulse == intercept.HeartbeatComment {
		return nil
	}
	return appendEvent(nil, "ping", `{"type": "ping"}`)
}

// Fail implements [intercept.Codec].
func (*answer) Fail(dst []byte, e *intercept.Error, whole bool) []byte {
	if whole {
		return errorBody(e)
	}
	return appendEvent(dst, "error", string(errorBody(e)))
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

// open adds a block.
func (a *answer) open(p *intercept.Part, o *opening, index int) (*block, error) {
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
		if same.Begun() {
			return nil, same.Differ() // some clients add to the call what is of the new block
		}
		b.doubt(doubtShared)
		same.doubt(doubtShared)
	}
	if b.call != nil {
		var all bool
		b.call.extras, all = a.extras(gjson.Parse(o.raw), o.name)
		b.Odd = b.Odd || !all
		if err := a.enlist(b); err != nil {
			return nil, err
		}
		p.Open(&b.Unit)
	}
	a.misnumber = a.misnumber || index != a.opened
	a.opened++
	a.blocks = append(a.blocks, b)
	return b, p.Buffer(len(o.raw))
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
			b.MarkAmbiguous(intercept.AmbiguousID)
			other.MarkAmbiguous(intercept.AmbiguousID)
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
