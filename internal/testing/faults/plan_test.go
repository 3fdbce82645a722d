//go:build faults

package faults_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
)

// plan is what happens in one seed.
type plan struct {
	seed          uint64
	embedded      bool // one heldcall with an embedded store on a small disk, no cluster
	conversations []*conversation
	faults        []fault
}

// conversation is a job of one agent: a question, an answer with calls, their results, a
// last answer.
type conversation struct {
	name    string
	sdk     string // as gosdk names it
	mode    string
	start   time.Duration
	leave   time.Duration // after which the agent gives up its first attempt; 0: never
	returns bool          // whether it comes back then
	calls   []*call
}

// call is one call of the model. Its id and its arguments contain markers, which are random
// and nowhere else.
type call struct {
	name    string // transfer is asked about, lookup is allowed
	id      string
	marker  string // in the arguments
	action  string // of the reviewer: approve, deny or edit
	edited  string // the marker of the edited arguments
	contest bool   // another reviewer decides the opposite at the same time
	wait    time.Duration
}

func (c *call) asked() bool { return c.name == "transfer" }

func (c *call) arguments(marker string) string {
	if c.asked() {
		return fmt.Sprintf(`{"job":%q,"amount":1000}`, marker)
	}
	return fmt.Sprintf(`{"job":%q}`, marker)
}

// steps at which a fault happens.
const (
	stepUpstream = "request at the upstream"
	stepShown    = "request shown to reviewers"
	stepDecision = "decision sent"
	stepReleased = "call at an agent"
)

// fault is one fault at a step.
type fault struct {
	kind  string
	index int    // of the replica or node
	step  string // the fault happens when this has happened
	count int    // so often,
	after time.Duration
	last  time.Duration // how long it lasts
}

func (f fault) String() string {
	const unit = time.Millisecond
	return fmt.Sprintf("%s %d for %s, %s after %s %d", f.kind, f.index, f.last.Round(unit), f.after.Round(unit), f.step, f.count)
}

// The faults of a cluster. Those of nodes do not overlap: two nodes of three must work.
const (
	killReplica = "kill -9 of replica"
	termReplica = "SIGTERM of replica"
	rollAll     = "rolling restart from replica"
	stopReplica = "SIGSTOP of replica"
	killNode    = "kill -9 of node"
	pulseNode   = "SIGSTOP pulses of node"
	cutNode     = "network cut of node"
	fillDisk    = "full disk of replica"
)

func (p *plan) String() string {
	var text []string
	for _, f := range p.faults {
		text = append(text, f.String())
	}
	where := "cluster"
	if p.embedded {
		where = "embedded store"
	}
	return fmt.Sprintf("%s, %d conversations; %s", where, len(p.conversations), strings.Join(text, "; "))
}

// between returns a random duration.
func between(r *rand.Rand, from, to time.Duration) time.Duration {
	return from + time.Duration(r.Int64N(int64(to-from)))
}

// embeddedEach is how many seeds have one with an embedded store.
const embeddedEach = 8

// newPlan returns the plan of a seed: always the same, with other names and markers in each
// round.
func newPlan(seed, round uint64) *plan {
	r := rand.New(rand.NewPCG(seed, 0x68656c6463616c6c))
	p := &plan{seed: seed, embedded: seed%embeddedEach == 0}
	for i := range 8 + r.IntN(5) {
		p.conversations = append(p.conversations, newConversation(r, fmt.Sprintf("task %d of seed %d, %08x", i, seed, uint64(r.Uint32())+round), round))
	}
	p.addFaults(r)
	return p
}

// TestFaultsRepeat: a seed has one plan.
func TestFaultsRepeat(t *testing.T) {
	for seed := range uint64(100) {
		if one, again := newPlan(seed, 0), newPlan(seed, 0); !reflect.DeepEqual(one, again) {
			t.Errorf("seed %d has two plans:\n%s\n%s", seed, one, again)
		}
	}
}

func newConversation(r *rand.Rand, name string, round uint64) *conversation {
	modes := map[string][]string{
		"openai-go":           {"whole", "stream"},
		"openai-go-responses": {"whole", "stream", "stored-stream"},
		"anthropic-go":        {"whole", "stream"},
	}
	sdk := []string{"openai-go", "openai-go-responses", "anthropic-go"}[r.IntN(3)]
	c := &conversation{name: name, sdk: sdk, mode: modes[sdk][r.IntN(len(modes[sdk]))], start: between(r, 0, 1500*time.Millisecond)}
	if r.IntN(4) == 0 {
		c.leave, c.returns = between(r, 300*time.Millisecond, 2*time.Second), r.IntN(3) > 0
	}
	for range 1 + r.IntN(2) {
		c.calls = append(c.calls, newCall(r, "transfer", round))
	}
	if r.IntN(3) == 0 {
		c.calls = append(c.calls, newCall(r, "lookup", round))
	}
	return c
}

func newCall(r *rand.Rand, name string, round uint64) *call {
	marker := func() string { return fmt.Sprintf("%s%016x", markerPrefix, r.Uint64()+round) }
	return &call{
		name: name, id: "call_" + marker(), marker: marker(), edited: marker(),
		action:  []string{"approve", "approve", "deny", "edit"}[r.IntN(4)],
		contest: r.IntN(6) == 0,
		wait:    between(r, 0, 2500*time.Millisecond),
	}
}

func (p *plan) addFaults(r *rand.Rand) {
	replica := []string{killReplica, killReplica, termReplica, rollAll, stopReplica}
	node := []string{killNode, pulseNode, cutNode}
	count := 3
	if p.embedded {
		replica, node, count = []string{killReplica, termReplica, stopReplica, fillDisk, fillDisk}, nil, 1
	}
	for range 1 + r.IntN(2) {
		p.faults = append(p.faults, newFault(r, replica[r.IntN(len(replica))], r.IntN(count)))
	}
	if node != nil && r.IntN(2) == 0 {
		p.faults = append(p.faults, newFault(r, node[r.IntN(len(node))], r.IntN(count)))
	}
}

func newFault(r *rand.Rand, kind string, index int) fault {
	return fault{
		kind: kind, index: index,
		step:  []string{stepUpstream, stepShown, stepDecision, stepReleased}[r.IntN(4)],
		count: 1 + r.IntN(4),
		after: between(r, 0, 150*time.Millisecond),
		last:  between(r, 300*time.Millisecond, 2500*time.Millisecond),
	}
}
