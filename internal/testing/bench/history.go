package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/oklog/ulid/v2"
	"golang.org/x/sync/errgroup"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/store"
	"github.com/heldcall/heldcall/approvals/store/subjects"
)

// historyResult has the figures of heldcall before and after many requests were decided.
type historyResult struct {
	Decided  int
	Empty    int64 // resident at rest after a restart, without a request
	Full     int64 // resident at rest after a restart, with the decided requests
	Ready    time.Duration
	Calls    float64 // held and approved, with few requests
	CallsNow float64
	Disk     int64
	Page     latency
	Run      latency
	Search   latency
}

const (
	historyAgents = 64  // agents whose calls are held and approved, and writers that fill the store
	historyReads  = 200 // of each kind
	runLength     = 10  // requests of a run
	callsTime     = 10 * time.Second
	deliveryLimit = 10 * time.Minute // until the channels have read all events of the filled store
	// idsForgotten is the time after which JetStream has no ids of old requests in memory: it keeps those of a minute.
	idsForgotten = time.Minute
)

// history measures calls and memory, fills the store with decided requests, and measures again after a restart.
func (s *suite) history() error {
	if !s.has(hopHeldcall) {
		return nil
	}
	return s.fresh(hopHeldcall, heldcallOptions{policy: "ask", keepalive: defaultKeepalive}, func(h *hop) error {
		r := historyResult{Decided: s.decided}
		var err error
		if r.Empty, _, err = h.restarted(); err != nil {
			return err
		}
		if r.Calls, _, err = h.approveCalls(callsTime); err != nil {
			return err
		}
		if _, err := h.ended(syscall.SIGTERM); err != nil {
			return err
		}
		data := filepath.Join(h.cmd.Dir, "data")
		before, err := folderSize(data)
		if err != nil {
			return err
		}
		ids, err := fillHistory(data, s.decided)
		if err != nil {
			return err
		}
		after, err := folderSize(data)
		if err != nil {
			return err
		}
		r.Disk = (after - before) / int64(s.decided)
		if _, err := h.started(); err != nil { // verifies the whole log once, as heldcall would have done while the log grew
			return err
		}
		forgotten := time.After(idsForgotten)
		if err := h.eventsDelivered(); err != nil {
			return err
		}
		<-forgotten
		if r.Full, r.Ready, err = h.restarted(); err != nil {
			return err
		}
		if err := h.profiles.heap(h, "heap with a history"); err != nil {
			return err
		}
		if err := h.readHistory(ids, &r); err != nil {
			return err
		}
		err = h.profiles.during(h, "held and approved calls", func() (err error) {
			r.CallsNow, _, err = h.approveCalls(callsTime)
			return err
		})
		if err != nil {
			return err
		}
		s.results.History = append(s.results.History, r)
		return nil
	})
}

