//go:build conformance

package conformance_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/cassettes"
	"github.com/heldcall/heldcall/internal/testing/conformance"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// atOnce is how many trials run at the same time: most of each is waiting.
const atOnce = 16

// closed are the recorded answers, by name, that heldcall must not release, with the reason.
// The agent gets no byte of a call, and an error in the shape of its API. The errors inside
// a 200 and the odd framings among the recordings are understood and pass.
var closed = map[string]string{
	"openai/responses-hallucinated-parallel-wrapper.chunks.txt#0": "two of its events are not JSON",
}

// startsAgain are the recorded answers, by name, that a gateway began twice, with
// what the model had thought by then. The first attempt stopped within a call, which is
// void, and the second attempt continues the message.
var startsAgain = map[string]string{
	"anthropic/messages-spliced-second-attempt.chunks.txt#0": "I will call the tool.",
}

// failsClosed is the reason why the trial's answer must not be released, or "".
func (x *trial) failsClosed() string { return closed[x.exchange.Name()] }

// TestConformance replays every recorded answer through heldcall, in every outcome
// that its calls can have, for every kind of agent, cut in every way.
func TestConformance(t *testing.T) {
	exchanges := load(t)
	u := startUpstream(t)
	options := conformance.Options{Upstream: u.URL(), Keepalive: time.Hour, Policy: "default: allow\n"}
	allowing := conformance.StartHeldcall(t, options)
	options.Policy = "default: ask\n"
	asking := conformance.StartHeldcall(t, options)
	options.Policy = "default: allow\ntools: {'*': {as: question}}\n"
	questioning := conformance.StartHeldcall(t, options)
	options.Policy = "default: ask\nquestions: {offer: [clarification]}\n"
	offering := conformance.StartHeldcall(t, options)
	stop := review(t, u, allowing, asking, questioning, offering)

	table := newTable()
	trials := make(chan *trial)
	var workers sync.WaitGroup
	agent := newAgent()
	for range atOnce {
		workers.Go(func() {
			for x := range trials {
				base := asking.Proxy
				switch x.outcome {
				case allowed:
					base = allowing.Proxy
				case answered:
					base = questioning.Proxy
				case withAnswer:
					base = offering.Proxy
				}
				x.run(agent, base, u)
			}
		})
	}
	for _, e := range exchanges {
		for _, o := range outcomes {
			if why := inapplicable(e, o); why != "" {
				table.leave(e, o, why)
				continue
			}
			for _, h := range habits(e) {
				for _, m := range cassettes.Modes {
					x := newTrial(e, o, h, m)
					table.add(x)
					trials <- x
				}
			}
		}
	}
	close(trials)
	workers.Wait()
	stop()
	agent.client.CloseIdleConnections()

	for _, x := range table.trials {
		for _, problem := range x.problems {
			t.Errorf("%s, %s, agent %s, cut %s (%s): %s", x.exchange.Name(), x.outcome, x.habit, x.mode, x.id, problem)
		}
	}
	for _, stray := range u.strays {
		t.Errorf("upstream was sent %s, which no trial did", stray)
	}
	table.print(exchanges)
}

// TestConformanceOfTheRecordings checks the recordings unchanged: a check that refuses what a
// provider sends would prove nothing about heldcall.
func TestConformanceOfTheRecordings(t *testing.T) {
	odd := map[string][]string{
		"anthropic-compat/chat-first-index-is-1.sse#0":                  {"index"},
		"anthropic/messages-spliced-second-attempt.chunks.txt#0":        {"started twice"},
		"cerebras/chat-two-completions-same-index.chunks.txt#2-unsplit": {"index"},
		"copilot/responses-item-id-rotates.chunks.txt#0":                {"closing output differs", "item id changes", "response id"},
		"openai/responses-hallucinated-parallel-wrapper.chunks.txt#0":   {"first event", "not JSON", "open"},
	}
	for _, e := range load(t) {
		if e.Dialect == cassettes.Complete {
			continue
		}
		var kinds []string
		for _, p := range conformance.Of(e.Dialect).CheckAnswer(e.Body) {
			kinds = append(kinds, p.Kind)
		}
		slices.Sort(kinds)
		if kinds = slices.Compact(kinds); !slices.Equal(kinds, odd[e.Name()]) {
			t.Errorf("%s has the problems %q, want %q", e.Name(), kinds, odd[e.Name()])
		}
	}
}

