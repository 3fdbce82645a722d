package notify_test

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
	"github.com/heldcall/heldcall/notify"
)

func TestCardsFollowTheirRequests(t *testing.T) {
	s := newStage(t)
	cards, bell := &follower{}, &board{}
	s.dispatch(nil, notify.Setup{Name: "cards", Channel: cards, Threads: true}, notify.Setup{Name: "bell", Channel: bell})
	batch := s.ask("one", nil, "read", "write")
	cards.await(t, "read=pending write=pending")
	bell.await(t, "read=pending write=pending")
	s.approve(batch[1])
	cards.await(t, "read=pending write=approved")
	single := s.ask("two", nil, "bash")
	cards.await(t, "read=pending write=approved\nbash=pending thread=0")
	bell.await(t, "read=pending write=pending\nbash=pending")
	s.approve(single[0])
	s.approve(batch[0])
	cards.await(t, "read=approved write=approved\nbash=approved thread=0")
	bell.await(t, "read=pending write=pending\nbash=pending")
	if calls, _ := cards.count(); calls > 5 {
		t.Errorf("%d calls of the channel, for two cards and three decisions", calls)
	}
}

// lateStore follows a channel when a test permits it.
type lateStore struct {
	notify.Store
	follow chan struct{}
}

func (l lateStore) Follow(ctx context.Context, channel string, types []approvals.EventType, following func(), take func(approvals.Event, notify.Message)) error {
	select {
	case <-l.follow:
	case <-ctx.Done():
		return nil
	}
	return l.Store.Follow(ctx, channel, types, following, take)
}

// Requests that come before a new channel is followed are announced too.
func TestRequestsAtTheStart(t *testing.T) {
	s := newStage(t)
	cards := &follower{}
	late := lateStore{s.store.Deliveries, make(chan struct{})}
	s.run(notify.Options{Store: late, Requests: s.gate, Channels: []notify.Setup{{Name: "cards", Channel: cards}}})
	time.Sleep(100 * time.Millisecond) // enough to list pending requests, were that not deferred
	s.ask("one", nil, "read")
	close(late.follow)
	cards.await(t, "read=pending")
}

func TestRestart(t *testing.T) {
	s := newStage(t)
	cards := &follower{}
	setup := notify.Setup{Name: "cards", Channel: cards}
	s.dispatch(nil, setup)
	first := s.ask("one", nil, "read")
	cards.await(t, "read=pending")
	s.close()
	s.open()
	s.approve(first[0]) // while no dispatcher runs
	s.ask("two", nil, "write")
	s.dispatch(nil, setup)
	cards.await(t, "read=approved\nwrite=pending")
	s.close()
	s.open()
	s.dispatch(nil, setup)
	s.ask("three", nil, "bash")
	cards.await(t, "read=approved\nwrite=pending\nbash=pending")
	if calls, _ := cards.count(); calls != 4 {
		t.Errorf("%d calls of the channel, want 3 posts and 1 update", calls)
	}
}

// The service has posted the card, and its answer was lost.
func TestCardOfALostAnswerIsFound(t *testing.T) {
	s := newStage(t)
	cards := &follower{board{lost: func(n int) error {
		if n == 1 {
			return errors.New("the connection broke")
		}
		return nil
	}}}
	s.dispatch(nil, notify.Setup{Name: "cards", Channel: cards})
	r := s.ask("one", nil, "read")
	cards.await(t, "read=pending")
	s.approve(r[0])
	cards.await(t, "read=approved")
}

func TestWaitingRequestsAreToldToANewChannel(t *testing.T) {
	s := newStage(t)
	s.ask("one", nil, "read")
	over := s.ask("two", nil, "write")
	s.approve(over[0])
	cards := &follower{}
	s.dispatch(nil, notify.Setup{Name: "cards", Channel: cards})
	cards.await(t, "read=pending")
}

func TestDeadChannelDelaysNoOther(t *testing.T) {
	s := newStage(t)
	slow, dead, live := &follower{}, &follower{}, &follower{}
	slow.gate = make(chan struct{})
	dead.answers = func(int) error { return errors.New("down") }
	s.dispatch(nil, notify.Setup{Name: "slow", Channel: slow}, notify.Setup{Name: "dead", Channel: dead}, notify.Setup{Name: "live", Channel: live})
	var want []string
	for i := range 20 {
		tool := fmt.Sprintf("tool%d", i)
		s.approve(s.ask(tool, nil, tool)[0])
		s.ask(tool+"b", nil, tool+"b")
		want = append(want, tool+"b=pending")
	}
	eventually(t, func() (bool, string) {
		got := live.show()
		for _, line := range want {
			if !strings.Contains(got, line) {
				return false, "the live channel lacks " + line + ":\n" + got
			}
		}
		return true, ""
	})
	close(slow.gate)
}

