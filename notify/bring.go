package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

const (
	// attemptTimeout bounds one attempt at a delivery.
	attemptTimeout = 15 * time.Second
	// lease is how long a replica has a card in hand: if it dies, another takes the
	// card then.
	lease = time.Minute
	// recordTimeout bounds the record of what was posted.
	recordTimeout = 10 * time.Second
)

// bring posts a card where it is not posted yet, and brings it up to date where it
// is. Before the first attempt the record says that there will be one, after the
// last it says what came of them.
func (r *runner) bring(ctx context.Context, h *held, requests []approvals.Request, events []approvals.Event) error {
	var due []*post
	tried := map[*post]bool{}
	for i := range h.Posts {
		if p := &h.Posts[i]; r.isDue(p, requests, events) {
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
	h.Claim = &claim{r.replica, now.Add(lease)}
	for _, p := range due {
		if p.Ref == "" {
			p.Trying = true
			if p.Since.IsZero() {
				p.Since = now
			}
		}
	}
	if err := r.save(ctx, h); err != nil {
		return err
	}
	var failed []error
	for i, p := range due {
		if i > 0 { // each delivery has the whole lease
			h.Claim.Until = time.Now().UTC().Add(lease)
			if err := r.save(ctx, h); err != nil {
				return errors.Join(append(failed, err)...)
			}
		}
		failed = append(failed, r.deliver(ctx, h, p, requests, events, tried[p]))
	}
	h.Claim = nil
	record, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	return errors.Join(append(failed, r.save(record, h))...)
}

// isDue reports whether a post has to be made or changed.
func (r *runner) isDue(p *post, requests []approvals.Request, events []approvals.Event) bool {
	_, updates := r.Channel.(Updater)
	switch {
	case p.Failed || p.Within != "":
		return false
	case r.EachEvent:
		return len(r.untold(p, requests, events)) > 0 && (p.Ref == "" || updates)
	case p.Ref == "":
		return true
	}
	return updates && p.Shown != shownBy(requests)
}

// untold are the events that a machine has still to be told of at a target: not that
// a request has begun which has ended.
func (r *runner) untold(p *post, requests []approvals.Request, events []approvals.Event) []approvals.Event {
	return slices.DeleteFunc(slices.Clone(events), func(e approvals.Event) bool {
		return slices.Contains(p.Told, e.ID) || e.Type == approvals.EventApprovalRequired && over(requests)
	})
}

// deliver makes one delivery and notes in the record what came of it.
func (r *runner) deliver(ctx context.Context, h *held, p *post, requests []approvals.Request, events []approvals.Event, tried bool) error {
	d := Delivery{ID: h.key, Target: p.Target, Requests: requests, Events: events, Grouped: h.Grouped, Since: p.Since}
	if p.Target != "" {
		d.ID += "@" + p.Target
	}
	if r.EachEvent {
		d.Events = r.untold(p, requests, events)
	}
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	if err := r.limit.Wait(ctx); err != nil {
		p.Trying = tried
		return RetryAfter(errors.New("the limit of the channel's rate is reached"), time.Second)
	}
	outcome, err := r.attempt(ctx, p, d, tried)
	var permanent *PermanentError
	var after *RetryAfterError
	switch {
	case errors.As(err, &permanent):
		p.Trying, p.Failed = false, p.Ref == "" && !r.EachEvent
		outcome = outcomeRefused
		r.log.Error("a card was refused; it is not tried again", "card", d.ID, "error", err)
	case errors.As(err, &after):
		p.Trying = tried && p.Ref == "" // nothing has been posted by this attempt, or part of it
		return err
	case err != nil:
		if outcome != "" {
			r.metrics.count(outcome)
		}
		return err
	}
	r.metrics.count(outcome)
	p.Shown = shownBy(requests)
	if r.EachEvent {
		for i := range d.Events {
			p.Told = append(p.Told, d.Events[i].ID)
		}
	}
	return nil
}

// attempt posts or updates once.
func (r *runner) attempt(ctx context.Context, p *post, d Delivery, tried bool) (outcome string, err error) {
	if finder, ok := r.Channel.(Finder); ok && p.Ref == "" && tried {
		ref, found, err := finder.Find(ctx, d)
		if err != nil {
			return "", err
		}
		if found {
			p.Ref, p.Trying = ref, false
		}
	}
	if p.Ref != "" {
		if updater, ok := r.Channel.(Updater); ok {
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
	if over(d.Requests) && !r.EachEvent {
		p.Failed, p.Trying = true, false
		return outcomeOver, nil
	}
	if d.Thread, err = r.thread(ctx, d); err != nil {
		return "", RetryAfter(err, pause(1)) // nothing has been posted
	}
	ref, err := r.Channel.Post(ctx, d)
	if err != nil && ref == "" {
		return "", err
	}
	p.Ref, p.Trying = ref, false
	for i := range d.Requests {
		r.metrics.latency.Observe(time.Since(d.Requests[i].CreatedAt).Seconds())
	}
	r.beginThread(ctx, d, ref)
	return outcomePosted, err // an error: the rest is an update's
}

// threadKey is where the first card of a run is noted, "" where there is none.
func (r *runner) threadKey(d Delivery) string {
	if !r.Threads || d.Grouped || d.Requests[0].RunID == "" {
		return ""
	}
	return fmt.Sprintf("run-%q-%q", d.Target, d.Requests[0].RunID)
}

// thread is the first card of the run of a delivery.
func (r *runner) thread(ctx context.Context, d Delivery) (Ref, error) {
	key := r.threadKey(d)
	if key == "" {
		return "", nil
	}
	value, revision, err := r.store.Note(ctx, r.name, key)
	if err != nil || revision == 0 {
		return "", err
	}
	var first Ref
	if err := json.Unmarshal(value, &first); err != nil {
		return "", fmt.Errorf("read the thread of a run: %w", err)
	}
	return first, nil
}

// beginThread notes the first card of a run. Where that fails, the next card begins
// a thread of its own.
func (r *runner) beginThread(ctx context.Context, d Delivery, ref Ref) {
	key := r.threadKey(d)
	if key == "" || d.Thread != "" {
		return
	}
	value, err := json.Marshal(ref)
	if err == nil {
		_, err = r.store.PutNote(ctx, r.name, key, value, 0)
	}
	if err != nil && !errors.Is(err, approvals.ErrConflict) {
		r.log.Warn("the first card of a run cannot be noted", "run", d.Requests[0].RunID, "error", err)
	}
}

// shownBy is a digest of what a card shows that can change: where each of its
// requests stands.
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
