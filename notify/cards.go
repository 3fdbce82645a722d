package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// siblings is how many requests of a run are read at a time in search of those that have
// the same card.
const siblings = 32

type card struct {
	Requests []string `json:"requests"` // ids, oldest first
	Grouped  bool     `json:"grouped,omitempty"`
	Posts    []post   `json:"posts"`
	Claim    *claim   `json:"claim,omitempty"`
}

type post struct {
	Target string    `json:"target"`
	Ref    Ref       `json:"ref,omitempty"`    // "": not posted, as far as is known
	Within string    `json:"within,omitempty"` // key of the card that shows the requests in place of this one
	Since  time.Time `json:"since,omitzero"`   // of the first attempt to post it, or when it joined Within
	Trying bool      `json:"trying,omitempty"` // an attempt has begun whose result is unknown
	Failed bool      `json:"failed,omitempty"` // it was refused for good
	// Refused is when it was refused because of the channel's setup, see [SetupError].
	Refused time.Time `json:"refused,omitzero"`
	Shown   string    `json:"shown,omitempty"` // digest of its content: see contentDigest
	Told    []string  `json:"told,omitempty"`  // ids of delivered events, on a channel that gets each
}

// claim names the replica that is delivering a card, so that two do not post it both.
type claim struct {
	By    string    `json:"by"`
	Until time.Time `json:"until"`
}

type record struct {
	key string
	card
	revision uint64
}

func (c *card) at(target string) *post {
	i := slices.IndexFunc(c.Posts, func(p post) bool { return p.Target == target })
	if i < 0 {
		return nil
	}
	return &c.Posts[i]
}

// groups returns the keys of the cards that show the requests in place of this one.
func (c *card) groups() (keys []string) {
	for i := range c.Posts {
		if key := c.Posts[i].Within; key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

func (c *card) show(requests []approvals.Request) {
	c.Requests = c.Requests[:0]
	for i := range requests {
		c.Requests = append(c.Requests, requests[i].ID)
	}
}

type cards struct {
	channel  *channel
	store    Store
	requests Requests
	replica  string

	mu     sync.Mutex
	locked map[string]bool // by key
}

// lock keeps other workers of this process from a card. It fails with errBusy.
func (c *cards) lock(key string) (unlock func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.locked[key] {
		return nil, errBusy
	}
	c.locked[key] = true
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.locked, key)
	}, nil
}

// load reads a record; one that is not stored is empty.
func (c *cards) load(ctx context.Context, key string) (*record, error) {
	rec := &record{key: key}
	value, revision, err := c.store.State(ctx, c.channel.setup.Name, key)
	if err != nil {
		return nil, err
	}
	rec.revision = revision
	if revision == 0 {
		return rec, nil
	}
	if err := json.Unmarshal(value, &rec.card); err != nil {
		return nil, Permanent(fmt.Errorf("read the record of card %s: %w", key, err))
	}
	return rec, nil
}

// save writes a record. It fails with errBusy if the record has changed since it was read.
func (c *cards) save(ctx context.Context, rec *record) error {
	value, err := json.Marshal(&rec.card)
	if err != nil {
		return fmt.Errorf("encode the record of card %s: %w", rec.key, err)
	}
	revision, err := c.store.PutState(ctx, c.channel.setup.Name, rec.key, value, rec.revision)
	if errors.Is(err, approvals.ErrConflict) {
		return errBusy
	}
	if err != nil {
		return err
	}
	rec.revision = revision
	return nil
}

// claim saves the record as being delivered by this replica until the lease ends.
func (c *cards) claim(ctx context.Context, rec *record, now time.Time) error {
	rec.Claim = &claim{c.replica, now.Add(lease)}
	return c.save(ctx, rec)
}

// read reads the record of a card, and its requests in their present state: those
// recorded, those named, and those that the model asked for together with them.
func (c *cards) read(ctx context.Context, key string, ids []string) (*record, []approvals.Request, error) {
	rec, err := c.load(ctx, key)
	if err != nil {
		return nil, nil, err
	}
	if claim := rec.Claim; claim != nil && claim.By != c.replica && time.Now().Before(claim.Until) {
		return nil, nil, errBusy
	}
	var requests []approvals.Request
	seen := map[string]bool{}
	add := func(r approvals.Request) {
		if !seen[r.ID] {
			seen[r.ID] = true
			requests = append(requests, r)
		}
	}
	for _, id := range append(ids, rec.Requests...) {
		if seen[id] {
			continue
		}
		r, err := c.requests.Request(ctx, id)
		if errors.Is(err, approvals.ErrUnknownRequest) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		add(r)
	}
	if rec.revision == 0 && len(requests) > 0 {
		if err := c.addSiblings(ctx, key, requests[0], add); err != nil {
			return nil, nil, err
		}
	}
	slices.SortFunc(requests, func(a, b approvals.Request) int { return strings.Compare(a.ID, b.ID) })
	return rec, requests, nil
}

// addSiblings adds the requests that have the same card. Ids are in the order of
// time, so they are adjacent in the list of their run.
func (c *cards) addSiblings(ctx context.Context, key string, r approvals.Request, add func(approvals.Request)) error {
	if key == r.ID { // a card of its own
		return nil
	}
	filter := approvals.Filter{RunID: r.RunID, Limit: siblings, Cursor: r.ID[:10] + strings.Repeat("Z", len(r.ID)-10)}
	for {
		page, err := c.requests.Requests(ctx, filter)
		if err != nil {
			return err
		}
		for _, other := range page.Items {
			if c.channel.cardKey(other.ID, other.TurnID) == key {
				add(other)
			} else if other.ID[:10] < r.ID[:10] {
				return nil
			}
		}
		if filter.Cursor = page.NextCursor; filter.Cursor == "" {
			return nil
		}
	}
}
