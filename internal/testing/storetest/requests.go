package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/heldturns"
)

func (s *suite) roundTrips(t *testing.T) {
	r := request("write_file")
	written := r
	revision := must[uint64](t)(s.first.Gate.CreateRequest(t.Context(), r))
	r.Arguments[2] = 'x' // the store shares nothing with its caller
	written.Arguments = []byte(`{"path":"<a>&b","n":9007199254740993}`)
	s.laterToo(t, func(t *testing.T, s *Store) {
		stored := must[approvals.Stored](t)(s.Gate.GetRequest(t.Context(), written.ID))
		if diff := cmp.Diff(written, stored.Request); diff != "" || stored.Revision != revision {
			t.Errorf("revision %d, want %d:\n%s", stored.Revision, revision, diff)
		}
		if stored.At.IsZero() || stored.At.Location() != time.UTC {
			t.Errorf("it was written at %s", stored.At)
		}
	})
	names := []string{"plain", "run.1", "with space/and.dots", "=odd", strings.Repeat("long", 50), "ünïcode"}
	for _, name := range names {
		ok(t, s.first.Gate.Runs().Put(t.Context(), approvals.Run{ID: name, SessionID: "<" + name + ">"}, 0))
	}
	s.laterToo(t, func(t *testing.T, s *Store) {
		for _, name := range names {
			if run, _, err := s.Gate.Runs().Get(t.Context(), name); err != nil || run.ID != name || run.SessionID != "<"+name+">" {
				t.Errorf("%q: %+v, %v", name, run, err)
			}
		}
	})
}

func (s *suite) unknown(t *testing.T) {
	for _, get := range []struct {
		what string
		err  error
		kind error
	}{
		{"a request", second(s.first.Gate.GetRequest(t.Context(), "none")), approvals.ErrUnknownRequest},
		{"a run", third(s.first.Gate.Runs().Get(t.Context(), "none")), approvals.ErrUnknownRun},
		{"a signal", third(s.first.Gate.Signals().Get(t.Context(), "none")), approvals.ErrUnknownSignal},
		{"a delegation", third(s.first.Gate.Delegations().Get(t.Context(), "none")), approvals.ErrUnknownDelegation},
		{"a grant", third(s.first.Grants.GetGrant(t.Context(), "none")), approvals.ErrUnknownGrant},
		{"a held turn", second(s.first.Held.Get(t.Context(), heldKey("none"))), approvals.ErrUnknownTurn},
		{"a state of a held turn", third(s.first.Held.GetState(t.Context(), "none")), approvals.ErrUnknownTurn},
		{"a secret", third(s.first.Secrets.GetSecret(t.Context(), "none")), approvals.ErrUnknownSecret},
	} {
		want(t, get.what, get.err, get.kind)
		if errors.Is(get.err, approvals.ErrStoreUnavailable) {
			t.Errorf("%s is unavailable: %v", get.what, get.err)
		}
	}
}

func second[A any](_ A, err error) error        { return err }
func third[A, B any](_ A, _ B, err error) error { return err }

func (s *suite) tooLarge(t *testing.T) {
	ctx, huge := t.Context(), strings.Repeat("x", 9<<20)
	large := request("write_file")
	large.Arguments = fmt.Appendf(nil, `{"text":%q}`, huge[:5<<20]) // a decision may double it
	_, err := s.first.Gate.CreateRequest(ctx, large)
	want(t, "a request", err, approvals.ErrTooLarge)
	if err != nil && !strings.Contains(err.Error(), "write_file") {
		t.Errorf("the error does not name the tool: %v", err)
	}
	want(t, "the request", second(s.first.Gate.GetRequest(ctx, large.ID)), approvals.ErrUnknownRequest)
	before := must[uint64](t)(s.first.Gate.LastSeq(ctx))
	for what, err := range map[string]error{
		"a run":         s.first.Gate.Runs().Put(ctx, approvals.Run{ID: newID(), SessionID: huge}, 0),
		"a grant":       second(s.first.Grants.PutGrant(ctx, approvals.Grant{ID: newID(), Patterns: []string{huge}}, 0)),
		"an event":      s.first.Gate.AppendEvents(ctx, event(approvals.EventCallAllowed, "small"), event(approvals.EventCallAllowed, huge)),
		"a state":       second(s.first.Deliveries.PutState(ctx, "large", "large", []byte(huge), 0)),
		"a hidden turn": s.first.Turns.PutTurn(ctx, newID(), "large", []byte(huge)),
	} {
		want(t, what, err, approvals.ErrTooLarge)
	}
	if after := must[uint64](t)(s.first.Gate.LastSeq(ctx)); after != before {
		t.Errorf("the log has grown from %d to %d", before, after)
	}
	// A request of the largest size can be decided with arguments of the same size.
	large.Arguments = fmt.Appendf(nil, `{"text":%q}`, huge[:s.MaxRecord*3/8])
	revision := must[uint64](t)(s.first.Gate.CreateRequest(ctx, large))
	large.Decisions = []approvals.Decision{{RequestID: large.ID, Action: approvals.ActionModifyArgs, ModifiedArgs: large.Arguments, ReviewerID: "bob"}}
	must[uint64](t)(s.first.Gate.UpdateRequest(ctx, large, revision))
}

