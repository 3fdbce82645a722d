package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/heldturns"
	"github.com/heldcall/heldcall/approvals/reviewers"
)

// watchHeld watches the held turns with a name, and sends each entry as its id and state.
func watchHeld(t *testing.T, s *Store, name string) (entries chan string, stop func()) {
	t.Helper()
	entries = make(chan string, 100)
	stop = background(t, func(ctx context.Context) error {
		return s.Held.Watch(ctx, func(e heldturns.Entry) {
			id, mine := strings.CutPrefix(e.ID, name)
			if !mine {
				return
			}
			if e.At.IsZero() || e.Conversation != "c" || e.Fingerprint != "f" || e.Task != "t" {
				t.Errorf("%+v", e)
			}
			switch {
			case e.Ended:
				id += " ended"
			case e.Withdrawn:
				id += " withdrawn"
			}
			entries <- id
		}, once(func() { entries <- "current" }))
	})
	return entries, stop
}

// heldNow returns the held turns with a name that a watch reports at its start.
func heldNow(t *testing.T, s *Store, name string) (all []string) {
	t.Helper()
	entries, stop := watchHeld(t, s, name)
	defer stop()
	for e := range entries {
		if e == "current" {
			break
		}
		all = append(all, e)
	}
	return all
}

func (s *suite) heldTurns(t *testing.T) {
	ctx, name := t.Context(), newID()
	put := func(id string, size int) heldturns.Key {
		return must[heldturns.Key](t)(s.first.Held.Put(ctx, heldKey(name+id), bytes.Repeat([]byte(id), size)))
	}
	ended, withdrawn, small, large := put("e", 10), put("w", 10), put("s", 10), put("l", 3<<19)
	entries, stop := watchHeld(t, s.second, name)
	for _, e := range []string{"e", "w", "s", "l", "current"} {
		if got := receive(t, entries, e); got != e {
			t.Fatalf("%s is reported, want %s", got, e)
		}
	}
	ok(t, s.first.Held.End(ctx, ended, time.Minute))
	ok(t, s.second.Held.Withdraw(ctx, withdrawn, time.Minute))
	small = put("s", 20)
	for _, e := range []string{"e ended", "w withdrawn", "s"} {
		if got := receive(t, entries, e); got != e {
			t.Fatalf("%s is reported, want %s", got, e)
		}
	}
	stop()
	s.laterToo(t, func(t *testing.T, s *Store) {
		for key, want := range map[heldturns.Key][]byte{small: bytes.Repeat([]byte("s"), 20), large: bytes.Repeat([]byte("l"), 3<<19)} {
			if got, err := s.Held.Get(t.Context(), key); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s has %d bytes, want %d: %v", key.ID, len(got), len(want), err)
			}
		}
		for _, key := range []heldturns.Key{ended, withdrawn} {
			want(t, key.ID, second(s.Held.Get(t.Context(), key)), approvals.ErrUnknownTurn)
		}
		if diff := cmp.Diff([]string{"l", "e ended", "w withdrawn", "s"}, heldNow(t, s, name)); diff != "" {
			t.Errorf("other turns are reported:\n%s", diff)
		}
	})
	// That a turn has ended is reported for a time only.
	ok(t, s.first.Held.End(ctx, put("x", 10), time.Second))
	eventually(t, "the turn is forgotten", func() bool { return !slices.Contains(heldNow(t, s.second, name), "x ended") })
}

func (s *suite) boundOfHeldTurns(t *testing.T) {
	name := newID()
	var held []heldturns.Key
	defer func() {
		for _, key := range held {
			ok(t, s.first.Held.End(t.Context(), key, time.Second))
		}
	}()
	put := func(size int) error {
		key, err := s.first.Held.Put(t.Context(), heldKey(fmt.Sprint(name, len(held))), make([]byte, size))
		if err == nil {
			held = append(held, key)
		}
		return err
	}
	for {
		err := put(900 << 10)
		if errors.Is(err, approvals.ErrNoRoom) {
			break
		}
		ok(t, err)
		if len(held) > MaxStored/(900<<10) {
			t.Fatalf("%d turns of 900 KiB are stored", len(held))
		}
	}
	for _, key := range held {
		if got, err := s.first.Held.Get(t.Context(), key); err != nil || len(got) != 900<<10 {
			t.Errorf("a turn that was there has %d bytes, %v", len(got), err)
		}
	}
	ok(t, s.first.Held.End(t.Context(), held[0], time.Second))
	held = held[1:]
	ok(t, put(900<<10))
}

