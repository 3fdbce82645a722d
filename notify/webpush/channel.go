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
	// endedTTL is how long a push service keeps the message that a request has ended.
	endedTTL = time.Minute
)

var (
	_ notify.Channel = (*Push)(nil)
	_ notify.Updater = (*Push)(nil)
	_ notify.Chooser = (*Push)(nil)
)

// Anybody reports whether any browser has subscribed.
func (p *Push) Anybody() bool { return !p.subscriptions.empty() }

// Wants reports whether any of the requests has a recipient.
func (p *Push) Wants(requests []approvals.Request) bool {
	return slices.ContainsFunc(p.subscriptions.except(nil), func(s reviewers.Subscription) bool { return len(p.approvable(s, requests)) > 0 })
}

// Post sends to every browser whose reviewer may approve one of the requests. The error
// is of those that could not be reached; the reference is of the others, if any, and an
// Update sends to the rest.
func (p *Push) Post(ctx context.Context, d notify.Delivery) (notify.Ref, error) {
	sent, err := p.sendNew(ctx, d, nil)
	if err != nil && len(sent) == 0 {
		return "", err
	}
	return refOf(sent), err
}

// Update sends to browsers that have become recipients, as by an escalation, and once
// all the requests have ended replaces the notifications of the others.
func (p *Push) Update(ctx context.Context, d notify.Delivery, posted notify.Ref) (notify.Ref, error) {
	sent := recipients(posted)
	if !notify.AllEnded(d.Requests) {
		more, err := p.sendNew(ctx, d, sent)
		return refOf(append(sent, more...)), err
	}
	m := endedMessage(d.Requests)
	_, err := p.fanOut(ctx, d.ID+" ended", p.subscriptions.known(sent), func(reviewers.Subscription) (push, bool) {
		return push{message: m, ttl: endedTTL, urgency: urgencyOf(approvals.RiskLow)}, true
	})
	return posted, err
}

// sendNew sends to the recipients except those that have it already, and returns the ids
// of the others that have it now.
func (p *Push) sendNew(ctx context.Context, d notify.Delivery, sent []string) (more []string, err error) {
	now := time.Now()
	return p.fanOut(ctx, d.ID, p.subscriptions.except(sent), func(s reviewers.Subscription) (push, bool) {
		requests := p.approvable(s, d.Requests)
		if len(requests) == 0 {
			return push{}, false
		}
		ends := slices.MaxFunc(requests, func(a, b *approvals.Request) int { return a.ExpiresAt.Compare(b.ExpiresAt) }).ExpiresAt
		if !now.Before(ends) {
			return push{}, false
		}
		return push{message: newMessage(requests, p.preview), ttl: ends.Sub(now), urgency: urgencyOf(notify.HighestRisk(requests))}, true
	})
}

func (p *Push) approvable(s reviewers.Subscription, requests []approvals.Request) []*approvals.Request {
	who, ok := p.reviewerOf(s)
	if !ok || !who.Role.Includes(reviewers.RoleReviewer) {
		return nil
	}
	var d approvals.Decision
	who.Sign(&d)
	var permitted []*approvals.Request
	for i := range requests {
		if p.canApprove(&requests[i], d) {
			permitted = append(permitted, &requests[i])
		}
	}
	return permitted
}

// reviewerOf returns the reviewer of a subscription with their present rights; ok is false
// where these are not known any more.
func (p *Push) reviewerOf(s reviewers.Subscription) (who reviewers.Reviewer, ok bool) {
	signedIn := s.Signed != nil && time.Now().Before(s.Signed.Until)
	if who, known := p.reviewer(s.Reviewer); known {
		return who, signedIn || p.holdsToken(s.Reviewer)
	}
	if !signedIn || s.Signed.Under != p.rights() {
		return reviewers.Reviewer{}, false
	}
	return s.Signed.Who, true
}

// fanOut sends the messages of make to subscriptions, unless they have it from an earlier
// attempt at the delivery, and returns the ids of those that have it. One that does not
// answer delays no other.
func (p *Push) fanOut(ctx context.Context, delivery string, to []reviewers.Subscription, make func(reviewers.Subscription) (push, bool)) (sent []string, err error) {
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
			if !p.delivered.has(delivery, s.ID) {
				err = p.send(ctx, s, m)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = append(failed, err)
				return nil
			}
			p.delivered.add(delivery, s.ID)
			sent = append(sent, s.ID)
			return nil
		})
	}
	_ = group.Wait() // the errors are in failed, all of them
	return sent, errors.Join(failed...)
}

// send sends a message to a browser, and removes its subscription where the push service no
// longer knows it.
func (p *Push) send(ctx context.Context, s reviewers.Subscription, m push) error {
	gone, err := p.sender.send(ctx, s, m)
	if !gone {
		return err
	}
	p.log.Info("a browser is no longer subscribed", "service", hostOf(s.Endpoint), "reviewer", s.Reviewer)
	if err := p.subscriptions.remove(ctx, s.ID); err != nil {
		p.log.Warn("an ended subscription could not be removed; trying again at the next push", "error", err)
	}
	return nil
}

// refPrefix begins a [notify.Ref], which is not empty where there was no recipient.
const refPrefix = "told:"

func refOf(ids []string) notify.Ref { return notify.Ref(refPrefix + strings.Join(ids, ",")) }

func recipients(ref notify.Ref) []string {
	return strings.FieldsFunc(strings.TrimPrefix(string(ref), refPrefix), func(r rune) bool { return r == ',' })
}
