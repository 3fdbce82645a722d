package console

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/problem"
	"github.com/heldcall/heldcall/console/query"
)

const (
	auditPage  = 500     // events of a page, unless the client sets a limit
	auditBytes = 8 << 20 // of a page, after which it ends early
)

// Audit is the audit log as it was recorded.
type Audit interface {
	// EventsFrom yields the events after a sequence number (0: from the first)
	// and not before a time, up to the last event recorded when it begins.
	EventsFrom(ctx context.Context, after uint64, since time.Time) iter.Seq2[approvals.Event, error]
}

type auditFilter struct {
	since time.Time
	after uint64
	limit int
}

type auditHandlers struct{ audit Audit }

func (h auditHandlers) list(w http.ResponseWriter, r *http.Request) error {
	f, err := parseAuditFilter(r.URL.RawQuery)
	if err != nil {
		return problem.New(http.StatusBadRequest, problem.CodeBadRequest, err.Error())
	}
	page := approvals.EventPage{Items: []approvals.Event{}}
	bytes := 0
	for e, err := range h.audit.EventsFrom(r.Context(), f.after, f.since) {
		if err != nil {
			return fmt.Errorf("read the audit log: %w", err)
		}
		if n := len(page.Items); n == f.limit || bytes > auditBytes {
			page.NextCursor = strconv.FormatUint(page.Items[n-1].Seq, 10)
			break
		}
		page.Items = append(page.Items, e)
		bytes += weight(&e)
	}
	return answer(w, page)
}

// weight is how many bytes the parts of an event have that may be large.
func weight(e *approvals.Event) int {
	n := len(e.Before) + len(e.After) + len(e.Note)
	for _, text := range e.Doubts {
		n += len(text)
	}
	if e.Grant != nil {
		n += len(e.Grant.Note)
		for _, p := range e.Grant.Patterns {
			n += len(p)
		}
	}
	return n
}

func parseAuditFilter(raw string) (auditFilter, error) {
	f := auditFilter{limit: auditPage}
	err := query.Read(raw, "filter", []query.Parameter{
		query.Of("since", &f.since, func(value string) (time.Time, error) {
			since, err := time.Parse(time.RFC3339Nano, value)
			if err != nil {
				return since, fmt.Errorf("%q is not a time such as 2026-01-31T12:00:00Z", value)
			}
			return since, nil
		}),
		query.Of("cursor", &f.after, func(value string) (uint64, error) {
			after, err := strconv.ParseUint(value, 10, 63)
			if err != nil {
				return 0, query.ErrCursor
			}
			return after, nil
		}),
		query.Of("limit", &f.limit, query.Limit),
	})
	return f, err
}
