package messages

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
)

// body reads one upstream body into its blocks.
type body struct {
	req      *request
	number   int  // in the answer, from 0
	whole    bool // it is one JSON value, not a stream
	joined   bool // the stream began again, and continues the message that the agent has begun to read
	released bool // a call has left, so that the agent has its numbers and not upstream's
	blocks   blockList
	style    style // of this body and those before
	progress progress

	// Of the part that was read last:
	part   *intercept.Part
	events []*event
	opens  []*block
	doneAt int // how many of the events precede [DONE], -1 if there is none
}

// progress is the state of the message besides its blocks.
type progress struct {
	started, done bool   // the message has begun, has ended
	over          bool   // [DONE] was read
	failed        bool   // it contains an error
	id, model     string // raw
	stop          string // the stop reason
	usage         string // that of the end, with the fields that only the start has
	container     string // the id of the provider's container, raw
}

// maxUsage bounds the usage of a message, which each event may extend by further names.
// That of a real message has a few hundred bytes.
const maxUsage = 16 << 10

// learn takes the fields of the start or the end of a message.
func (p *progress) learn(m *message) error {
	if m.usage != "" {
		p.usage = mergeUsage(p.usage, m.usage)
	}
	if len(p.usage) > maxUsage {
		return intercept.NotUnderstood("its usage has more than %d bytes", maxUsage)
	}
	if m.stop != "" {
		p.stop = strings.Clone(m.stop)
	}
	if m.container != "" {
		p.container = strings.Clone(m.container)
	}
	return nil
}

// mergeUsage returns the usage at the start of a message, updated by that at its end,
// which counts from the start. It reads each of the two once.
func mergeUsage(usage, later string) string {
	if usage == "" {
		return strings.Clone(later)
	}
	var fields []string
	updated := gjson.Parse(later).Map()
	gjson.Parse(usage).ForEach(func(k, v gjson.Result) bool {
		if next, ok := updated[k.Str]; ok && next.Type != gjson.Null {
			v = next
		}
		delete(updated, k.Str)
		fields = append(fields, k.Raw+":"+v.Raw)
		return true
	})
	gjson.Parse(later).ForEach(func(k, v gjson.Result) bool {
		if _, added := updated[k.Str]; added && v.Type != gjson.Null {
			fields = append(fields, k.Raw+":"+v.Raw)
		}
		return true
	})
	return "{" + strings.Join(fields, ",") + "}"
}

// stopped reports whether no call may follow.
func (p *progress) stopped() bool { return p.stop != "" || p.done || p.over }

// cut is why the message ended otherwise than by the model's will, "" if it did not.
func (p *progress) cut() string { return intercept.AmbiguousEnd(p.stop) }

// complete reports whether a body that has ended is complete. If it has calls, the
// message must have ended, otherwise the framing of the connection is enough.
func (b *body) complete(framed bool) bool {
	ended := b.whole || b.progress.done || b.progress.failed || b.progress.stop != ""
	return ended || (framed && len(b.blocks.calls()) == 0)
}

// ambiguities are those of a call if nothing of the body follows.
func (b *body) ambiguities(call *block) intercept.Ambiguities {
	list := slices.Clip(call.Ambiguities)
	if list.CheckArguments(call.call.arguments()); call.call.fragments.Halved() {
		list.AddAmbiguity(intercept.AmbiguousHalf)
	}
	if !call.ended {
		list.AddAmbiguity(ambiguousOpenEnd)
	}
	if b.style.mixed() {
		list.AddAmbiguity(ambiguousUnnamed)
	}
	if cut := b.progress.cut(); cut != "" && call == b.blocks.last() {
		list.AddAmbiguity(cut)
	}
	return list
}

// rewrites reports whether events have to change to belong to the message that the
// agent has begun to read.
func (b *body) rewrites() bool { return b.number > 0 || b.joined }

// readWhole reads a body that is one JSON value.
func (b *body) readWhole(part *intercept.Part) error {
	b.whole = true
	m, err := decodeWhole(string(part.Payloads[0]))
	if err != nil {
		return err
	}
	if m.failed && len(m.blocks) > 0 {
		return intercept.NotUnderstood("it reports an error and a message at once")
	}
	b.progress = progress{failed: m.failed, started: m.object, id: m.id, model: m.model}
	for i := range m.blocks {
		block, err := b.open(part, &m.blocks[i], i)
		if err != nil {
			return err
		}
		block.ended = true
	}
	return b.progress.learn(m)
}

// open adds a block.
func (b *body) open(part *intercept.Part, o *opening, index int) (*block, error) {
	if err := b.mayOpen(o); err != nil {
		return nil, err
	}
	if !b.whole { // an event is not kept
		o.raw = strings.Clone(o.raw)
	}
	block, err := b.blocks.add(o, index)
	if err != nil {
		return nil, err
	}
	if block.call != nil {
		block.call.extras = b.req.callExtras(gjson.Parse(o.raw), o.name)
		part.Open(&block.Unit)
	}
	return block, part.Buffer(len(o.raw))
}

// mayOpen refuses a block that must not follow.
func (b *body) mayOpen(o *opening) error {
	switch {
	case b.progress.done:
		return intercept.NotUnderstood("a block is after the end of the message")
	case o.role == roleCall && b.progress.stopped():
		return intercept.NotUnderstood("a call is after the reason why the message stopped, or after [DONE]")
	case o.role == roleCall && b.style.skipped:
		return intercept.NotUnderstood("a call is after a block that some clients skip or count twice, and they go by its place")
	case o.role == roleHosted && o.impersonates(b.req):
		return intercept.NotUnderstood("a tool of the agent's own is called as if the provider ran it")
	}
	return nil
}

// impersonates reports whether a block of a tool of the agent claims that the provider
// runs it. A hosted MCP server may have a tool of the same name.
func (o *opening) impersonates(req *request) bool {
	_, offered := req.Tool(o.name)
	return offered && (gjson.Get(o.raw, "type").Str == "server_tool_use" || len(req.Hosted()) == 0)
}
