package console

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/problem"
)

// scriptedGate returns the results of a test, and records its inputs.
type scriptedGate struct {
	mu         sync.Mutex // of what it remembers
	filter     approvals.Filter
	decision   approvals.Decision
	signal     approvals.Signal
	page       approvals.Page
	request    approvals.Request
	reading    error // of one request; nil: err
	read       int   // how often one was read
	run        approvals.Run
	delegation approvals.Delegation
	runs       []approvals.Run
	err        error
	from       uint64
	subscribed int
	last       uint64
	events     chan approvals.Event
}

func (g *scriptedGate) Request(context.Context, string) (approvals.Request, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.read++
	if g.reading != nil {
		return g.request, g.reading
	}
	return g.request, g.err
}

func (g *scriptedGate) Requests(_ context.Context, f approvals.Filter) (approvals.Page, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.filter = f
	return g.page, g.err
}

func (g *scriptedGate) Decide(_ context.Context, d approvals.Decision) (approvals.Request, error) {
	g.decision = d
	return g.request, g.err
}

func (g *scriptedGate) Signal(_ context.Context, s approvals.Signal) (approvals.Steered, error) {
	g.signal = s
	return approvals.Steered{Run: g.run}, g.err
}

func (g *scriptedGate) Runs() []approvals.Run { return g.runs }

func (g *scriptedGate) RunByID(context.Context, string) (approvals.Run, error) { return g.run, g.err }

func (g *scriptedGate) LastSeq(context.Context) (uint64, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.last, g.err
}

func (g *scriptedGate) Subscribe(ctx context.Context, from uint64) iter.Seq2[approvals.Event, error] {
	g.mu.Lock()
	g.from = from
	g.subscribed++
	g.mu.Unlock()
	return func(yield func(approvals.Event, error) bool) {
		for {
			select {
			case <-ctx.Done():
				return
			case event, open := <-g.events:
				if !open {
					yield(approvals.Event{}, g.err)
					return
				}
				if !yield(event, nil) {
					return
				}
			}
		}
	}
}

// start runs a console on a free port and returns its URL.
func start(t *testing.T, gate Gate, set func(*Options)) string {
	t.Helper()
	options := Options{Listen: "127.0.0.1:0", Gate: gate}
	if set != nil {
		set(&options)
	}
	c, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := c.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := <-c.Served(); err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return "http://" + c.Addr()
}

// ask sends a request; headers come in pairs, and "Host" sets the host.
func ask(t *testing.T, method, url, body string, headers ...string) (int, http.Header, string) {
	t.Helper()
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			request.Host = headers[i+1]
		}
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(content)
}

// wantProblem checks that an answer is the problem asked for, and returns it.
func wantProblem(t *testing.T, status int, header http.Header, body string, wantStatus int, wantCode string) problem.Problem {
	t.Helper()
	var p problem.Problem
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		t.Fatalf("the answer is no problem: %d %q", status, body)
	}
	if header.Get("Content-Type") != problem.ContentType {
		t.Errorf("content type is %q", header.Get("Content-Type"))
	}
	if status != wantStatus || p.Status != wantStatus || p.Code != wantCode || p.Type != "urn:heldcall:problem:"+wantCode || p.Detail == "" {
		t.Errorf("problem is %d %+v, want %d %s", status, p, wantStatus, wantCode)
	}
	return p
}