// load reads the recordings beside the repository.
func load(t *testing.T) []cassettes.Exchange {
	t.Helper()
	shared := os.Getenv("HELDCALL_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "..", "shared")
	}
	folder := filepath.Join(shared, "streams")
	if _, err := os.Stat(folder); err != nil {
		t.Fatal("no recordings: " + folder + " is not there; set HELDCALL_SHARED to the folder that holds streams")
	}
	all, err := cassettes.Load(os.DirFS(folder))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatalf("%s holds no recording", folder)
	}
	return all
}

// review lets a reviewer answer what each heldcall asks, as the trial it asks
// for wants it. The returned function ends the reviewers.
func review(t *testing.T, u *upstream, under ...*conformance.Heldcall) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	var once sync.Once
	stop = func() { once.Do(func() { cancel(); running.Wait() }) }
	t.Cleanup(stop)
	for _, h := range under {
		reviewer := &fakemodel.Reviewer{
			Console: h.Console,
			Decide: func(r approvals.Request) *fakemodel.Ruling {
				if x := u.trial(r.SessionID); x != nil {
					return x.rule(r)
				}
				t.Errorf("request %s has the session %q, which no trial sent", r.ID, r.SessionID)
				return &fakemodel.Ruling{Action: approvals.ActionDeny}
			},
			Refused: func(r approvals.Request, status int, body string) {
				t.Errorf("the ruling on %s (%s %s) was refused: %d %s", r.ID, r.SessionID, r.ToolName, status, body)
			},
		}
		running.Go(func() {
			if err := reviewer.Run(ctx); err != nil {
				t.Errorf("reviewing: %v", err)
			}
		})
	}
	return stop
}

// table collects what became of every trial.
type table struct {
	trials []*trial
	left   map[string]string // exchange and outcome, why it cannot be tried
}

func newTable() *table { return &table{left: make(map[string]string)} }

func (tb *table) add(x *trial) { tb.trials = append(tb.trials, x) }

func (tb *table) leave(e cassettes.Exchange, o outcome, why string) {
	tb.left[e.Name()+string(o)] = why
}

// print writes a line for each recorded answer: how many of its cuts passed in
// each outcome, or why it has no such outcome.
func (tb *table) print(exchanges []cassettes.Exchange) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "\nrecorded answer")
	for _, o := range outcomes {
		fmt.Fprintf(w, "\t%s", o)
	}
	fmt.Fprintln(w)
	good := 0
	for _, e := range exchanges {
		fmt.Fprint(w, e.Name())
		for _, o := range outcomes {
			cell, passed := tb.cell(e, o)
			good += passed
			fmt.Fprintf(w, "\t%s", cell)
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	fmt.Printf("\nconformance: %d recorded answers, %d trials, %d passed, %d failed\n",
		len(exchanges), len(tb.trials), good, len(tb.trials)-good)
}

func (tb *table) cell(e cassettes.Exchange, o outcome) (cell string, passed int) {
	if why := tb.left[e.Name()+string(o)]; why != "" {
		return "(" + why + ")", 0
	}
	all := 0
	var marks []string
	for _, x := range tb.trials {
		if x.exchange.Name() != e.Name() || x.outcome != o {
			continue
		}
		all++
		if len(x.problems) == 0 {
			passed++
		}
		if x.failsClosed() != "" && len(marks) == 0 {
			marks = append(marks, "closed")
		}
	}
	if passed < all {
		marks = append(marks, "FAILED")
	}
	return strings.Join(append(marks, fmt.Sprintf("%d/%d", passed, all)), " "), passed
}
