// Package secrets hides the encryption of values that agents use without reading them: in the
// store each is encrypted, and bound to a principal, or to a principal and a session. [Secrets]
// has them decrypted in memory, for the masks and for the release of calls.
//
// Read secrets.go, then write.go (storing and deleting), keys.go (the key file) and
// guess.go (values that are refused).
package secrets

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/mask"
)

// Store has encrypted records by their ids. Failures wrap [approvals.ErrStoreUnavailable].
type Store interface {
	// GetSecret fails with [approvals.ErrUnknownSecret].
	GetSecret(ctx context.Context, id string) (sealed []byte, revision uint64, err error)
	// CreateSecret writes a record of an id that has none or whose record was deleted, else
	// it fails with [approvals.ErrConflict].
	CreateSecret(ctx context.Context, id string, sealed []byte) (revision uint64, err error)
	// UpdateSecret replaces the record at a revision, else it fails with
	// [approvals.ErrConflict].
	UpdateSecret(ctx context.Context, id string, sealed []byte, at uint64) (revision uint64, err error)
	// DeleteSecret deletes a record that is at a revision (0: at any), else it fails with
	// [approvals.ErrConflict].
	DeleteSecret(ctx context.Context, id string, at uint64) error
	// EraseSecrets erases the bytes of records that were replaced or deleted, as UpdateSecret and DeleteSecret
	// do, where a crash or an error has left them.
	EraseSecrets(ctx context.Context) error
	// WatchSecrets calls changed with every record and every change of one, gone with the ids of
	// deleted ones and the revisions of their deletion, and loaded once after the records of the start.
	WatchSecrets(ctx context.Context, changed func(id string, sealed []byte, revision uint64), gone func(id string, revision uint64), loaded func()) error
	// AwaitSecrets waits until WatchSecrets has called changed and gone with all that any replica
	// had written before the call.
	AwaitSecrets(ctx context.Context) error
}

// Options configures [New].
type Options struct {
	Store   Store
	KeyFile string           // made when the first secret is stored
	Now     func() time.Time // nil: time.Now
	Log     *slog.Logger     // nil: discards
}

// Secrets has all secrets. It is safe for concurrent use.
type Secrets struct {
	store   Store
	keyFile string
	now     func() time.Time
	log     *slog.Logger
	ready   chan struct{}

	writing *semaphore.Weighted // one write at a time

	mu      sync.RWMutex
	keys    *keys // nil: none is needed yet
	byID    map[string]stored
	broken  map[string]error // records that cannot be read
	maskers map[approvals.Principal]*mask.Masker
}

// stored is a decrypted record.
type stored struct {
	approvals.Secret
	Value  string   `json:"value"`
	Former []string `json:"former,omitempty"` // values that this one has replaced: conversations contain them
	// Request is the request to which an answer has the value, while it is not known whether
	// the answer is the decision; else "". Before is the record before all answers to it.
	Request string  `json:"request,omitempty"`
	Before  *stored `json:"before,omitempty"`

	revision uint64
	old      bool // it is encrypted with an older key
}

// keptAfter is how long a value is masked after its end: conversations that contain it go
// on.
const keptAfter = 30 * 24 * time.Hour

// checkID is the id of the record by which replicas compare their keys.
const checkID = "key"

// New reads the key file, if there is one, and returns Secrets without secrets;
// [Secrets.Run] reads them.
func New(o Options) (*Secrets, error) {
	s := &Secrets{
		store: o.Store, keyFile: o.KeyFile, now: o.Now, log: o.Log, ready: make(chan struct{}), writing: semaphore.NewWeighted(1),
		byID: map[string]stored{}, broken: map[string]error{}, maskers: map[approvals.Principal]*mask.Masker{},
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if s.keys, err = openKeys(s.keyFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return s, nil
}

// Run watches the store, and removes secrets that have ended, until the context ends. Call
// it once.
func (s *Secrets) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.store.WatchSecrets(ctx, s.apply, s.remove, func() { close(s.ready) }) })
	group.Go(func() error {
		s.sweep(ctx)
		return nil
	})
	if err := group.Wait(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("watch the secrets: %w", err)
	}
	return nil
}

// Ready is closed when all records have been read.
func (s *Secrets) Ready() <-chan struct{} { return s.ready }

// Check returns why the secrets cannot be used: a record is encrypted with a key that
// is not in the key file. What cannot be decrypted cannot be masked either.
func (s *Secrets) Check(context.Context) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, err := range s.broken {
		return err
	}
	return nil
}

// apply takes a record of the store.
func (s *Secrets) apply(id string, sealed []byte, revision uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, err := s.decode(id, sealed)
	if err != nil && s.keys == nil { // another replica may have shared its new file
		if k, opened := openKeys(s.keyFile); opened == nil {
			s.keys = k
			one, err = s.decode(id, sealed)
		}
	}
	delete(s.broken, id)
	if err != nil {
		s.broken[id] = err
		clear(s.maskers)
		s.log.Error("a stored secret cannot be read: requests of agents are refused", "error", err)
		return
	}
	one.revision = revision
	if known, exists := s.byID[id]; !exists || known.revision < revision {
		s.byID[id] = one
		clear(s.maskers)
	}
}

