package proxy

import (
	"slices"

	"github.com/heldcall/heldcall/intercept"
)

// onceID is the id of what says that something was used, of which there is one a
// key.
const onceID = "once"

// uses is what a request uses of what only one may.
type uses struct {
	records [][]byte // all that is known of hidden turns
	taken   []string // the keys under which this request has taken something
}

func (id *identity) onceKey(spending string) string { return id.key("once", spending) }

// spend takes for this request what only one may use, before it is sent, on
// whatever replica. Without what another request has used it is made anew.
func (x *exchange) spend() *intercept.Error {
	spends := x.req.Spends()
	if len(spends) == 0 {
		return nil
	}
	known := slices.Clip(x.uses.records)
	for _, once := range spends {
		key := x.identity().onceKey(once.ID)
		switch taken, err := x.p.options.Turns.TakeTurn(x.ctx, key, onceID, once.Record); {
		case err != nil:
			x.p.metrics.storeErrors.WithLabelValues("turns").Inc()
			x.giveBack()
			return x.storeError(err)
		case taken:
			x.uses.taken = append(x.uses.taken, key)
		default:
			known = append(known, once.Record)
		}
	}
	if len(known) == len(x.uses.records) {
		return nil
	}
	again, err := x.route.Dialect.Request(x.envelope())
	if err != nil {
		return asError(err, intercept.CodeBadRequest)
	}
	again.Splice(known)
	x.req = again
	return x.judgeOffer(x.req)
}

// giveBack lets another request use what this one has taken, because upstream has
// not taken the request.
func (x *exchange) giveBack() {
	for _, key := range x.uses.taken {
		if err := x.p.options.Turns.DropTurn(x.ctx, key, onceID); err != nil {
			x.p.metrics.storeErrors.WithLabelValues("turns").Inc()
			x.p.log.Warn("cannot restore an approval that was not used; the call needs a new one", "turn", x.turn, "error", err)
		}
	}
	x.uses.taken = nil
}
