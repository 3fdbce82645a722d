package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// Audit yields the events that have been recorded since a time, oldest first, and
// ends with the last of them.
func (c *Client) Audit(ctx context.Context, since time.Time) iter.Seq2[approvals.Event, error] {
	return func(yield func(approvals.Event, error) bool) {
		query := url.Values{"since": {since.UTC().Format(time.RFC3339Nano)}}
		for {
			var page approvals.EventPage
			if err := c.exchange(ctx, http.MethodGet, "/api/v1/audit?"+query.Encode(), nil, &page); err != nil {
				yield(approvals.Event{}, err)
				return
			}
			for _, e := range page.Items {
				if !yield(e, nil) {
					return
				}
			}
			if page.NextCursor == "" {
				return
			}
			query.Set("cursor", page.NextCursor)
		}
	}
}
