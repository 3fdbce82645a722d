// Package requestindex hides a bbolt file: an index of requests by the fields that filters compare,
// and by their texts. It is in a file, so that memory does not grow with the history. The requests themselves are in a bucket, from
// which the file is made again if it is missing or damaged.
//
// Read [Open], entry.go (the fields of a request), search.go, groups.go (their texts), then
// flush.go (changes are in memory until they are written to the file).
package requestindex

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/heldcall/heldcall/approvals"
)

// version is that of the format of the file. A file of another version is made again.
const version = 5

// lockWait is the time limit for the lock of the file.
const lockWait = 5 * time.Second

// The buckets of the file, and the keys in bucketMeta.
var (
	bucketMeta     = []byte("meta")
	bucketRequests = []byte("requests") // entries by id
	bucketFields   = []byte("fields")   // a key for each field of an entry: see fieldPrefix
	bucketOpen     = []byte("open")     // ids of requests that are not closed
	bucketGroups   = []byte("groups")   // the texts of requests: see groups.go

	keySource  = []byte("source")
	keyCovered = []byte("covered")
)

// Source is the bucket from which an index is made.
type Source struct {
	ID   string // no other bucket has it
	Last uint64 // its last revision
}

// Index has the fields of requests by id. Ids are ULIDs, so their order is the order of
// creation. It is safe for concurrent use.
type Index struct {
	db      *bolt.DB
	scratch string // the file that Close removes, "" for none
	log     *slog.Logger
	stop    chan struct{}
	wake    chan struct{} // receives when many changes are not in the file
	done    sync.WaitGroup
	failing bool        // the last write of flushRegularly failed
	damaged atomic.Bool // the file must not be used any more

	flushing sync.Mutex // held while changes are written

	mu      sync.RWMutex
	changed map[string]*entry // that are not in the file yet, by id; nil: it was removed
	groups  map[string]*group // that are not in the file yet, by the id with which they begin
	covered uint64            // all revisions up to it are in the index
	written uint64            // the value of covered in the file
}

// Open opens the index in a file. It begins an empty one if the file is damaged or is the index of
// another source.
func Open(path string, source Source, log *slog.Logger) (*Index, error) {
	x := &Index{log: log, stop: make(chan struct{}), wake: make(chan struct{}, 1), changed: map[string]*entry{}, groups: map[string]*group{}}
	err := x.open(path, source)
	if err != nil && !errors.Is(err, berrors.ErrTimeout) {
		log.Info("making the index of the requests again", "file", path, "reason", err)
		if err = os.Remove(path); err == nil || errors.Is(err, os.ErrNotExist) {
			err = x.open(path, source)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open the index of the requests, %s: %w", path, err)
	}
	x.done.Go(x.flushRegularly)
	return x, nil
}

// OpenScratch opens an empty index in a new file in a folder, "" for the folder of temporary files.
// It removes the file at once, so that a crash leaves none; on a system that does not remove open
// files, Close removes it.
func OpenScratch(dir string, source Source, log *slog.Logger) (*Index, error) {
	if dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make the folder of the index of the requests: %w", err)
		}
	}
	file, err := os.CreateTemp(dir, "heldcall.index.*")
	if err != nil {
		return nil, fmt.Errorf("make the index of the requests: %w", err)
	}
	defer func() { _ = os.Remove(file.Name()) }()
	if err := file.Close(); err != nil {
		return nil, fmt.Errorf("make the index of the requests: %w", err)
	}
	x, err := Open(file.Name(), source, log)
	if err == nil {
		x.scratch = file.Name()
	}
	return x, err
}

// open opens the file. Its error is the reason to make the index again.
func (x *Index) open(path string, source Source) (err error) {
	if err = x.openFile(path); err != nil {
		return err
	}
	err = guarded(func() error { return x.db.Update(func(tx *bolt.Tx) error { return x.load(tx, source) }) })
	if err = errors.Join(err, x.db.Close()); err != nil {
		return err
	}
	return x.openFile(path) // without the pages that load has read into memory
}

func (x *Index) openFile(path string) error {
	return guarded(func() (err error) {
		x.db, err = bolt.Open(path, 0o600, &bolt.Options{Timeout: lockWait})
		return err
	})
}

