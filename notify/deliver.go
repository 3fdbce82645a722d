package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"github.com/heldcall/heldcall/approvals"
)

const (
	// attemptTimeout bounds one attempt at a delivery.
	attemptTimeout = 15 * time.Second
	// lease is how long a replica may take for a delivery: if it dies, another delivers
	// the card after that.
	lease = time.Minute
	// recordTimeout bounds the write of the record after a delivery.
	recordTimeout = 10 * time.Second
)

type deliverer struct {
	channel *channel
	cards   *cards
	threads *threads
	queue   *queue
	rate    *rate.Limiter
}

// deliver posts a card wherever it is not posted yet, and updates it where it is. The
// record is written before the first attempt and after the last.
func (d *deliverer) deliver(ctx context.Context, rec *record, requests []approvals.Request, events []approvals.Event) error {
	var due []*post
	tried := map[*post]bool{}
	for i := range rec.Posts {
		if p := &rec.Posts[i]; d.isDue(p, requests, events) {
			tried[p] = p.Trying
			due = append(due, p)
		}
	}
	if len(due) == 0 {
		return nil
	}
	now := time.Now().UTC()
	rec.show(requests)
	for _, p := range due {
		if p.Ref == "" {
			p.Trying = true
			if p.Since.IsZero() {
				p.Since = now
			}
		}
	}
	if err := d.cards.claim(ctx, rec, now); err != nil {
		return err
	}
	var failed []error
	for i, p := range due {
		if i > 0 { // each delivery has the whole lease
			if err := d.cards.claim(ctx, rec, time.Now().UTC()); err != nil {
				return errors.Join(append(failed, err)...)
			}
		}
		failed = append(failed, d.deliverTo(ctx, rec, p, requests, events, tried[p]))
	}
	rec.Claim = nil
	record, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	return errors.Join(append(failed, d.cards.save(record, rec))...)
}

func (d *deliverer) isDue(p *post, requests []approvals.Request, events []approvals.Event) bool {
	_, updates := d.channel.setup.Channel.(Updater)
	switch {
	case p.Failed || p.Within != "" || d.channel.faults.refuses(p.Target, p.Refused):
		return false
	case d.channel.setup.EachEvent:
		return len(undelivered(p, requests, events)) > 0 && (p.Ref == "" || updates)
	case p.Ref == "":
		return true
	}
	return updates && p.Shown != contentDigest(requests)
}

// undelivered returns the events that a machine has still to get at a target. That a
// request has begun is left out after it has ended.
func undelivered(p *post, requests []approvals.Request, events []approvals.Event) []approvals.Event {
	return slices.DeleteFunc(slices.Clone(events), func(e approvals.Event) bool {
		return slices.Contains(p.Told, e.ID) || (e.Type == approvals.EventApprovalRequired && AllEnded(requests))
	})
}

// deliverTo makes one delivery and notes its result in the record. tried reports whether
// an attempt before may have posted the card.
func (d *deliverer) deliverTo(ctx context.Context, rec *record, p *post, requests []approvals.Request, events []approvals.Event, tried bool) error {
	delivery := Delivery{ID: rec.key, Target: p.Target, Requests: requests, Events: events, Grouped: rec.Grouped, Since: p.Since}
	if p.Target != "" {
		delivery.ID += "@" + p.Target
	}
	if d.channel.setup.EachEvent {
		delivery.Events = undelivered(p, requests, events)
	}
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	if err := d.rate.Wait(ctx); err != nil {
		p.Trying = tried
		return RetryAfter(errors.New("the limit of the channel's rate is reached"), time.Second)
	}
	outcome, err := d.attempt(ctx, p, delivery, tried)
	var setup *SetupError
	var permanent *PermanentError
	var after *RetryAfterError
	switch {
	case errors.As(err, &setup):
		p.Trying, p.Refused = false, time.Now().UTC()
		d.channel.metrics.count(outcomeRefused)
		if d.channel.faults.note(p.Target, err) {
			d.channel.log.Error("the channel cannot post until its setup is corrected", "target", p.Target, "error", setup.Err, "todo", setup.Todo)
		}
		return nil
	case errors.As(err, &permanent):
		p.Trying, p.Failed = false, p.Ref == "" && !d.channel.setup.EachEvent
		outcome = outcomeRefused
		d.channel.log.Error("a card was refused; giving up", "card", delivery.ID, "error", err)
	case errors.As(err, &after):
		p.Trying = tried && p.Ref == "" // nothing has been posted by this attempt, or part of it
		return err
	case err != nil:
		if outcome != "" {
			d.channel.metrics.count(outcome)
		}
		return err
	}
	d.delivered(p, delivery, outcome)
	return nil
}