func TestWhatIsOverIsNotToldAsNew(t *testing.T) {
	s := newStage(t)
	cards := &follower{}
	down := make(chan struct{})
	cards.answers = func(int) error {
		select {
		case <-down:
			return nil
		default:
			return notify.RetryAfter(errors.New("down"), 10*time.Millisecond)
		}
	}
	s.dispatch(nil, notify.Setup{Name: "cards", Channel: cards})
	over := s.ask("one", nil, "read")
	s.ask("two", nil, "write")
	eventually(t, func() (bool, string) { calls, _ := cards.count(); return calls > 1, "the channel was not tried" })
	s.approve(over[0])
	before, _ := cards.count()
	eventually(t, func() (bool, string) { // the first of them may have begun before the approval
		calls, _ := cards.count()
		return calls >= before+2, "the channel was not tried after the approval"
	})
	close(down)
	cards.await(t, "write=pending")
}

func TestRefusedForGood(t *testing.T) {
	s := newStage(t)
	cards := &follower{}
	cards.answers = func(n int) error {
		if n == 1 {
			return notify.Permanent(errors.New("no such place"))
		}
		return nil
	}
	s.dispatch(nil, notify.Setup{Name: "cards", Channel: cards})
	refused := s.ask("one", nil, "read")
	eventually(t, func() (bool, string) { calls, _ := cards.count(); return calls == 1, "the channel was not tried" })
	s.approve(refused[0])
	s.ask("two", nil, "write")
	cards.await(t, "write=pending")
	if calls, _ := cards.count(); calls != 2 {
		t.Errorf("%d calls, want one refused and one taken", calls)
	}
}

func TestMachinesGetEachEventOnce(t *testing.T) {
	s := newStage(t)
	machine := &follower{}
	machine.answers = func(n int) error {
		if n%2 == 1 {
			return errors.New("flapping")
		}
		return nil
	}
	setup := notify.Setup{Name: "machine", Channel: machine, EachEvent: true}
	s.dispatch(nil, setup)
	for i := range 5 {
		batch := s.ask(fmt.Sprint(i), func(r *approvals.Request) { r.RequiredApprovals = 2 }, "read", "write")
		for _, r := range batch {
			s.approve(r)
			if _, err := s.gate.Decide(t.Context(), approvals.Decision{RequestID: r.ID, Action: approvals.ActionDeny, ReviewerID: "eve"}); err != nil {
				t.Fatal(err)
			}
		}
		if i == 2 {
			s.close()
			s.open()
			s.dispatch(nil, setup)
		}
	}
	last := s.ask("last", nil, "bash")
	eventually(t, func() (bool, string) {
		machine.mu.Lock()
		defer machine.mu.Unlock()
		id := last[0].RequiredEvent().ID
		return strings.Contains(strings.Join(machine.told, " "), id), "the last event has not come"
	})
	seen := map[string]int{}
	machine.mu.Lock()
	defer machine.mu.Unlock()
	for _, id := range machine.told {
		if seen[id]++; seen[id] > 1 {
			t.Errorf("event %s was delivered twice", id)
		}
	}
}

func TestManyAtOnceBecomeOneCard(t *testing.T) {
	s := newStage(t)
	cards := &follower{}
	group := notify.Group{Cards: 3, Within: 2 * time.Second}
	s.dispatch(nil, notify.Setup{Name: "cards", Channel: cards, Group: group})
	began := time.Now()
	asked := map[string]approvals.Request{}
	for i := range 30 {
		for _, r := range s.ask(fmt.Sprint(i), nil, "a", "b") {
			asked[r.ID] = r
		}
	}
	shown := func() map[string]approvals.Status {
		cards.mu.Lock()
		defer cards.mu.Unlock()
		on := map[string]approvals.Status{}
		for _, c := range cards.cards {
			for _, r := range c.Requests {
				if _, twice := on[r.ID]; twice {
					t.Errorf("request %s is on two cards", r.ID)
				}
				on[r.ID] = r.Status
			}
		}
		return on
	}
	eventually(t, func() (bool, string) {
		n := len(shown())
		return n == len(asked), fmt.Sprintf("%d of %d requests are shown", n, len(asked))
	})
	took := time.Since(began)
	if _, n := cards.count(); n > group.Cards*(1+int(took/group.Within)) {
		t.Errorf("%d cards for 30 turns within %s", n, took)
	}
	for _, r := range asked {
		s.approve(r)
	}
	eventually(t, func() (bool, string) {
		for id, status := range shown() {
			if status != approvals.StatusApproved {
				return false, "request " + id + " is shown as " + string(status)
			}
		}
		return true, ""
	})
}

