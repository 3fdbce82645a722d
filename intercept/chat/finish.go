package chat

import (
	"fmt"
	"slices"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// Gateways give a finish reason early, or in every event. A choice ends with the last reason
// before the end of the stream: until then reasons are held. Text does not wait for them.

// ends reports whether the delta has a finish reason.
func (d *choiceDelta) ends() bool { return d.finish != "" }

// announces reports whether the finish reason of the delta announces calls.
func (d *choiceDelta) announces() bool {
	return d.finish == "tool_calls" || d.finish == "function_call"
}

// endsEarly reports whether a delta ends a choice that has no calls, so that calls may follow. A
// reason beside text passes with it, unless it announces calls.
func (p *eventBatch) endsEarly(d *choiceDelta) bool {
	return (d.announces() || (d.ends() && !d.speaks())) && len(p.body.known(d.index).calls()) == 0
}

// speaks reports whether the agent reads more in the delta than its finish reason and its calls.
func (d *choiceDelta) speaks() bool { return d.role || d.carries }

// mustSplit reports whether the part has text that may pass, and a finish reason that is held.
func (p *eventBatch) mustSplit() bool {
	if p.part.Last || len(p.chunks) != 1 || len(p.part.Payloads) != 1 || p.chunks[0].failed {
		return false
	}
	if !p.anyDelta((*choiceDelta).ends) || !p.anyDelta((*choiceDelta).speaks) || p.anyDelta(p.textWaits) {
		return false
	}
	return p.part.Held() || p.out.continuing || p.part.Left() || p.anyDelta(p.endsEarly)
}

// textWaits reports whether what the agent reads in a delta may not pass yet.
func (p *eventBatch) textWaits(d *choiceDelta) bool {
	c := p.body.known(d.index)
	return p.mayNameCall(d) || (p.part.Held() && (c.textHeld || (c.ordered && d.speaks() && !d.contents)))
}

// split takes the finish reasons and the usage out of the part. If these only repeat those that are held,
// the rest becomes the part, else the rest passes and they become the part.
func (p *eventBatch) split() error {
	c := p.chunks[0]
	patch := strictjson.Patch{JSON: c.raw}
	for i := range c.choices {
		if c.choices[i].ends() {
			patch.Set(fmt.Sprintf("choices.%d.finish_reason", i), "null")
		}
	}
	if c.usage != "" {
		patch.Delete("usage")
	}
	if patch.Err != nil {
		return fmt.Errorf("take the finish reason out of an event: %w", patch.Err)
	}
	w := &rewriter{body: p.body, out: p.out, plan: &intercept.Plan{}}
	repeats := func(d choiceDelta) bool { return !d.ends() || d.finish == p.body.known(d.index).lastHeld }
	if c.usage == "" && !slices.ContainsFunc(c.choices, func(d choiceDelta) bool { return !repeats(d) }) {
		return p.replace(patch.JSON)
	}
	end := c.rest(&p.out.head, true)
	if err := p.replace(patch.JSON); err != nil {
		return err
	}
	if !p.out.continuing {
		p.part.Send([]intercept.Event{{Name: p.part.Name(), Data: patch.JSON}})
		for d := range p.deltas() {
			p.body.known(d.index).output.send(d)
		}
		return p.replace(end)
	}
	text, err := w.appendEvent(nil, patch.JSON)
	if err != nil {
		return err
	}
	p.part.Send(text)
	return p.replace(end)
}

// replace gives the part another payload, which was read before.
func (p *eventBatch) replace(payload string) error {
	c, err := decodeChunk(payload)
	if err != nil {
		return err
	}
	p.chunks[0] = c
	p.part.Replace(payload)
	return nil
}

// superseded counts a held finish reason of the choice that is rewritten, and reports whether
// another one of it follows.
func (c *choice) superseded() bool {
	c.reasons--
	return c.reasons > 0
}
