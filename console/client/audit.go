package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/audit"
)

// Audit yields the events that have been recorded since a time, oldest first, and
// ends with the last of them.
func (c *Client) Audit(ctx context.Context, since time.Time) iter.Seq2[approvals.Event, error] {
	return func(yield func(approvals.Event, error) bool) {
		for entry, err := range c.AuditEntries(ctx, 0, since) {
			if !yield(entry.Event, err) {
				return
			}
		}
	}
}

// AuditEntries yields the entries of the audit log after a sequence (0: from the first) that
// have been recorded since a time, oldest first, and ends with the last of them. Data has
// the bytes that were hashed.
func (c *Client) AuditEntries(ctx context.Context, after uint64, since time.Time) iter.Seq2[audit.Entry, error] {
	return func(yield func(audit.Entry, error) bool) {
		query := url.Values{}
		if !since.IsZero() {
			query.Set("since", since.UTC().Format(time.RFC3339Nano))
		}
		if after > 0 {
			query.Set("cursor", strconv.FormatUint(after, 10))
		}
		for {
			var page struct {
				Items      []json.RawMessage `json:"items"`
				NextCursor string            `json:"next_cursor"`
			}
			if err := c.exchange(ctx, http.MethodGet, "/api/v1/audit?"+query.Encode(), nil, &page); err != nil {
				yield(audit.Entry{}, err)
				return
			}
			for _, item := range page.Items {
				entry, err := audit.Read(item, after+1)
				if !yield(entry, err) || err != nil {
					return
				}
				after = entry.Seq
			}
			if page.NextCursor == "" {
				return
			}
			query.Set("cursor", page.NextCursor)
		}
	}
}

// StateDifferences returns the records of the state that are not as the audit log says.
func (c *Client) StateDifferences(ctx context.Context) ([]audit.Difference, error) {
	page, err := call[struct {
		Items []audit.Difference `json:"items"`
	}](ctx, c, http.MethodGet, "/api/v1/audit/state", nil)
	return page.Items, err
}
