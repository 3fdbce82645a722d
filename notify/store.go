package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// Store keeps what channels have been told and have posted.
type Store interface {
	// Follow hands over every event of some types, from the moment the channel was
	// first followed, to one of the replicas that follow it, until the context ends.
	// A message that is neither done nor being worked on for half a minute, or whose
	// process has died, is handed over again. following is called once the channel is
	// followed: nothing that happens from then on is missed. take must not block for
	// long.
	Follow(ctx context.Context, channel string, types []approvals.EventType, following func(), take func(approvals.Event, Message)) error
	// Note reads what a channel has written under a key; revision 0: nothing.
	Note(ctx context.Context, channel, key string) (value []byte, revision uint64, err error)
	// PutNote writes it, if it still stands at the revision, else it fails with
	// [approvals.ErrConflict].
	PutNote(ctx context.Context, channel, key string, value []byte, revision uint64) (uint64, error)
}

// Message acknowledges one event on its way to a channel. It does not contain the
// event: many may wait for a channel that is down.
type Message = interface {
	Done()    // it need not be delivered again
	Working() // it is being worked on
	Return()  // it is delivered again at once, to any replica
}

// Requests is what this package needs of [gate.Gate].
type Requests interface {
	Request(ctx context.Context, id string) (approvals.Request, error)
	Requests(ctx context.Context, f approvals.Filter) (approvals.Page, error)
}

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

// claim says who has a card in hand, so that two replicas do not post it both.
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

// held is a record and where it stands.
type held struct {
	key string
	card
	revision uint64
}

// load reads a record; one that is not there is empty.
func (r *runner) load(ctx context.Context, key string) (*held, error) {
	h := &held{key: key}
	value, revision, err := r.store.Note(ctx, r.name, key)
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

// save writes a record that nobody has changed since it was read.
func (r *runner) save(ctx context.Context, h *held) error {
	value, err := json.Marshal(&h.card)
	if err != nil {
		return fmt.Errorf("encode the record of card %s: %w", h.key, err)
	}
	revision, err := r.store.PutNote(ctx, r.name, h.key, value, h.revision)
	if errors.Is(err, approvals.ErrConflict) {
		return errBusy
	}
	if err != nil {
		return err
	}
	h.revision = revision
	return nil
}
