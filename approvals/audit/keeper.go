package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/privatefile"
)

const (
	// checkpointFile has the last checkpoint of a replica, in its folder.
	checkpointFile = "checkpoint.json"
	// verifiedAtStart is the number of entries before the last checkpoint, or before the
	// end if there is none, that are verified at each start, beside all after it.
	verifiedAtStart = 10_000
	// retainEvery is how often old entries are removed.
	retainEvery = time.Hour
)

// Stored is the log in its store.
type Stored interface {
	// First returns the oldest entry, and Head the newest: zero if there is none.
	First(ctx context.Context) (Head, error)
	Head(ctx context.Context) (Head, error)
	// Entry reads one entry, or fails with [ErrNoEntry].
	Entry(ctx context.Context, seq uint64) (Entry, error)
	// Entries yields the entries from a sequence on, to the end at the time of the call.
	Entries(ctx context.Context, from uint64) iter.Seq2[Entry, error]
	// Changes returns the entries of a rare type, in order.
	Changes(ctx context.Context, t approvals.EventType) ([]Entry, error)
	// OfType yields the entries of a type from a sequence on.
	OfType(ctx context.Context, t approvals.EventType, from uint64) iter.Seq2[Entry, error]
	AppendEvents(ctx context.Context, events ...approvals.Event) error
	// DropBefore removes the entries that were written before a time, but never the last.
	// It calls declare with the first entry that remains before it removes the others, and
	// removes nothing if declare fails.
	DropBefore(ctx context.Context, before time.Time, declare func(context.Context, Head) error) error
}

// Options configures a [Keeper].
type Options struct {
	Log       Stored
	Dir       string        // of the key and the last checkpoint; made if it is missing
	Every     time.Duration // between checkpoints
	Retention time.Duration // of entries
	Shared    bool          // other replicas write the log too
	Logger    *slog.Logger
	Now       func() time.Time // nil: time.Now
}

// ErrCheckpoint is in the error of [Keeper.Verify] if the file with the last checkpoint was
// changed.
var ErrCheckpoint = errors.New("the last checkpoint of the audit log is damaged")

// Keeper signs the log of one replica at intervals, removes old entries, and verifies the log
// at the start. It keeps its last checkpoint in a file outside the store.
type Keeper struct {
	Options
	key  Key
	ids  approvals.IDSource
	last *approvals.Checkpoint // nil: none yet
	kept Head                  // the first entry that is kept; its hash is "" for entry 1

	damaged error // of the file with the last checkpoint
}

// OpenKeeper reads the key and the last checkpoint of a replica. It creates the key at first
// use.
func OpenKeeper(o Options) (*Keeper, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := o.protectKey(); err != nil {
		return nil, err
	}
	key, err := CreateKey(o.Dir)
	if err != nil {
		return nil, err
	}
	k := &Keeper{Options: o, key: key, kept: Head{Seq: 1}}
	file, err := os.Open(filepath.Join(o.Dir, checkpointFile))
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the last checkpoint: %w", err)
	}
	defer file.Close()
	found, err := ReadCheckpoints(file)
	if err == nil && found[0].Key != key.Public() {
		err = errors.New("it is of another key")
	}
	if err == nil {
		err = CheckSignature(&found[0])
	}
	if err != nil {
		k.damaged = fmt.Errorf("%w: %s: %w", ErrCheckpoint, file.Name(), err)
		return k, nil
	}
	k.last, k.kept = &found[0], Head{Seq: found[0].First, Hash: found[0].FirstHash}
	return k, nil
}

// protectKey takes the rights of others to the key file away: a backup that was restored may
// have lost its mode.
func (o *Options) protectKey() error {
	file := filepath.Join(o.Dir, keyFile)
	err := privatefile.Check(file)
	var exposed *privatefile.Error
	if !errors.As(err, &exposed) {
		return nil // CreateKey reports other errors
	}
	if err := os.Chmod(file, 0o600); err != nil {
		return fmt.Errorf("protect the key of the audit log: %w", errors.Join(exposed, err))
	}
	o.Logger.Warn("others could use the key of the audit log, and sign with it; it is protected now", "file", file, "mode", fmt.Sprintf("%04o", exposed.Mode.Perm()))
	return nil
}

