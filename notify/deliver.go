package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"github.com/heldcall/heldcall/approvals"
)

const (
	// attemptTimeout bounds one attempt at a delivery.
	attemptTimeout = 15 * time.Second
	// lease is how long a replica has a card: if it dies, another takes the card then.
	lease = time.Minute
	// recordTimeout bounds the record of what was posted.
	recordTimeout = 10 * time.Second
)

// sender posts the cards of a channel and brings them up to date.
type sender struct {
	setup   Setup
	cards   *cards
	limit   *rate.Limiter
	log     *slog.Logger
	metrics channelMetrics
}

// deliver posts a card at the targets where it is not posted yet, and brings it up to
// date at the others. The first attempt is recorded before it begins, and the outcomes
// after the last.
func (s *sender) deliver(ctx context.Context, h *cardRecord, requests []approvals.Request, events []approvals.Event) error {
	var due []*post
	tried := map[*post]bool{}
	for i := range h.Posts {
		if p := &h.Posts[i]; s.isDue(p, requests, events) {
			tried[p] = p.Trying
			due = append(due, p)
		}
	}
	if len(due) == 0 {
		return nil
	}
	now := time.Now().UTC()
	h.Requests = h.Requests[:0]
	for i := range requests {
		h.Requests = append(h.Requests, requests[i].ID)
	}
	h.Claim = &claim{s.cards.replica, now.Add(lease)}
	for _, p := range due {
		if p.Ref == "" {
			p.Trying = true
			if p.Since.IsZero() {
				p.Since = now
			}
		}
	}
	if err := s.cards.save(ctx, h); err != nil {
		return err
	}
	var failed []error
	for i, p := range due {
		if i > 0 { // each delivery has the whole lease
			h.Claim.Until = time.Now().UTC().Add(lease)
			if err := s.cards.save(ctx, h); err != nil {
				return errors.Join(append(failed, err)...)
			}
		}
		failed = append(failed, s.deliverTo(ctx, h, p, requests, events, tried[p]))
	}
	h.Claim = nil
	record, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	return errors.Join(append(failed, s.cards.save(record, h))...)
}

// isDue reports whether a post has to be made or changed.
func (s *sender) isDue(p *post, requests []approvals.Request, events []approvals.Event) bool {
	_, updates := s.setup.Channel.(Updater)
	switch {
	case p.Failed || p.Within != "":
		return false
	case s.setup.EachEvent:
		return len(s.undelivered(p, requests, events)) > 0 && (p.Ref == "" || updates)
	case p.Ref == "":
		return true
	}
	return updates && p.Shown != shownBy(requests)
}

// undelivered are the events that a machine has still to get at a target, without the
// beginning of a request that has ended.
func (s *sender) undelivered(p *post, requests []approvals.Request, events []approvals.Event) []approvals.Event {
	return slices.DeleteFunc(slices.Clone(events), func(e approvals.Event) bool {
		return slices.Contains(p.Told, e.ID) || (e.Type == approvals.EventApprovalRequired && over(requests))
	})
}

// deliverTo makes one delivery and sets its outcome in the record.
func (s *sender) deliverTo(ctx context.Context, h *cardRecord, p *post, requests []approvals.Request, events []approvals.Event, tried bool) error {
	d := Delivery{ID: h.key, Target: p.Target, Requests: requests, Events: events, Grouped: h.Grouped, Since: p.Since}
	if p.Target != "" {
		d.ID += "@" + p.Target
	}
	if s.setup.EachEvent {
		d.Events = s.undelivered(p, requests, events)
	}
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	if err := s.limit.Wait(ctx); err != nil {
		p.Trying = tried
		return RetryAfter(errors.New("the limit of the channel's rate is reached"), time.Second)
	}
	outcome, err := s.attempt(ctx, p, d, tried)
	var permanent *PermanentError
	var after *RetryAfterError
	switch {
	case errors.As(err, &permanent):
		p.Trying, p.Failed = false, p.Ref == "" && !s.setup.EachEvent
		outcome = outcomeRefused
		s.log.Error("a card was refused; it is not tried again", "card", d.ID, "error", err)
	case errors.As(err, &after):
		p.Trying = tried && p.Ref == "" // nothing has been posted by this attempt, or part of it
		return err
	case err != nil:
		if outcome != "" {
			s.metrics.count(outcome)
		}
		return err
	}
	s.metrics.count(outcome)
	p.Shown = shownBy(requests)
	if s.setup.EachEvent {
		for i := range d.Events {
			p.Told = append(p.Told, d.Events[i].ID)
		}
	}
	return nil
}

