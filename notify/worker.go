package notify

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

const (
	// busyPause is the wait for a card that another worker or replica has.
	busyPause = 100 * time.Millisecond
	// gatherPause is how long a group that is delivered late gathers.
	gatherPause = 250 * time.Millisecond
	// giveUp is how long a delivery is tried again.
	giveUp = 24 * time.Hour
)

// work takes item after item until ctx ends. Deliveries have the context work.
func (r *runner) work(ctx, work context.Context) {
	for ctx.Err() == nil {
		it, wait := r.queue.next(time.Now())
		if it != nil {
			r.process(work, it)
			continue
		}
		select {
		case <-ctx.Done():
		case <-r.queue.wake:
		case <-time.After(wait):
		}
	}
}

// process brings the card of an item up to date, and returns the item to the queue if
// that is not all.
func (r *runner) process(ctx context.Context, it *item) {
	if it.group != nil {
		r.processGroup(ctx, it)
		return
	}
	ids, events := r.queue.snapshot(it)
	waits, err := r.processCard(ctx, it, ids, events)
	switch {
	case err != nil:
		r.failed(it, events, err)
	case waits != nil:
		r.queue.join(it, waits.target, waits.at)
	default:
		r.done(it, events)
	}
}

// done releases an item whose events have been delivered.
func (r *runner) done(it *item, events []approvals.Event) {
	for _, m := range r.queue.finish(it, events) {
		m.Done()
	}
}

// failed sets when an item is tried again.
func (r *runner) failed(it *item, events []approvals.Event, err error) {
	if errors.Is(err, errBusy) {
		r.queue.later(it, time.Now().Add(busyPause))
		return
	}
	it.attempts++
	var after *RetryAfterError
	var permanent *PermanentError
	switch {
	case errors.As(err, &permanent), time.Since(it.since) > giveUp:
		r.metrics.count(outcomeRefused)
		r.log.Error("a card cannot be brought up to date; it is left as it is", "card", it.key, "error", err)
		r.done(it, events)
		return
	case errors.As(err, &after):
		at := time.Now().Add(bounded(after.After, it.attempts))
		r.queue.pause(at)
		r.queue.later(it, at)
	default:
		r.queue.later(it, time.Now().Add(pause(it.attempts)))
	}
	r.metrics.count(outcomeFailed)
	r.metrics.retries.Inc()
	if it.attempts == 1 || it.attempts%10 == 0 {
		r.log.Warn("a delivery has failed and is tried again", "card", it.key, "attempts", it.attempts, "error", err)
	}
}

// waiting is where and until when an item waits to be posted together with others.
type waiting struct {
	target string
	at     time.Time
}

// processCard brings the card of an item up to date at its targets, and posts it at
// those that routes add now.
func (r *runner) processCard(ctx context.Context, it *item, ids []string, events []approvals.Event) (*waiting, error) {
	release, err := r.cards.take(it.key)
	if err != nil {
		return nil, err
	}
	defer release()
	h, requests, err := r.cards.read(ctx, it.key, ids)
	if err != nil || len(requests) == 0 { // retention has removed them
		return nil, err
	}
	waits := r.place(it, h, requests)
	var failed []error
	for _, within := range r.within(h) {
		exists, err := r.updateGroup(ctx, within)
		if err == nil && !exists { // its maker died before it was made: as if it had never been meant to
			h.Posts = slices.DeleteFunc(h.Posts, func(p post) bool { return p.Within == within })
			err = errors.Join(r.cards.save(ctx, h), errBusy)
		}
		failed = append(failed, err)
	}
	failed = append(failed, r.sender.deliver(ctx, h, requests, events))
	return waits, errors.Join(failed...)
}

// place adds to the record the targets at which a card is to be posted too. It returns
// the target at which that has to wait for others.
func (r *runner) place(it *item, h *cardRecord, requests []approvals.Request) *waiting {
	now := time.Now()
	v := r.route(requests, now, it.tick)
	if len(h.Posts) == 0 && len(v.targets) == 0 {
		switch {
		case over(requests):
			r.metrics.count(outcomeOver)
		case v.later:
			r.metrics.count(outcomeLater)
		default:
			r.metrics.count(outcomeUnsent)
		}
	}
	var waits *waiting
	for _, target := range v.targets {
		if h.at(target) != nil {
			continue
		}
		_, alone := it.alone[target]
		at, admitted := now.Add(gatherPause), alone
		switch {
		case alone:
		case !it.tick.IsZero() && !r.setup.EachEvent, r.queue.groupWaits(target):
		default:
			at, admitted = r.traffic.admit(target, now)
		}
		if admitted {
			h.Posts = append(h.Posts, post{Target: target})
		} else if waits == nil {
			waits = &waiting{target, at}
		}
	}
	return waits
}

// route returns the targets of a card: by the channel itself, or else by routes.
func (r *runner) route(requests []approvals.Request, now, tick time.Time) routing {
	chooser, chooses := r.setup.Channel.(Chooser)
	switch {
	case !chooses:
		return r.routes.of(r.setup.Name, requests, now, tick)
	case chooser.Wants(requests):
		return routing{targets: []string{""}}
	}
	return routing{}
}

// within are the keys of the cards that show the requests in place of this one.
func (r *runner) within(h *cardRecord) []string {
	var keys []string
	for i := range h.Posts {
		if key := h.Posts[i].Within; key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// over reports whether all requests have ended.
func over(requests []approvals.Request) bool {
	return !slices.ContainsFunc(requests, func(q approvals.Request) bool { return !q.Status.Final() })
}