// Verify verifies the log at the start: all entries after the last checkpoint, those before it
// as far as time permits, and where the log begins. It fails with a [*BrokenError] or
// [ErrCheckpoint]. It must be called before anything is written.
func (k *Keeper) Verify(ctx context.Context) error {
	if k.damaged != nil {
		return k.damaged
	}
	first, err := k.Log.First(ctx)
	if err != nil {
		return err
	}
	last, err := k.Log.Head(ctx)
	if err != nil {
		return err
	}
	verifier, from := Verifier{}, first.Seq
	if k.last != nil {
		last.Seq = k.last.Seq
		verifier.Against = []approvals.Checkpoint{*k.last}
		if !k.Shared {
			verifier.KeptKeys = []string{k.key.Public()}
		}
	}
	if last.Seq > first.Seq+verifiedAtStart {
		from = last.Seq - verifiedAtStart
		verifier.AnyStart = true
	}
	began := time.Now()
	report, err := verifier.Verify(k.Log.Entries(ctx, from))
	if err == nil && verifier.AnyStart {
		err = k.verifyFirst(ctx, first, from, verifier)
	}
	if err != nil {
		return err
	}
	if report.Kept.Seq > k.kept.Seq {
		k.kept = report.Kept
	}
	attributes := []any{"entries", report.Count, "from", report.First.Seq, "to", report.Last.Seq, "not_verified", from - first.Seq, "took", time.Since(began)}
	if k.last != nil {
		attributes = append(attributes, "checkpoint", k.last.Seq)
	}
	k.Logger.Info("audit log verified", attributes...)
	if k.last == nil && report.Checkpoints > 0 && !k.Shared {
		k.Logger.Warn("the audit log has checkpoints of another key, and there is none of this replica: whether its end was cut is unknown", "folder", k.Dir, "keys", report.Signers)
	}
	return nil
}

// verifyFirst checks that a checkpoint records the deletion of the entries before the first
// one. It searches the entries from the sequence verified on before the older ones.
func (k *Keeper) verifyFirst(ctx context.Context, first Head, verified uint64, v Verifier) error {
	if first.Seq == 1 || first == k.kept {
		return nil
	}
	for i := range v.Against {
		if found, err := k.names(ctx, &v.Against[i], first, v); found || err != nil {
			return err
		}
	}
	for _, from := range []uint64{verified, 1} { // nearly always it is among the verified ones
		for entry, err := range k.Log.OfType(ctx, approvals.EventCheckpoint, from) {
			if err != nil {
				return err
			}
			if found, err := k.names(ctx, entry.Event.Checkpoint, first, v); found || err != nil {
				return err
			}
		}
	}
	return &BrokenError{first.Seq, "the log begins here, and no checkpoint states that the entries before were removed by retention"}
}

// names reports whether a checkpoint names the first entry of the log, or one after it, as the
// first that is kept. Then the keeper's own checkpoints do so too.
func (k *Keeper) names(ctx context.Context, c *approvals.Checkpoint, first Head, v Verifier) (bool, error) {
	trusted := c != nil && CheckSignature(c) == nil && (v.KeptKeys == nil || c.Key == k.key.Public())
	if !trusted || c.First < first.Seq {
		return false, nil
	}
	entry, err := k.Log.Entry(ctx, c.First)
	found := err == nil && entry.Event.Hash == c.FirstHash
	if found {
		k.kept = Head{Seq: c.First, Hash: c.FirstHash}
	}
	if errors.Is(err, ErrNoEntry) {
		err = nil
	}
	return found, err
}

// AcceptLoss records the loss in a log that cannot be verified, and lets the log begin
// with that record. It keeps the remaining entries.
func (k *Keeper) AcceptLoss(ctx context.Context, loss error) error {
	now := k.Now().UTC()
	err := k.Log.AppendEvents(ctx, approvals.Event{ID: k.ids.Next(now), Type: approvals.EventLossAccepted, Time: now, Note: loss.Error()})
	if err != nil {
		return fmt.Errorf("record the accepted loss: %w", err)
	}
	head, err := k.Log.Head(ctx)
	if err != nil {
		return err
	}
	k.last, k.kept = nil, head
	return k.sign(ctx, head)
}

// Run writes checkpoints and removes old entries until the context ends. The caller then
// calls [Keeper.Checkpoint] once more, when nothing else is written.
func (k *Keeper) Run(ctx context.Context) error {
	checkpoints, retention := time.NewTicker(k.Every), time.NewTicker(retainEvery)
	defer checkpoints.Stop()
	defer retention.Stop()
	k.retain(ctx)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-checkpoints.C:
			if err := k.Checkpoint(ctx); err != nil && ctx.Err() == nil {
				k.Logger.Error("failed to write a checkpoint of the audit log", "error", err, "again_in", k.Every)
			}
		case <-retention.C:
			k.retain(ctx)
		}
	}
}

