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

const maxGroup = 50

type grouper struct {
	channel   *channel
	queue     *queue
	cards     *cards
	limit     *cardLimit
	deliverer *deliverer
}

// post posts the members of a batch as one card, if one may be posted.
func (g *grouper) post(ctx context.Context, it *item) {
	if it.batch.run != "" {
		g.postRun(ctx, it)
		return
	}
	target := it.batch.target
	if at, admitted := g.limit.admit(target, time.Now()); !admitted {
		g.queue.later(it, at)
		return
	}
	members := g.queue.takeMembers(it, maxGroup)
	if len(members) == 1 {
		members[0].alone[target] = struct{}{}
		g.queue.later(members[0], time.Now())
		return
	}
	g.postTogether(ctx, members, card{Grouped: true, Posts: []post{{Target: target}}})
}

// postRun posts the items that were gathered of a run as one card. A single one, and those beyond the
// limit of the target, go on by themselves.
func (g *grouper) postRun(ctx context.Context, it *item) {
	target := it.batch.target
	members := g.queue.takeMembers(it, maxGroup)
	for _, member := range members {
		member.gathered[target] = struct{}{}
	}
	admitted := len(members) > 1 && !g.queue.hasBatch(batchKey{target: target})
	if admitted {
		_, admitted = g.limit.admit(target, time.Now())
	}
	if admitted {
		g.postTogether(ctx, members, card{Posts: []post{{Target: target}}})
		return
	}
	for _, member := range members {
		g.queue.later(member, time.Now())
	}
}

// postTogether posts the members of a batch as a card at its target.
func (g *grouper) postTogether(ctx context.Context, members []*item, one card) {
	rec := &record{key: "group-" + ulid.Make().String(), card: one}
	var requests []approvals.Request
	for _, member := range members {
		joined, err := g.join(ctx, member, rec.key, one.Posts[0].Target)
		if err != nil && !errors.Is(err, errBusy) {
			g.channel.log.Warn("a request cannot be grouped; trying again", "card", member.key, "error", err)
		}
		requests = append(requests, joined...)
	}
	if len(requests) > 0 {
		slices.SortFunc(requests, func(a, b approvals.Request) int { return strings.Compare(a.ID, b.ID) })
		g.deliverNew(ctx, rec, requests)
	}
	for _, member := range members { // the result is in the records
		g.queue.later(member, time.Now())
	}
}

// deliverNew posts a group. If that fails, its members try again.
func (g *grouper) deliverNew(ctx context.Context, rec *record, requests []approvals.Request) {
	unlock, err := g.cards.lock(rec.key)
	if err != nil {
		return
	}
	defer unlock()
	err = g.deliverer.deliver(ctx, rec, requests, nil)
	if after := (*RetryAfterError)(nil); errors.As(err, &after) {
		g.queue.pause(after.After)
	}
	if err != nil {
		g.channel.metrics.count(outcomeFailed)
		g.channel.log.Warn("a group could not be posted; trying again", "card", rec.key, "error", err)
	}
}

// join records that the requests of an item are shown by a group, and returns them:
// none if they need not be announced any more.
func (g *grouper) join(ctx context.Context, it *item, group, target string) ([]approvals.Request, error) {
	unlock, err := g.cards.lock(it.key)
	if err != nil {
		return nil, err
	}
	defer unlock()
	ids, _ := g.queue.snapshot(it)
	rec, requests, err := g.cards.read(ctx, it.key, ids)
	if err != nil || rec.at(target) != nil || AllEnded(requests) {
		return nil, err
	}
	rec.show(requests)
	rec.Posts = append(rec.Posts, post{Target: target, Within: group, Since: time.Now().UTC()})
	if err := g.cards.save(ctx, rec); err != nil {
		return nil, err
	}
	return requests, nil
}

// updateAll updates the groups that show the requests of a card. A group that is not stored
// yet is waited for. If its process has died before that, it is removed from the record, and
// the card is tried again.
func (g *grouper) updateAll(ctx context.Context, rec *record) error {
	var failed []error
	for _, key := range rec.groups() {
		exists, err := g.update(ctx, key)
		joining := func(p post) bool { return p.Within == key && time.Since(p.Since) < lease }
		switch {
		case err != nil || exists:
		case slices.ContainsFunc(rec.Posts, joining):
			err = errBusy
		default:
			rec.Posts = slices.DeleteFunc(rec.Posts, func(p post) bool { return p.Within == key })
			err = errors.Join(g.cards.save(ctx, rec), errBusy)
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

func (g *grouper) update(ctx context.Context, key string) (exists bool, err error) {
	unlock, err := g.cards.lock(key)
	if err != nil {
		return false, err
	}
	defer unlock()
	rec, requests, err := g.cards.read(ctx, key, nil)
	if err != nil {
		return false, err
	}
	if rec.revision == 0 || len(requests) == 0 {
		return rec.revision > 0, nil
	}
	return true, g.deliverer.deliver(ctx, rec, requests, nil)
}
