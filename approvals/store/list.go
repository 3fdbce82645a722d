package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/heldcall/heldcall/approvals"
)

const (
	defaultPage = 50
	maxPage     = 500
	listReads   = 8       // records read at the same time
	listBatch   = 16      // records in memory at a time beside the page; they may be large
	listBytes   = 8 << 20 // of large fields, after which a page ends early
)

// Limits of one search by words. The texts of large requests are not in the index, so each of
// these is read.
const (
	searchReads = 2000            // requests that are read
	searchTime  = 5 * time.Second // after which no more are read
	maxSearches = 2               // at the same time; others wait for at most searchTime
	maxLists    = 4               // the same: a page of large requests takes several times listBytes while it is read
)

// ListRequests lists requests, newest first. A page of large requests ends early, with
// a cursor, and so does a search that has read many. The index that it searches is kept
// by [Requests.WatchRequests].
func (s *Requests) ListRequests(ctx context.Context, f approvals.Filter) (approvals.Page, error) {
	f.Limit = min(f.Limit, maxPage)
	if f.Limit <= 0 {
		f.Limit = defaultPage
	}
	if f.Text != "" {
		done, err := awaitPlace(ctx, s.searching)
		if err != nil {
			return approvals.Page{}, err
		}
		defer done()
	}
	done, err := awaitPlace(ctx, s.listing)
	if err != nil {
		return approvals.Page{}, err
	}
	defer done()
	return s.list(ctx, f)
}

// list reads a page, in batches.
func (s *Requests) list(ctx context.Context, f approvals.Filter) (approvals.Page, error) {
	byWords := f.Text != ""
	page, search := approvals.Page{Items: []approvals.Request{}}, approvals.NewSearch(f.Text)
	batch, began, bytes := f, time.Now(), 0
	for looked := 0; bytes < listBytes && (!byWords || (looked < searchReads && time.Since(began) < searchTime)); looked += batch.Limit {
		batch.Limit = listBatch
		if !byWords {
			batch.Limit = min(listBatch, f.Limit-len(page.Items))
		}
		ids, more, err := s.index.Search(batch)
		if err != nil {
			return approvals.Page{}, err
		}
		read, err := s.read(ctx, f, ids)
		if err != nil {
			return approvals.Page{}, err
		}
		size, rest := appendFound(&page, read, search, f.Limit)
		bytes += size
		switch {
		case len(page.Items) == f.Limit && (more || rest):
			page.NextCursor = page.Items[f.Limit-1].ID
			return page, nil
		case !more:
			page.NextCursor = ""
			return page, nil
		}
		batch.Cursor = ids[len(ids)-1]
		page.NextCursor = batch.Cursor
	}
	return page, nil
}

// appendFound appends those of the requests that a search finds to a page of at most
// limit items. It returns the bytes of their large fields, and whether some of the
// requests were not looked at because the page is full.
func appendFound(page *approvals.Page, read []approvals.Request, search approvals.Search, limit int) (size int, rest bool) {
	for i := range read {
		if len(page.Items) == limit {
			return size, true
		}
		if search.Finds(&read[i]) {
			page.Items = append(page.Items, read[i])
			size += read[i].Size()
		}
	}
	return size, false
}

// awaitPlace waits for a place among the lists that are read: released calls need the store too.
func awaitPlace(ctx context.Context, places chan struct{}) (done func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: too many lists are read: %w", approvals.ErrStoreUnavailable, ctx.Err())
	}
}

// read reads requests and returns those that the filter still selects.
func (s *Requests) read(ctx context.Context, f approvals.Filter, ids []string) ([]approvals.Request, error) {
	read := make([]*approvals.Request, len(ids))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(listReads)
	for i, id := range ids {
		group.Go(func() error {
			stored, err := s.GetRequest(ctx, id)
			if err == nil && f.Matches(&stored.Request) { // it may have changed
				read[i] = &stored.Request
			}
			if errors.Is(err, approvals.ErrUnknownRequest) || errors.Is(err, errUnreadable) { // retention has deleted it, or the watch has logged why
				return nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	found := []approvals.Request{}
	for _, r := range read {
		if r != nil {
			found = append(found, *r)
		}
	}
	return found, nil
}