func (s *suite) createdOnce(t *testing.T) {
	r := request("rm")
	won := s.atOnce(t, 8, func(s *Store, i int) error {
		mine := r
		mine.TurnID = fmt.Sprint(i)
		return second(s.Gate.CreateRequest(t.Context(), mine))
	})
	if len(won) != 1 {
		t.Fatalf("%v have created it", won)
	}
	s.laterToo(t, func(t *testing.T, s *Store) {
		if stored := must[approvals.Stored](t)(s.Gate.GetRequest(t.Context(), r.ID)); stored.Request.TurnID != fmt.Sprint(won[0]) {
			t.Errorf("it is that of %s, not of %d", stored.Request.TurnID, won[0])
		}
	})
}

// oneWriterWins is why a request is decided once.
func (s *suite) oneWriterWins(t *testing.T) {
	r := request("rm")
	revision := must[uint64](t)(s.first.Gate.CreateRequest(t.Context(), r))
	for round := range 5 {
		won := s.atOnce(t, 8, func(s *Store, i int) error {
			decided := r
			decided.Decisions = append(slices.Clone(r.Decisions), approvals.Decision{RequestID: r.ID, ReviewerID: fmt.Sprint(i)})
			return second(s.Gate.UpdateRequest(t.Context(), decided, revision))
		})
		stored := must[approvals.Stored](t)(s.second.Gate.GetRequest(t.Context(), r.ID))
		r = stored.Request
		if len(won) != 1 || len(r.Decisions) != round+1 || r.Decisions[round].ReviewerID != fmt.Sprint(won[0]) {
			t.Fatalf("round %d: %v have won, and the request has %+v", round, won, r.Decisions)
		}
		if stored.Revision <= revision {
			t.Fatalf("revision %d follows %d", stored.Revision, revision)
		}
		revision = stored.Revision
	}
	_, err := s.first.Gate.UpdateRequest(t.Context(), r, revision+1000)
	want(t, "a revision that is not there yet", err, approvals.ErrConflict)
	run := approvals.Run{ID: newID()}
	won := s.atOnce(t, 4, func(s *Store, _ int) error { return s.Gate.Runs().Put(t.Context(), run, 0) })
	_, at, err := s.second.Gate.Runs().Get(t.Context(), run.ID)
	if err != nil || len(won) != 1 {
		t.Fatalf("%v have created a run, %v", won, err)
	}
	want(t, "a run at another revision", s.first.Gate.Runs().Put(t.Context(), run, at+7), approvals.ErrConflict)
}

func (s *suite) closedRequests(t *testing.T) {
	var watched atomic.Uint64                       // revision
	background(t, func(ctx context.Context) error { // as a gate does that closes requests
		return s.first.Gate.WatchRequests(ctx, func(r approvals.Stored) { watched.Store(r.Revision) }, func() {})
	})
	made := map[string]approvals.Request{}
	revisions := map[string]uint64{}
	last := uint64(0)
	for _, name := range []string{"open", "closed", "changed after it was closed", "closed at another revision"} {
		r := request(name)
		last = must[uint64](t)(s.first.Gate.CreateRequest(t.Context(), r))
		made[name], revisions[name] = r, last
	}
	eventually(t, "the requests are watched", func() bool { return watched.Load() >= last })
	for _, name := range []string{"closed", "changed after it was closed"} {
		s.first.Gate.CloseRequest(made[name].ID, revisions[name])
	}
	s.first.Gate.CloseRequest(made["closed at another revision"].ID, revisions["closed at another revision"]+1)
	must[uint64](t)(s.first.Gate.UpdateRequest(t.Context(), made["changed after it was closed"], revisions["changed after it was closed"]))
	marks := s.Marks
	s.later = append(s.later, later{t.Name(), func(t *testing.T, s *Store) {
		reported := map[string]bool{}
		loaded := make(chan struct{})
		stop := background(t, func(ctx context.Context) error {
			return s.Gate.WatchRequests(ctx, func(r approvals.Stored) { reported[r.Request.ID] = true }, func() { close(loaded) })
		})
		receive(t, loaded, "the requests")
		stop()
		for name, r := range made {
			if closed := name == "closed"; reported[r.ID] == closed && (marks || !closed) {
				t.Errorf("%s: reported %t", name, reported[r.ID])
			}
		}
	}})
}

func (s *suite) missingRequests(t *testing.T) {
	first, second, missing := request("first"), request("second"), []string{newID(), newID()}
	must[uint64](t)(s.first.Gate.CreateRequest(t.Context(), first))
	must[uint64](t)(s.first.Gate.CreateRequest(t.Context(), second))
	s.laterToo(t, func(t *testing.T, s *Store) {
		got := must[[]string](t)(s.Gate.MissingRequests(t.Context(), []string{missing[0], first.ID, second.ID, missing[1]}))
		if diff := cmp.Diff(missing, got); diff != "" {
			t.Errorf("missing are:\n%s", diff)
		}
		if got := must[[]string](t)(s.Gate.MissingRequests(t.Context(), nil)); len(got) > 0 {
			t.Errorf("of none, %q are missing", got)
		}
	})
}

