package turn

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/heldcall/heldcall/proxy/trace"
)

// paced is an answer of an upstream that takes its time. All times are those of a bubble of synctest.
type paced struct {
	answer fakemodel.Answer
	head   time.Duration // before the head
	first  time.Duration // after it, before the first byte
	each   time.Duration // before each further block
	pause  time.Duration // once, in the middle of the body, within an event
	end    time.Duration // before the end of the body
	ragged bool          // its last event has no blank line
}

// slowModel is an upstream of paced answers, in their order.
type slowModel struct {
	model

	answers []paced
	begun   time.Time // its first byte
}

func (m *slowModel) Send(ctx context.Context, e intercept.Envelope, _ trace.Context) (Response, bool, *intercept.Error) {
	next := m.answers[0]
	m.answers = m.answers[1:]
	select {
	case <-time.After(next.head):
	case <-ctx.Done():
		return nil, true, Explain(context.Cause(ctx))
	}
	r := &slowReader{reader: reader{canned: answerTo(e, next.answer)}, paced: next, model: m}
	r.ready = time.Now().Add(next.first)
	if next.ragged {
		r.body = bytes.TrimRight(r.body, "\n")
	}
	return r, true, nil
}

// slowReader reads a paced answer in blocks of 64 bytes, within its deadline.
type slowReader struct {
	reader
	paced

	model    *slowModel
	ready    time.Time // the next block, or the end
	paused   bool
	deadline time.Time
}

func (r *slowReader) SetReadDeadline(d time.Time) { r.deadline = d }

func (r *slowReader) Next() ([]byte, error) {
	if !r.deadline.IsZero() && r.deadline.Before(r.ready) {
		time.Sleep(time.Until(r.deadline))
		return nil, os.ErrDeadlineExceeded
	}
	time.Sleep(time.Until(r.ready))
	p, err := r.reader.Next()
	if r.model.begun.IsZero() {
		r.model.begun = time.Now()
	}
	switch {
	case r.read == len(r.body):
		r.ready = time.Now().Add(r.end)
	case !r.paused && r.read >= len(r.body)/2:
		r.paused, r.ready = true, time.Now().Add(r.pause)
	default:
		r.ready = time.Now().Add(r.each)
	}
	return p, err
}

// timedAgent records when it got bytes.
type timedAgent struct {
	*recorder

	got []time.Time
}

func (a *timedAgent) Start() { a.recorder.Start(); a.got = append(a.got, time.Now()) }

func (a *timedAgent) Finish(body []byte) {
	a.got = append(a.got, time.Now())
	a.recorder.Finish(body)
}

func (a *timedAgent) Write(p []byte) error {
	if len(p) > 0 {
		a.got = append(a.got, time.Now())
	}
	return a.recorder.Write(p)
}

// slowGate is a gate whose store takes its time for each write, as a cluster does that elects a leader.
type slowGate struct {
	*gate.Gate

	takes time.Duration
}

func (g slowGate) Open(ctx context.Context, requests []approvals.Request) (*gate.Hold, error) {
	time.Sleep(g.takes)
	return g.Gate.Open(ctx, requests)
}

func (g slowGate) Record(ctx context.Context, events ...approvals.Event) error {
	time.Sleep(g.takes)
	return g.Gate.Record(ctx, events...)
}

// slowKeeper is a keeper with such a store.
type slowKeeper struct {
	keeper

	takes time.Duration
}

func (k *slowKeeper) Keep(ctx context.Context, held approvals.HeldTurn, snapshot []byte) (Attachment, error) {
	time.Sleep(k.takes)
	a, err := k.keeper.Keep(ctx, held, snapshot)
	return slowAttachment{a, k.takes}, err
}

type slowAttachment struct {
	Attachment

	takes time.Duration
}

func (a slowAttachment) Confirm(ctx context.Context) error {
	time.Sleep(a.takes)
	return a.Attachment.Confirm(ctx)
}

