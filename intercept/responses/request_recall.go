package responses

import (
	"net/url"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
)

// memory is what was remembered of the answers that a request continues or asks for.
type memory struct {
	alias     string                      // the agent's previous_response_id, where upstream knows it by another id
	delivered []string                    // see [answerRecord]
	chain     []string                    // upstream's ids of the parts of the response that is asked for
	rulings   map[string]intercept.Ruling // on its calls, by fingerprint
	hidden    map[string]bool             // items that Splice added, by identity
	spends    []intercept.OneTimeApproval
}

// recall takes the records of a response: the rulings on its calls, and how upstream
// continued it. It returns the number of those records.
func (k *memory) recall(records []*answerRecord, id string) (found int) {
	k.rulings = make(map[string]intercept.Ruling)
	for _, rec := range records {
		if rec.Response != id {
			continue
		}
		found++
		for _, c := range rec.Ruled {
			k.rulings[c.Call] = intercept.Ruling{Action: c.Action, Arguments: c.Arguments, ModelMessage: c.ModelMessage}
		}
		if len(rec.Chain) > len(k.chain) {
			k.chain = rec.Chain
		}
	}
	return found
}

// following is the response by which upstream continued another one, "" for none.
func (k *memory) following(id string) string {
	if position := slices.Index(k.chain, id); position >= 0 && position+1 < len(k.chain) {
		return k.chain[position+1]
	}
	return ""
}

// Continued implements [intercept.Request].
func (r *request) Continued(part string) bool { return r.memory.following(part) != "" }

// hidesItem reports whether an item is one that Splice added.
func (k *memory) hidesItem(e *entry) bool {
	return len(k.hidden) > 0 && k.hidden[identityOf(gjson.Parse(e.raw))]
}

// brought reports whether an item is in the request's own input.
func (r *request) brought(e *entry) bool {
	identity := identityOf(gjson.Parse(e.raw))
	return r.input.has(identity) && !r.memory.hidden[identity]
}

// Before implements [intercept.Request]: upstream deletes the parts that heldcall
// continued together with the response.
func (r *request) Before() (list []intercept.Envelope) {
	if r.operation != opDelete {
		return nil
	}
	for _, part := range r.memory.chain {
		if part != "" && part != r.id {
			e := withID(r.outgoing, part, "")
			e.Body = nil
			list = append(list, e)
		}
	}
	return list
}

// withID is the request for a response with another one's id in its path, which ends in
// suffix.
func withID(e intercept.Envelope, id, suffix string) intercept.Envelope {
	if head, old, ok := identifiedRoute(strings.TrimSuffix(e.Path, suffix)); ok {
		e.Path = head[:len(head)-len(old)] + url.PathEscape(id) + suffix
	}
	return e
}
