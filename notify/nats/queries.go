package nats

import (
	"context"

	"github.com/heldcall/heldcall/approvals"
)

// requestQuery is an [approvals.Filter] as clients write it; all of it is optional.
type requestQuery struct {
	Status    approvals.Status `json:"status"`
	Kind      approvals.Kind   `json:"kind"`
	SessionID string           `json:"session_id"`
	RunID     string           `json:"run_id"`
	Risk      approvals.Risk   `json:"risk"`
	Text      string           `json:"q"`
	Cursor    string           `json:"cursor"`
	Limit     int              `json:"limit"`
}

func (h *handlers) listRequests(ctx context.Context, m message) (any, error) {
	var query requestQuery
	if err := readQuery(m.payload, &query); err != nil {
		return nil, err
	}
	page, err := h.gate.Requests(ctx, approvals.Filter(query))
	if err != nil {
		return nil, err
	}
	page.Abridge()
	for { // a page that is too large for one reply becomes two
		text, err := encode(page)
		if err != nil || len(text) <= int(h.maxReply()) || len(page.Items) < 2 {
			return page, err
		}
		page.Truncate(len(page.Items) / 2)
	}
}

func (h *handlers) getRequest(ctx context.Context, m message) (any, error) {
	id, err := readID(m.payload)
	if err != nil {
		return nil, err
	}
	return h.gate.Request(ctx, id)
}

// runList is the runs that were steered, all on one page.
type runList struct {
	Items      []approvals.Run `json:"items"`
	NextCursor string          `json:"next_cursor"`
}

func (h *handlers) listRuns(context.Context, message) (any, error) {
	return runList{Items: h.gate.Runs()}, nil
}

func (h *handlers) getRun(_ context.Context, m message) (any, error) {
	id, err := readID(m.payload)
	if err != nil {
		return nil, err
	}
	return h.gate.RunByID(id)
}
