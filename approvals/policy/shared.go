package policy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// SharedCounts keeps counts for several processes, and over restarts.
type SharedCounts interface {
	// Update replaces the value of a key by the result of change, nil: it writes nothing.
	// The value of an unknown key is empty. If another process was faster, it calls change
	// again, with the new value. It fails with the error of change, or with
	// [approvals.ErrStoreUnavailable].
	Update(ctx context.Context, key string, change func(old []byte) ([]byte, error)) error
}

// timeStep is the resolution of the times of shared counts. It bounds the size of a count.
const timeStep = 100 * time.Millisecond

// tally is the value of a shared count.
type tally struct {
	Calls int           `json:"calls,omitempty"` // of a run
	Times map[int64]int `json:"times,omitempty"` // calls of the last minute, by unix time in milliseconds
}

// countKey identifies a count. The count of a minute has no name.
type countKey struct {
	rule, kind, name string
	whose            approvals.Principal
}

// sharedCall is a call that was added to a shared count.
type sharedCall struct {
	key countKey
	at  int64 // in Times
}

// add adds n to the calls of a run, or to those of a time.
func (t *tally) add(call sharedCall, n int) {
	if call.key.kind == "run" {
		t.Calls = max(t.Calls+n, 0)
		return
	}
	if t.Times == nil {
		t.Times = map[int64]int{}
	}
	if t.Times[call.at] += n; t.Times[call.at] <= 0 {
		delete(t.Times, call.at)
	}
}

// shared returns the name of a count, which reveals neither the principal nor the rule.
func (k countKey) shared() string {
	digest := sha256.New()
	for _, part := range []string{k.rule, k.kind, k.name, k.whose.Tenant, k.whose.User, k.whose.Agent} {
		fmt.Fprintf(digest, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(digest.Sum(nil))
}
