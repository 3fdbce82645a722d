package history

import (
	"net/url"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/responses/wire"
	"github.com/tidwall/gjson"
)

// knowledge is what was remembered of the answers that a request continues or asks for.
type knowledge struct {
	Alias     string                      // the agent's previous_response_id, where upstream knows it by another id
	Delivered []string                    // see [Record]
	Chain     []string                    // upstream's ids of the parts of the response that is asked for
	Rulings   map[string]intercept.Ruling // on its calls, by fingerprint
	hidden    map[string]bool             // items that Splice added, by identity
	spends    []intercept.OneTimeApproval
}

// recall takes the records of a response: the rulings on its calls, and how upstream
// continued it. It returns the number of those records.
func (k *knowledge) recall(records []*Record, id string) (found int) {
	k.Rulings = make(map[string]intercept.Ruling)
	for _, rec := range records {
		if rec.Response != id {
			continue
		}
		found++
		for _, c := range rec.Ruled {
			k.Rulings[c.Call] = intercept.Ruling{Action: c.Action, Arguments: c.Arguments, ModelMessage: c.ModelMessage}
		}
		if len(rec.Chain) > len(k.Chain) {
			k.Chain = rec.Chain
		}
	}
	return found
}

// Following is the response by which upstream continued another one, "" for none.
func (k *knowledge) Following(id string) string {
	if at := slices.Index(k.Chain, id); at >= 0 && at+1 < len(k.Chain) {
		return k.Chain[at+1]
	}
	return ""
}

// HidesItem reports whether an item is one that Splice added.
func (k *knowledge) HidesItem(e *wire.Entry) bool {
	return len(k.hidden) > 0 && k.hidden[identityOf(gjson.Parse(e.Raw))]
}

// Brought reports whether an item is in the request's own input.
func (r *Request) Brought(e *wire.Entry) bool {
	identity := identityOf(gjson.Parse(e.Raw))
	return r.input.has(identity) && !r.Known.hidden[identity]
}

// Before implements [intercept.Request]: upstream deletes the parts that heldcall
// continued together with the response.
func (r *Request) Before() (list []intercept.Envelope) {
	if r.Operation != remove {
		return nil
	}
	for _, part := range r.Known.Chain {
		if part != "" && part != r.ID {
			e := withID(r.envelope, part, "")
			e.Body = nil
			list = append(list, e)
		}
	}
	return list
}

// withID is the request for a response with another one's id in its path, which ends in
// suffix.
func withID(e intercept.Envelope, id, suffix string) intercept.Envelope {
	if head, old, ok := Identified(strings.TrimSuffix(e.Path, suffix)); ok {
		e.Path = head[:len(head)-len(old)] + url.PathEscape(id) + suffix
	}
	return e
}
