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

// maxGroup is how many cards are put together into one.
const maxGroup = 50

// tellCrowd posts what waits for a target as one card, if one may be posted.
func (r *runner) tellCrowd(ctx context.Context, it *item) {
	target := it.crowd.target
	if at, admitted := r.traffic.admit(target, time.Now()); !admitted {
		r.queue.later(it, at)
		return
	}
	g := &held{key: "group-" + ulid.Make().String(), card: card{Grouped: true, Posts: []post{{Target: target}}}}
	var requests []approvals.Request
	members := r.queue.disperse(it, maxGroup)
	if len(members) == 1 {
		members[0].alone[target] = struct{}{}
		r.queue.later(members[0], time.Now())
		return
	}
	for _, member := range members {
		joined, err := r.enter(ctx, member, g.key, target)
		if err != nil && !errors.Is(err, errBusy) {
			r.log.Warn("a request cannot be grouped; it is tried again", "card", member.key, "error", err)
		}
		requests = append(requests, joined...)
	}
	if len(requests) > 0 {
		slices.SortFunc(requests, func(a, b approvals.Request) int { return strings.Compare(a.ID, b.ID) })
		r.bringNew(ctx, g, requests)
	}
	for _, member := range members { // what came of it stands in the records
		r.queue.later(member, time.Now())
	}
}

// bringNew posts a group. If that fails, its members try again.
func (r *runner) bringNew(ctx context.Context, g *held, requests []approvals.Request) {
	release, err := r.take(g.key)
	if err != nil {
		return
	}
	defer release()
	err = r.bring(ctx, g, requests, nil)
	if after := (*RetryAfterError)(nil); errors.As(err, &after) {
		r.queue.rest(time.Now().Add(bounded(after.After, 1)))
	}
	if err != nil {
		r.metrics.count(outcomeFailed)
		r.log.Warn("a group could not be posted and is tried again", "card", g.key, "error", err)
	}
}

// enter notes that the requests of an item are shown by a group, and returns them:
// none if they need not be told any more.
func (r *runner) enter(ctx context.Context, it *item, group, target string) ([]approvals.Request, error) {
	release, err := r.take(it.key)
	if err != nil {
		return nil, err
	}
	defer release()
	ids, _ := r.queue.snapshot(it)
	h, requests, err := r.read(ctx, it.key, ids)
	if err != nil || h.at(target) != nil || over(requests) {
		return nil, err
	}
	h.Requests = h.Requests[:0]
	for i := range requests {
		h.Requests = append(h.Requests, requests[i].ID)
	}
	h.Posts = append(h.Posts, post{Target: target, Within: group})
	if err := r.save(ctx, h); err != nil {
		return nil, err
	}
	return requests, nil
}

// bringGroup brings a group up to date, and reports whether there is one.
func (r *runner) bringGroup(ctx context.Context, key string) (exists bool, err error) {
	release, err := r.take(key)
	if err != nil {
		return false, err
	}
	defer release()
	h, requests, err := r.read(ctx, key, nil)
	if err != nil {
		return false, err
	}
	if h.revision == 0 || len(requests) == 0 {
		return h.revision > 0, nil
	}
	return true, r.bring(ctx, h, requests, nil)
}