// slow is a turn in which upstream, people or the store take their time.
type slow struct {
	rules   string
	answers []paced
	people  time.Duration // until they decide
	paused  time.Duration // until its run continues
	store   time.Duration // for each write
}

// atOnce is the same turn with an upstream that does not.
func (s slow) atOnce() slow {
	answers := s.answers
	s.answers, s.store = nil, 0
	for _, a := range answers {
		s.answers = append(s.answers, paced{answer: a.answer, ragged: a.ragged})
	}
	return s
}

// run answers a request, with a keepalive of a second. It returns what the agent got, and when
// the model's first byte was there.
func (s slow) run(t *testing.T, r *Request) (a *timedAgent, begun time.Time) {
	t.Helper()
	g, store := newGate(t)
	o := options(t, s.rules, slowGate{g, s.store}, store)
	o.Limits.Keepalive, o.Keeper = time.Second, &slowKeeper{takes: s.store}
	r.Began, r.Run = time.Now(), "r1"
	if s.paused > 0 {
		signal(t, g, approvals.SignalPause)
		time.AfterFunc(s.paused, func() { signal(t, g, approvals.SignalResume) })
	}
	if s.people > 0 {
		time.AfterFunc(s.people+2*s.store, func() { decide(t, g, approvals.Decision{Action: approvals.ActionApprove}) })
	}
	m := &slowModel{answers: s.answers}
	a = &timedAgent{recorder: newRecorder()}
	turn := NewEngine(o, nil).New(t.Context(), r, a, m, nil)
	if refusal := turn.Prepare(); refusal != nil {
		t.Fatal(refusal)
	}
	if ended, err := turn.Run(); !ended || err != nil || a.status != http.StatusOK || turn.Outcome() == outcomeFailed {
		t.Fatalf("ended %t, %v, outcome %s: %s", ended, err, turn.Outcome(), a.body)
	}
	return a, m.begun
}

// Once an answer has begun, no phase of it leaves the agent without a byte for longer than
// keepalive. Heartbeats are between events, and comments change nothing.
func TestPromise14_NeverSilent(t *testing.T) {
	const (
		tick  = 100 * time.Millisecond
		late  = 7 * time.Second
		reads = "profiles: none\ndefault: ask\nrules:\n  - allow: [\"bash(*)\"]\n" // a call when it is complete
	)
	long := callBash(`{"command":"` + strings.Repeat("ls; ", 200) + `"}`)
	textBehind := fakemodel.Answer{Parts: []fakemodel.Part{{Call: &fakemodel.Call{ID: "call_1", Name: "bash", Arguments: `{}`}}, {Text: strings.Repeat("And more. ", 40)}}}
	text, short := fakemodel.Answer{Text: "Let me look, for some time."}, callBash(`{}`)
	for name, tt := range map[string]slow{
		"a call in fragments":           {rules: reads, answers: []paced{{answer: long, each: tick}}},
		"text behind a held byte":       {rules: reads, answers: []paced{{answer: textBehind, each: tick}}},
		"upstream pauses in a text":     {rules: reads, answers: []paced{{answer: text, pause: late}}},
		"upstream pauses in a call":     {rules: reads, answers: []paced{{answer: short, pause: late}}},
		"the first byte is late":        {rules: reads, answers: []paced{{answer: text, first: late}}},
		"a text does not end":           {rules: reads, answers: []paced{{answer: text, end: late}}},
		"a call does not end":           {rules: reads, answers: []paced{{answer: short, each: tick / 2, end: late}}},
		"a call is allowed by its name": {rules: allowAll, answers: []paced{{answer: long, each: tick, pause: late}}},
		"a continuation": {rules: denyAll, answers: []paced{
			{answer: long, each: tick}, {answer: text, head: 3300 * time.Millisecond, first: 3300 * time.Millisecond, each: tick, pause: late},
		}},
		"short phases of continuations": {rules: denyAll, answers: []paced{
			{answer: short, pause: 700 * time.Millisecond}, {answer: long, head: 700 * time.Millisecond, each: tick}, {answer: text, head: 700 * time.Millisecond, first: 700 * time.Millisecond},
		}},
		"people decide": {rules: "default: ask\n", answers: []paced{{answer: short, pause: 700 * time.Millisecond}}, people: late},
		"the store is slow before people are asked": {rules: "default: ask\n", answers: []paced{{answer: short, pause: 700 * time.Millisecond}}, people: time.Second, store: late},
		"the store is slow before a release":        {rules: reads, answers: []paced{{answer: short, pause: 700 * time.Millisecond}}, store: late},
		"the store is slow before a continuation":   {rules: denyAll, answers: []paced{{answer: short, pause: 700 * time.Millisecond}, {answer: text}}, store: late},
		"a ragged end":      {rules: reads, answers: []paced{{answer: text, ragged: true}}, paused: late},
		"the run is paused": {rules: reads, answers: []paced{{answer: short, pause: 700 * time.Millisecond}}, paused: late},
	} {
		for pulse, form := range map[intercept.Heartbeat]string{intercept.HeartbeatComment: "comments", intercept.HeartbeatEvent: "events", intercept.HeartbeatDelta: "deltas"} {
			for _, streamed := range []bool{true, false} {
				for dialect, r := range requests(streamed) {
					t.Run(fmt.Sprintf("%s, %s streamed %t, %s", name, dialect, streamed, form), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							r.Pulse = pulse
							before := *r
							agent, begun := tt.run(t, r)
							for i, at := range agent.got {
								if i > 0 {
									begun = agent.got[i-1]
								} else if !streamed && tt.store > 0 {
									continue // while the store has not recorded the calls, the agent may still get a status
								}
								if gap := at.Sub(begun); gap > time.Second {
									t.Errorf("%s of silence before write %d of %d:\n%s", gap, i, len(agent.got), agent.body)
								}
							}
							checkForm(t, agent.body, streamed)
							if pulse != intercept.HeartbeatComment {
								return
							}
							quick, _ := tt.atOnce().run(t, &before)
							if got, want := withoutHeartbeats(agent.body), withoutHeartbeats(quick.body); got != want {
								t.Errorf("the agent got\n%s\nwant\n%s", got, want)
							}
						})
					})
				}
			}
		}
	}
}

