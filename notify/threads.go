package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/heldcall/heldcall/approvals"
)

// threads records the first card of each run at each target, under which a channel with
// threads posts the later ones.
type threads struct {
	channel *channel
	store   Store
}

// key returns the key of the first card of a run, "" where the delivery has no thread.
func (t *threads) key(d Delivery) string {
	if !t.channel.setup.Threads || d.Grouped || d.Requests[0].RunID == "" {
		return ""
	}
	return fmt.Sprintf("run-%q-%q", d.Target, d.Requests[0].RunID)
}

func (t *threads) first(ctx context.Context, d Delivery) (Ref, error) {
	key := t.key(d)
	if key == "" {
		return "", nil
	}
	value, revision, err := t.store.State(ctx, t.channel.setup.Name, key)
	if err != nil || revision == 0 {
		return "", err
	}
	var first Ref
	if err := json.Unmarshal(value, &first); err != nil {
		return "", fmt.Errorf("read the thread of a run: %w", err)
	}
	return first, nil
}

// begin records the first card of a run. Where that fails, the next card begins a thread
// of its own.
func (t *threads) begin(ctx context.Context, d Delivery, ref Ref) {
	key := t.key(d)
	if key == "" || d.Thread != "" {
		return
	}
	value, err := json.Marshal(ref)
	if err == nil {
		_, err = t.store.PutState(ctx, t.channel.setup.Name, key, value, 0)
	}
	if err != nil && !errors.Is(err, approvals.ErrConflict) {
		t.channel.log.Warn("the first card of a run cannot be recorded", "run", d.Requests[0].RunID, "error", err)
	}
}
