package store

import (
	"context"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// What bounds one search: the texts of requests are not in memory, each is read.
const (
	searchReads = 2000            // requests that are looked through
	searchTime  = 5 * time.Second // after which no more are read
	searchBatch = 64              // requests in memory at a time, which may be large
)

// searchRequests reads requests, newest first, until the words of the filter were
// found in enough of them, or many were looked through.
func (s *Store) searchRequests(ctx context.Context, f approvals.Filter) (approvals.Page, error) {
	page, search := approvals.Page{Items: []approvals.Request{}}, approvals.NewSearch(f.Text)
	batch := f
	batch.Limit = searchBatch
	began := time.Now()
	for looked := 0; looked < searchReads && time.Since(began) < searchTime; looked += searchBatch {
		ids, more := s.index.search(batch)
		read, err := s.readRequests(ctx, f, ids)
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
