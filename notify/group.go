package notify

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/heldcall/heldcall/approvals"
)

// maxGroup is the most cards that are put together into one.
const maxGroup = 50

// processGroup posts the items that wait for a target as one card, if one may be
// posted.
func (r *runner) processGroup(ctx context.Context, it *item) {
	target := it.group.target
	if at, admitted := r.traffic.admit(target, time.Now()); !admitted {
		r.queue.later(it, at)
		return
	}
	g := &cardRecord{key: "group-" + ulid.Make().String(), card: card{Grouped: true, Posts: []post{{Target: target}}}}
	var requests []approvals.Request
	members := r.queue.takeGroup(it, maxGroup)
	if len(members) == 1 {
		members[0].alone[target] = struct{}{}
		r.queue.later(members[0], time.Now())
		return
	}
	for _, member := range members {
		joined, err := r.joinGroup(ctx, member, g.key, target)
		if err != nil && !errors.Is(err, errBusy) {
			r.log.Warn("a request cannot be grouped; it is tried again", "card", member.key, "error", err)
		}
		requests = append(requests, joined...)
	}
	if len(requests) > 0 {
		slices.SortFunc(requests, func(a, b approvals.Request) int { return strings.Compare(a.ID, b.ID) })
		r.postGroup(ctx, g, requests)
	}
	for _, member := range members { // the outcome is in the records
		r.queue.later(member, time.Now())
	}
}

// postGroup posts a group. If that fails, its members try again.
func (r *runner) postGroup(ctx context.Context, g *cardRecord, requests []approvals.Request) {
	release, err := r.cards.take(g.key)
	if err != nil {
		return
	}
	defer release()
	err = r.sender.deliver(ctx, g, requests, nil)
	if after := (*RetryAfterError)(nil); errors.As(err, &after) {
		r.queue.pause(time.Now().Add(bounded(after.After, 1)))
	}
	if err != nil {
		r.metrics.count(outcomeFailed)
		r.log.Warn("a group could not be posted and is tried again", "card", g.key, "error", err)
	}
}

// joinGroup records that the requests of an item are shown by a group, and returns them:
// none if they have ended or are posted.
func (r *runner) joinGroup(ctx context.Context, it *item, group, target string) ([]approvals.Request, error) {
	release, err := r.cards.take(it.key)
	if err != nil {
		return nil, err
	}
	defer release()
	ids, _ := r.queue.snapshot(it)
	h, requests, err := r.cards.read(ctx, it.key, ids)
	if err != nil || h.at(target) != nil || over(requests) {
		return nil, err
	}
	h.Requests = h.Requests[:0]
	for i := range requests {
		h.Requests = append(h.Requests, requests[i].ID)
	}
	h.Posts = append(h.Posts, post{Target: target, Within: group})
	if err := r.cards.save(ctx, h); err != nil {
		return nil, err
	}
	return requests, nil
}

// updateGroup brings a group up to date, and reports whether it exists.
func (r *runner) updateGroup(ctx context.Context, key string) (exists bool, err error) {
	release, err := r.cards.take(key)
	if err != nil {
		return false, err
	}
	defer release()
	h, requests, err := r.cards.read(ctx, key, nil)
	if err != nil {
		return false, err
	}
	if h.revision == 0 || len(requests) == 0 {
		return h.revision > 0, nil
	}
	return true, r.sender.deliver(ctx, h, requests, nil)
}