// load creates the buckets of a new file, or checks that the file is the index of the source.
func (x *Index) load(tx *bolt.Tx, source Source) error {
	x.covered, x.written = 0, 0 // after a file that could not be opened again
	id := fmt.Appendf(nil, "%d %s", version, source.ID)
	meta := tx.Bucket(bucketMeta)
	if meta == nil {
		for _, name := range [][]byte{bucketMeta, bucketRequests, bucketFields, bucketOpen, bucketGroups} {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		return tx.Bucket(bucketMeta).Put(keySource, id)
	}
	if was := string(meta.Get(keySource)); was != string(id) {
		return fmt.Errorf("it is the index of %q, not of %q", was, id)
	}
	covered := uint64(0)
	if value := meta.Get(keyCovered); len(value) == 8 {
		covered = binary.BigEndian.Uint64(value)
	}
	if covered > source.Last {
		return fmt.Errorf("it covers revision %d, and the last revision of the requests is %d", covered, source.Last)
	}
	if err := check(tx, source.Last); err != nil {
		return err
	}
	x.covered, x.written = covered, covered
	return nil
}

// check reads the whole file. It fails if a part is missing or changed: the keys of fields and of open
// requests must be those of the entries, whose revisions are at most the last one of the source. Each
// request must be in its group.
func check(tx *bolt.Tx, last uint64) error {
	if info, err := os.Stat(tx.DB().Path()); err != nil || info.Size() < tx.Size() {
		return errors.Join(errors.New("the file is cut"), err)
	}
	seed := maphash.MakeSeed()
	var fields, open uint64 // sums of the hashes of keys
	groups := newGroupReader(tx)
	err := tx.Bucket(bucketRequests).ForEach(func(id, value []byte) error {
		e, err := parseEntry(value)
		if err != nil {
			return err
		}
		if e.revision > last {
			return fmt.Errorf("it is newer than the requests: %s has the revision %d, the last is %d", id, e.revision, last)
		}
		for _, key := range e.keys(string(id)) {
			fields += maphash.Bytes(seed, key)
		}
		if e.open {
			open += maphash.Bytes(seed, id)
		}
		return groups.check(id)
	})
	for name, want := range map[string]uint64{string(bucketFields): fields, string(bucketOpen): open} {
		sum := uint64(0)
		err = errors.Join(err, tx.Bucket([]byte(name)).ForEach(func(key, _ []byte) error { sum += maphash.Bytes(seed, key); return nil }))
		if sum != want {
			err = errors.Join(err, fmt.Errorf("the keys of %s are not those of the requests", name))
		}
	}
	return err
}

// errDamaged is in the error for a damaged file: the library panics, or a part cannot be read.
var errDamaged = errors.New("the index is damaged")

// guarded calls do, and returns a panic as an error: the library panics if its file is damaged.
// It reads the file as memory, so a part that cannot be read would end the process.
func guarded(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: %v", errDamaged, cause)
		}
	}()
	return do()
}

// use calls do, which reads or writes the file, unless the file is damaged: then the library may
// hold its locks for ever. The next start makes the index again.
func (x *Index) use(do func() error) error {
	if x.damaged.Load() {
		return errDamaged
	}
	err := guarded(do)
	if errors.Is(err, errDamaged) {
		x.damaged.Store(true)
	}
	return err
}

// view reads the file.
func (x *Index) view(read func(*bolt.Tx) error) error {
	return x.use(func() error { return x.db.View(read) })
}

// Close writes the changes that are left, and closes the file.
func (x *Index) Close() error {
	close(x.stop)
	x.done.Wait()
	if x.scratch != "" {
		defer os.Remove(x.scratch)
		return x.use(x.db.Close)
	}
	return errors.Join(x.flush(), x.use(x.db.Close))
}

// Put indexes a revision of a request as open. It reports false for a revision that is older than
// the indexed one.
func (x *Index) Put(r *approvals.Request, revision uint64, at time.Time) bool {
	if known := x.Revision(r.ID); revision <= known { // before its text is read: the watch reports each own write
		return revision == known // the entry may be closed, and stays so
	}
	e, searchText := entryOf(r, revision, at), r.SearchText()
	x.mu.Lock()
	defer x.mu.Unlock()
	if known := x.findLocked(r.ID); known != nil && revision <= known.revision {
		return revision == known.revision
	}
	x.addLocked(r.ID, searchText)
	x.setLocked(r.ID, e)
	return true
}

// IsOpen reports whether a request is in the index and not closed.
func (x *Index) IsOpen(id string) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	e := x.findLocked(id)
	return e != nil && e.open
}

// Revision returns the indexed revision of a request, 0 for none.
func (x *Index) Revision(id string) uint64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if e := x.findLocked(id); e != nil {
		return e.revision
	}
	return 0
}

// CloseRequest marks a request as closed, if it is still at a revision.
func (x *Index) CloseRequest(id string, revision uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	known := x.findLocked(id)
	if known == nil || known.revision != revision || !known.open {
		return
	}
	closed := *known
	closed.open = false
	x.setLocked(id, &closed)
}

// Remove removes a request.
func (x *Index) Remove(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.setLocked(id, nil)
}

func (x *Index) setLocked(id string, e *entry) {
	if x.changed[id] = e; len(x.changed) >= flushSize {
		select {
		case x.wake <- struct{}{}:
		default:
		}
	}
}

// findLocked returns the entry of a request, nil for none.
func (x *Index) findLocked(id string) (e *entry) {
	if e, changed := x.changed[id]; changed {
		return e
	}
	err := x.view(func(tx *bolt.Tx) (err error) {
		e, err = parseEntry(tx.Bucket(bucketRequests).Get([]byte(id)))
		return err
	})
	x.logRead(id, err)
	return e
}

// logRead logs that the file could not be read for a request.
func (x *Index) logRead(id string, err error) {
	if err != nil && !errors.Is(err, berrors.ErrDatabaseNotOpen) { // it is closed when heldcall stops
		x.log.Error("failed to read the index of the requests", "request", id, "error", err)
	}
}

// Cover marks that all revisions up to one are in the index.
func (x *Index) Cover(revision uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.covered = max(x.covered, revision)
}

// Covered returns the revision up to which all revisions are in the index.
func (x *Index) Covered() uint64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.covered
}