func (s *suite) turnStates(t *testing.T) {
	ctx, id := t.Context(), newID()
	won := s.atOnce(t, 6, func(s *Store, i int) error {
		return second(s.Held.PutState(ctx, heldturns.State{ID: id, Owner: fmt.Sprint(i)}, 0))
	})
	state, revision, err := s.second.Held.GetState(ctx, id)
	if err != nil || len(won) != 1 || state.Owner != fmt.Sprint(won[0]) {
		t.Fatalf("%v have written %+v, %v", won, state, err)
	}
	next := must[uint64](t)(s.second.Held.PutState(ctx, state, revision))
	want(t, "an earlier revision is removed", s.first.Held.RemoveState(ctx, id, revision), approvals.ErrConflict)
	ok(t, s.first.Held.RemoveState(ctx, id, next))
	want(t, "it is removed", third(s.second.Held.GetState(ctx, id)), approvals.ErrUnknownTurn)
	want(t, "it is removed again", s.first.Held.RemoveState(ctx, id, next), approvals.ErrConflict)
}

func (s *suite) awaitTurns(t *testing.T) {
	if err := s.second.Held.Await(t.Context()); err == nil {
		t.Error("without a watch everything is known")
	}
	name := newID()
	entries, _ := watchHeld(t, s.second, name)
	states := make(chan string, 100)
	background(t, func(ctx context.Context) error {
		return s.second.Held.WatchStates(ctx, func(state heldturns.State, _ uint64) { states <- state.ID }, func(string) {}, once(func() { states <- "current" }))
	})
	receive(t, entries, "the turns")
	for receive(t, states, "the states") != "current" {
	}
	for i := range 5 {
		id := fmt.Sprint(name, i)
		must[heldturns.Key](t)(s.first.Held.Put(t.Context(), heldKey(id), []byte("x")))
		must[uint64](t)(s.first.Held.PutState(t.Context(), heldturns.State{ID: id}, 0))
		ok(t, s.second.Held.Await(t.Context()))
		if len(entries) != i+1 || len(states) != i+1 {
			t.Fatalf("%d turns and %d states are known, want %d", len(entries), len(states), i+1)
		}
	}
}

func (s *suite) leases(t *testing.T) {
	if s.first.Leases == nil { // one process alone has the state, so that no other needs to know
		if s.Shared {
			t.Error("several processes share the state, and it has no leases")
		}
		return
	}
	ctx, owner := t.Context(), newID()
	ok(t, s.first.Leases.Renew(ctx, owner, nil))
	reports := make(chan string, 100)
	background(t, func(ctx context.Context) error {
		return s.second.Leases.Watch(ctx, func(of string, unrecorded []string) {
			if of == owner {
				reports <- strings.Join(append([]string{"renewed"}, unrecorded...), " ")
			}
		}, func(of string) {
			if of == owner {
				reports <- "removed"
			}
		})
	})
	for _, step := range []struct {
		do   func() error
		want string
	}{
		{func() error { return nil }, "renewed"},
		{func() error { return s.first.Leases.Renew(ctx, owner, []string{"t1", "t2"}) }, "renewed t1 t2"},
		{func() error { return s.first.Leases.Remove(ctx, owner) }, "removed"},
	} {
		ok(t, step.do())
		if got := receive(t, reports, step.want); got != step.want {
			t.Fatalf("%q is reported, want %q", got, step.want)
		}
	}
}

