//go:build unix

package app_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/heldcall/heldcall/internal/testing/natscluster"
	"github.com/tidwall/gjson"
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

// A stored answer that is fetched from several replicas at once has one request and one decision.
func TestReplicasAskOnceAboutAStoredAnswer(t *testing.T) {
	c := natscluster.Start(t, 3)
	w := replicas(t, c, 2, askAll, background().Reply)
	begin := func(input string) (id string) {
		id = gjson.Get(w[0].post("/v1/responses", fmt.Sprintf(`{"model":"m","input":%q,"background":true,"tools":[{"type":"function","name":"bash","parameters":{}}]}`, input)).rest(), "id").Str
		w[0].get(w[0].url("/v1/responses/" + id)) // in progress
		return id
	}
	for i, d := range []approvals.Decision{{Action: approvals.ActionApprove}, {Action: approvals.ActionModifyArgs, ModifiedArgs: []byte(`{"command":"ls -l"}`)}} {
		id := begin(fmt.Sprintf("do it %d", i))
		first, second := w[0].fetches(id), w[1].fetches(id)
		request := w[0].pending(1)[0]
		if again := w[1].pending(1)[0]; again.ID != request.ID {
			t.Fatal("people are asked twice")
		}
		w[1].decide(request.ID, d)
		want := []string{"/sesame", "ls -l"}[i]
		for _, got := range append(first(), second()...) {
			if !strings.Contains(got, want) {
				t.Errorf("an agent has got %s", got)
			}
		}
		w[0].pending(0)
	}
}
