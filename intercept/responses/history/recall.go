package history

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
	Alias   string // the agent's previous_response_id, where upstream knows it by another id
	Told    []string
	hidden  map[string]bool // items that Splice added, by identity
	Chain   []string
	spends  []intercept.OneTimeApproval
	Rulings map[string]intercept.Ruling
}

// Following is the response by which upstream went on from another one.
func (k *knowledge) Following(id string) string {
	if at := slices.Index(k.Chain, id); at >= 0 && at+1 < len(k.Chain) {
		return k.Chain[at+1]
	}
	return ""
}

// HidesItem reports whether an item is one that Splice added.
func (k *knowledge) HidesItem(e *wire.Entry) bool {
	return len(k.hidden) > 0 && k.hidden[identity(gjson.Parse(e.Raw))]
}

// Brought reports whether an item is in the request's own input.
func (r *Request) Brought(e *wire.Entry) bool {
	if r.own == nil {
		r.own = make(map[string]bool)
		for _, item := range r.items() {
			r.own[identity(item)] = true
		}
	}
	own := identity(gjson.Parse(e.Raw))
	return r.own[own] && !r.Known.hidden[own]
}

// recall takes what is known of the response that the request asks for: what was
// ruled on its calls, and how upstream went on. A response is cancelled by the id
// of its last part, which is the one at work.
func (r *Request) recall(records []*Record) (found int) {
	r.Known.Rulings = make(map[string]intercept.Ruling)
	for _, rec := range records {
		if rec.Response != r.ID {
			continue
		}
		found++
		for _, c := range rec.Ruled {
			r.Known.Rulings[c.Call] = intercept.Ruling{Action: c.Fate, Arguments: c.Arguments, ModelMessage: c.Told}
		}
		if len(rec.Chain) > len(r.Known.Chain) {
			r.Known.Chain = rec.Chain
		}
	}
	if n := len(r.Known.Chain); r.Verb == Cancel && n > 1 {
		if head, id, ok := Identified(strings.TrimSuffix(r.envelope.Path, Cancelling)); ok {
			r.envelope.Path = head[:len(head)-len(id)] + url.PathEscape(r.Known.Chain[n-1]) + Cancelling
		}
	}
	return found
}

// Before implements [intercept.Request]: with an answer go the parts in which
// upstream keeps what heldcall continued.
func (r *Request) Before() (list []intercept.Envelope) {
	head, id, ok := Identified(r.envelope.Path)
	if r.Verb != remove || !ok {
		return nil
	}
	for _, part := range r.Known.Chain {
		if part != "" && part != r.ID {
			e := r.envelope
			e.Path, e.Body = head[:len(head)-len(id)]+url.PathEscape(part), nil
			list = append(list, e)
		}
	}
	return list
}