func (s *suite) hiddenTurns(t *testing.T) {
	name := newID()
	sessions := []string{name, name + " with space/and.dots", "=" + name, name + strings.Repeat("long", 200)}
	for _, session := range sessions {
		if s.first.Turns.HasTurns(session) {
			t.Errorf("%.40q has turns from the start", session)
		}
		for _, id := range []string{"02", "01", "03"} {
			ok(t, s.first.Turns.PutTurn(t.Context(), session, id, []byte(id)))
		}
		ok(t, s.first.Turns.PutTurn(t.Context(), session, "02", []byte("replaced")))
	}
	eventually(t, "others know the turns", func() bool {
		known, err := s.second.Turns.AwaitTurns(t.Context())
		ok(t, err)
		return known
	})
	s.laterToo(t, func(t *testing.T, s *Store) {
		for _, session := range sessions {
			turns := must[[][]byte](t)(s.Turns.Turns(t.Context(), session))
			if got := string(bytes.Join(turns, []byte(" "))); got != "01 replaced 03" || !s.Turns.HasTurns(session) || !s.Turns.AnyTurns() {
				t.Errorf("%.40q has %q, %t", session, got, s.Turns.HasTurns(session))
			}
		}
		if turns := must[[][]byte](t)(s.Turns.Turns(t.Context(), name+"none")); len(turns) != 0 || s.Turns.HasTurns(name+"none") {
			t.Errorf("a session without turns has %q", turns)
		}
	})
}

func (s *suite) takenOnce(t *testing.T) {
	session := newID()
	take := func() []int {
		return s.atOnce(t, 8, func(s *Store, i int) error {
			taken, err := s.Turns.TakeTurn(t.Context(), session, "once", []byte(fmt.Sprint(i)))
			if err == nil && !taken {
				err = approvals.ErrConflict
			}
			return err
		})
	}
	if won := take(); len(won) != 1 {
		t.Errorf("%v have taken it", won)
	}
	if won := take(); len(won) != 0 {
		t.Errorf("%v have taken it again", won)
	}
	ok(t, s.second.Turns.DropTurn(t.Context(), session, "once"))
	won := take()
	if len(won) != 1 {
		t.Fatalf("%v have taken it after it was dropped", won)
	}
	s.laterToo(t, func(t *testing.T, s *Store) {
		if taken, err := s.Turns.TakeTurn(t.Context(), session, "once", nil); taken || err != nil {
			t.Errorf("taken %t, %v", taken, err)
		}
		if turns := must[[][]byte](t)(s.Turns.Turns(t.Context(), session)); len(turns) != 1 || string(turns[0]) != fmt.Sprint(won[0]) {
			t.Errorf("it is %q", turns)
		}
	})
}

func (s *suite) secrets(t *testing.T) {
	ctx, id := t.Context(), newID()
	create := func() []int {
		return s.atOnce(t, 6, func(s *Store, i int) error {
			return second(s.Secrets.CreateSecret(ctx, id, []byte(fmt.Sprint(i))))
		})
	}
	won := create()
	sealed, revision, err := s.second.Secrets.GetSecret(ctx, id)
	if err != nil || len(won) != 1 || string(sealed) != fmt.Sprint(won[0]) {
		t.Fatalf("%v have created %q, %v", won, sealed, err)
	}
	next := must[uint64](t)(s.first.Secrets.UpdateSecret(ctx, id, []byte("next"), revision))
	want(t, "an earlier revision is replaced", second(s.second.Secrets.UpdateSecret(ctx, id, nil, revision)), approvals.ErrConflict)
	want(t, "an earlier revision is deleted", s.second.Secrets.DeleteSecret(ctx, id, revision), approvals.ErrConflict)
	ok(t, s.second.Secrets.DeleteSecret(ctx, id, next))
	want(t, "it is deleted", third(s.first.Secrets.GetSecret(ctx, id)), approvals.ErrUnknownSecret)
	if won = create(); len(won) != 1 {
		t.Fatalf("%v have created it again", won)
	}
	s.laterToo(t, func(t *testing.T, s *Store) {
		if sealed, _, err := s.Secrets.GetSecret(t.Context(), id); err != nil || string(sealed) != fmt.Sprint(won[0]) {
			t.Errorf("it is %q, %v", sealed, err)
		}
	})
}

