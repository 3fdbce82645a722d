package store

import (
	"context"
	"fmt"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// What bounds one search: the texts of requests are not in memory, each is read.
const (
	searchReads = 2000            // requests that are looked through
	searchTime  = 5 * time.Second // after which no more are read
	searchBatch = 16              // requests in memory at a time, which may be large
	maxSearches = 2               // at the same time; others wait, as long as one may take
)

// awaitSearch waits for the right to search: released calls need the store too.
func (s *Requests) awaitSearch(ctx context.Context) (done func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	select {
	case s.searching <- struct{}{}:
		return func() { <-s.searching }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: others are searching: %w", approvals.ErrStoreUnavailable, ctx.Err())
	}
}

// search reads requests, newest first, until the words of the filter were
// found in enough of them, or many were looked through.
func (s *Requests) search(ctx context.Context, f approvals.Filter) (approvals.Page, error) {
	done, err := s.awaitSearch(ctx)
	if err != nil {
		return approvals.Page{}, err
	}
	defer done()
	page, search := approvals.Page{Items: []approvals.Request{}}, approvals.NewSearch(f.Text)
	batch := f
	batch.Limit = searchBatch
	began := time.Now()
	for looked := 0; looked < searchReads && time.Since(began) < searchTime; looked += searchBatch {
		ids, more := s.index.search(batch)
		read, err := s.read(ctx, f, ids)
		if err != nil {
			return approvals.Page{}, err
		}
		for i := range read {
			if !search.Finds(&read[i]) {
				continue
			}
			page.Items = append(page.Items, read[i])
			if len(page.Items) == f.Limit {
				if more || i < len(read)-1 {
					page.NextCursor = read[i].ID
				}
				return page, nil
			}
		}
		if !more {
			page.NextCursor = ""
			return page, nil
		}
		batch.Cursor = ids[len(ids)-1]
		page.NextCursor = batch.Cursor
	}
	return page, nil
}
