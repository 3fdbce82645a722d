package notify_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/notify"
)

// memory keeps requests and records of one process, without a server, whose clock a test could not
// set.
type memory struct {
	mu       sync.Mutex
	requests []approvals.Request
	events   chan approvals.Event
	states   map[string][]byte
	revision map[string]uint64
}

func newMemory() *memory {
	return &memory{events: make(chan approvals.Event, 100), states: map[string][]byte{}, revision: map[string]uint64{}}
}

type taken struct{}

func (taken) Done()    {}
func (taken) Working() {}
func (taken) Return()  {}

func (m *memory) Follow(ctx context.Context, _ string, _ []approvals.EventType, following func(), take func(approvals.Event, notify.Message)) error {
	following()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e := <-m.events:
			take(e, taken{})
		}
	}
}

func (m *memory) State(_ context.Context, channel, key string) ([]byte, uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.states[channel+key], m.revision[channel+key], nil
}

func (m *memory) PutState(_ context.Context, channel, key string, value []byte, revision uint64) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.revision[channel+key] != revision {
		return 0, approvals.ErrConflict
	}
	m.states[channel+key], m.revision[channel+key] = value, revision+1
	return revision + 1, nil
}

func (m *memory) Request(_ context.Context, id string) (approvals.Request, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.requests, func(r approvals.Request) bool { return r.ID == id })
	if i < 0 {
		return approvals.Request{}, approvals.ErrUnknownRequest
	}
	return m.requests[i], nil
}

func (m *memory) Requests(_ context.Context, f approvals.Filter) (page approvals.Page, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.requests {
		if f.Status == "" || f.Status == r.Status {
			page.Items = append(page.Items, r)
		}
	}
	slices.Reverse(page.Items)
	return page, nil
}

// ask opens a request of its own turn in a run.
func (m *memory) ask(run, tool string) approvals.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := approvals.Request{
		ID: ulid.MustNew(ulid.Now(), ulid.DefaultEntropy()).String(), Status: approvals.StatusPending, RunID: run, TurnID: fmt.Sprint("turn-", len(m.requests)), ToolName: tool,
		Principal: approvals.Principal{Agent: "coder"}, CreatedAt: time.Now(),
	}
	m.requests = append(m.requests, r)
	m.events <- r.RequiredEvent()
	return r
}

// end gives a request its status.
func (m *memory) end(r approvals.Request, status approvals.Status) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.requests, func(one approvals.Request) bool { return one.ID == r.ID })
	m.requests[i].Status = status
	m.events <- approvals.Event{ID: ulid.MustNew(ulid.Now(), ulid.DefaultEntropy()).String(), Type: approvals.EventApprovalDecision, RequestID: r.ID, TurnID: r.TurnID}
}

// gathering runs a channel that gathers for two seconds, with an hour's fake time.
func gathering(t *testing.T, setup notify.Setup, play func(*memory)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		setup.Name, setup.Gather = "board", 2*time.Second
		d, err := notify.New(notify.Options{Store: m, Requests: m, Channels: []notify.Setup{setup}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- d.Run(ctx) }()
		synctest.Wait()
		play(m)
		stop()
		<-ended
	})
}

// shows compares the cards after some time.
func shows(t *testing.T, b *follower, after time.Duration, want string) {
	t.Helper()
	time.Sleep(after)
	synctest.Wait()
	if got := b.show(); got != want {
		t.Errorf("the board shows\n%s\nwant\n%s", got, want)
	}
}

// TestCallsOfARunAreToldOnce: requests of one run within two seconds of the first are one card, which
// follows all of them.
func TestCallsOfARunAreToldOnce(t *testing.T) {
	b := &follower{}
	gathering(t, notify.Setup{Channel: b}, func(m *memory) {
		first := m.ask("r", "a")
		time.Sleep(1500 * time.Millisecond)
		m.ask("r", "b")
		m.ask("other", "c")
		shows(t, b, 400*time.Millisecond, "")
		shows(t, b, 200*time.Millisecond, "a=pending b=pending")
		shows(t, b, 2*time.Second, "a=pending b=pending\nc=pending")
		m.ask("r", "d")
		shows(t, b, 3*time.Second, "a=pending b=pending\nc=pending\nd=pending")
		m.end(first, approvals.StatusDenied)
		shows(t, b, time.Second, "a=denied b=pending\nc=pending\nd=pending")
	})
	if calls, _ := b.count(); calls != 4 {
		t.Errorf("%d deliveries", calls)
	}
}

