package console

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"time"

	"github.com/heldcall/heldcall/approvals/audit"
	"github.com/heldcall/heldcall/console/problem"
)

const (
	auditPage  = 500     // events of a page, unless the client sets a limit
	auditBytes = 8 << 20 // of a page, after which it ends early
)

// Audit is the audit log as it was recorded.
type Audit interface {
	// EntriesFrom yields the entries after a sequence number (0: from the first)
	// and not before a time, up to the last entry recorded when it begins.
	EntriesFrom(ctx context.Context, after uint64, since time.Time) iter.Seq2[audit.Entry, error]
}

type auditFilter struct {
	since time.Time
	after uint64
	limit int
}

type auditHandlers struct{ audit scopedAudit }

// compare answers with the records that are not as the log says.
func (h auditHandlers) compare(w http.ResponseWriter, r *http.Request) error {
	differences, err := h.audit.Differences(r.Context())
	if err != nil {
		return err
	}
	if differences == nil {
		differences = []audit.Difference{}
	}
	return answerAll(w, r, differences)
}

// list answers with the entries byte for byte as they were hashed: see docs/audit.md.
func (h auditHandlers) list(w http.ResponseWriter, r *http.Request) error {
	f, err := parseAuditFilter(r.URL.RawQuery)
	if err != nil {
		return problem.New(http.StatusBadRequest, problem.CodeBadRequest, err.Error())
	}
	page, last, next := []byte(`{"items":[`), uint64(0), ""
	n := 0
	for entry, err := range h.audit.EntriesFrom(r.Context(), f.after, f.since) {
		if err != nil {
			return fmt.Errorf("read the audit log: %w", err)
		}
		if n == f.limit || len(page) > auditBytes {
			next = strconv.FormatUint(last, 10)
			break
		}
		if n > 0 {
			page = append(page, ',')
		}
		if data := entry.Data; json.Valid(data) {
			page = append(page, data...)
		} else { // not an event, which clients report
			page = strconv.AppendQuote(page, "not JSON")
		}
		last = entry.Seq
		n++
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(fmt.Appendf(page, `],"next_cursor":%q}`+"\n", next)) // fails only if the client is gone
	return nil
}

func parseAuditFilter(raw string) (auditFilter, error) {
	f := auditFilter{limit: auditPage}
	err := readQuery(raw, "filter", []parameter{
		queryValue("since", &f.since, parseTime),
		queryValue("cursor", &f.after, func(value string) (uint64, error) {
			after, err := strconv.ParseUint(value, 10, 63)
			if err != nil {
				return 0, errCursor
			}
			return after, nil
		}),
		queryValue("limit", &f.limit, pageLimit),
	})
	return f, err
}

func parseTime(value string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339Nano, value)
	if err != nil {
		return at, fmt.Errorf("%q is not a time such as 2026-01-31T12:00:00Z", value)
	}
	return at, nil
}
