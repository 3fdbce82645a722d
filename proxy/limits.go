package proxy

// maxCounts bounds the turns, runs and principals whose calls are counted for rules
// with a limit: some 200 bytes each.
const maxCounts = 50_000

// limit counts a call for the limits of the rules that let it pass or ask about it.
// One that is too many gets the verdict that the rules have for it whose limits it
// exceeds, where that is the stricter one.
func (x *exchange) limit(h *hearing) {
	charge, over := x.p.counter.Take(h.verdict.Limits)
	if over == nil {
		h.charge = charge
		return
	}
	h.verdict = h.verdict.Beyond(over)
}

// spend makes final what the calls of the turn have used up of limits: those that
// are denied have not.
func (d *docket) spend() {
	for _, h := range d.cases {
		if !h.released() {
			h.charge.Return()
		}
		h.charge.Keep()
	}
}

// unspend gives it all back, of a turn of which nothing is released.
func (d *docket) unspend() {
	for _, h := range d.cases {
		h.charge.Return()
	}
}