// Checkpoint signs the log if it has new events since the last checkpoint. It fails with a
// [*BrokenError] if the entry of the last checkpoint was changed or removed meanwhile. It is
// for the goroutine of [Keeper.Run], or after its end.
func (k *Keeper) Checkpoint(ctx context.Context) error {
	head, err := k.Log.Head(ctx)
	if err != nil {
		return err
	}
	if k.last != nil && head.Seq < k.last.Seq {
		return &BrokenError{head.Seq + 1, fmt.Sprintf("it is missing: a checkpoint up to entry %d was signed", k.last.Seq)}
	}
	if err := k.adopt(ctx); err != nil {
		return err
	}
	if grown, err := k.grown(ctx, head); err != nil || !grown {
		return err
	}
	return k.sign(ctx, head)
}

// grown reports whether there are events after the last checkpoint, the checkpoints of all
// replicas aside.
func (k *Keeper) grown(ctx context.Context, head Head) (bool, error) {
	if k.last == nil {
		return head.Seq > 0, nil
	}
	covered, err := k.Log.Entry(ctx, k.last.Seq)
	if errors.Is(err, ErrNoEntry) && k.last.Seq < k.kept.Seq {
		return true, nil
	}
	if err == nil && covered.Event.Hash != k.last.Hash {
		err = &BrokenError{k.last.Seq, "its hash is not the one that was signed"}
	}
	if err != nil {
		return false, err
	}
	for seq := head.Seq; seq > k.last.Seq; seq-- {
		entry, err := k.Log.Entry(ctx, seq)
		if err != nil || entry.Event.Type != approvals.EventCheckpoint {
			return err == nil, err
		}
	}
	return false, nil
}

// adopt finds the checkpoint of another replica that states where the log begins now.
func (k *Keeper) adopt(ctx context.Context) error {
	if !k.Shared || k.last == nil {
		return nil
	}
	first, err := k.Log.First(ctx)
	if err != nil || first.Seq <= k.kept.Seq {
		return err
	}
	for entry, err := range k.Log.OfType(ctx, approvals.EventCheckpoint, k.last.Seq) {
		if err != nil {
			return err
		}
		if c := entry.Event.Checkpoint; c != nil && c.First > k.kept.Seq && CheckSignature(c) == nil {
			k.kept = Head{Seq: c.First, Hash: c.FirstHash}
		}
	}
	return nil
}

// sign writes a checkpoint of a head to the log, to the file, and to heldcall's own log.
func (k *Keeper) sign(ctx context.Context, head Head) error {
	c := k.key.Sign(approvals.Checkpoint{Seq: head.Seq, Hash: head.Hash, First: k.kept.Seq, FirstHash: k.kept.Hash}, k.Now())
	e := approvals.Event{ID: k.ids.Next(c.Time), Type: approvals.EventCheckpoint, Time: c.Time, Checkpoint: &c}
	if err := k.Log.AppendEvents(ctx, e); err != nil {
		return err
	}
	text, err := json.Marshal(struct {
		Checkpoint *approvals.Checkpoint `json:"checkpoint"`
	}{&c})
	if err != nil {
		return fmt.Errorf("encode a checkpoint: %w", err)
	}
	if err := writeFile(filepath.Join(k.Dir, checkpointFile), append(bytes.TrimSpace(text), '\n')); err != nil {
		return fmt.Errorf("write the last checkpoint: %w", err)
	}
	k.last = &c
	k.Logger.Debug("audit checkpoint", "seq", c.Seq, "hash", c.Hash, "replica", c.Replica, "time", c.Time, "first", c.First, "first_hash", c.FirstHash, "signature", c.Signature)
	return nil
}

// Retain removes the entries that are older than the retention, after a checkpoint that names
// the first one that is kept.
func (k *Keeper) Retain(ctx context.Context) error {
	before := k.kept
	err := k.Log.DropBefore(ctx, k.Now().Add(-k.Retention), func(ctx context.Context, first Head) error {
		head, err := k.Log.Head(ctx)
		if err != nil {
			return err
		}
		k.kept = first
		return k.sign(ctx, head)
	})
	if err != nil && k.last != nil && k.last.First != k.kept.Seq {
		k.kept = before // no checkpoint names it
	}
	return err
}

func (k *Keeper) retain(ctx context.Context) {
	if err := k.Retain(ctx); err != nil && ctx.Err() == nil {
		k.Logger.Warn("failed to remove old audit entries; trying again in an hour", "error", err)
	}
}
