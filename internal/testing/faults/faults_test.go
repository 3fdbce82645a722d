//go:build faults

package faults_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/testdeps"
)

// Environment variables that select seeds, and their number by default.
const (
	onlySeed     = "HELDCALL_SEED"
	seedCount    = "HELDCALL_SEEDS"
	defaultSeeds = 40
)

// TestFaults plays the plans of all seeds, one after the other on the same replicas. Each check
// is a test of its own.
func TestFaults(t *testing.T) {
	logs, err := os.MkdirTemp("", "heldcall-faults-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the logs of the replicas are in %s", logs)
		} else {
			_ = os.RemoveAll(logs)
		}
	})
	gosdk := testdeps.Program(t, filepath.Join("..", "clients", "gosdk"), ".")
	program := testdeps.Heldcall(t)
	sites := map[bool]*site{} // by whether the store is embedded
	found := map[string]int{} // check -> violations
	for round, seed := range seeds(t) {
		p := newPlan(seed, uint64(round))
		if sites[p.embedded] == nil {
			start := newClusterSite
			if p.embedded {
				start = newEmbeddedSite
			}
			sites[p.embedded] = start(t, program, logs)
		}
		began, result := time.Now(), "ok"
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			failed := judge(t, play(t, sites[p.embedded], gosdk, p))
			for name, n := range failed {
				found[name] += n
			}
			if len(failed) > 0 {
				result = fmt.Sprintf("FAILED %v, repeat it with %s=%d make faults", failed, onlySeed, seed)
			}
		})
		fmt.Printf("seed %d: %s: %s (%.1f s)\n", seed, p, result, time.Since(began).Seconds())
	}
	for _, c := range checks {
		fmt.Printf("%s: %d\n", c.name, found[c.name])
	}
}

// seeds returns the seeds to play.
func seeds(t *testing.T) (all []uint64) {
	if only := os.Getenv(onlySeed); only != "" {
		for text := range strings.SplitSeq(only, ",") {
			seed, err := strconv.ParseUint(text, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, seed)
		}
		return all
	}
	for seed, last := testdeps.Numbers(t, seedCount, 1, defaultSeeds); seed <= last; seed++ {
		all = append(all, uint64(seed))
	}
	return all
}

// judge reports the violations of each check, and returns their numbers.
func judge(t *testing.T, o *outcome) map[string]int {
	failed := map[string]int{}
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			if bad := c.find(o); len(bad) > 0 {
				failed[c.name] = len(bad)
				t.Fail()
				fmt.Printf("seed %d: %s: %d:\n  %s\n", o.plan.seed, c.name, len(bad), strings.Join(bad, "\n  ")) // now, not after the last seed
			}
		})
	}
	return failed
}

// play lets agents, reviewers and faults work at the same time, until the agents have their
// answers and everything runs again.
func play(t *testing.T, s *site, gosdk string, p *plan) *outcome {
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s.steps.reset()
	s.model.plan(p.conversations)
	reviewers := newReviewers(s, p)
	reviewing, stop := context.WithCancel(ctx)
	defer stop()
	var deciding sync.WaitGroup
	deciding.Go(func() { reviewers.run(reviewing) })

	o := &outcome{plan: p, front: s.front, model: s.model}
	var faults errgroup.Group
	for _, f := range p.together() {
		faults.Go(func() error { return s.causeAll(ctx, f) })
	}
	recovered := make(chan error, 1)
	go func() {
		err := faults.Wait()
		recovered <- errors.Join(err, s.heal(t.Context()))
	}()
	reports, err := converse(ctx, gosdk, s.front.url(), p.conversations)
	o.reports = reports
	o.recovery = errors.Join(err, <-recovered)
	reviewers.settle(ctx)
	stop()
	deciding.Wait()
	o.reviews = reviewers.reviews
	o.events, o.chain = s.eventsOf(t.Context(), o.reviews)
	if o.requests, err = s.requestsOf(t.Context(), p, began, recorded(o.events)); err != nil {
		o.recovery = errors.Join(o.recovery, err)
	}
	o.ended = time.Now()
	return o
}

// repairTime is longer than it takes until another replica writes the events of a request whose
// replica has died before it could.
const repairTime = 15 * time.Second

// eventsOf reads the new events of the audit log, until those of all requests that reviewers saw
// and of all accepted decisions are there or the time for them is over.
func (s *site) eventsOf(ctx context.Context, reviews map[string][]*review) (events []approvals.Event, err error) {
	for start := time.Now(); ; time.Sleep(500 * time.Millisecond) {
		more, err := s.log.read(ctx, s.bot)
		events = append(events, more...)
		if err != nil || time.Since(start) > repairTime || allLogged(events, reviews) {
			return events, err
		}
	}
}

// allLogged reports whether all requests that reviewers saw and all accepted decisions have an
// event.
func allLogged(events []approvals.Event, reviews map[string][]*review) bool {
	asked, decided := recorded(events), map[string]bool{}
	for _, e := range events {
		decided[e.Note] = decided[e.Note] || e.Type == approvals.EventApprovalDecision
	}
	for id, all := range reviews {
		for _, v := range all {
			if !asked[id] || (v.accepted && !decided[v.note]) {
				return false
			}
		}
	}
	return true
}

// together returns the faults that happen at the same time: those of replicas one after the
// other, beside those of nodes one after the other.
func (p *plan) together() [][]fault {
	var replicas, nodes []fault
	for _, f := range p.faults {
		if slices.Contains([]string{killNode, pulseNode, cutNode}, f.kind) {
			nodes = append(nodes, f)
		} else {
			replicas = append(replicas, f)
		}
	}
	return [][]fault{replicas, nodes}
}

func (s *site) causeAll(ctx context.Context, all []fault) error {
	for _, f := range all {
		if err := s.cause(ctx, f); err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
	}
	return nil
}

// recorded returns the ids of the requests in the audit log.
func recorded(events []approvals.Event) map[string]bool {
	ids := map[string]bool{}
	for _, e := range events {
		if e.Type == approvals.EventApprovalRequired {
			ids[e.RequestID] = true
		}
	}
	return ids
}

// requestsOf lists the requests of a plan's calls, by call id, oldest first. It waits until
// all that are in the audit log are listed: a replica that was stopped learns of them late.
func (s *site) requestsOf(ctx context.Context, p *plan, since time.Time, recorded map[string]bool) (map[string][]approvals.Request, error) {
	planned := map[string]bool{}
	for _, c := range p.conversations {
		for _, call := range c.calls {
			planned[call.id] = true
		}
	}
	var last error
	for start := time.Now(); time.Since(start) < patience; time.Sleep(100 * time.Millisecond) {
		all, missing := map[string][]approvals.Request{}, maps.Clone(recorded)
		filter := approvals.Filter{Limit: 500}
		for {
			page, err := s.replicas[0].console.Requests(ctx, filter)
			if last = err; err != nil {
				break
			}
			for _, r := range page.Items {
				delete(missing, r.ID)
				if planned[r.ToolCallID] {
					all[r.ToolCallID] = append([]approvals.Request{r}, all[r.ToolCallID]...)
				}
			}
			filter.Cursor = page.NextCursor
			if n := len(page.Items); filter.Cursor == "" || (n > 0 && page.Items[n-1].CreatedAt.Before(since)) {
				if len(missing) == 0 {
					return all, nil
				}
				last = fmt.Errorf("%d requests of the audit log are not listed", len(missing))
				break
			}
		}
	}
	return nil, last
}
