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
	query.Limit = min(query.Limit, maxListed) // 0 is less
	page, err := h.gate.Requests(ctx, approvals.Filter{
		Status: query.Status, Kind: query.Kind, SessionID: query.SessionID, RunID: query.RunID, Risk: query.Risk,
		Text: query.Text, Cursor: query.Cursor, Limit: query.Limit,
	})
	if err != nil {
		return nil, err
	}
	page.Abridge()
	return h.fit(&page, func() bool { return halve(page.Items, page.Truncate) })
}

// maxList is the size in bytes of a list, which may have many readers. A record may be larger.
const maxList = 1 << 20

// maxListed is the most requests of a list: more of them would be read in vain, if they are large.
const maxListed = 100

// fit shortens a list until it has at most maxList bytes and fits one message, or cannot be shortened any more.
func (h *handlers) fit(reply any, shorten func() bool) (any, error) {
	for {
		text, err := encode(reply)
		if err != nil || int64(len(text)) <= min(maxList, h.maxReply()) || !shorten() {
			return reply, err
		}
	}
}

// halve truncates a page to half of its items; the others are on the next page.
func halve[T any](items []T, truncate func(n int)) bool {
	if len(items) < 2 {
		return false
	}
	truncate(len(items) / 2)
	return true
}

type runList struct {
	Items      []approvals.Run `json:"items"`
	NextCursor string          `json:"next_cursor"`
}

func (h *handlers) listRuns(context.Context, message) (any, error) {
	list := &runList{Items: h.gate.Runs()}
	return h.fit(list, func() bool { return halve(list.Items, func(n int) { list.Items = list.Items[:n] }) })
}

type signalList struct {
	Items      []approvals.PrincipalSignal `json:"items"`
	NextCursor string                      `json:"next_cursor"`
}

func (h *handlers) listSignals(context.Context, message) (any, error) {
	return signalList{Items: h.signals.InForce()}, nil
}
