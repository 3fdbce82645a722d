package console

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/problem"
)

// follow opens an event stream and returns its lines; the channel closes at its
// end.
func follow(t *testing.T, url, lastEventID string, query ...string) <-chan string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	request, err := http.NewRequestWithContext(ctx, "GET", url+"/api/v1/events?"+strings.Join(query, "&"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if lastEventID != "" {
		request.Header.Set("Last-Event-ID", lastEventID)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if got := response.Header.Get("Content-Type"); response.StatusCode != 200 || got != "text/event-stream" {
		t.Fatalf("the stream is %s %s", response.Status, got)
	}
	lines := make(chan string)
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		defer close(lines)
		defer response.Body.Close()
		for scanner := bufio.NewScanner(response.Body); scanner.Scan(); {
			select {
			case lines <- scanner.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}

// take reads some lines of a stream.
func take(t *testing.T, lines <-chan string, n int) []string {
	t.Helper()
	var got []string
	for range n {
		line, open := <-lines
		if !open {
			t.Fatalf("the stream ended after %q", got)
		}
		got = append(got, line)
	}
	return got
}

func TestEventsCarryTheirSequenceNumber(t *testing.T) {
	gate := &scriptedGate{last: 41, events: make(chan approvals.Event)}
	lines := follow(t, start(t, gate, nil), "41")
	take(t, lines, 2)
	gate.events <- approvals.Event{Seq: 42, Type: approvals.EventCallReleased, ToolName: "a\nb<", Before: []byte("{\n}")}
	want := []string{
		"id: 42", "event: call_released",
		`data: {"id":"","type":"call_released","time":"0001-01-01T00:00:00Z","tenant":"","principal":{"tenant":"","user":"","agent":""},` +
			`"tool_name":"a\nb<","before":{},"seq":42,"prev_hash":"","hash":""}`, "",
	}
	if diff := cmp.Diff(want, take(t, lines, 4)); diff != "" {
		t.Error(diff)
	}
	if gate.from != 42 {
		t.Errorf("after 41 the subscription begins at %d", gate.from)
	}
}

func TestEventsBeginWhereAsked(t *testing.T) {
	for last, want := range map[string]uint64{"": 0, "0": 1, "7": 8, "8": 0} { // 8 is of another log
		gate := &scriptedGate{last: 7, events: make(chan approvals.Event)}
		take(t, follow(t, start(t, gate, nil), last), 2)
		gate.events <- approvals.Event{} // the subscription has begun
		if gate.from != want {
			t.Errorf("Last-Event-ID %q begins at %d, want %d", last, gate.from, want)
		}
	}
	url := start(t, &scriptedGate{}, nil)
	if status, header, _ := ask(t, "HEAD", url+"/api/v1/events", ""); status != 200 || header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("HEAD answers %d %v", status, header)
	}
	for _, last := range []string{"x", "-1", "18446744073709551615"} {
		status, header, body := ask(t, "GET", url+"/api/v1/events", "", "Last-Event-ID", last)
		wantProblem(t, status, header, body, 400, problem.CodeBadRequest)
	}
}

func TestEventsBringRequestsWhereAsked(t *testing.T) {
	gate := &scriptedGate{events: make(chan approvals.Event), request: approvals.Request{ID: "01A", Status: approvals.StatusApproved}}
	url := start(t, gate, nil)
	lines := follow(t, url, "", "requests=true")
	take(t, lines, 2)
	gate.events <- approvals.Event{Seq: 7, Type: approvals.EventApprovalDecision, RequestID: "01A"}
	got := take(t, lines, 7)
	if got[0] != "id: 7" || got[1] != "event: approval_decision" || got[4] != "event: request" || !strings.HasPrefix(got[5], `data: {"id":"01A",`) || !strings.Contains(got[5], `"status":"approved"`) {
		t.Errorf("the stream is %q", got)
	}
	gate.events <- approvals.Event{Seq: 8, Type: approvals.EventCallReleased, RequestID: "01A"}
	gate.events <- approvals.Event{Seq: 9}
	if got := take(t, lines, 5); got[0] != "id: 8" || got[4] != "id: 9" {
		t.Errorf("the stream is %q", got)
	}
	status, header, body := ask(t, "GET", url+"/api/v1/events?requests=some", "")
	wantProblem(t, status, header, body, 400, problem.CodeBadRequest)
}

// A client that resumes gets every event in order, each followed by its request until that
// was sent after its end; it is read no more often.
func TestEventsBringEndedRequestsOnce(t *testing.T) {
	for status, want := range map[approvals.Status][]string{
		approvals.StatusApproved: {"1 and its request", "2 and its request", "3", "4", "5"},
		approvals.StatusPending:  {"1 and its request", "2 and its request", "3 and its request", "4", "5 and its request"},
	} {
		gate := &scriptedGate{last: 5, events: make(chan approvals.Event), request: approvals.Request{Status: status}}
		lines := follow(t, start(t, gate, nil), "0", "requests=true")
		take(t, lines, 2)
		go func() {
			for i, e := range []approvals.Event{
				{Type: approvals.EventApprovalRequired, RequestID: "01A"},
				{Type: approvals.EventApprovalRequired, RequestID: "01B"},
				{Type: approvals.EventApprovalDecision, RequestID: "01A"},
				{Type: approvals.EventCallReleased, RequestID: "01A"},
				{Type: approvals.EventApprovalDecision, RequestID: "01B"},
			} {
				e.Seq = uint64(i + 1)
				gate.events <- e
			}
		}()
		brought := strings.Count(strings.Join(want, " "), "request")
		var got []string
		for _, line := range take(t, lines, 5*4+brought*3) {
			if id, event := strings.CutPrefix(line, "id: "); event {
				got = append(got, id)
			} else if line == "event: request" {
				got[len(got)-1] += " and its request"
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", status, diff)
		}
		gate.mu.Lock()
		if gate.read != brought {
			t.Errorf("%s: requests were read %d times", status, gate.read)
		}
		gate.mu.Unlock()
	}
}

// The request is sent after its end once more with the result of its call.
func TestEventsBringResults(t *testing.T) {
	gate := &scriptedGate{events: make(chan approvals.Event), request: approvals.Request{ID: "01A", Status: approvals.StatusApproved}}
	lines := follow(t, start(t, gate, nil), "", "requests=true")
	take(t, lines, 2)
	for seq, typ := range []approvals.EventType{approvals.EventApprovalDecision, approvals.EventCallResult} {
		gate.events <- approvals.Event{Seq: uint64(seq + 1), Type: typ, RequestID: "01A"}
		if got := take(t, lines, 7); got[4] != "event: request" {
			t.Errorf("after %s: the stream is %q", typ, got)
		}
	}
}

func TestEventsBringNoRequestThatIsNotThere(t *testing.T) {
	expired := approvals.Event{Seq: 9, Type: approvals.EventApprovalExpired, RequestID: "01B"}
	gone := &scriptedGate{events: make(chan approvals.Event), reading: approvals.ErrUnknownRequest}
	lines := follow(t, start(t, gone, nil), "", "requests=true")
	take(t, lines, 2)
	gone.events <- expired
	gone.events <- approvals.Event{Seq: 10}
	if got := take(t, lines, 5); got[0] != "id: 9" || got[4] != "id: 10" {
		t.Errorf("the stream is %q", got)
	}
	unread := &scriptedGate{events: make(chan approvals.Event), reading: approvals.ErrStoreUnavailable}
	lines = follow(t, start(t, unread, nil), "", "requests=true")
	take(t, lines, 2)
	unread.events <- expired
	if got := take(t, lines, 1); got[0] != "event: problem" {
		t.Errorf("the stream is %q, so the event is lost", got)
	}
}

func TestIdleEventStreamHasAHeartbeat(t *testing.T) {
	gate := &scriptedGate{events: make(chan approvals.Event)}
	lines := follow(t, start(t, gate, func(o *Options) { o.Heartbeat = 5 * time.Millisecond }), "")
	want := []string{": heldcall events", "", ": heartbeat", "", ": heartbeat", ""}
	if diff := cmp.Diff(want, take(t, lines, 6)); diff != "" {
		t.Error(diff)
	}
}

func TestEventStreamReportsItsFailure(t *testing.T) {
	gate := &scriptedGate{events: make(chan approvals.Event), err: approvals.ErrStoreUnavailable}
	lines := follow(t, start(t, gate, nil), "")
	take(t, lines, 2)
	close(gate.events)
	if got := take(t, lines, 1); got[0] != "event: problem" {
		t.Errorf("the stream is %q", got)
	}
	take(t, lines, 2)
	if line, open := <-lines; open {
		t.Errorf("after its end the stream has %q", line)
	}
}

func TestShutdownEndsEventStreams(t *testing.T) {
	c, err := New(Options{Listen: "127.0.0.1:0", Gate: &scriptedGate{events: make(chan approvals.Event)}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := follow(t, "http://"+c.Addr(), "")
	take(t, lines, 2)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := c.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if line, open := <-lines; open {
		t.Errorf("after its end the stream has %q", line)
	}
	if err := <-c.Served(); err != nil {
		t.Error(err)
	}
	http.DefaultClient.CloseIdleConnections()
}

// The time-outs of ordinary requests must not cut a stream.
func TestTimeoutsSpareEventStreams(t *testing.T) {
	c, err := New(Options{Listen: "127.0.0.1:0", Gate: &scriptedGate{events: make(chan approvals.Event)}, Heartbeat: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	c.router.bodyTimeout = 50 * time.Millisecond
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Shutdown(context.Background()); http.DefaultClient.CloseIdleConnections() })
	take(t, follow(t, "http://"+c.Addr(), ""), 40) // twenty heartbeats: several times the patience

	slow, body := io.Pipe()
	defer body.Close()
	request, err := http.NewRequest("POST", "http://"+c.Addr()+"/api/v1/decisions", slow)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != 400 {
		t.Errorf("a body that never comes is answered %s", response.Status)
	}
}

// Finding 25: the event streams of a reviewer are bounded in number.
func TestEventStreamsAreBounded(t *testing.T) {
	url := start(t, &scriptedGate{events: make(chan approvals.Event)}, nil)
	for range socketsOfOne {
		take(t, follow(t, url, ""), 2)
	}
	status, header, body := ask(t, "GET", url+"/api/v1/events", "")
	wantProblem(t, status, header, body, http.StatusTooManyRequests, problem.CodeTooManySockets)
}

// Finding 25: only some event streams read what they have missed at the same time,
// and one that ends makes room for the next.
func TestEventStreamsCatchUpInTurn(t *testing.T) {
	gate := &scriptedGate{last: 41, events: make(chan approvals.Event)}
	c, err := New(Options{Listen: "127.0.0.1:0", Gate: gate})
	if err != nil {
		t.Fatal(err)
	}
	wantSubscribed := func(want int) {
		t.Helper()
		for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
			gate.mu.Lock()
			got := gate.subscribed
			gate.mu.Unlock()
			if got == want {
				return
			}
			if got > want || time.Now().After(deadline) {
				t.Fatalf("%d streams read the log, want %d", got, want)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	for range mostReplays {
		c.handlers.live.subscribe(ctx, 1)
	}
	wantSubscribed(mostReplays)
	c.handlers.live.subscribe(t.Context(), 1)
	c.handlers.live.subscribe(t.Context(), 0) // reads what comes next
	wantSubscribed(mostReplays + 1)
	cancel()
	wantSubscribed(mostReplays + 2)
}
