package store

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// requestIndex has the fields of requests that filters compare, by id. Ids are ULIDs, so
// their order is the order of creation.
type requestIndex struct {
	mu   sync.RWMutex
	ids  []string // ascending
	byID map[string]indexed
}

// indexed are the fields of a request that are in the index.
type indexed struct {
	status         approvals.Status
	kind           approvals.Kind
	risk           approvals.Risk
	session, runID string
	revision       uint64
	at             int64 // when it was written, unix seconds
}

func newRequestIndex() *requestIndex { return &requestIndex{byID: map[string]indexed{}} }

// put indexes a revision of a request. It reports false for a revision that is older than
// the indexed one.
func (x *requestIndex) put(r approvals.Request, revision uint64, at time.Time) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	known, exists := x.byID[r.ID]
	if exists && revision < known.revision {
		return false
	}
	x.byID[r.ID] = indexed{r.Status, r.Kind, r.RiskLevel, r.SessionID, r.RunID, revision, at.Unix()}
	if !exists {
		place, _ := slices.BinarySearch(x.ids, r.ID)
		x.ids = slices.Insert(x.ids, place, r.ID)
	}
	return true
}

func (x *requestIndex) remove(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, exists := x.byID[id]; !exists {
		return
	}
	delete(x.byID, id)
	if at, found := slices.BinarySearch(x.ids, id); found {
		x.ids = slices.Delete(x.ids, at, at+1)
	}
}

// removeBefore removes the requests that the bucket has deleted by age.
func (x *requestIndex) removeBefore(t time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ids = slices.DeleteFunc(x.ids, func(id string) bool {
		old := x.byID[id].at < t.Unix()
		if old {
			delete(x.byID, id)
		}
		return old
	})
}

// search returns the ids of a page, newest first, and whether there are more.
func (x *requestIndex) search(f approvals.Filter) (ids []string, more bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	end := len(x.ids)
	if f.Cursor != "" {
		end, _ = slices.BinarySearch(x.ids, f.Cursor)
	}
	for i := end - 1; i >= 0; i-- {
		e := x.byID[x.ids[i]]
		probe := approvals.Request{Status: e.status, Kind: e.kind, RiskLevel: e.risk, SessionID: e.session, RunID: e.runID}
		if !f.Matches(&probe) {
			continue
		}
		if len(ids) == f.Limit {
			return ids, true
		}
		ids = append(ids, x.ids[i])
	}
	return ids, false
}

// skipUnknown ignores the error for a record that retention has deleted meanwhile.
func skipUnknown(err error) error {
	if errors.Is(err, approvals.ErrUnknownRequest) {
		return nil
	}
	return err
}
