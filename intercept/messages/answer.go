package messages

import (
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/sse"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// answer implements [intercept.Codec].
type answer struct {
	req     *request
	limits  intercept.Limits
	body    body     // the current upstream body
	earlier earlier  // the upstream bodies before it
	next    *earlier // with the current one, if another follows
	output  output   // what the agent has got besides blocks
}

func newAnswer(r *request, limits intercept.Limits) *answer {
	return &answer{req: r, limits: limits, earlier: earlier{request: r.Envelope().Body}}
}

// Begin implements [intercept.Codec].
func (a *answer) Begin() intercept.Traits {
	if a.next != nil {
		a.earlier, a.next = *a.next, nil
	}
	a.output.stop = ""
	a.body = body{
		req: a.req, number: a.earlier.count, style: a.body.style,
		blocks: blockList{turnID: a.limits.TurnID, firstID: 2 * a.earlier.count * maxBlocks, base: len(a.earlier.pieces)},
	}
	return intercept.Traits{}
}

// Read implements [intercept.Codec].
func (a *answer) Read(part *intercept.Part) error {
	if part.Whole {
		return a.body.readWhole(part)
	}
	return a.body.read(part)
}

// Close implements [intercept.Codec].
func (a *answer) Close(framed, _ bool) (contents intercept.Contents, err error) {
	switch p := &a.body.progress; {
	case !a.body.complete(framed):
		return contents, intercept.Cut()
	case a.earlier.count > 0 && !p.started && !p.failed:
		return contents, intercept.EmptyContinuation()
	}
	return intercept.Contents{Calls: a.body.blocks.calls(), Text: a.text}, nil
}

// Call implements [intercept.Codec].
func (a *answer) Call(u *intercept.Unit) intercept.Call {
	c := blockOf(u).call
	call := intercept.Call{ID: c.id, Name: c.tool(), Arguments: c.arguments(), Ambiguous: a.body.ambiguities(blockOf(u))}
	if program := c.program(); program != "" {
		call.Flags = append(call.Flags, intercept.FlagProgram(a.programCode(program)))
	}
	return call
}

// programCode is the input of the provider's tool that runs a program, by the id of its call: in the answer, or in the
// history that it continues. It is "" if it is in neither.
func (a *answer) programCode(id string) (code string) {
	find := func(block gjson.Result) bool {
		if block.Get("type").Str == "server_tool_use" && block.Get("id").Str == id {
			code = block.Get("input").Raw
			if text := block.Get("input.code"); text.Type == gjson.String {
				code = text.Str
			}
		}
		return code == ""
	}
	for _, b := range a.body.blocks.list {
		if b.role == roleHosted && !find(gjson.Parse(b.render(""))) {
			return code
		}
	}
	a.req.Value("messages").ForEach(func(_, m gjson.Result) bool {
		for _, block := range contentBlocks(m.Get("content")) {
			if !find(block) {
				return false
			}
		}
		return true
	})
	return code
}

// text is the text of the answer for the user.
func (a *answer) text() string {
	return a.earlier.text + strictjson.Paragraph(a.earlier.text, a.body.blocks.text())
}

// usage is the sum of all bodies, as JSON.
func (a *answer) usage() string {
	return string(strictjson.AddUsage(a.earlier.usage, []byte(a.body.progress.usage)))
}

// Disposed implements [intercept.Codec].
func (a *answer) Disposed(_ *intercept.Part, d intercept.Disposition) {
	if d != intercept.Sent {
		return
	}
	if !a.output.begun && a.body.progress.started {
		a.output.begun, a.output.id = true, strings.Clone(a.body.progress.id)
	}
	for _, b := range a.body.opens {
		b.shown = true
	}
}

// Heartbeat implements [intercept.Codec]: the event ping, which the API itself sends and
// which all known clients accept at any place.
func (*answer) Heartbeat(intercept.Heartbeat) []intercept.Event {
	return appendEvent(nil, "ping", `{"type": "ping"}`)
}

// Fail implements [intercept.Codec].
func (*answer) Fail(e *intercept.Error, _ bool) []intercept.Event {
	return appendEvent(nil, "error", string(errorBody(e)))
}

func appendEvent(list []intercept.Event, name, payload string) []intercept.Event {
	return append(list, intercept.Event{Name: name, Data: payload})
}

// upstreamBody renders events as upstream sends them.
func upstreamBody(events []intercept.Event) (out []byte) {
	for _, e := range events {
		out = sse.AppendData(out, e.Name, []byte(e.Data))
	}
	return out
}

// output records what the agent has got of the message besides its blocks.
type output struct {
	begun  bool   // the start of the message
	notice bool   // the closing notice
	id     string // of the message, raw
	stop   string // the stop reason that only the start of the message has, until the agent gets it
}

// earlier describes the upstream bodies before the current one.
type earlier struct {
	count     int      // how many
	denials   int      // how many of them with a denied call
	request   []byte   // the body of the request that upstream is answering
	id, model string   // of the first body that is one JSON value, raw
	chain     []string // the ids of the messages
	messages  []string
	pieces    []piece  // the blocks that the agent has got
	rendered  []string // these blocks, for a whole answer
	thinking  bool     // the last of them is thinking
	text      string
	usage     []byte
}

// add takes what the agent gets of a body, and the messages that answer its calls.
func (e *earlier) add(b *body, plan *intercept.Plan, messages []string) {
	if e.count == 0 && b.whole {
		e.id, e.model = strings.Clone(b.progress.id), strings.Clone(b.progress.model)
	}
	e.chain = append(e.chain, gjson.Parse(b.progress.id).Str)
	e.text += strictjson.Paragraph(e.text, b.blocks.text())
	e.usage = strictjson.AddUsage(e.usage, []byte(b.progress.usage))
	for _, block := range b.blocks.list {
		if !plan.Reaches(&block.Unit) {
			continue
		}
		raw := block.render("")
		e.pieces = append(e.pieces, piece{Key: blockKey(raw), Before: true})
		e.thinking = isThinking(raw)
		if b.whole {
			e.rendered = append(e.rendered, raw)
		}
	}
	e.messages = append(e.messages, messages...)
	if e.count++; intercept.Denies(b.blocks.calls()) {
		e.denials++
	}
}
