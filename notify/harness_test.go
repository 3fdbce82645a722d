package notify_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/internal/testing/memstore"
	"github.com/heldcall/heldcall/notify"
	"github.com/heldcall/heldcall/notify/notifytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// soon bounds every wait. Nothing is timed with it.
const soon = 90 * time.Second

// stage is a real gate.
type stage struct {
	t          *testing.T
	store      *memstore.Store
	gate       *gate.Gate
	close      func()
	dispatcher *notify.Dispatcher // that was run last
}

func newStage(t *testing.T) *stage {
	s := &stage{t: t, store: memstore.New(memstore.Options{})}
	s.open()
	t.Cleanup(func() { s.close() })
	return s
}

// open starts a gate on the state, again after a close.
func (s *stage) open() {
	s.t.Helper()
	s.store = s.store.Reopen()
	s.gate, s.close = notifytest.OpenGate(s.t, s.store, gate.Options{})
}

// dispatch runs a dispatcher until stop is called. It returns when each channel has its first requests.
func (s *stage) dispatch(routes notify.Routes, channels ...notify.Setup) (stop func()) {
	s.t.Helper()
	looking := 0
	for _, c := range channels {
		if chooser, chooses := c.Channel.(notify.Chooser); !chooses || chooser.Anybody() {
			looking++
		}
	}
	requests, await := notifytest.Swept(s.gate, looking)
	stop = s.run(notify.Options{Store: s.store.Deliveries, Requests: requests, Channels: channels, Routes: routes})
	await()
	return stop
}

// run runs a dispatcher until stop is called.
func (s *stage) run(o notify.Options) (stop func()) {
	s.t.Helper()
	d, err := notify.New(o)
	if err != nil {
		s.t.Fatal(err)
	}
	s.dispatcher = d
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- d.Run(ctx) }()
	stop = sync.OnceFunc(func() { cancel(); <-ran })
	end := s.close
	s.close = func() { stop(); end() }
	return stop
}

// ask opens the requests of one turn.
func (s *stage) ask(turn string, change func(*approvals.Request), tools ...string) []approvals.Request {
	s.t.Helper()
	var requests []approvals.Request
	for _, tool := range tools {
		r := approvals.Request{
			Kind: approvals.KindPermission, Principal: approvals.Principal{Tenant: "acme", User: "ann"},
			RunID: "run", TurnID: turn, ToolName: tool, Arguments: []byte(`{}`), RiskLevel: approvals.RiskMedium,
			ExpiresAt: time.Now().Add(time.Hour),
		}
		if change != nil {
			change(&r)
		}
		requests = append(requests, r)
	}
	hold, err := s.gate.Open(s.t.Context(), requests)
	if err != nil {
		s.t.Fatal(err)
	}
	return hold.Requests()
}

func (s *stage) approve(r approvals.Request) {
	s.t.Helper()
	_, err := s.gate.Decide(s.t.Context(), approvals.Decision{RequestID: r.ID, Action: approvals.ActionApprove, ReviewerID: "bob"})
	if err != nil {
		s.t.Fatal(err)
	}
}

// board is a channel that records its posts.
type board struct {
	mu      sync.Mutex
	cards   []notify.Delivery // as last shown, by reference
	calls   int
	told    []string          // ids of events, in the order they came
	answers func(n int) error // to the nth call; nil: takes all
	lost    func(n int) error // the same, after the card was posted
	gate    chan struct{}     // nil, or what every call waits for
}

func (b *board) Post(ctx context.Context, d notify.Delivery) (notify.Ref, error) {
	if err := b.enter(ctx, d); err != nil {
		return "", err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cards = append(b.cards, d)
	if b.lost != nil {
		if err := b.lost(b.calls); err != nil {
			return "", err
		}
	}
	return notify.Ref(fmt.Sprint(len(b.cards) - 1)), nil
}

func (b *board) enter(ctx context.Context, d notify.Delivery) error {
	if b.gate != nil {
		select {
		case <-b.gate:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	if b.answers != nil {
		if err := b.answers(b.calls); err != nil {
			return err
		}
	}
	for _, e := range d.Events {
		b.told = append(b.told, e.ID)
	}
	return nil
}

// follower is a board whose cards are kept up to date, and found again.
type follower struct{ board }

func (f *follower) Update(ctx context.Context, d notify.Delivery, ref notify.Ref) (notify.Ref, error) {
	if err := f.enter(ctx, d); err != nil {
		return "", err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var n int
	if _, err := fmt.Sscan(string(ref), &n); err != nil || n >= len(f.cards) {
		return "", notify.Permanent(fmt.Errorf("no card %q", ref))
	}
	f.cards[n].Requests, f.cards[n].Events = d.Requests, d.Events
	return ref, nil
}

func (f *follower) Find(_ context.Context, d notify.Delivery) (notify.Ref, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := slices.IndexFunc(f.cards, func(c notify.Delivery) bool { return c.ID == d.ID })
	return notify.Ref(fmt.Sprint(n)), n >= 0, nil
}

// show is what the board shows: a line a card.
func (b *board) show() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var lines []string
	for _, c := range b.cards {
		var words []string
		if c.Target != "" {
			words = append(words, c.Target+":")
		}
		if c.Grouped {
			words = append(words, "grouped")
		}
		for _, r := range c.Requests {
			words = append(words, r.ToolName+"="+string(r.Status))
		}
		if c.Thread != "" {
			words = append(words, "thread="+string(c.Thread))
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return strings.Join(lines, "\n")
}

func (b *board) count() (calls, cards int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls, len(b.cards)
}

// await waits until the board shows a text.
func (b *board) await(t *testing.T, want string) {
	t.Helper()
	eventually(t, func() (bool, string) {
		got := b.show()
		return got == want, fmt.Sprintf("the board shows\n%s\nwant\n%s", got, want)
	})
}

func eventually(t *testing.T, holds func() (bool, string)) {
	t.Helper()
	deadline := time.Now().Add(soon)
	for {
		ok, state := holds()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(state)
		}
		time.Sleep(2 * time.Millisecond)
	}
}