// pagesOf returns the tools of all requests that a filter selects, page by page.
func pagesOf(t *testing.T, s *Store, f approvals.Filter, between func()) (pages [][]string) {
	t.Helper()
	for {
		page := must[approvals.Page](t)(s.Gate.ListRequests(t.Context(), f))
		var tools []string
		for i := range page.Items {
			tools = append(tools, page.Items[i].ToolName)
		}
		pages = append(pages, tools)
		if f.Cursor = page.NextCursor; f.Cursor == "" {
			return pages
		}
		between()
	}
}

func (s *suite) pages(t *testing.T) {
	session := newID()
	create := func(tool string) {
		r := request(tool)
		r.SessionID = session
		must[uint64](t)(s.first.Gate.CreateRequest(t.Context(), r))
	}
	for i := range 7 {
		create(fmt.Sprint(i))
	}
	f := approvals.Filter{SessionID: session, Limit: 3}
	got := pagesOf(t, s.first, f, func() { create("later") })
	if diff := cmp.Diff([][]string{{"6", "5", "4"}, {"3", "2", "1"}, {"0"}}, got); diff != "" {
		t.Errorf("other pages:\n%s", diff)
	}
	f.Limit = 9
	if got := pagesOf(t, s.first, f, func() {}); len(got) != 1 || len(got[0]) != 9 {
		t.Errorf("a page that is just full: %v", got)
	}
	if page := must[approvals.Page](t)(s.first.Gate.ListRequests(t.Context(), approvals.Filter{SessionID: newID()})); page.Items == nil || len(page.Items) != 0 || page.NextCursor != "" {
		t.Errorf("an empty list: %+v", page)
	}
}

func (s *suite) filters(t *testing.T) {
	session := newID()
	for _, change := range []func(*approvals.Request){
		func(r *approvals.Request) { r.ToolName, r.RunID = "a", "run-a"+session },
		func(r *approvals.Request) { r.ToolName, r.Status = "b", approvals.StatusDenied },
		func(r *approvals.Request) {
			r.ToolName, r.Kind, r.Principal.Tenant = "c", approvals.KindClarification, "other"
		},
		func(r *approvals.Request) {
			r.ToolName, r.RiskLevel, r.Arguments = "d", approvals.RiskHigh, []byte(`{"command":"rm -rf ~/Grüße"}`)
		},
	} {
		r := request("")
		r.SessionID = session
		change(&r)
		must[uint64](t)(s.first.Gate.CreateRequest(t.Context(), r))
	}
	for _, f := range []struct {
		approvals.Filter
		want string
	}{
		{approvals.Filter{}, "dcba"},
		{approvals.Filter{RunID: "run-a" + session}, "a"},
		{approvals.Filter{Status: approvals.StatusDenied}, "b"},
		{approvals.Filter{Kind: approvals.KindClarification}, "c"},
		{approvals.Filter{Risk: approvals.RiskHigh}, "d"},
		{approvals.Filter{Risk: approvals.RiskHigh, Status: approvals.StatusDenied}, ""},
		{approvals.Filter{Text: "grüße RM"}, "d"},
		{approvals.Filter{Text: "nowhere"}, ""},
		{approvals.Filter{Tenants: approvals.TenantScope{"other"}}, "c"},
		{approvals.Filter{Tenants: approvals.TenantScope{"other", "another"}, Limit: 1}, "c"},
		{approvals.Filter{Tenants: approvals.TenantScope{"another"}}, ""},
	} {
		f.SessionID = session
		got := ""
		for _, page := range pagesOf(t, s.first, f.Filter, func() {}) {
			got += strings.Join(page, "")
		}
		if got != f.want {
			t.Errorf("%+v selects %q, want %q", f.Filter, got, f.want)
		}
	}
}

func (s *suite) deletedGrant(t *testing.T) {
	ctx, g := t.Context(), approvals.Grant{ID: newID(), Patterns: []string{"ls"}}
	revision := must[uint64](t)(s.first.Grants.PutGrant(ctx, g, 0))
	ok(t, s.first.Grants.DeleteGrant(ctx, g.ID))
	ok(t, s.second.Grants.DeleteGrant(ctx, g.ID))
	ok(t, s.second.Grants.DeleteGrant(ctx, newID()))
	s.laterToo(t, func(t *testing.T, s *Store) {
		want(t, "read", third(s.Grants.GetGrant(t.Context(), g.ID)), approvals.ErrUnknownGrant)
		for _, revision := range []uint64{0, revision} {
			want(t, fmt.Sprintf("written at %d", revision), second(s.Grants.PutGrant(t.Context(), g, revision)), approvals.ErrConflict)
		}
	})
}

// heldKey returns the key of a held turn.
func heldKey(id string) heldturns.Key {
	return heldturns.Key{HeldTurn: approvals.HeldTurn{ID: id, Conversation: "c", Fingerprint: "f", Task: "t"}, Owner: "one"}
}
