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

	"github.com/oklog/ulid/v2"

	"github.com/heldcall/heldcall/approvals"
)

// card is the record of one card.
type card struct {
	Requests []string `json:"requests"` // ids, oldest first
	Grouped  bool     `json:"grouped,omitempty"`
	Posts    []post   `json:"posts"`
	Claim    *claim   `json:"claim,omitempty"`
}

// post is a card at one target.
type post struct {
	Target string    `json:"target"`
	Ref    Ref       `json:"ref,omitempty"`    // "": not posted, as far as is known
	Within string    `json:"within,omitempty"` // key of the card that shows the requests in place of this one
	Since  time.Time `json:"since,omitzero"`   // of the first attempt to post it
	Trying bool      `json:"trying,omitempty"` // an attempt has begun of which nothing is known
	Failed bool      `json:"failed,omitempty"` // it was refused for good
	Shown  string    `json:"shown,omitempty"`  // what it shows: see shownBy
	Told   []string  `json:"told,omitempty"`   // ids of events, on a channel that gets each
}

// claim is the replica that has a card, so that two replicas do not post it both.
type claim struct {
	By    string    `json:"by"`
	Until time.Time `json:"until"`
}

// at is the post at a target, or nil.
func (c *card) at(target string) *post {
	i := slices.IndexFunc(c.Posts, func(p post) bool { return p.Target == target })
	if i < 0 {
		return nil
	}
	return &c.Posts[i]
}

// siblings is how many requests of a run are read at a time in search of those that
// were opened together.
const siblings = 32

// cards are the records of the cards of one channel.
type cards struct {
	channel   string
	eachEvent bool
	store     Store
	requests  Requests
	replica   string

	mu   sync.Mutex
	busy map[string]bool // keys of cards that workers of this process have
}

// cardRecord is a card as it is recorded.
type cardRecord struct {
	key string
	card
	revision uint64
}

// load reads a record; one that does not exist is empty.
func (c *cards) load(ctx context.Context, key string) (*cardRecord, error) {
	h := &cardRecord{key: key}
	value, revision, err := c.store.State(ctx, c.channel, key)
	if err != nil {
		return nil, err
	}
	h.revision = revision
	if revision == 0 {
		return h, nil
	}
	if err := json.Unmarshal(value, &h.card); err != nil {
		return nil, Permanent(fmt.Errorf("read the record of card %s: %w", key, err))
	}
	return h, nil
}

// save writes a record if it has not changed since it was read.
func (c *cards) save(ctx context.Context, h *cardRecord) error {
	value, err := json.Marshal(&h.card)
	if err != nil {
		return fmt.Errorf("encode the record of card %s: %w", h.key, err)
	}
	revision, err := c.store.PutState(ctx, c.channel, h.key, value, h.revision)
	if errors.Is(err, approvals.ErrConflict) {
		return errBusy
	}
	if err != nil {
		return err
	}
	h.revision = revision
	return nil
}

// keyOf is the key of the card of a request: the requests for calls that a model made
// together were opened at the same time, which is the first part of their ids. A
// machine gets a card a request.
func (c *cards) keyOf(requestID, turnID string) string {
	if c.eachEvent || turnID == "" || len(requestID) != ulid.EncodedSize {
		return requestID
	}
	return requestID[:10] + "-" + turnID
}

// take takes a card from the other workers of this process until release is called.
func (c *cards) take(key string) (release func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy[key] {
		return nil, errBusy
	}
	c.busy[key] = true
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.busy, key)
	}, nil
}

// read reads the record of a card, and its requests as they are now: those recorded,
// those with the ids, and those for calls that the model made together with them.
func (c *cards) read(ctx context.Context, key string, ids []string) (*cardRecord, []approvals.Request, error) {
	h, err := c.load(ctx, key)
	if err != nil {
		return nil, nil, err
	}
	if other := h.Claim; other != nil && other.By != c.replica && time.Now().Before(other.Until) {
		return nil, nil, errBusy
	}
	var requests []approvals.Request
	seen := map[string]bool{}
	add := func(q approvals.Request) {
		if !seen[q.ID] {
			seen[q.ID] = true
			requests = append(requests, q)
		}
	}
	for _, id := range append(ids, h.Requests...) {
		if seen[id] {
			continue
		}
		q, err := c.requests.Request(ctx, id)
		if errors.Is(err, approvals.ErrUnknownRequest) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		add(q)
	}
	if h.revision == 0 && len(requests) > 0 {
		if err := c.addSiblings(ctx, key, requests[0], add); err != nil {
			return nil, nil, err
		}
	}
	slices.SortFunc(requests, func(a, b approvals.Request) int { return strings.Compare(a.ID, b.ID) })
	return h, requests, nil
}

// addSiblings adds the requests that have the same card. Ids are in the order of
// time, so the requests are beside each other in the list of their run.
func (c *cards) addSiblings(ctx context.Context, key string, q approvals.Request, add func(approvals.Request)) error {
	if key == q.ID { // a card of its own
		return nil
	}
	filter := approvals.Filter{RunID: q.RunID, Limit: siblings, Cursor: q.ID[:10] + strings.Repeat("Z", len(q.ID)-10)}
	for {
		page, err := c.requests.Requests(ctx, filter)
		if err != nil {
			return err
		}
		for _, other := range page.Items {
			if c.keyOf(other.ID, other.TurnID) == key {
				add(other)
			} else if other.ID[:10] < q.ID[:10] {
				return nil
			}
		}
		if filter.Cursor = page.NextCursor; filter.Cursor == "" {
			return nil
		}
	}
}
