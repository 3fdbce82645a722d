package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/audit"
)

// verified verifies the chain and returns the place of each event in it, by id.
func verified(t *testing.T, s *Store) map[string]uint64 {
	t.Helper()
	places := map[string]uint64{}
	_, err := audit.Verify(func(yield func(audit.Entry, error) bool) {
		for entry, err := range s.Log.Entries(t.Context(), 1) {
			if places[entry.Event.ID] > 0 {
				t.Errorf("event %s is in the log twice", entry.Event.ID)
			}
			places[entry.Event.ID] = entry.Seq
			if !yield(entry, err) {
				return
			}
		}
	})
	ok(t, err)
	return places
}

// group returns the events of one call to AppendEvents.
func group(n int) (events []approvals.Event) {
	for range n {
		events = append(events, event(approvals.EventCallAllowed, ""))
	}
	return events
}

func (s *suite) events(t *testing.T) {
	before := must[uint64](t)(s.first.Gate.LastSeq(t.Context()))
	ok(t, s.first.Gate.AppendEvents(t.Context()))
	groups := make([][]approvals.Event, 24)
	total := 0
	for i := range groups {
		groups[i] = group(1 + i%12)
		total += len(groups[i])
	}
	if won := s.atOnce(t, len(groups), func(s *Store, i int) error { return s.Gate.AppendEvents(t.Context(), groups[i]...) }); len(won) != len(groups) {
		t.Errorf("%d of %d appends have succeeded", len(won), len(groups))
	}
	if last := must[uint64](t)(s.second.Gate.LastSeq(t.Context())); last != before+uint64(total) {
		t.Errorf("the log ends at %d, want %d", last, before+uint64(total))
	}
	s.laterToo(t, func(t *testing.T, s *Store) {
		places := verified(t, s)
		for i, events := range groups {
			for j := range events {
				if place := places[events[j].ID]; place == 0 || j > 0 && place <= places[events[j-1].ID] {
					t.Errorf("event %d of group %d is entry %d", j, i, place)
				}
			}
		}
	})
	if err := s.first.Gate.AppendEvents(t.Context(), approvals.Event{ID: newID(), Before: []byte(`{`)}); err == nil {
		t.Error("an event that is not JSON was appended")
	}
}

func (s *suite) ensuredOnce(t *testing.T) {
	events := group(6)
	released := event(approvals.EventCallReleased, "")
	released.RequestID = newID()
	ok(t, s.first.Gate.AppendEvents(t.Context(), released))
	other := released
	other.RequestID = newID()
	if !must[bool](t)(s.second.Gate.HasEvent(t.Context(), released)) || must[bool](t)(s.second.Gate.HasEvent(t.Context(), other)) {
		t.Error("the log has the event of another request, or not that of this one")
	}
	ok(t, s.first.Gate.AppendEvents(t.Context(), events[:3]...))
	s.atOnce(t, 12, func(s *Store, i int) error {
		if i%4 == 3 {
			return s.Grants.EnsureEvent(t.Context(), events[i%6])
		}
		return s.Gate.EnsureEvent(t.Context(), events[i%6])
	})
	ok(t, s.second.Gate.AppendEvents(t.Context(), events...)) // an append whose reply was lost
	places := verified(t, s.first)
	for i := range events {
		if places[events[i].ID] == 0 {
			t.Errorf("event %d is not in the log", i)
		}
	}
}

func (s *suite) followedEvents(t *testing.T) {
	first := group(3)
	last := must[uint64](t)(s.first.Gate.LastSeq(t.Context()))
	ok(t, s.first.Gate.AppendEvents(t.Context(), first...))
	for _, from := range []uint64{last + 2, 0} { // from a place, and from the next event
		t.Run(fmt.Sprint("from ", from), func(t *testing.T) {
			got := make(chan approvals.Event, 100)
			stop := background(t, func(ctx context.Context) error {
				for e, err := range s.second.Gate.Events(ctx, from) {
					if err != nil {
						return err
					}
					got <- e
				}
				return nil
			})
			var wanted []approvals.Event
			if from > 0 {
				wanted = slices.Clone(first[1:])
			} else { // it is followed when the first of these comes
				e := event(approvals.EventCallDenied, "follows")
				eventually(t, "the log is followed", func() bool {
					e.ID = newID()
					ok(t, s.first.Gate.AppendEvents(t.Context(), e))
					return len(got) > 0
				})
				for e.ID != receive(t, got, "an event").ID {
				}
			}
			more := group(20)
			ok(t, s.first.Gate.AppendEvents(t.Context(), more...))
			place := uint64(0)
			for _, e := range append(wanted, more...) {
				next := receive(t, got, "an event")
				if next.ID != e.ID || place > 0 && next.Seq != place+1 {
					t.Fatalf("event %s at %d follows that at %d, want %s", next.ID, next.Seq, place, e.ID)
				}
				place = next.Seq
			}
			stop()
		})
	}
}

