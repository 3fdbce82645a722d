package notify

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// gatherPause is how long items gather that are announced late.
const gatherPause = 250 * time.Millisecond

type placer struct {
	channel *channel
	routes  *atomic.Pointer[Routes]
	queue   *queue
	limit   *cardLimit
}

// batching is where and when an item is posted together with others.
type batching struct {
	batchKey
	at time.Time
}

// place adds the targets of a card to its record. It returns where that must wait for
// others, nil if nowhere.
func (p *placer) place(it *item, rec *record, requests []approvals.Request) *batching {
	now := time.Now()
	routed := p.route(requests, now, it.tick)
	if len(rec.Posts) == 0 && len(routed.targets) == 0 {
		p.countUnsent(requests, routed)
	}
	var waits *batching
	for _, target := range routed.targets {
		if rec.at(target) != nil {
			continue
		}
		if others := p.admit(it, target, requests, now); others == nil {
			rec.Posts = append(rec.Posts, post{Target: target})
		} else if waits == nil {
			waits = others
		}
	}
	return waits
}

// route asks the channel itself for the targets of a card, or else the routes.
func (p *placer) route(requests []approvals.Request, now, tick time.Time) routing {
	chooser, chooses := p.channel.setup.Channel.(Chooser)
	switch {
	case !chooses:
		return p.routes.Load().of(p.channel.setup.Name, requests, now, tick)
	case chooser.Wants(requests):
		return routing{targets: []string{""}}
	}
	return routing{}
}

// admit takes the right to post a card of its own now, or returns which others it waits for.
func (p *placer) admit(it *item, target string, requests []approvals.Request, now time.Time) *batching {
	_, alone := it.alone[target]
	if alone || (AllEnded(requests) && !p.channel.setup.EachEvent) { // ended: nothing is posted
		return nil
	}
	beyond := batchKey{target: target}
	late := !it.tick.IsZero() && !p.channel.setup.EachEvent
	if late || p.queue.hasBatch(beyond) {
		return &batching{beyond, now.Add(gatherPause)}
	}
	if run := p.gathers(it, target, requests); run != "" {
		return &batching{batchKey{target, run}, p.gathered(requests[0].CreatedAt, now)}
	}
	if at, admitted := p.limit.admit(target, now); !admitted {
		return &batching{beyond, at}
	}
	return nil
}

// gathers returns the run whose other requests a card waits for, "" if it does not.
func (p *placer) gathers(it *item, target string, requests []approvals.Request) string {
	first := &requests[0]
	_, waited := it.gathered[target]
	if p.channel.setup.Gather <= 0 || waited || first.RunID == "" {
		return ""
	}
	return fmt.Sprintf("%q %q %q", first.Principal, first.SessionID, first.RunID)
}

// gathered returns when the requests of a run have been gathered. A replica whose clock is ahead delays
// none for longer.
func (p *placer) gathered(first, now time.Time) time.Time {
	at := first.Add(p.channel.setup.Gather)
	if latest := now.Add(p.channel.setup.Gather); at.After(latest) {
		at = latest
	}
	if soonest := now.Add(gatherPause); at.Before(soonest) {
		at = soonest
	}
	return at
}

func (p *placer) countUnsent(requests []approvals.Request, routed routing) {
	switch {
	case AllEnded(requests):
		p.channel.metrics.count(outcomeOver)
	case routed.later:
		p.channel.metrics.count(outcomeLater)
	default:
		p.channel.metrics.count(outcomeUnsent)
	}
}