// People decide about a result before the model is asked, which then takes its time.
func TestPromise14_NeverSilent_Results(t *testing.T) {
	for _, streamed := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			r := requestTo(chat.Dialect{}, "/chat/completions", fmt.Sprintf(`{"model":"m","stream":%t,"messages":[{"role":"user","content":"do it"},`+
				`{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"read","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_1","content":"review me"}]}`, streamed))
			text := paced{answer: fakemodel.Answer{Text: "Let me look."}, head: 3300 * time.Millisecond, first: 3300 * time.Millisecond}
			s := slow{rules: "default: allow\nresults:\n  - ask: [read]\n    contains: [review me]\n", answers: []paced{text}, people: 5 * time.Second, store: 3300 * time.Millisecond}
			before := time.Now().Add(s.store) // people are asked
			agent, _ := s.run(t, r)
			for i, at := range agent.got {
				if gap := at.Sub(before); gap > time.Second {
					t.Errorf("%s of silence before write %d of %d:\n%s", gap, i, len(agent.got), agent.body)
				}
				before = at
			}
			checkForm(t, agent.body, streamed)
		})
	}
}

// checkForm checks that an answer with heartbeats is one JSON value, or a stream of such.
func checkForm(t *testing.T, body []byte, streamed bool) {
	t.Helper()
	if !streamed {
		if !json.Valid(body) {
			t.Errorf("the answer is not JSON:\n%s", body)
		}
		return
	}
	for event := range strings.SplitSeq(withoutHeartbeats(body), "\n\n") {
		fields := strings.Split(event, "\n")
		data, found := strings.CutPrefix(fields[len(fields)-1], "data: ")
		if !found || len(fields) > 2 || (data != "[DONE]" && !json.Valid([]byte(data))) {
			t.Errorf("an event is %q in\n%s", event, body)
		}
	}
}
