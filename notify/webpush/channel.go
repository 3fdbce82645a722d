package webpush

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/notify"
)

const (
	// atOnce is how many browsers one card is sent to at the same time.
	atOnce = 32
	// endedTTL is how long a push service keeps the word that a request has ended.
	endedTTL = time.Minute
)

var (
	_ notify.Channel = (*Push)(nil)
	_ notify.Updater = (*Push)(nil)
	_ notify.Chooser = (*Push)(nil)
)

// Anybody reports whether any browser has subscribed.
func (p *Push) Anybody() bool {
	return p.browsers.any()
}

// Wants reports whether there is a browser to tell of any of the requests.
func (p *Push) Wants(requests []approvals.Request) bool {
	return slices.ContainsFunc(p.browsers.all(), func(s reviewers.Subscription) bool { return len(p.forWhom(s, requests)) > 0 })
}

// Post tells every browser whose reviewer may approve one of the requests. The error
// is of those that could not be told; the reference is of the others, if any, and an
// Update tells who is left.
func (p *Push) Post(ctx context.Context, d notify.Delivery) (notify.Ref, error) {
	told, err := p.tellNew(ctx, d, nil)
	if err != nil && len(told) == 0 {
		return "", err
	}
	return refOf(told), err
}

// Update tells browsers that have come to be concerned, as by an escalation, and once
// all the requests have ended replaces what the others show.
func (p *Push) Update(ctx context.Context, d notify.Delivery, posted notify.Ref) (notify.Ref, error) {
	told := told(posted)
	if !over(d.Requests) {
		more, err := p.tellNew(ctx, d, told)
		return refOf(append(told, more...)), err
	}
	m := endedMessage(d.Requests)
	_, err := p.fanOut(ctx, d.ID+" ended", p.known(told), func(reviewers.Subscription) (push, bool) {
		return push{message: m, ttl: endedTTL, urgency: urgencyOf(approvals.RiskLow)}, true
	})
	return posted, err
}

// tellNew tells browsers but those that were told, and returns the ids of those that
// are told now.
func (p *Push) tellNew(ctx context.Context, d notify.Delivery, told []string) (more []string, err error) {
	subscriptions := slices.DeleteFunc(p.browsers.all(), func(s reviewers.Subscription) bool { return slices.Contains(told, s.ID) })
	now := time.Now()
	return p.fanOut(ctx, d.ID, subscriptions, func(s reviewers.Subscription) (push, bool) {
		requests := p.forWhom(s, d.Requests)
		if len(requests) == 0 {
			return push{}, false
		}
		ends := slices.MaxFunc(requests, func(a, b *approvals.Request) int { return a.ExpiresAt.Compare(b.ExpiresAt) }).ExpiresAt
		if !now.Before(ends) {
			return push{}, false
		}
		return push{message: newMessage(requests, p.preview), ttl: ends.Sub(now), urgency: urgencyOf(worst(requests))}, true
	})
}

// forWhom are the requests among some that the reviewer of a subscription may approve.
func (p *Push) forWhom(s reviewers.Subscription, requests []approvals.Request) []*approvals.Request {
	who, told := p.whoIs(s)
	if !told || !who.Role.Includes(reviewers.RoleReviewer) {
		return nil
	}
	var d approvals.Decision
	who.Sign(&d)
	var own []*approvals.Request
	for i := range requests {
		if p.gate.CanApprove(&requests[i], d) {
			own = append(own, &requests[i])
		}
	}
	return own
}

// whoIs is whose a subscription is, by the rights that they have now; told is false for
// those of whom that is not known any more.
func (p *Push) whoIs(s reviewers.Subscription) (who reviewers.Reviewer, told bool) {
	signedIn := s.Signed != nil && time.Now().Before(s.Signed.Until)
	if who, known := p.reviewer(s.Reviewer); known {
		return who, signedIn || p.token(s.Reviewer)
	}
	if !signedIn || s.Signed.Under != p.rights {
		return reviewers.Reviewer{}, false
	}
	return s.Signed.Who, true
}

// fanOut sends to subscriptions what make says, unless they have it from an earlier
// attempt at the delivery, and returns the ids of those that have it. One that does not
// answer delays no other.
func (p *Push) fanOut(ctx context.Context, delivery string, to []reviewers.Subscription, make func(reviewers.Subscription) (push, bool)) (told []string, err error) {
	var group errgroup.Group
	group.SetLimit(atOnce)
	var mu sync.Mutex
	var failed []error
	for _, s := range to {
		m, some := make(s)
		if !some {
			continue
		}
		group.Go(func() error {
			var err error
			if !p.given.has(delivery, s.ID) {
				err = p.send(ctx, s, m)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = append(failed, err)
				return nil
			}
			p.given.add(delivery, s.ID)
			told = append(told, s.ID)
			return nil
		})
	}
	_ = group.Wait() // the errors are in failed, all of them
	return told, errors.Join(failed...)
}

// known are those of ids that still stand.
func (p *Push) known(ids []string) []reviewers.Subscription {
	return slices.DeleteFunc(p.browsers.all(), func(s reviewers.Subscription) bool { return !slices.Contains(ids, s.ID) })
}

// refPrefix begins a [notify.Ref], which is not empty where nobody was told.
const refPrefix = "told:"

func refOf(ids []string) notify.Ref { return notify.Ref(refPrefix + strings.Join(ids, ",")) }

// told are the ids of the subscriptions that a card was sent to.
func told(ref notify.Ref) []string {
	return strings.FieldsFunc(strings.TrimPrefix(string(ref), refPrefix), func(r rune) bool { return r == ',' })
}

// over reports whether all requests have ended.
func over(requests []approvals.Request) bool {
	return !slices.ContainsFunc(requests, func(r approvals.Request) bool { return !r.Status.Final() })
}