func (s *suite) keys(t *testing.T) {
	name := newID()
	for of, get := range map[string]func(*Store, []byte) ([]byte, error){
		"push":       func(s *Store, fresh []byte) ([]byte, error) { return s.Push.PushKey(t.Context(), fresh) },
		"challenges": func(s *Store, fresh []byte) ([]byte, error) { return s.Passkeys.ChallengeKey(t.Context(), fresh) },
		"links":      func(s *Store, fresh []byte) ([]byte, error) { return s.Deliveries.LinkKey(t.Context(), name, fresh) },
		"others": func(s *Store, fresh []byte) ([]byte, error) {
			return s.Deliveries.LinkKey(t.Context(), name+"2", fresh)
		},
	} {
		keys := make([]string, 6)
		s.atOnce(t, len(keys), func(s *Store, i int) error {
			key, err := get(s, []byte(fmt.Sprint(of, i)))
			keys[i] = string(key)
			return err
		})
		if slices.Sort(keys); keys[0] != keys[len(keys)-1] || !strings.HasPrefix(keys[0], of) {
			t.Errorf("%s has the keys %q", of, keys)
		}
		again := must[[]byte](t)(get(s.second, []byte("fresh")))
		if string(again) != keys[0] {
			t.Errorf("%s has the key %q, and had %q", of, again, keys[0])
		}
	}
	link := string(must[[]byte](t)(s.first.Deliveries.LinkKey(t.Context(), name, nil)))
	s.laterToo(t, func(t *testing.T, s *Store) {
		if key := must[[]byte](t)(s.Deliveries.LinkKey(t.Context(), name, []byte("fresh"))); string(key) != link {
			t.Errorf("the key of links is %q, and was %q", key, link)
		}
	})
}

func (s *suite) passkeys(t *testing.T) {
	ctx, name := t.Context(), "ann "+newID()
	all, revision, err := s.first.Passkeys.ReadPasskeys(ctx, name)
	if err != nil || revision != 0 || all.Reviewer != name || len(all.Keys) > 0 {
		t.Fatalf("%+v at %d, %v", all, revision, err)
	}
	won := s.atOnce(t, 6, func(s *Store, i int) error {
		mine := all
		mine.Keys = []reviewers.Passkey{{ID: fmt.Sprint(i), Credential: []byte(`{}`)}}
		return s.Passkeys.WritePasskeys(ctx, mine, revision)
	})
	if len(won) != 1 {
		t.Fatalf("%v have written them", won)
	}
	s.laterToo(t, func(t *testing.T, s *Store) {
		if all, revision, err := s.Passkeys.ReadPasskeys(t.Context(), name); err != nil || revision == 0 || len(all.Keys) != 1 || all.Keys[0].ID != fmt.Sprint(won[0]) {
			t.Errorf("%+v at %d, %v", all, revision, err)
		}
	})
}

func (s *suite) counts(t *testing.T) {
	key, total := strings.Repeat("0", 64-26)+newID(), 24
	update := func(s *Store) error {
		return s.Counts.Update(t.Context(), key, func(old []byte) ([]byte, error) { return append(slices.Clone(old), 'x'), nil })
	}
	if won := s.atOnce(t, total, func(s *Store, _ int) error { return update(s) }); len(won) != total {
		t.Errorf("%d of %d counts have succeeded", len(won), total)
	}
	failed := errors.New("the limit is reached")
	err := s.first.Counts.Update(t.Context(), key, func([]byte) ([]byte, error) { return nil, failed })
	if err != failed { //nolint:errorlint // it is returned as it is
		t.Errorf("%v, want the error of the change", err)
	}
	s.laterToo(t, func(t *testing.T, s *Store) {
		n := 0
		ok(t, s.Counts.Update(t.Context(), key, func(old []byte) ([]byte, error) { n = len(old); return nil, nil }))
		if n != total {
			t.Errorf("%d are counted, want %d", n, total)
		}
	})
}