// decode decrypts a record.
func (s *Secrets) decode(id string, sealed []byte) (one stored, err error) {
	text, old, err := s.keys.open(sealed)
	if err != nil {
		return one, err
	}
	if err := json.Unmarshal(text, &one); err != nil {
		return one, fmt.Errorf("read a secret: its record is not valid: %w", err)
	}
	if one.old = old; id != checkID && id != idOf(one.Secret) {
		return one, fmt.Errorf("read the secret %s: its record is under the key of another one", one.Name)
	}
	return one, nil
}

// remove removes a record that was deleted at a revision, unless a later one is known: the watch reports the
// deletion after this process has stored the secret again.
func (s *Secrets) remove(id string, revision uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID[id].revision > revision {
		return
	}
	delete(s.byID, id)
	delete(s.broken, id)
	clear(s.maskers)
}

// idOf returns the id of a secret: one principal and session have one of a name.
func idOf(s approvals.Secret) string {
	p := s.Principal
	text, _ := json.Marshal([]string{p.Tenant, p.User, p.Agent, s.SessionID, s.Name})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// Await waits until this replica knows the secrets that any replica had stored before the call. It fails
// with [approvals.ErrStoreUnavailable].
func (s *Secrets) Await(ctx context.Context) error {
	if err := s.store.AwaitSecrets(ctx); err != nil {
		return fmt.Errorf("read the secrets that other replicas have stored: %w", err)
	}
	return nil
}

// Masker returns the masker of the secrets of a principal in all its sessions, nil if there are none. It
// may not know secrets that other replicas have just stored: call [Secrets.Await] before. It fails while
// any stored secret cannot be read.
func (s *Secrets) Masker(who approvals.Principal) (*mask.Masker, error) {
	s.mu.RLock()
	none := len(s.byID) == 0 && len(s.broken) == 0
	m, known := s.maskers[who]
	s.mu.RUnlock()
	if none || known {
		return m, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, err := range s.broken {
		return nil, err
	}
	m = s.newMasker(func(one *stored) bool { return one.IsFor(who) })
	s.maskers[who] = m
	return m, nil
}

// maskerOfAll returns the masker of the secrets of all principals, nil if there are none.
func (s *Secrets) maskerOfAll() (*mask.Masker, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, err := range s.broken {
		return nil, err
	}
	return s.newMasker(func(*stored) bool { return true }), nil
}

// newMasker returns the masker of the secrets that are chosen. The caller holds the lock.
func (s *Secrets) newMasker(chosen func(*stored) bool) *mask.Masker {
	var all []mask.Secret // always in the same order
	for _, id := range slices.Sorted(maps.Keys(s.byID)) {
		if one := s.byID[id]; id != checkID && chosen(&one) {
			for _, value := range append([]string{one.Value}, one.Former...) {
				all = append(all, mask.Secret{Name: one.Name, Value: value})
			}
		}
	}
	return mask.New(all)
}

// Has reports whether a principal may have secrets.
func (s *Secrets) Has(who approvals.Principal) bool {
	m, err := s.Masker(who)
	return m != nil || err != nil
}

// Value returns the value of a secret for a call: that of the session, else that of the
// principal, else that of all principals of which it is one, the narrowest first. It is false if there is
// none, or if it has ended.
func (s *Secrets) Value(who approvals.Principal, session, name string) (value string, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, of := range []string{session, ""} {
		for _, principal := range holders(who) {
			one, exists := s.byID[idOf(approvals.Secret{Name: name, Principal: principal, SessionID: of})]
			if exists && s.now().Before(one.ExpiresAt) {
				return one.Value, true
			}
		}
	}
	return "", false
}

// holders returns the principals whose secrets a principal may use, the narrowest first.
func holders(who approvals.Principal) (all []approvals.Principal) {
	for _, tenant := range []string{who.Tenant, approvals.EveryName} {
		for _, user := range []string{who.User, approvals.EveryName} {
			for _, agent := range []string{who.Agent, approvals.EveryName} {
				all = append(all, approvals.Principal{Tenant: tenant, User: user, Agent: agent})
			}
		}
	}
	return all
}

// List returns all secrets without their values, by name.
func (s *Secrets) List() []approvals.Secret {
	s.mu.RLock()
	defer s.mu.RUnlock()
	list := []approvals.Secret{}
	for _, id := range slices.Sorted(maps.Keys(s.byID)) {
		if id != checkID {
			list = append(list, s.byID[id].Secret)
		}
	}
	slices.SortStableFunc(list, func(a, b approvals.Secret) int { return strings.Compare(a.Name, b.Name) })
	return list
}
