package heldturns

import (
	"slices"
	"time"
)

// heldTurn is a turn that is stored, or one that has ended.
type heldTurn struct {
	key    Key
	former []Key       // of other snapshots of the turn that may be in the store
	at     time.Time   // when it was stored, or ended
	ended  bool        // it is kept in memory to be counted
	local  *Attachment // of this process
	left   time.Time   // when the last agent has left, zero if none has
	leftBy []string    // ids of the attachments of this process that may be recorded and have no agent
	busy   int         // operations in progress, which the work in the background leaves alone
	remove bool        // it is being removed from the store
	// opening is whether this process records the turn: people are not asked yet, and whether
	// its agent has left is not known.
	opening bool
}

// setKeyLocked replaces the key. The snapshot under the one before may be in the store.
func (t *heldTurn) setKeyLocked(key Key) {
	if before := t.key; before != key {
		t.key = key
		t.withdrawnLocked(key)
		t.addFormerLocked(before)
	}
}

// addFormerLocked marks that another snapshot may be in the store.
func (t *heldTurn) addFormerLocked(key Key) {
	if t.key != key && !slices.Contains(t.former, key) {
		t.former = append(slices.Clip(t.former), key)
	}
}

// withdrawnLocked marks that another snapshot is not in the store.
func (t *heldTurn) withdrawnLocked(key Key) {
	t.former = slices.DeleteFunc(slices.Clone(t.former), func(other Key) bool { return other == key })
}
