package console

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
)

// Every query is read by one reader, which refuses what it does not know.
func TestQueriesThatAreRefused(t *testing.T) {
	lists := map[string]func(string) error{
		"requests":  func(query string) error { _, err := parseFilter(query); return err },
		"grants":    func(query string) error { _, err := parseGrantFilter(query); return err },
		"audit":     func(query string) error { _, err := parseAuditFilter(query); return err },
		"proposals": func(query string) error { _, err := parseProposalQuery(query); return err },
		"events":    func(query string) error { _, err := parseEventsQuery(query); return err },
		"ws":        func(query string) error { _, err := parseSocketQuery(query); return err },
	}
	for _, tt := range []struct{ list, query, want string }{
		{"requests", "q=%zz", "the query is not well formed; encode it as name=value&name=value"},
		{"requests", "q=a;b", "the query is not well formed; encode it as name=value&name=value"},
		{"requests", "q=a&q=b", "q: is given more than once; give one value"},
		{"requests", "state=pending", "state: is not a filter; use status, kind, session_id, run_id, risk, q, cursor or limit"},
		{"requests", "risk=grave", `risk: "grave" is not known; use low, medium, high, critical`},
		{"requests", "cursor=1", "cursor: is not a next_cursor of this list; leave it out to begin again"},
		{"requests", "limit=501", `limit: "501" is not a number from 1 to 500`},
		{"requests", "limit=", `limit: "" is not a number from 1 to 500`},
		{"grants", "expired=some", `expired: "some" is neither true nor false`},
		{"grants", "name=a", "name: is not a filter; use tenant, user, agent, session_id, tool, expired, cursor or limit"},
		{"audit", "since=today", `since: "today" is not a time such as 2026-01-31T12:00:00Z`},
		{"audit", "cursor=-1", "cursor: is not a next_cursor of this list; leave it out to begin again"},
		{"audit", "limit=1&limit=2", "limit: is given more than once; give one value"},
		{"proposals", "since=7d", `since: "7d" is not a time such as 2026-01-31T12:00:00Z`},
		{"proposals", "approved=0", `approved: "0" is not a number above 0`},
		{"proposals", "limit=1", "limit: is not a filter; use since, approved or sessions"},
		{"events", "requests=1", "requests: is not true or false; true also sends the request after each event about it"},
		{"events", "request=true", "request: is not a parameter; use requests"},
		{"ws", "last_event_id=", "last_event_id: is not the id of an event; send the last event_id that you received, or leave it out"},
	} {
		if err := lists[tt.list](tt.query); err == nil || err.Error() != tt.want {
			t.Errorf("%s?%s: %v; want %s", tt.list, tt.query, err, tt.want)
		}
	}
	for name, parse := range lists {
		if err := parse(""); err != nil {
			t.Errorf("%s without a query: %v", name, err)
		}
	}
}

func TestQueriesThatAreRead(t *testing.T) {
	requests, err := parseFilter("status=&kind=decision&q=two+words&cursor=&limit=500")
	if diff := cmp.Diff(approvals.Filter{Kind: approvals.KindDecision, Text: "two words", Limit: 500}, requests); err != nil || diff != "" {
		t.Errorf("requests: %v %s", err, diff)
	}
	grants, err := parseGrantFilter("tenant=a&expired=true")
	if diff := cmp.Diff(approvals.GrantFilter{Tenant: "a", Expired: true}, grants); err != nil || diff != "" {
		t.Errorf("grants: %v %s", err, diff)
	}
	want := auditFilter{since: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC), after: 7, limit: auditPage}
	if audit, err := parseAuditFilter("since=2026-01-31T12:00:00Z&cursor=7"); err != nil || audit != want {
		t.Errorf("audit: %v, %v", audit, err)
	}
	if requests, err := parseEventsQuery("requests=true"); err != nil || !requests {
		t.Errorf("events: %v, %v", requests, err)
	}
	if last, err := parseSocketQuery("last_event_id=7"); err != nil || last == nil || *last != 7 {
		t.Errorf("ws: %v, %v", last, err)
	}
	if last, err := parseSocketQuery(""); err != nil || last != nil {
		t.Errorf("ws without a query: %v, %v", last, err)
	}
}

type color string

func TestReadQuery(t *testing.T) {
	const id = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	type values struct {
		text, cursor string
		color        color
		limit        int
	}
	for _, tt := range []struct {
		raw  string
		want values
		err  string // "" is none
	}{
		{raw: "", want: values{}},
		{raw: "q=two+words&color=red&cursor=" + id + "&limit=500", want: values{"two words", id, "red", 500}},
		{raw: "color=&cursor=", want: values{}},
		{raw: "q=%zz", err: "the query is not well formed; encode it as name=value&name=value"},
		{raw: "q=a;b", err: "the query is not well formed; encode it as name=value&name=value"},
		{raw: "q=a&q=b", err: "q: is given more than once; give one value"},
		{raw: "p=a", err: "p: is not a filter; use q, color, cursor or limit"},
		{raw: "color=blue", err: `color: "blue" is not known; use red, green`},
		{raw: "cursor=1", err: "cursor: " + errCursor.Error()},
		{raw: "limit=0", err: `limit: "0" is not a number from 1 to 500`},
		{raw: "limit=501", err: `limit: "501" is not a number from 1 to 500`},
		{raw: "limit=", err: `limit: "" is not a number from 1 to 500`},
	} {
		var got values
		err := readQuery(tt.raw, "filter", []parameter{
			queryValue("q", &got.text, anyText),
			queryValue("color", &got.color, oneOf[color]("red", "green")),
			queryValue("cursor", &got.cursor, recordID),
			queryValue("limit", &got.limit, pageLimit),
		})
		switch {
		case tt.err == "" && (err != nil || got != tt.want):
			t.Errorf("%q: %+v, %v; want %+v", tt.raw, got, err, tt.want)
		case tt.err != "" && (err == nil || err.Error() != tt.err):
			t.Errorf("%q: error %v, want %s", tt.raw, err, tt.err)
		}
	}
}

func TestReadQueryNamesASingleParameter(t *testing.T) {
	var text string
	err := readQuery("p=a", "parameter", []parameter{queryValue("q", &text, anyText)})
	if want := "p: is not a parameter; use q"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