// TestEndedWhileGathered: a request that ends before its card is posted is on none.
func TestEndedWhileGathered(t *testing.T) {
	b := &follower{}
	gathering(t, notify.Setup{Channel: b}, func(m *memory) {
		first := m.ask("r", "a")
		m.ask("r", "b")
		alone := m.ask("q", "c")
		time.Sleep(time.Second)
		m.end(first, approvals.StatusApproved)
		m.end(alone, approvals.StatusApproved)
		shows(t, b, 5*time.Second, "b=pending")
	})
}

// TestMachinesAreToldAtOnce: channels for machines get a message for each event, which waits for no
// other.
func TestMachinesAreToldAtOnce(t *testing.T) {
	b := &follower{}
	gathering(t, notify.Setup{Channel: b, EachEvent: true}, func(m *memory) {
		m.ask("r", "a")
		shows(t, b, time.Millisecond, "a=pending")
		m.ask("r", "b")
		shows(t, b, time.Millisecond, "a=pending\nb=pending")
	})
}

// TestGatheredRunsKeepTheLimit: the limit of new cards holds for gathered ones too.
func TestGatheredRunsKeepTheLimit(t *testing.T) {
	b := &follower{}
	gathering(t, notify.Setup{Channel: b, Workers: 1, Group: notify.Group{Cards: 1, Within: time.Minute}}, func(m *memory) {
		m.ask("r", "a")
		m.ask("r", "b")
		time.Sleep(100 * time.Millisecond)
		m.ask("s", "c")
		m.ask("s", "d")
		m.ask("t", "e")
		shows(t, b, 10*time.Second, "a=pending b=pending")
		shows(t, b, time.Minute, "a=pending b=pending\ngrouped c=pending d=pending e=pending")
	})
}

// TestEndedRequestsTakeNoCards: requests that end before their card is posted leave the limit of new cards
// to others. Where many did, they once waited for each other's cards for ever, and others with them.
func TestEndedRequestsTakeNoCards(t *testing.T) {
	b := &follower{}
	gathering(t, notify.Setup{Channel: b, Group: notify.Group{Cards: 5, Within: 10 * time.Second}}, func(m *memory) {
		for i := range 12 {
			r := m.ask(fmt.Sprint("run-", i), "quick")
			time.Sleep(800 * time.Millisecond)
			m.end(r, approvals.StatusApproved)
		}
		time.Sleep(10 * time.Minute)
		m.ask("r", "a")
		time.Sleep(800 * time.Millisecond)
		m.ask("r", "b")
		shows(t, b, 1300*time.Millisecond, "a=pending b=pending")
	})
}

// lostReply is a memory that records the first tick, and answers that it may not have.
type lostReply struct {
	*memory
	lost bool
}

func (l *lostReply) PutState(ctx context.Context, channel, key string, value []byte, revision uint64) (uint64, error) {
	written, err := l.memory.PutState(ctx, channel, key, value, revision)
	if key == "tick" && revision > 0 && !l.lost {
		l.lost = true
		return 0, approvals.Unavailable("write", context.DeadlineExceeded)
	}
	return written, err
}

// TestATickWhoseRecordIsUnsure: requests of a digest are announced at its tick, also if it is not known whether
// the tick was recorded.
func TestATickWhoseRecordIsUnsure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, m := &follower{}, newMemory()
		store := &lostReply{memory: m}
		if _, err := m.PutState(t.Context(), "board", "tick", []byte("1999-01-01T00:00:00Z"), 0); err != nil {
			t.Fatal(err)
		}
		d, err := notify.New(notify.Options{
			Store: store, Requests: m, Channels: []notify.Setup{{Name: "board", Channel: b}},
			Routes: notify.Routes{{To: []notify.Destination{{Channel: "board"}}, Digest: 24 * time.Hour}},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- d.Run(ctx) }()
		synctest.Wait()
		time.Sleep(time.Minute)
		m.ask("r", "a")
		shows(t, b, 23*time.Hour, "")
		shows(t, b, 2*time.Hour, "a=pending")
		if !store.lost {
			t.Error("no reply was lost")
		}
		stop()
		<-ended
	})
}
