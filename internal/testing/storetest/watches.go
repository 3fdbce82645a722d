package storetest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/heldturns"
	"github.com/heldcall/heldcall/approvals/reviewers"
)

// feed is a kind of record that can be watched. A version is a text in the record.
type feed struct {
	name  string
	write func(ctx context.Context, s *Store, id, version string) error // creates or replaces it
	watch func(ctx context.Context, s *Store, changed func(id, version string), current func()) error
	end   func(ctx context.Context, s *Store, id string) error // nil: records do not end
}

// gone is the version of a record that was removed.
const gone = "gone"

// feeds returns the kinds of records.
func feeds() []feed {
	return []feed{
		{"requests", func(ctx context.Context, s *Store, id, version string) error {
			stored, err := s.Gate.GetRequest(ctx, id)
			if err != nil {
				return second(s.Gate.CreateRequest(ctx, approvals.Request{ID: id, Model: version}))
			}
			return second(s.Gate.UpdateRequest(ctx, approvals.Request{ID: id, Model: version}, stored.Revision))
		}, func(ctx context.Context, s *Store, changed func(id, version string), current func()) error {
			return s.Gate.WatchRequests(ctx, func(r approvals.Stored) { changed(r.Request.ID, r.Request.Model) }, current)
		}, nil},
		recordFeed("runs", func(s *Store) approvals.Records[approvals.Run] { return s.Gate.Runs() },
			func(id, version string) approvals.Run { return approvals.Run{ID: id, SessionID: version} },
			func(r approvals.Run) (id, version string) { return r.ID, r.SessionID }),
		recordFeed("signals", func(s *Store) approvals.Records[approvals.PrincipalSignal] { return s.Gate.Signals() },
			func(id, version string) approvals.PrincipalSignal {
				return approvals.PrincipalSignal{Principal: approvals.Principal{User: id}, ReviewerID: version}
			},
			func(r approvals.PrincipalSignal) (id, version string) { return r.Principal.User, r.ReviewerID }),
		recordFeed("delegations", func(s *Store) approvals.Records[approvals.Delegation] { return s.Gate.Delegations() },
			func(id, version string) approvals.Delegation { return approvals.Delegation{ID: id, Note: version} },
			func(d approvals.Delegation) (id, version string) { return d.ID, d.Note }),
		{"grants", func(ctx context.Context, s *Store, id, version string) error {
			_, revision, _ := s.Grants.GetGrant(ctx, id)
			return second(s.Grants.PutGrant(ctx, approvals.Grant{ID: id, GrantedBy: version}, revision))
		}, func(ctx context.Context, s *Store, changed func(id, version string), current func()) error {
			return s.Grants.WatchGrants(ctx, func(g approvals.Grant, _ uint64) { changed(g.ID, g.GrantedBy) }, func(id string) { changed(id, gone) }, current)
		}, func(ctx context.Context, s *Store, id string) error { return s.Grants.DeleteGrant(ctx, id) }},
		{"subscriptions", func(ctx context.Context, s *Store, id, version string) error {
			return s.Push.PutSubscription(ctx, reviewers.Subscription{ID: id, Reviewer: version})
		}, func(ctx context.Context, s *Store, changed func(id, version string), current func()) error {
			return s.Push.WatchSubscriptions(ctx, func(sub reviewers.Subscription) { changed(sub.ID, sub.Reviewer) }, func(id string) { changed(id, gone) }, current)
		}, func(ctx context.Context, s *Store, id string) error { return s.Push.DeleteSubscription(ctx, id) }},
		{"secrets", func(ctx context.Context, s *Store, id, version string) error {
			if _, revision, err := s.Secrets.GetSecret(ctx, id); err == nil {
				return second(s.Secrets.UpdateSecret(ctx, id, []byte(version), revision))
			}
			return second(s.Secrets.CreateSecret(ctx, id, []byte(version)))
		}, func(ctx context.Context, s *Store, changed func(id, version string), current func()) error {
			return s.Secrets.WatchSecrets(ctx, func(id string, sealed []byte, _ uint64) { changed(id, string(sealed)) }, func(id string, _ uint64) { changed(id, gone) }, current)
		}, func(ctx context.Context, s *Store, id string) error { return s.Secrets.DeleteSecret(ctx, id, 0) }},
		{"states of held turns", func(ctx context.Context, s *Store, id, version string) error {
			_, revision, _ := s.Held.GetState(ctx, id)
			return second(s.Held.PutState(ctx, heldturns.State{ID: id, Reason: version}, revision))
		}, func(ctx context.Context, s *Store, changed func(id, version string), current func()) error {
			return s.Held.WatchStates(ctx, func(state heldturns.State, _ uint64) { changed(state.ID, state.Reason) }, func(id string) { changed(id, gone) }, once(current))
		}, func(ctx context.Context, s *Store, id string) error {
			_, revision, err := s.Held.GetState(ctx, id)
			if err != nil {
				return err
			}
			return s.Held.RemoveState(ctx, id, revision)
		}},
	}
}

// recordFeed is the feed of [approvals.Records].
func recordFeed[T any](name string, of func(*Store) approvals.Records[T], make func(id, version string) T, read func(T) (id, version string)) feed {
	key := func(id string) string {
		if signal, is := any(make(id, "")).(approvals.PrincipalSignal); is {
			return signal.Key()
		}
		return id
	}
	return feed{name: name, write: func(ctx context.Context, s *Store, id, version string) error {
		_, revision, _ := of(s).Get(ctx, key(id))
		return of(s).Put(ctx, make(id, version), revision)
	}, watch: func(ctx context.Context, s *Store, changed func(id, version string), current func()) error {
		return of(s).Watch(ctx, func(record T) { changed(read(record)) }, current)
	}}
}