// attempt posts or updates once.
func (s *sender) attempt(ctx context.Context, p *post, d Delivery, tried bool) (outcome string, err error) {
	if finder, ok := s.setup.Channel.(Finder); ok && p.Ref == "" && tried {
		ref, found, err := finder.Find(ctx, d)
		if err != nil {
			return "", err
		}
		if found {
			p.Ref, p.Trying = ref, false
		}
	}
	if p.Ref != "" {
		if updater, ok := s.setup.Channel.(Updater); ok {
			ref, err := updater.Update(ctx, d, p.Ref)
			if ref != "" {
				p.Ref = ref
			}
			if err != nil {
				return "", err
			}
		}
		return outcomeUpdated, nil
	}
	if over(d.Requests) && !s.setup.EachEvent {
		p.Failed, p.Trying = true, false
		return outcomeOver, nil
	}
	return s.post(ctx, p, d)
}

// post posts a card for the first time.
func (s *sender) post(ctx context.Context, p *post, d Delivery) (outcome string, err error) {
	if d.Thread, err = s.thread(ctx, d); err != nil {
		return "", RetryAfter(err, pause(1)) // nothing has been posted
	}
	ref, err := s.setup.Channel.Post(ctx, d)
	if err != nil && ref == "" {
		return "", err
	}
	p.Ref, p.Trying = ref, false
	for i := range d.Requests {
		s.metrics.latency.Observe(time.Since(d.Requests[i].CreatedAt).Seconds())
	}
	s.beginThread(ctx, d, ref)
	return outcomePosted, err // an error: the rest is an update's
}

// threadKey is the key of the first card of a run, "" if there is none.
func (s *sender) threadKey(d Delivery) string {
	if !s.setup.Threads || d.Grouped || d.Requests[0].RunID == "" {
		return ""
	}
	return fmt.Sprintf("run-%q-%q", d.Target, d.Requests[0].RunID)
}

// thread is the first card of the run of a delivery.
func (s *sender) thread(ctx context.Context, d Delivery) (Ref, error) {
	key := s.threadKey(d)
	if key == "" {
		return "", nil
	}
	value, revision, err := s.cards.store.State(ctx, s.setup.Name, key)
	if err != nil || revision == 0 {
		return "", err
	}
	var first Ref
	if err := json.Unmarshal(value, &first); err != nil {
		return "", fmt.Errorf("read the thread of a run: %w", err)
	}
	return first, nil
}

// beginThread records the first card of a run. If that fails, the next card begins a
// thread of its own.
func (s *sender) beginThread(ctx context.Context, d Delivery, ref Ref) {
	key := s.threadKey(d)
	if key == "" || d.Thread != "" {
		return
	}
	value, err := json.Marshal(ref)
	if err == nil {
		_, err = s.cards.store.PutState(ctx, s.setup.Name, key, value, 0)
	}
	if err != nil && !errors.Is(err, approvals.ErrConflict) {
		s.log.Warn("the first card of a run cannot be noted", "run", d.Requests[0].RunID, "error", err)
	}
}

// shownBy is a digest of the part of a card that can change: the state of each of its
// requests.
func shownBy(requests []approvals.Request) string {
	h := sha256.New()
	for i := range requests {
		q := &requests[i]
		fmt.Fprintf(h, "%s %s %d %q\n", q.ID, q.Status, len(q.Decisions), q.Reviewers)
		if len(q.Demands) > 0 { // one may escalate to groups that another has
			fmt.Fprintf(h, "%d\n", q.EscalatedAt().UnixMilli())
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