// noted returns the notes of entries.
func noted(t *testing.T, entries func(func(audit.Entry, error) bool)) (notes []string) {
	t.Helper()
	for entry, err := range entries {
		ok(t, err)
		notes = append(notes, entry.Event.Note)
	}
	return notes
}

func (s *suite) partsOfTheLog(t *testing.T) {
	ctx, log := t.Context(), s.first.Log
	last := must[uint64](t)(s.first.Gate.LastSeq(ctx))
	middle := time.Now().UTC()
	for i, typ := range []approvals.EventType{approvals.EventPolicyChanged, approvals.EventCallAllowed, approvals.EventPolicyChanged, approvals.EventCallDenied} {
		e := event(typ, fmt.Sprint(i))
		e.Time = middle.Add(time.Duration(i-2) * time.Second)
		e.RequestID = e.ID
		ok(t, s.first.Gate.AppendEvents(ctx, e))
	}
	changes := must[[]audit.Entry](t)(log.Changes(ctx, approvals.EventPolicyChanged))
	head := must[audit.Head](t)(log.Head(ctx))
	var recent []string
	for e, err := range s.first.Grants.RecentEvents(ctx, 2) {
		ok(t, err)
		recent = append(recent, e.Note)
	}
	for _, part := range []struct {
		name string
		got  []string
		want string
	}{
		{"from a place", noted(t, log.Entries(ctx, last+2)), "1 2 3"},
		{"after the end", noted(t, log.Entries(ctx, head.Seq+1)), ""},
		{"after a place", noted(t, log.EntriesFrom(ctx, last+1, time.Time{})), "1 2 3"},
		{"after a place and since a time", noted(t, log.EntriesFrom(ctx, last, middle)), "2 3"},
		{"of a type, from a place", noted(t, log.OfType(ctx, approvals.EventPolicyChanged, last+2)), "2"},
		{"changes", []string{changes[len(changes)-2].Event.Note, changes[len(changes)-1].Event.Note}, "0 2"},
		{"the last two", recent, "2 3"},
	} {
		if got := strings.Join(part.got, " "); got != part.want {
			t.Errorf("%s: %q, want %q", part.name, got, part.want)
		}
	}
	entry := must[audit.Entry](t)(log.Entry(ctx, head.Seq))
	if entry.Event.Note != "3" || entry.Event.Hash != head.Hash || len(entry.Data) == 0 {
		t.Errorf("entry %d: %+v", head.Seq, entry.Event)
	}
	_, err := log.Entry(ctx, head.Seq+1)
	want(t, "an entry after the end", err, audit.ErrNoEntry)
	if first := must[audit.Head](t)(log.First(ctx)); first.Seq != 1 || first.Hash == "" {
		t.Errorf("the log begins at %+v", first)
	}
}

func (s *suite) droppedEvents(t *testing.T) {
	ctx, log := t.Context(), s.first.Log
	before := must[audit.Head](t)(log.Head(ctx))
	drop := func(answer error) (declared audit.Head, err error) {
		err = log.DropBefore(ctx, time.Now().Add(time.Minute), func(_ context.Context, first audit.Head) error { declared = first; return answer })
		return declared, err
	}
	declared, err := drop(io.EOF)
	if first := must[audit.Head](t)(log.First(ctx)); declared != before || !errors.Is(err, io.EOF) || first.Seq != 1 {
		t.Fatalf("%+v was declared in vain, %v, and the log begins at %+v", declared, err, first)
	}
	declared, err = drop(nil)
	if first := must[audit.Head](t)(log.First(ctx)); declared != before || err != nil || first != before {
		t.Fatalf("%+v was declared, %v, and the log begins at %+v, want %+v", declared, err, first, before)
	}
	ok(t, s.first.Gate.AppendEvents(ctx, group(2)...))
	report, err := audit.Verify(log.Entries(ctx, 1))
	if err != nil || report.Count != 3 || report.Last.Seq != before.Seq+2 {
		t.Fatalf("%+v, %v", report, err)
	}
}

