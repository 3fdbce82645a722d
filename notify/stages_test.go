package notify

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/heldcall/heldcall/approvals"
)

// scriptedChannel returns its fields, and counts the calls.
type scriptedChannel struct {
	find, posted                Ref
	findErr, postErr, updateErr error
	finds, posts, updates       int
}

func (s *scriptedChannel) Post(context.Context, Delivery) (Ref, error) {
	s.posts++
	return s.posted, s.postErr
}

func (s *scriptedChannel) Update(context.Context, Delivery, Ref) (Ref, error) {
	s.updates++
	return "", s.updateErr
}

func (s *scriptedChannel) Find(context.Context, Delivery) (Ref, bool, error) {
	s.finds++
	return s.find, s.find != "", s.findErr
}

func channelOf(c Channel) *channel {
	return &channel{setup: Setup{Name: "test", Channel: c}, log: slog.New(slog.DiscardHandler), metrics: newMetrics(nil).of("test")}
}

func TestAttempt(t *testing.T) {
	pending, ended := []approvals.Request{{Status: approvals.StatusPending}}, []approvals.Request{{Status: approvals.StatusDenied}}
	failed := errors.New("failed")
	for name, c := range map[string]struct {
		channel               scriptedChannel
		before, after         post
		requests              []approvals.Request
		tried                 bool
		outcome               string
		err                   error
		finds, posts, updates int
	}{
		"a new card is posted": {
			channel: scriptedChannel{posted: "1"}, before: post{Trying: true}, after: post{Ref: "1"},
			requests: pending, outcome: outcomePosted, posts: 1,
		},
		"a part is posted": {
			channel: scriptedChannel{posted: "1", postErr: failed}, before: post{Trying: true}, after: post{Ref: "1"},
			requests: pending, outcome: outcomePosted, err: failed, posts: 1,
		},
		"nothing is posted": {
			channel: scriptedChannel{postErr: failed}, before: post{Trying: true}, after: post{Trying: true},
			requests: pending, err: failed, posts: 1,
		},
		"a posted card is updated": {
			before: post{Ref: "1"}, after: post{Ref: "1"}, requests: pending, outcome: outcomeUpdated, updates: 1,
		},
		"an update fails": {
			channel: scriptedChannel{updateErr: failed}, before: post{Ref: "1"}, after: post{Ref: "1"},
			requests: pending, err: failed, updates: 1,
		},
		"an unknown result is found": {
			channel: scriptedChannel{find: "2"}, before: post{Trying: true}, after: post{Ref: "2"},
			requests: pending, tried: true, outcome: outcomeUpdated, finds: 1, updates: 1,
		},
		"an unknown result is not found": {
			channel: scriptedChannel{posted: "1"}, before: post{Trying: true}, after: post{Ref: "1"},
			requests: pending, tried: true, outcome: outcomePosted, finds: 1, posts: 1,
		},
		"the search fails": {
			channel: scriptedChannel{findErr: failed}, before: post{Trying: true}, after: post{Trying: true},
			requests: pending, tried: true, err: failed, finds: 1,
		},
		"requests that have ended are not announced": {
			before: post{Trying: true}, after: post{Failed: true}, requests: ended, outcome: outcomeOver,
		},
	} {
		t.Run(name, func(t *testing.T) {
			ch := channelOf(&c.channel)
			d := &deliverer{channel: ch, threads: &threads{channel: ch}, rate: rate.NewLimiter(rate.Inf, 1)}
			p := c.before
			outcome, err := d.attempt(t.Context(), &p, Delivery{Requests: c.requests}, c.tried)
			if outcome != c.outcome || !errors.Is(err, c.err) {
				t.Errorf("the outcome is %q, %v, want %q, %v", outcome, err, c.outcome, c.err)
			}
			if p.Ref != c.after.Ref || p.Trying != c.after.Trying || p.Failed != c.after.Failed {
				t.Errorf("the post is %+v, want %+v", p, c.after)
			}
			if c.channel.finds != c.finds || c.channel.posts != c.posts || c.channel.updates != c.updates {
				t.Errorf("%d finds, %d posts, %d updates", c.channel.finds, c.channel.posts, c.channel.updates)
			}
		})
	}
}

func TestCardLimit(t *testing.T) {
	begin := time.Unix(0, 0)
	l := newCardLimit(Group{Cards: 2, Within: time.Minute})
	for i, c := range []struct {
		target   string
		after    time.Duration
		admitted bool
		free     time.Duration
	}{
		{"a", 0, true, 0},
		{"a", time.Second, true, 0},
		{"a", 2 * time.Second, false, time.Minute},
		{"b", 2 * time.Second, true, 0},
		{"a", time.Minute, true, 0},
		{"a", time.Minute, false, time.Minute + time.Second},
	} {
		at, admitted := l.admit(c.target, begin.Add(c.after))
		if admitted != c.admitted || (!admitted && !at.Equal(begin.Add(c.free))) {
			t.Errorf("%d: admitted is %v, free at %v", i, admitted, at)
		}
	}
	if _, admitted := newCardLimit(Group{}).admit("a", begin); !admitted {
		t.Error("a channel without a bound is limited")
	}
}

func TestRetry(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		since  time.Duration
		queued bool
		paused bool
	}{
		"any error":          {errors.New("down"), 0, true, false},
		"busy":               {errBusy, 0, true, false},
		"the service asks":   {RetryAfter(errors.New("limit"), time.Minute), 0, true, true},
		"refused":            {Permanent(errors.New("no")), 0, false, false},
		"failing for a day":  {errors.New("down"), 2 * giveUpAfter, false, false},
		"busy for many days": {errBusy, 2 * giveUpAfter, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			q := newQueue("test")
			q.add("card", approvals.Event{ID: "e"}, nil, time.Time{})
			it, _ := q.next(time.Now())
			it.since = it.since.Add(-c.since)
			_, events := q.snapshot(it)
			(&retrier{channel: channelOf(&scriptedChannel{}), queue: q}).failed(it, events, c.err)
			if n, _ := q.depth(); (n == 1) != c.queued {
				t.Errorf("%d items are queued", n)
			}
			if q.paused.After(time.Now()) != c.paused {
				t.Errorf("the channel pauses until %v", q.paused)
			}
		})
	}
}
