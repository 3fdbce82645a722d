package notify

import (
	"errors"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

const (
	// busyPause is the wait for a card that another worker or replica is delivering.
	busyPause = 100 * time.Millisecond
	// giveUpAfter is how long a delivery is tried again.
	giveUpAfter = 24 * time.Hour
)

// retrier is the stage that decides what follows an attempt.
type retrier struct {
	channel *channel
	queue   *queue
}

func (r *retrier) done(it *item, events []approvals.Event) {
	for _, m := range r.queue.finish(it, events) {
		m.Done()
	}
}

func (r *retrier) failed(it *item, events []approvals.Event, err error) {
	if errors.Is(err, errBusy) {
		r.queue.later(it, time.Now().Add(busyPause))
		return
	}
	var after *RetryAfterError
	var permanent *PermanentError
	switch {
	case errors.As(err, &permanent), time.Since(it.since) > giveUpAfter:
		r.channel.metrics.count(outcomeRefused)
		r.channel.log.Error("a card cannot be updated; giving up", "card", it.key, "error", err)
		r.done(it, events)
		return
	case errors.As(err, &after): // the service may have taken another card at this moment
		until, pauses := r.queue.pause(after.After)
		r.queue.later(it, until)
		r.noteFailure(it, pauses, err)
	default:
		it.attempts++
		attempts := it.attempts // another worker may have the item after this
		r.queue.later(it, time.Now().Add(pause(attempts)))
		r.noteFailure(it, attempts, err)
	}
}

// noteFailure counts a failed attempt, and logs the first and each tenth of them.
func (r *retrier) noteFailure(it *item, attempts int, err error) {
	r.channel.metrics.count(outcomeFailed)
	r.channel.metrics.retries.Inc()
	if attempts == 1 || (attempts > 0 && attempts%10 == 0) {
		r.channel.log.Warn("delivery failed; trying again", "card", it.key, "attempts", attempts, "error", err)
	}
}