// taken are the events that a follower of a channel has got.
type taken struct {
	mu     sync.Mutex
	events []approvals.Event
}

func (k *taken) add(e approvals.Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.events = append(k.events, e)
}

func (k *taken) ids() (ids []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, e := range k.events {
		ids = append(ids, e.ID)
	}
	return ids
}

// follow follows a channel until stop is called.
func follow(t *testing.T, s *Store, channel string, take func(approvals.Event, ack)) (stop func()) {
	t.Helper()
	following := make(chan struct{})
	stop = background(t, func(ctx context.Context) error {
		return s.Deliveries.Follow(ctx, channel, []approvals.EventType{approvals.EventCallAllowed}, func() { close(following) }, func(e approvals.Event, m interface {
			Done()
			Working()
			Return()
		},
		) {
			take(e, m)
		})
	})
	receive(t, following, "the channel to be followed")
	return stop
}

type ack interface {
	Done()
	Working()
	Return()
}

func (s *suite) deliveries(t *testing.T) {
	ok(t, s.first.Gate.AppendEvents(t.Context(), group(3)...)) // before the channel is new
	var got taken
	stops := []func(){}
	for _, store := range []*Store{s.first, s.second} {
		stops = append(stops, follow(t, store, "shared", func(e approvals.Event, a ack) { got.add(e); a.Done() }))
	}
	var wanted []string
	send := func() {
		for range 10 {
			e := event(approvals.EventCallAllowed, "")
			wanted = append(wanted, e.ID)
			ok(t, s.first.Gate.AppendEvents(t.Context(), e, event(approvals.EventCallDenied, "of another type")))
		}
	}
	check := func() {
		t.Helper()
		eventually(t, "all events are delivered", func() bool { return len(got.ids()) >= len(wanted) })
		if diff := cmp.Diff(wanted, slices.Sorted(slices.Values(got.ids()))); diff != "" {
			t.Errorf("other events were delivered:\n%s", diff)
		}
	}
	send()
	check()
	for _, stop := range stops {
		stop()
	}
	send() // nobody follows the channel
	follow(t, s.second, "shared", func(e approvals.Event, a ack) { got.add(e); a.Done() })
	send()
	check()
}

func (s *suite) acknowledged(t *testing.T) {
	returned, done := make(chan approvals.Event, 100), make(chan approvals.Event, 100)
	stop := follow(t, s.first, "again", func(e approvals.Event, a ack) {
		a.Working()
		if len(returned) < 2 {
			returned <- e
			a.Return()
			return
		}
		a.Done()
		a.Return() // too late
		done <- e
	})
	e := event(approvals.EventCallAllowed, "")
	ok(t, s.first.Gate.AppendEvents(t.Context(), e))
	if got := receive(t, done, "the event"); got.ID != e.ID || len(returned) != 2 {
		t.Errorf("event %s was done after %d returns", got.ID, len(returned))
	}
	stop()
	follow(t, s.second, "again", func(e approvals.Event, a ack) { a.Done(); done <- e })
	next := event(approvals.EventCallAllowed, "")
	ok(t, s.first.Gate.AppendEvents(t.Context(), next))
	if got := receive(t, done, "the next event"); got.ID != next.ID {
		t.Error("an event that was done is delivered again")
	}
}

func (s *suite) channelState(t *testing.T) {
	ctx := t.Context()
	if value, revision, err := s.first.Deliveries.State(ctx, "slack", "card"); value != nil || revision != 0 || err != nil {
		t.Errorf("a key without a value: %q, %d, %v", value, revision, err)
	}
	won := s.atOnce(t, 4, func(s *Store, i int) error {
		return second(s.Deliveries.PutState(ctx, "slack", "card", []byte(fmt.Sprint(i)), 0))
	})
	if len(won) != 1 {
		t.Fatalf("%v have written it", won)
	}
	must[uint64](t)(s.first.Deliveries.PutState(ctx, "other", "card", []byte("of another channel"), 0))
	s.laterToo(t, func(t *testing.T, s *Store) {
		if value, revision, err := s.Deliveries.State(t.Context(), "slack", "card"); string(value) != fmt.Sprint(won[0]) || revision == 0 || err != nil {
			t.Errorf("%q, %d, %v", value, revision, err)
		}
	})
}
