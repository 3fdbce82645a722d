//go:build unix

package app_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/heldcall/heldcall/internal/testing/natscluster"
)

// replicas starts n replicas on a cluster at the same moment.
func replicas(t *testing.T, c *natscluster.Cluster, n int, policy string, script fakemodel.Script) []*world {
	t.Helper()
	worlds := make([]*world, n)
	var all sync.WaitGroup
	for i := range worlds {
		all.Go(func() {
			worlds[i] = build(t, policy, script, func(o *app.Config) { o.NATS.URL = c.URLs() })
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return worlds
}

// Replicas that start together on an empty cluster share limits, requests and decisions.
func TestReplicas(t *testing.T) {
	c := natscluster.Start(t, 3)
	w := replicas(t, c, 3, lsLimited+"{per_run: 2}\n", callThenText)
	for i, one := range w[:2] {
		if got := one.post("/v1/chat/completions", streamedRequest, "X-Heldcall-Run", "a").rest(); !strings.Contains(got, lsCall.ID) {
			t.Errorf("replica %d, within the limit: the agent got %s", i, got)
		}
	}
	for i, one := range w {
		held := one.post("/v1/chat/completions", streamedRequest, "X-Heldcall-Run", "a")
		other := w[(i+1)%len(w)]
		r := other.pending(1)[0]
		if want := "The policy's limit of 2 calls a run for bash(ls *) is reached."; r.Reason != want {
			t.Errorf("people are asked because %q, want %q", r.Reason, want)
		}
		other.decide(r.ID, approvals.Decision{Action: approvals.ActionApprove})
		if got := held.rest(); !strings.Contains(got, lsCall.ID) {
			t.Errorf("replica %d: the agent got %s", i, got)
		}
	}
}