// delivered notes that a delivery needs no other attempt.
func (d *deliverer) delivered(p *post, delivery Delivery, outcome string) {
	d.channel.metrics.count(outcome)
	if outcome != outcomeOver {
		d.queue.taken()
	}
	if outcome == outcomePosted || outcome == outcomeUpdated {
		d.channel.faults.end(p.Target)
	}
	p.Shown = contentDigest(delivery.Requests)
	if d.channel.setup.EachEvent {
		for i := range delivery.Events {
			p.Told = append(p.Told, delivery.Events[i].ID)
		}
	}
}

// attempt posts or updates once. The outcome is "" where nothing was posted or updated.
func (d *deliverer) attempt(ctx context.Context, p *post, delivery Delivery, tried bool) (outcome string, err error) {
	if p.Ref == "" && tried {
		if err := d.find(ctx, p, delivery); err != nil {
			return "", err
		}
	}
	switch {
	case p.Ref != "":
		return d.update(ctx, p, delivery)
	case AllEnded(delivery.Requests) && !d.channel.setup.EachEvent:
		p.Failed, p.Trying = true, false
		return outcomeOver, nil
	}
	return d.post(ctx, p, delivery)
}

// find asks the channel for a post of an attempt whose result is unknown.
func (d *deliverer) find(ctx context.Context, p *post, delivery Delivery) error {
	finder, ok := d.channel.setup.Channel.(Finder)
	if !ok {
		return nil
	}
	ref, found, err := finder.Find(ctx, delivery)
	if err == nil && found {
		p.Ref, p.Trying = ref, false
	}
	return err
}

func (d *deliverer) update(ctx context.Context, p *post, delivery Delivery) (outcome string, err error) {
	if updater, ok := d.channel.setup.Channel.(Updater); ok {
		ref, err := updater.Update(ctx, delivery, p.Ref)
		if ref != "" {
			p.Ref = ref
		}
		if err != nil {
			return "", err
		}
	}
	return outcomeUpdated, nil
}

func (d *deliverer) post(ctx context.Context, p *post, delivery Delivery) (outcome string, err error) {
	if delivery.Thread, err = d.threads.first(ctx, delivery); err != nil {
		return "", RetryAfter(err, pause(1)) // nothing has been posted
	}
	ref, err := d.channel.setup.Channel.Post(ctx, delivery)
	if err != nil && ref == "" {
		return "", err
	}
	p.Ref, p.Trying = ref, false
	for i := range delivery.Requests {
		d.channel.metrics.latency.Observe(time.Since(delivery.Requests[i].CreatedAt).Seconds())
	}
	d.threads.begin(ctx, delivery, ref)
	return outcomePosted, err // an error: an update does the rest
}

func timeOf(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// contentDigest is a digest of the content of a card that can change: the states of its
// requests.
func contentDigest(requests []approvals.Request) string {
	h := sha256.New()
	for i := range requests {
		q := &requests[i]
		fmt.Fprintf(h, "%s %s %d %q\n", q.ID, q.Status, len(q.Decisions), q.Reviewers)
		if q.Agent != nil && q.Agent.State != approvals.AgentAttached {
			fmt.Fprintln(h, q.AgentNote(timeOf))
		}
		if len(q.Demands) > 0 { // one may escalate to groups that another has
			fmt.Fprintf(h, "%d\n", q.EscalatedAt().UnixMilli())
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