// once calls current at the first time that a watch is current.
func once(current func()) func(bool) {
	return func(is bool) {
		if is {
			current()
		}
	}
}

func (s *suite) watches(t *testing.T) {
	for _, f := range feeds() {
		t.Run(f.name, func(t *testing.T) {
			run := newID()
			write := func(s *Store, name, version string) {
				t.Helper()
				ok(t, f.write(t.Context(), s, run+name, version))
			}
			write(s.first, "a", "1")
			write(s.second, "b", "1")
			write(s.second, "a", "2")
			reports := make(chan string, 100)
			stop := background(t, func(ctx context.Context) error {
				return f.watch(ctx, s.second, func(id, version string) {
					if name, mine := strings.CutPrefix(id, run); mine {
						reports <- name + version
					}
				}, func() { reports <- "current" })
			})
			expect := func(all ...string) {
				t.Helper()
				var got []string
				for range all {
					got = append(got, receive(t, reports, fmt.Sprintf("%v after %v", all, got)))
				}
				if diff := cmp.Diff(all, got); diff != "" {
					t.Fatalf("other reports:\n%s", diff)
				}
			}
			expect("b1", "a2", "current")
			write(s.first, "a", "3")
			expect("a3")
			write(s.first, "c", "1")
			expect("c1")
			last := 0 // reported of d: changes that were replaced meanwhile may be left out
			for i := range 20 {
				write([]*Store{s.first, s.second}[i%2], "d", fmt.Sprint(i+1))
			}
			for n := 0; n < 20; {
				report := receive(t, reports, "the last change")
				var err error
				if n, err = strconv.Atoi(strings.TrimPrefix(report, "d")); err != nil || n <= last {
					t.Fatalf("%s is reported after d%d", report, last)
				}
				last = n
			}
			if f.end != nil {
				ok(t, f.end(t.Context(), s.first, run+"a"))
				expect("a" + gone)
			}
			stop()
			select {
			case report := <-reports:
				t.Errorf("%s is reported too", report)
			default:
			}
		})
	}
}

func (s *suite) watchesEnd(t *testing.T) {
	for _, f := range feeds() {
		t.Run(f.name, func(t *testing.T) {
			for _, loaded := range []bool{true, false} {
				ctx, cancel := context.WithCancel(t.Context())
				if !loaded {
					cancel()
				}
				ended := make(chan error, 1)
				current := make(chan struct{}, 1)
				go func() {
					ended <- f.watch(ctx, s.first, func(string, string) {}, func() { current <- struct{}{} })
				}()
				if loaded {
					receive(t, current, "the records")
				}
				cancel()
				if err := receive(t, ended, "the end of the watch"); err != nil {
					t.Errorf("loaded %t: %v", loaded, err)
				}
			}
		})
	}
}

func (s *suite) endedContexts(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	began := time.Now()
	known := request("rm")
	must[uint64](t)(s.first.Gate.CreateRequest(t.Context(), known))
	for what, err := range map[string]error{
		"a request is read":      second(s.first.Gate.GetRequest(ctx, known.ID)),
		"a run is read":          third(s.first.Gate.Runs().Get(ctx, "none")),
		"a grant is read":        third(s.first.Grants.GetGrant(ctx, "none")),
		"a secret is read":       third(s.first.Secrets.GetSecret(ctx, "none")),
		"a state is read":        third(s.first.Deliveries.State(ctx, "none", "none")),
		"the log's end is read":  second(s.first.Gate.LastSeq(ctx)),
		"the state of a turn":    third(s.first.Held.GetState(ctx, "none")),
		"passkeys are read":      third(s.first.Passkeys.ReadPasskeys(ctx, "none")),
		"an event is appended":   s.first.Gate.AppendEvents(ctx, event(approvals.EventCallAllowed, "")),
		"a count is changed":     s.first.Counts.Update(ctx, newID(), func([]byte) ([]byte, error) { return []byte("1"), nil }),
		"a hidden turn is taken": second(s.first.Turns.TakeTurn(ctx, newID(), "t", nil)),
	} {
		want(t, what, err, approvals.ErrStoreUnavailable)
	}
	if took := time.Since(began); took > soon {
		t.Errorf("it took %s", took)
	}
}

// closed leaves out the audit log: an append waits ten seconds for a connection.
func (s *suite) closed(t *testing.T) {
	ctx := t.Context()
	store := s.first
	ok(t, s.close())
	for what, err := range map[string]error{
		"a request is read":    second(store.Gate.GetRequest(ctx, "none")),
		"a request is created": second(store.Gate.CreateRequest(ctx, request("rm"))),
		"a run is written":     store.Gate.Runs().Put(ctx, approvals.Run{ID: newID()}, 0),
		"a grant is read":      third(store.Grants.GetGrant(ctx, "none")),
		"a held turn is read":  second(store.Held.Get(ctx, heldKey("none"))),
		"a secret is read":     third(store.Secrets.GetSecret(ctx, "none")),
	} {
		want(t, what, err, approvals.ErrStoreUnavailable)
	}
}