// eventsDelivered waits until heldcall's channels have read all events, as they would have done while the log grew.
func (h *hop) eventsDelivered() error {
	conn, err := nats.Connect(h.natsURL)
	if err != nil {
		return fmt.Errorf("connect to heldcall's NATS server: %w", err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return fmt.Errorf("events of channels: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), deliveryLimit)
	defer cancel()
	for {
		left, err := undelivered(ctx, js)
		if err != nil {
			return fmt.Errorf("events of channels: %w", err)
		}
		if left == 0 {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// undelivered returns the number of events that channels have not read or not acknowledged.
func undelivered(ctx context.Context, js jetstream.JetStream) (left uint64, err error) {
	stream, err := js.Stream(ctx, subjects.StreamEvents)
	if err != nil {
		return 0, err
	}
	names := stream.ConsumerNames(ctx)
	for name := range names.Name() {
		consumer, err := stream.Consumer(ctx, name)
		if err != nil {
			return 0, err
		}
		at := consumer.CachedInfo()
		left += at.NumPending + uint64(at.NumAckPending)
	}
	return left, names.Err()
}

// restarted stops heldcall and starts it again. It returns the time until it is ready, and its memory after a rest.
func (h *hop) restarted() (rest int64, ready time.Duration, err error) {
	if _, err := h.ended(syscall.SIGTERM); err != nil {
		return 0, 0, err
	}
	if ready, err = h.started(); err != nil {
		return 0, 0, err
	}
	time.Sleep(restTime)
	m, err := memoryOf(h.pid())
	return m.Resident, ready, err
}

// approveCalls lets many agents make calls that are held, one after the other, and approves each as soon as its request is published, for
// about d. It returns the number of calls, and that in a second.
func (h *hop) approveCalls(d time.Duration) (perSecond float64, n int, err error) {
	agents, err := openAgents(h.addr, historyAgents, 4096)
	if err != nil {
		return 0, 0, err
	}
	defer closeAgents(agents)
	published, unsubscribe, err := h.publishedRequests()
	if err != nil {
		return 0, 0, err
	}
	defer unsubscribe()
	began, calls := time.Now(), atomic.Int64{}
	var group errgroup.Group
	for _, a := range agents {
		group.Go(func() error {
			for ; time.Since(began) < d; calls.Add(1) {
				if err := h.approveCall(a, published); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err = group.Wait()
	return float64(calls.Load()) / time.Since(began).Seconds(), int(calls.Load()), err
}

// approveCall makes a call of an agent that is held, and approves it.
func (h *hop) approveCall(a *agent, published *requestsOfCalls) error {
	if err := a.beginStream(chat, shapeHeld, chat.held, textEnded(chat)); err != nil {
		return err
	}
	id, err := published.await(callID(a.seed))
	if err != nil {
		return err
	}
	_, err = h.decide(chat, a, id)
	return err
}

// publishedRequests receives the requests that heldcall publishes over NATS until unsubscribe is called.
func (h *hop) publishedRequests() (published *requestsOfCalls, unsubscribe func(), err error) {
	conn, err := nats.Connect(h.natsURL)
	if err != nil {
		return nil, nil, fmt.Errorf("connect to heldcall's NATS server: %w", err)
	}
	published = &requestsOfCalls{}
	_, err = conn.Subscribe(subjects.All(subjects.Request), func(msg *nats.Msg) {
		var r approvals.Request
		if json.Unmarshal(msg.Data, &r) == nil { // else its call is awaited in vain
			published.of(r.ToolCallID) <- r.ID
		}
	})
	if err = errors.Join(err, conn.Flush()); err != nil {
		conn.Close()
		return nil, nil, fmt.Errorf("subscribe to requests: %w", err)
	}
	return published, conn.Close, nil
}

// requestsOfCalls has a channel for the id of the request of each call, by the id of the call.
type requestsOfCalls struct{ ids sync.Map }

func (r *requestsOfCalls) of(call string) chan string {
	id, _ := r.ids.LoadOrStore(call, make(chan string, 1))
	return id.(chan string)
}

// await returns the id of the request of a call.
func (r *requestsOfCalls) await(call string) (string, error) {
	defer r.ids.Delete(call)
	select {
	case id := <-r.of(call):
		return id, nil
	case <-time.After(exchangeLimit):
		return "", fmt.Errorf("the request of %s was not published within %s", call, exchangeLimit)
	}
}

// readHistory measures the time of pages of the list, of the requests of runs, and of first pages of searches for rare words.
func (h *hop) readHistory(ids []string, r *historyResult) error {
	for into, filter := range map[*latency]func(i int) approvals.Filter{
		&r.Page:   func(i int) approvals.Filter { return approvals.Filter{Cursor: ids[i]} },
		&r.Run:    func(i int) approvals.Filter { return approvals.Filter{RunID: runOf(i)} },
		&r.Search: func(i int) approvals.Filter { return approvals.Filter{Text: fmt.Sprintf("deploy-%d.", i)} },
	} {
		var times []int64
		for n := range historyReads {
			i := n * (len(ids) - 1) / historyReads
			began := time.Now()
			if _, err := h.console.Requests(context.Background(), filter(i)); err != nil {
				return fmt.Errorf("list requests: %w", err)
			}
			times = append(times, int64(time.Since(began)))
		}
		*into = newLatency(times)
	}
	return nil
}

func runOf(i int) string { return fmt.Sprintf("run-%d", i/runLength) }

// fillHistory writes n requests that were decided during the last day, and their events, to the state in a folder. It returns the ids.
func fillHistory(dir string, n int) (ids []string, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err := store.Open(ctx, store.Options{Dir: dir, Listen: "-"})
	if err != nil {
		return nil, fmt.Errorf("fill the history: %w", err)
	}
	g := gate.New(gate.Options{Store: s.ForGate()}) // closes the requests
	var running sync.WaitGroup
	running.Go(func() { _ = g.Run(ctx) })
	defer func() { cancel(); running.Wait(); err = errors.Join(err, s.Close()) }()
	ids = make([]string, n)
	began, step := time.Now().UTC().Add(-24*time.Hour), 23*time.Hour/time.Duration(n)
	var group errgroup.Group
	var next atomic.Int64
	for range historyAgents {
		group.Go(func() error {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				r := decidedRequest(i, began.Add(time.Duration(i)*step))
				ids[i] = r.ID
				if err := recordDecided(ctx, s, r); err != nil {
					return fmt.Errorf("fill the history: %w", err)
				}
			}
			return nil
		})
	}
	return ids, group.Wait()
}

func decidedRequest(i int, at time.Time) approvals.Request {
	ended := at.Add(10 * time.Second)
	r := approvals.Request{
		ID: ulid.MustNew(ulid.Timestamp(at), ulid.DefaultEntropy()).String(), Kind: approvals.KindPermission, Status: approvals.StatusApproved,
		Principal: approvals.Principal{Tenant: "default", User: "ann", Agent: "coder"}, SessionID: fmt.Sprintf("session-%d", i/(10*runLength)), RunID: runOf(i),
		TurnID: ulid.Make().String(), Dialect: "openai-chat", Model: "model", ToolCallID: fmt.Sprintf("call_%d", i), ToolName: "bash", RiskLevel: approvals.RiskHigh,
		Arguments: json.RawMessage(fmt.Sprintf(`{"command":"make deploy-%d. && make check","cwd":"/srv/app"}`, i)), CreatedAt: at, ExpiresAt: at.Add(5 * time.Minute),
	}
	r.Context.LastUserMessage = "Deploy the application and check it."
	r.Decisions = []approvals.Decision{{RequestID: r.ID, Action: approvals.ActionApprove, ReviewerID: "local", Channel: "console", DecidedAt: ended}}
	r.Details.EndedAt = &ended
	return r
}

// recordDecided records a decided request as the gate does, and the release of its call.
func recordDecided(ctx context.Context, s *store.Store, r approvals.Request) error {
	if _, err := s.Requests.CreateRequest(ctx, r); err != nil {
		return err
	}
	events := r.Events()
	released := events[0]
	released.ID, released.Type, released.Time, released.Outcome = ulid.Make().String(), approvals.EventCallReleased, r.Decisions[0].DecidedAt, string(approvals.OutcomeAllowedByPerson)
	if err := s.Events.AppendEvents(ctx, append(events, released)...); err != nil {
		return err
	}
	return s.Requests.PublishRequest(ctx, r)
}

// folderSize returns the bytes of the files in a folder.
func folderSize(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}

func historyTable(all []historyResult) table {
	t := table{
		title: "Before and after many decided requests, in chat",
		note:  fmt.Sprintf("memory resident, %s after a restart; calls held and approved of %d agents; a search reads at most 2,000 requests for a page", restTime, historyAgents),
		header: []string{
			"decided", "MiB before", "MiB after", "ready after", "calls/s before", "after", "bytes on disk a request",
			"page p50 ms", "p99 ms", "run p50 ms", "p99 ms", "search p50 ms", "p99 ms",
		},
	}
	for _, r := range all {
		cells := []string{
			fmt.Sprint(r.Decided), fmt.Sprint(r.Empty >> 20), fmt.Sprint(r.Full >> 20), r.Ready.Round(time.Second / 100).String(),
			fmt.Sprintf("%.0f", r.Calls), fmt.Sprintf("%.0f", r.CallsNow), fmt.Sprint(r.Disk),
		}
		for _, l := range []latency{r.Page, r.Run, r.Search} {
			cells = append(cells, fmt.Sprintf("%.1f", l.P50), fmt.Sprintf("%.1f", l.P99))
		}
		t.rows = append(t.rows, cells)
	}
	return t
}

func judgeHistory(r historyResult) []target {
	name := fmt.Sprintf("after %d decided requests: ", r.Decided)
	return []target{
		atMost(name+"more memory", float64(r.Full-r.Empty)/1e6, historyBytes/1e6, "%.0f MB"),
		atMost(name+"ready after a restart", r.Ready.Seconds(), historyReadySecs, "%.2f s"),
		atLeast(name+"held and approved calls a second", r.CallsNow, heldPerSecond, "%.0f"),
		atMost(name+"bytes on disk of each", float64(r.Disk)/1e3, requestDiskBytes/1e3, "%.1f KB"),
		atLeast(name+"held and approved calls, of those before", r.CallsNow/r.Calls, historyCallsVs, "%.2f"),
		atMost(name+"a page of the list, p99", r.Page.P99, historyMillis, "%.1f ms"),
		atMost(name+"the requests of a run, p99", r.Run.P99, historyMillis, "%.1f ms"),
		atMost(name+"a page of a search, p99", r.Search.P99, historyMillis, "%.1f ms"),
	}
}
