package notify

import (
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// gatherPause is how long items gather that are announced late.
const gatherPause = 250 * time.Millisecond

type placer struct {
	channel *channel
	routes  Routes
	queue   *queue
	limit   *cardLimit
}

// batching is where and when an item is posted together with others.
type batching struct {
	target string
	at     time.Time
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
		at, admitted := p.admit(it, target, now)
		if admitted {
			rec.Posts = append(rec.Posts, post{Target: target})
		} else if waits == nil {
			waits = &batching{target, at}
		}
	}
	return waits
}

// route asks the channel itself for the targets of a card, or else the routes.
func (p *placer) route(requests []approvals.Request, now, tick time.Time) routing {
	chooser, chooses := p.channel.setup.Channel.(Chooser)
	switch {
	case !chooses:
		return p.routes.of(p.channel.setup.Name, requests, now, tick)
	case chooser.Wants(requests):
		return routing{targets: []string{""}}
	}
	return routing{}
}

// admit takes the right to post a card of its own now, or returns when it is posted
// together with others.
func (p *placer) admit(it *item, target string, now time.Time) (at time.Time, admitted bool) {
	if _, alone := it.alone[target]; alone {
		return now, true
	}
	late := !it.tick.IsZero() && !p.channel.setup.EachEvent
	if late || p.queue.hasBatch(target) {
		return now.Add(gatherPause), false
	}
	return p.limit.admit(target, now)
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
