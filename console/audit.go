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
)

const (
	auditPage  = 500     // events of a page, unless the client says
	auditBytes = 8 << 20 // of a page, after which it ends early
)

// Audit is the audit log as it was recorded.
type Audit interface {
	// EventsFrom yields the events after a sequence number (0: from the first)
	// and not before a time, up to what is recorded when it begins.
	EventsFrom(ctx context.Context, after uint64, since time.Time) iter.Seq2[approvals.Event, error]
}

// auditFilter is what a list of the audit log begins with, and how long it is.
type auditFilter struct {
	since time.Time
	after uint64
	limit int
}

// auditHandlers serve the audit log.
type auditHandlers struct{ audit Audit }

// list answers the events recorded since a time, oldest first.
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

// parseAuditFilter reads the query.
func parseAuditFilter(query string) (auditFilter, error) {
	f := auditFilter{limit: auditPage}
	err := readQuery(query, "filter", []parameter{
		{"since", func(value string) (err error) {
			if f.since, err = time.Parse(time.RFC3339Nano, value); err != nil {
				return fmt.Errorf("%q is not a time such as 2026-01-31T12:00:00Z", value)
			}
			return nil
		}},
		{"cursor", func(value string) (err error) {
			if f.after, err = strconv.ParseUint(value, 10, 63); err != nil {
				return errCursor
			}
			return nil
		}},
		parameterOf("limit", &f.limit, pageLimit),
	})
	return f, err
}
