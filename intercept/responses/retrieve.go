package responses

import (
	"github.com/heldcall/heldcall/intercept/responses/history"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// recall applies rulings that were made when somebody asked for the same response
// before.
func (a *answer) recall() {
	for _, it := range a.calls() {
		if r, ok := a.req.Known.Rulings[it.mark()]; ok && !it.Passed() {
			it.Rule(r)
			it.recalled = true
		}
	}
	if a.req.Verb == history.Cancel && len(a.req.Known.Chain) > 1 {
		a.head.ID, a.moved = strictjson.Quote(a.req.ID), true
		a.head.Previous = "null" // not the part before, which is the same answer to the agent
	}
}
