package grants_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/grants"
)

// A remembered decision is durable before its grant: if the process dies between the two,
// the next one writes the grant. It does not write a revoked grant again.
func TestPromise4_RecordedFirst_MissingGrantIsWrittenAtStart(t *testing.T) {
	s := approvalstest.OpenStore()
	dying := grants.New(grants.Options{Store: &deafGrants{Store: s}, Judge: approvalstest.AnyPolicy{}})
	g := gate.New(gate.Options{Store: s, Grants: dying}) // never runs: nothing is retried
	h := approvalstest.Open(t, g, approvalstest.Rememberable("x"))
	id := h.Requests()[0].ID
	if r, err := g.Decide(t.Context(), approvals.Decision{RequestID: id, Action: approvals.ActionAllowAlways, ReviewerID: "rita"}); err != nil || r.Status != approvals.StatusApproved {
		t.Fatalf("%+v, %v", r, err)
	}
	approvalstest.Await(t, h.Done(), "the hold: the decision is durable")

	book, _ := approvalstest.RunGrants(t, grants.Options{Store: s})
	if n := len(book.Grants(approvals.GrantFilter{}).Items); n != 0 {
		t.Fatalf("%d grants before the restart", n)
	}
	approvalstest.RunGate(t, gate.Options{Store: s, Grants: book})
	approvalstest.Eventually(t, "the grant is there", func() bool { return len(book.Grants(approvals.GrantFilter{}).Items) == 1 })
	grant := book.Grants(approvals.GrantFilter{}).Items[0]
	if grant.RequestID != id || grant.GrantedBy != "rita" || !cmp.Equal(grant.Patterns, []string{"x"}) {
		t.Fatalf("the grant is %+v", grant)
	}
	want := []approvals.EventType{approvals.EventApprovalRequired, approvals.EventApprovalDecision, approvals.EventGrantCreated}
	if diff := cmp.Diff(want, approvalstest.EventTypes(approvalstest.EventsOf(t, s, id))); diff != "" {
		t.Fatal(diff)
	}

	if _, err := book.Revoke(t.Context(), grant.ID, "rita", "test"); err != nil {
		t.Fatal(err)
	}
	again, _ := approvalstest.RunGrants(t, grants.Options{Store: s})
	approvalstest.RunGate(t, gate.Options{Store: s, Grants: again})
	time.Sleep(200 * time.Millisecond) // for what must not happen
	if got := again.Grants(approvals.GrantFilter{}).Items; len(got) != 0 {
		t.Fatalf("a revoked grant was written again: %+v", got)
	}
	if got := approvalstest.EventTypes(approvalstest.EventsOf(t, s, id)); !cmp.Equal(got, append(want, approvals.EventGrantRevoked)) {
		t.Fatalf("events %v", got)
	}
}

// deafGrants is a store that fails to write grants.
type deafGrants struct{ approvalstest.Store }

func (*deafGrants) PutGrant(context.Context, approvals.Grant, uint64) (uint64, error) {
	return 0, fmt.Errorf("died: %w", approvals.ErrStoreUnavailable)
}

// Uses of all replicas are counted, over restarts, and written in the background.
func TestUsesAreCountedOverReplicas(t *testing.T) {
	s := approvalstest.OpenStore()
	one, stopOne := approvalstest.RunGrants(t, grants.Options{Store: s})
	two, stopTwo := approvalstest.RunGrants(t, grants.Options{Store: s})
	g, err := one.Add(t.Context(), approvalstest.Grant("x"))
	if err != nil {
		t.Fatal(err)
	}
	approvalstest.Eventually(t, "the other replica knows it", func() bool { _, err := two.Grant(g.ID); return err == nil })
	var all sync.WaitGroup
	for _, b := range []*grants.Grants{one, two, one} {
		all.Go(func() {
			for range 100 {
				b.Used(g.ID, "01ARZ3NDEKTSV4RRFFQ69G5FAV")
			}
		})
	}
	all.Wait()
	if got, _ := one.Grant(g.ID); got.Uses < 200 || got.LastUsedAt == nil {
		t.Errorf("uses that are not written yet do not count: %+v", got)
	}
	all.Go(stopOne)
	all.Go(stopTwo)
	all.Wait()
	again, _ := approvalstest.RunGrants(t, grants.Options{Store: s})
	if got, err := again.Grant(g.ID); err != nil || got.Uses != 300 || got.LastUsedAt == nil {
		t.Errorf("after a restart: %+v, %v", got, err)
	}
}

