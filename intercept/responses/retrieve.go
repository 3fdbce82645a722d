package responses

import (
	"net/url"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/responses/wire"
	"github.com/tidwall/gjson"
)

// knowledge is what was remembered of what a request goes on from or asks for.
type knowledge struct {
	alias   string // the agent's previous_response_id, where upstream knows it by another id
	told    []string
	hidden  map[string]bool // items that Splice added, by identity
	chain   []string
	spends  []intercept.Spending
	rulings map[string]intercept.Ruling
}

// following is the response by which upstream went on from another one.
func (k *knowledge) following(id string) string {
	if at := slices.Index(k.chain, id); at >= 0 && at+1 < len(k.chain) {
		return k.chain[at+1]
	}
	return ""
}

// hides reports whether an item is one that Splice added.
func (k *knowledge) hides(e *wire.Entry) bool {
	return len(k.hidden) > 0 && k.hidden[identity(gjson.Parse(e.Raw))]
}

// brought reports whether an item stands in the request's own input.
func (r *request) brought(e *wire.Entry) bool {
	if r.own == nil {
		r.own = make(map[string]bool)
		for _, item := range r.items() {
			r.own[identity(item)] = true
		}
	}
	own := identity(gjson.Parse(e.Raw))
	return r.own[own] && !r.known.hidden[own]
}

// recall takes what is known of the response that the request asks for: what was
// ruled on its calls, and how upstream went on. A response is cancelled by the id
// of its last part, which is the one at work.
func (r *request) recall(records []*record) (found int) {
	r.known.rulings = make(map[string]intercept.Ruling)
	for _, rec := range records {
		if rec.Response != r.id {
			continue
		}
		found++
		for _, c := range rec.Ruled {
			r.known.rulings[c.Call] = intercept.Ruling{Fate: c.Fate, Arguments: c.Arguments, Told: c.Told}
		}
		if len(rec.Chain) > len(r.known.chain) {
			r.known.chain = rec.Chain
		}
	}
	if n := len(r.known.chain); r.verb == cancel && n > 1 {
		if head, id, ok := identified(strings.TrimSuffix(r.envelope.Path, cancelling)); ok {
			r.envelope.Path = head[:len(head)-len(id)] + url.PathEscape(r.known.chain[n-1]) + cancelling
		}
	}
	return found
}

// Before implements [intercept.Request]: with an answer go the parts in which
// upstream keeps what heldcall continued.
func (r *request) Before() (list []intercept.Envelope) {
	head, id, ok := identified(r.envelope.Path)
	if r.verb != remove || !ok {
		return nil
	}
	for _, part := range r.known.chain {
		if part != "" && part != r.id {
			e := r.envelope
			e.Path, e.Body = head[:len(head)-len(id)]+url.PathEscape(part), nil
			list = append(list, e)
		}
	}
	return list
}

// recall applies rulings that were made when somebody asked for the same response
// before.
func (a *answer) recall() {
	for _, it := range a.calls() {
		if r, ok := a.req.known.rulings[it.mark()]; ok && !it.Passed() {
			it.Rule(r)
			it.recalled = true
		}
	}
	if a.req.verb == cancel && len(a.req.known.chain) > 1 {
		a.head.ID, a.moved = intercept.Quote(a.req.id), true
		a.head.Previous = "null" // not the part before, which is the same answer to the agent
	}
}