func TestSeveralReplicasShareTheWork(t *testing.T) {
	s := newStage(t)
	cards := &follower{}
	setup := notify.Setup{Name: "cards", Channel: cards}
	s.dispatch(nil, setup)
	s.dispatch(nil, setup)
	s.dispatch(nil, setup)
	var asked []approvals.Request
	for i := range 40 {
		asked = append(asked, s.ask(fmt.Sprint(i), nil, "tool")...)
	}
	eventually(t, func() (bool, string) { return cards.show() != "", "no card is shown" })
	for _, r := range asked {
		s.approve(r)
	}
	eventually(t, func() (bool, string) {
		shown := cards.show()
		// One that ended before it was posted is not announced.
		return !strings.Contains(shown, "pending") && len(shown) > 0, shown
	})
	seen := map[string]bool{}
	cards.mu.Lock()
	defer cards.mu.Unlock()
	for _, c := range cards.cards {
		if seen[c.ID] {
			t.Errorf("card %s was posted twice", c.ID)
		}
		seen[c.ID] = true
	}
}

// chooser wants what one tool asks.
type chooser struct {
	follower
	tool string
}

func (c *chooser) Anybody() bool { return c.tool != "" }

func (c *chooser) Wants(requests []approvals.Request) bool {
	return slices.ContainsFunc(requests, func(r approvals.Request) bool { return r.ToolName == c.tool })
}

// A channel that chooses its recipients follows no routes, and has no record of cards
// without recipients.
func TestChannelsThatChooseNeedNoRoute(t *testing.T) {
	s := newStage(t)
	picky, nobody := &chooser{tool: "bash"}, &chooser{}
	elsewhere := notify.Routes{{To: []notify.Destination{{Channel: "other"}}}}
	s.dispatch(elsewhere, notify.Setup{Name: "picky", Channel: picky}, notify.Setup{Name: "nobody", Channel: nobody})
	unwanted := s.ask("one", nil, "read")[0]
	wanted := s.ask("two", nil, "bash")[0]
	picky.await(t, "bash=pending")
	s.approve(wanted)
	picky.await(t, "bash=approved")
	for _, name := range []string{"picky", "nobody"} {
		_, revision, err := s.store.Deliveries.State(t.Context(), name, unwanted.ID[:10]+"-"+unwanted.TurnID)
		if err != nil || revision != 0 {
			t.Errorf("%s has a record without recipients: %d, %v", name, revision, err)
		}
	}
	if _, revision, err := s.store.Deliveries.State(t.Context(), "picky", wanted.ID[:10]+"-"+wanted.TurnID); err != nil || revision == 0 {
		t.Errorf("there is no record of a delivery: %d, %v", revision, err)
	}
	if calls, _ := nobody.count(); calls != 0 {
		t.Errorf("%d calls of a channel without recipients", calls)
	}
}

func TestOneNameAChannel(t *testing.T) {
	for _, names := range [][]string{{""}, {"a", "a"}} {
		var setups []notify.Setup
		for _, name := range names {
			setups = append(setups, notify.Setup{Name: name, Channel: &board{}})
		}
		if _, err := notify.New(notify.Options{Channels: setups}); err == nil {
			t.Errorf("%q: no error", names)
		}
	}
}

func TestErrorsKeepTheirCause(t *testing.T) {
	cause := errors.New("cause")
	for _, err := range []error{notify.Permanent(cause), notify.RetryAfter(cause, time.Second)} {
		if !errors.Is(err, cause) {
			t.Errorf("%v has lost its cause", err)
		}
	}
	if diff := cmp.Diff("cause (it may be tried again in 1s)", notify.RetryAfter(cause, time.Second).Error()); diff != "" {
		t.Error(diff)
	}
}

// half reaches one recipient and not another, as long as the request is pending.
type half struct{ posts, updates atomic.Int32 }

func (h *half) Post(context.Context, notify.Delivery) (notify.Ref, error) {
	h.posts.Add(1)
	return "told:one", errors.New("no such host")
}

func (h *half) Update(_ context.Context, d notify.Delivery, ref notify.Ref) (notify.Ref, error) {
	if !d.Requests[0].Status.Final() {
		return ref + ",two", errors.New("no such host")
	}
	if strings.HasPrefix(string(ref), "told:one") {
		h.updates.Add(1)
	}
	return ref, nil
}

// Recipients who got a card get its end, although others could not be reached.
func TestHalfDeliveredIsUpdated(t *testing.T) {
	s, h := newStage(t), &half{}
	s.dispatch(nil, notify.Setup{Name: "push", Channel: h})
	r := s.ask("t", nil, "bash")[0]
	eventually(t, func() (bool, string) { return h.posts.Load() > 0, "nothing is posted" })
	s.approve(r)
	eventually(t, func() (bool, string) { return h.updates.Load() > 0, "the recipient does not get the end" })
	if n := h.posts.Load(); n != 1 {
		t.Errorf("what was posted in part is posted %d times", n)
	}
}