// A grant is in force, and revoked, on every replica within a second.
func TestGrantsReachEveryReplica(t *testing.T) {
	s := approvalstest.OpenStore()
	var kept, dropped atomic.Int32
	here, _ := approvalstest.RunGrants(t, grants.Options{Store: s})
	there, _ := approvalstest.RunGrants(t, grants.Options{
		Store: s, Kept: func(approvals.Grant) { kept.Add(1) }, Dropped: func(string) { dropped.Add(1) },
	})
	for i := range 20 {
		g, err := here.Add(t.Context(), approvalstest.Grant(fmt.Sprintf("tool%d", i)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := here.Grant(g.ID); err != nil {
			t.Fatalf("the replica that wrote the grant does not have it: %v", err)
		}
		approvalstest.Eventually(t, "the other knows it", func() bool { return kept.Load() == int32(i+1) })
		here.Used(g.ID)
		if _, err := there.Revoke(t.Context(), g.ID, "rita", "test"); err != nil {
			t.Fatal(err)
		}
		approvalstest.Eventually(t, "it is revoked", func() bool { _, err := here.Grant(g.ID); return errors.Is(err, approvals.ErrUnknownGrant) })
		if dropped.Load() != int32(i+1) {
			t.Fatalf("%d were dropped, want %d", dropped.Load(), i+1)
		}
	}
	if _, err := here.Revoke(t.Context(), "01ARZ3NDEKTSV4RRFFQ69G5FAV", "rita", "test"); !errors.Is(err, approvals.ErrUnknownGrant) {
		t.Errorf("an unknown grant is revoked: %v", err)
	}
}

func TestListGrants(t *testing.T) {
	s := approvalstest.OpenStore()
	now := time.Now()
	var ahead atomic.Int64
	b, _ := approvalstest.RunGrants(t, grants.Options{Store: s, Now: func() time.Time { return now.Add(time.Duration(ahead.Load())) }})
	soon := now.Add(time.Minute)
	add := func(scope approvals.GrantScope, tenant, user, tool string, ends *time.Time) {
		t.Helper()
		g := approvalstest.Grant(tool)
		g.Scope, g.Principal.Tenant, g.Principal.User, g.SessionID, g.ExpiresAt = scope, tenant, user, "s1", ends
		if _, err := b.Add(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	add(approvals.GrantUser, "acme", "ann", "a", nil)
	add(approvals.GrantSession, "acme", "ann", "b", nil)
	add(approvals.GrantTenant, "acme", "ann", "c", nil)
	add(approvals.GrantAgent, "other", "bob", "d", &soon)
	list := func(f approvals.GrantFilter) string {
		var tools []string
		for {
			page := b.Grants(f)
			for _, g := range page.Items {
				tools = append(tools, g.Patterns...)
			}
			if f.Cursor = page.NextCursor; f.Cursor == "" {
				return strings.Join(tools, "")
			}
		}
	}
	for _, c := range []struct {
		filter approvals.GrantFilter
		want   string
	}{
		{approvals.GrantFilter{}, "dcba"},
		{approvals.GrantFilter{Limit: 1}, "dcba"},
		{approvals.GrantFilter{Limit: 3}, "dcba"},
		{approvals.GrantFilter{Tenant: "acme"}, "cba"},
		{approvals.GrantFilter{User: "ann"}, "ba"}, // a tenant's is nobody's
		{approvals.GrantFilter{Agent: "coder"}, "db"},
		{approvals.GrantFilter{SessionID: "s1"}, "b"},
		{approvals.GrantFilter{Tool: "c"}, "c"},
		{approvals.GrantFilter{Tenant: "acme", Tool: "d"}, ""},
	} {
		if got := list(c.filter); got != c.want {
			t.Errorf("%+v lists %s, want %s", c.filter, got, c.want)
		}
	}
	ahead.Store(int64(time.Hour))
	if got, all := list(approvals.GrantFilter{}), list(approvals.GrantFilter{Expired: true}); got != "cba" || all != "dcba" {
		t.Errorf("an hour later %s, with those that have ended %s", got, all)
	}
	ahead.Store(int64(48 * time.Hour))
	approvalstest.Eventually(t, "what ended long ago is gone", func() bool { return list(approvals.GrantFilter{Expired: true}) == "cba" })
}

func TestAddGrantRefuses(t *testing.T) {
	b, _ := approvalstest.RunGrants(t, grants.Options{Store: approvalstest.OpenStore()})
	past := time.Now().Add(-time.Second)
	for field, spoil := range map[string]func(*approvals.Grant){
		"granted_by": func(g *approvals.Grant) { g.GrantedBy = "" },
		"effect":     func(g *approvals.Grant) { g.Effect = "" },
		"scope":      func(g *approvals.Grant) { g.Scope = "world" },
		"session_id": func(g *approvals.Grant) { g.Scope = approvals.GrantSession },
		"principal":  func(g *approvals.Grant) { g.Principal.Tenant = "" },
		"patterns":   func(g *approvals.Grant) { g.Patterns = nil },
		"note":       func(g *approvals.Grant) { g.Note = strings.Repeat("x", 64<<10+1) },
		"expires_at": func(g *approvals.Grant) { g.ExpiresAt = &past },
	} {
		g := approvalstest.Grant("x")
		spoil(&g)
		_, err := b.Add(t.Context(), g)
		invalid := (*approvals.InvalidError)(nil)
		if !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("with a wrong %s: %v", field, err)
		}
	}
	for reason, patterns := range map[string][]string{
		"101;":          slices.Repeat([]string{"x"}, 101),
		"4097 bytes":    {strings.Repeat("x", 4097)},
		"69632 bytes":   slices.Repeat([]string{strings.Repeat("x", 4096)}, 17),
		"there are non": {},
	} {
		g := approvalstest.Grant("x")
		g.Patterns = patterns
		invalid := (*approvals.InvalidError)(nil)
		if _, err := b.Add(t.Context(), g); !errors.As(err, &invalid) || invalid.Field != "patterns" || !strings.Contains(invalid.Reason, reason) {
			t.Errorf("%d patterns: %v, want %q", len(patterns), err, reason)
		}
	}
	if n := len(b.Grants(approvals.GrantFilter{}).Items); n != 0 {
		t.Errorf("%d were written", n)
	}
}

// smallStore refuses every grant as too large.
type smallStore struct {
	approvalstest.Store
	tries atomic.Int32
}

func (s *smallStore) PutGrant(context.Context, approvals.Grant, uint64) (uint64, error) {
	s.tries.Add(1)
	return 0, approvals.ErrTooLarge
}

// A grant that is too large for the store is tried once.
func TestGrantTooLargeIsFinal(t *testing.T) {
	s := &smallStore{Store: approvalstest.OpenStore()}
	book, _ := approvalstest.RunGrants(t, grants.Options{Store: s})
	g := approvalstest.RunGate(t, gate.Options{Store: s.Store, Grants: book})
	h := approvalstest.Open(t, g, approvalstest.Rememberable("x"))
	d := approvals.Decision{RequestID: h.Requests()[0].ID, Action: approvals.ActionDenyAlways, ReviewerID: "rita"}
	if _, err := g.Decide(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	approvalstest.Eventually(t, "it is tried", func() bool { return s.tries.Load() > 0 })
	time.Sleep(2500 * time.Millisecond) // for what must not happen: a second later it would be tried again
	if n := s.tries.Load(); n != 1 {
		t.Errorf("it was tried %d times", n)
	}
}

// Add sets the id and the uses of a grant, whatever the caller has set.
func TestAddGrantTakesNoUses(t *testing.T) {
	b, _ := approvalstest.RunGrants(t, grants.Options{Store: approvalstest.OpenStore()})
	g := approvalstest.Grant("x")
	g.ID, g.Uses, g.RequestID, g.SessionID = "mine", 7, "R", "s1"
	got, err := b.Add(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	want := approvalstest.Grant("x")
	want.ID, want.Scope, want.Principal.Agent, want.CreatedAt = got.ID, approvals.GrantUser, "", got.CreatedAt
	if diff := cmp.Diff(want, got); diff != "" || len(got.ID) != 26 || got.CreatedAt.IsZero() {
		t.Error(diff, got.ID)
	}
}

// A preview counts each call once, and covers those of the principal only.
func TestPreviewGrant(t *testing.T) {
	s := approvalstest.OpenStore()
	b, _ := approvalstest.RunGrants(t, grants.Options{Store: s})
	gate := approvalstest.RunGate(t, gate.Options{Store: s, Grants: b})
	h := approvalstest.Open(t, gate, approvalstest.Request("x"), approvalstest.Request("y"))
	for _, r := range h.Requests() {
		if _, err := gate.Decide(t.Context(), approvals.Decision{RequestID: r.ID, Action: approvals.ActionApprove, ReviewerID: "rita"}); err != nil {
			t.Fatal(err)
		}
	}
	who := approvals.Principal{Tenant: "acme", User: "ann", Agent: "coder"}
	bob := approvals.Principal{Tenant: "acme", User: "bob", Agent: "coder"}
	if err := gate.Record(t.Context(),
		approvals.Event{Type: approvals.EventCallAllowed, Principal: who, ToolName: "x", Before: []byte(`{"n":1}`)},
		approvals.Event{Type: approvals.EventCallReleased, Principal: who, ToolName: "x"},
		approvals.Event{Type: approvals.EventCallDenied, Principal: who, ToolName: "x", Before: []byte(`{"n":2}`)},
		approvals.Event{Type: approvals.EventCallDenied, Principal: who, ToolName: "x", Before: []byte(`{}`), RequestID: h.Requests()[0].ID},
		approvals.Event{Type: approvals.EventCallAllowed, Principal: bob, ToolName: "x", Before: []byte(`{"n":3}`)},
	); err != nil {
		t.Fatal(err)
	}
	p, err := b.Preview(t.Context(), approvalstest.Grant("x"))
	if err != nil {
		t.Fatal(err)
	}
	var then []string
	for _, c := range p.Items {
		then = append(then, c.Then)
	}
	if p.Calls != 5 || p.Covered != 3 || p.Since == nil || !cmp.Equal(then, []string{"denied", "allowed", "asked"}) || string(p.Items[0].Arguments) != `{"n":2}` {
		t.Errorf("the preview is %+v", p)
	}
	if n := len(b.Grants(approvals.GrantFilter{}).Items); n != 0 || p.Grant.ID != "" {
		t.Errorf("a preview wrote %d grants", n)
	}
}

// BenchmarkUsed measures the time that counting adds to a call.
func BenchmarkUsed(b *testing.B) {
	book, _ := approvalstest.RunGrants(b, grants.Options{Store: approvalstest.OpenStore()})
	g, err := book.Add(b.Context(), approvalstest.Grant("x"))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		book.Used(g.ID)
	}
}
