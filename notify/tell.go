package notify

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

const (
	// busyPause is the wait for a card that somebody else has in hand.
	busyPause = 100 * time.Millisecond
	// gatherPause is how long a crowd gathers that is told late.
	gatherPause = 250 * time.Millisecond
	// giveUp is how long a delivery is tried again.
	giveUp = 24 * time.Hour
	// siblings is how many requests of a run are read at a time in search of those
	// that were asked about together.
	siblings = 32
)

// keepTelling takes item after item until the context ends. Deliveries have a
// context of their own.
func (r *runner) keepTelling(ctx, work context.Context) {
	for ctx.Err() == nil {
		it, wait := r.queue.next(time.Now())
		if it != nil {
			r.tend(work, it)
			continue
		}
		select {
		case <-ctx.Done():
		case <-r.queue.wake:
		case <-time.After(wait):
		}
	}
}

// tend tells what there is of an item, and says when to look at it again.
func (r *runner) tend(ctx context.Context, it *item) {
	if it.crowd != nil {
		r.tellCrowd(ctx, it)
		return
	}
	ids, events := r.queue.snapshot(it)
	waits, err := r.tell(ctx, it, ids, events)
	switch {
	case err != nil:
		r.failed(it, events, err)
	case waits != nil:
		r.queue.join(it, waits.target, waits.at)
	default:
		r.done(it, events)
	}
}

// done lets go of an item whose events have been told.
func (r *runner) done(it *item, events []approvals.Event) {
	for _, m := range r.queue.finish(it, events) {
		m.Done()
	}
}

// failed says when an item is tried again.
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
		r.queue.rest(at)
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

// waiting says that an item waits to be posted together with others.
type waiting struct {
	target string
	at     time.Time
}

// tell brings the card of an item up to date wherever it is posted, and posts it
// where routes lead now.
func (r *runner) tell(ctx context.Context, it *item, ids []string, events []approvals.Event) (*waiting, error) {
	release, err := r.take(it.key)
	if err != nil {
		return nil, err
	}
	defer release()
	h, requests, err := r.read(ctx, it.key, ids)
	if err != nil || len(requests) == 0 { // retention has removed them
		return nil, err
	}
	waits := r.place(it, h, requests)
	var failed []error
	for _, within := range r.within(h) {
		exists, err := r.bringGroup(ctx, within)
		if err == nil && !exists { // its maker died before it was made: as if it had never been meant to
			h.Posts = slices.DeleteFunc(h.Posts, func(p post) bool { return p.Within == within })
			err = errors.Join(r.save(ctx, h), errBusy)
		}
		failed = append(failed, err)
	}
	failed = append(failed, r.bring(ctx, h, requests, events))
	return waits, errors.Join(failed...)
}

// place notes in the record where a card is to be posted too. It returns where that
// must wait for others.
func (r *runner) place(it *item, h *held, requests []approvals.Request) *waiting {
	now := time.Now()
	v := r.verdict(requests, now, it.tick)
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
		case !it.tick.IsZero() && !r.EachEvent, r.queue.crowded(target):
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

// verdict is what the channel itself says of a card, or else routes.
func (r *runner) verdict(requests []approvals.Request, now, tick time.Time) verdict {
	chooser, chooses := r.Channel.(Chooser)
	switch {
	case !chooses:
		return r.routes.of(r.name, requests, now, tick)
	case chooser.Wants(requests):
		return verdict{targets: []string{""}}
	}
	return verdict{}
}

// within are the keys of the cards that show the requests in place of this one.
func (r *runner) within(h *held) []string {
	var keys []string
	for i := range h.Posts {
		if key := h.Posts[i].Within; key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// take keeps other workers of this process from a card.
func (r *runner) take(key string) (release func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.inHand[key] {
		return nil, errBusy
	}
	r.inHand[key] = true
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.inHand, key)
	}, nil
}

// read reads the record of a card, and its requests as they stand: those recorded,
// those named, and those that the model asked for together with them.
func (r *runner) read(ctx context.Context, key string, ids []string) (*held, []approvals.Request, error) {
	h, err := r.load(ctx, key)
	if err != nil {
		return nil, nil, err
	}
	if c := h.Claim; c != nil && c.By != r.replica && time.Now().Before(c.Until) {
		return nil, nil, errBusy
	}
	var requests []approvals.Request
	seen := map[string]bool{}
	add := func(q approvals.Request) {
		if !seen[q.ID] {
			seen[q.ID] = true
			requests = append(requests, q)
		}
	}
	for _, id := range append(ids, h.Requests...) {
		if seen[id] {
			continue
		}
		q, err := r.requests.Request(ctx, id)
		if errors.Is(err, approvals.ErrUnknownRequest) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		add(q)
	}
	if h.revision == 0 && len(requests) > 0 {
		if err := r.addSiblings(ctx, key, requests[0], add); err != nil {
			return nil, nil, err
		}
	}
	slices.SortFunc(requests, func(a, b approvals.Request) int { return strings.Compare(a.ID, b.ID) })
	return h, requests, nil
}

// addSiblings adds the requests that have the same card. Ids are in the order of
// time, so they stand together in the list of their run.
func (r *runner) addSiblings(ctx context.Context, key string, q approvals.Request, add func(approvals.Request)) error {
	if key == q.ID { // a card of its own
		return nil
	}
	filter := approvals.Filter{RunID: q.RunID, Limit: siblings, Cursor: q.ID[:10] + strings.Repeat("Z", len(q.ID)-10)}
	for {
		page, err := r.requests.Requests(ctx, filter)
		if err != nil {
			return err
		}
		for _, other := range page.Items {
			if r.keyOf(other.ID, other.TurnID) == key {
				add(other)
			} else if other.ID[:10] < q.ID[:10] {
				return nil
			}
		}
		if filter.Cursor = page.NextCursor; filter.Cursor == "" {
			return nil
		}
	}
}

// over reports whether nobody need be told of the requests as new.
func over(requests []approvals.Request) bool {
	return !slices.ContainsFunc(requests, func(q approvals.Request) bool { return !q.Status.Final() })
}
