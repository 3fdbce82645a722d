package conversation

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// referring is a dialect whose requests refer to answers by ids, and keep the records that
// are spliced into them.
type referring struct {
	chat.Dialect
	refers []string
	sure   bool // of the place of a record
}

func (d referring) Request(e intercept.Envelope) (intercept.Request, error) {
	r, err := d.Dialect.Request(e)
	return &referringRequest{Request: r, dialect: d}, err
}

type referringRequest struct {
	intercept.Request
	dialect referring
	spliced []string
}

func (r *referringRequest) Info() intercept.Info {
	info := r.Request.Info()
	info.Refers = r.dialect.refers
	return info
}

func (r *referringRequest) Splice(records [][]byte) int {
	for _, record := range records {
		r.spliced = append(r.spliced, string(record))
	}
	return len(records)
}

func (r *referringRequest) Placements() []intercept.Placement {
	return []intercept.Placement{{Turn: "t0", Sure: r.dialect.sure}}
}

const (
	beginning = `{"model":"m","messages":[{"role":"user","content":"do it"}]}`
	continued = `{"model":"m","messages":[{"role":"user","content":"do it"},{"role":"assistant","content":"Well."},{"role":"user","content":"more"}]}`
	results   = `{"model":"m","messages":[{"role":"tool","tool_call_id":"call_1","content":"done"}]}`
)

// The hidden turns of one request are spliced into those that continue it, and no others.
func TestHiddenTurnsAreSpliced(t *testing.T) {
	parallel := string(intercept.ParallelConversation())
	for name, tt := range map[string]struct {
		refers  []string // of the later request
		body    string
		session string
		user    string
		retried bool
		unknown bool // the store may not know what another replica wrote
		want    string
	}{
		"the same conversation":             {body: continued, want: "hidden"},
		"begun once more":                   {body: beginning, want: "hidden"},
		"sent again":                        {body: beginning, retried: true, want: "hidden"},
		"another session":                   {body: continued, session: "other"},
		"another user":                      {body: continued, user: "other"},
		"from another replica":              {body: continued, unknown: true, want: "hidden"},
		"an answer by its id":               {body: results, refers: []string{"resp_1"}, want: "hidden,again"},
		"another answer by its id":          {body: results, refers: []string{"resp_2"}},
		"an answer by its id, another user": {body: results, refers: []string{"resp_1"}, user: "other"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench()
			first := b.prepared(t, requestTo(referring{}, beginning))
			settled := intercept.Resolution{Hidden: [][]byte{[]byte("hidden")}, Refers: []string{"resp_1"}, AnswerRecord: []byte("again")}
			if err := first.Hidden.Remember(t.Context(), settled, true); err != nil {
				t.Fatal(err)
			}
			r := requestTo(referring{refers: tt.refers}, tt.body)
			r.Turn, r.Session, r.Principal.User, r.Retried = "turn2", tt.session, tt.user, tt.retried
			b.store.unknown = tt.unknown
			c := b.unread(r)
			refusal := c.Begin(t.Context())
			if refusal == nil {
				refusal = c.Hidden.Splice(t.Context())
			}
			if refusal != nil {
				t.Fatal(refusal)
			}
			if got := strings.Join(c.Parsed.(*referringRequest).spliced, ","); got != tt.want {
				t.Errorf("spliced %q, want %q", got, tt.want)
			}
			if unsure := testutil.ToFloat64(b.Metrics.Unplaced); (unsure == 1) != (tt.want != "") {
				t.Errorf("%v hidden turns have no certain place", unsure)
			}
			kept := b.store.kept[first.Identity().turnsKey()]
			recorded := slices.ContainsFunc(kept, func(record []byte) bool { return string(record) == parallel })
			if recorded != (name == "begun once more") {
				t.Errorf("the session is recorded as one of several conversations: %t", recorded)
			}
		})
	}
}

// A request that continues an answer by its id belongs to the answer's session and run.
func TestRequestsContinueTheRunOfAnAnswer(t *testing.T) {
	b := newBench()
	first := b.prepared(t, requestTo(referring{}, beginning))
	first.Denials.Deny(Denied{Count: 1})
	if err := first.Hidden.Remember(t.Context(), intercept.Resolution{Refers: []string{"resp_1"}}, true); err != nil {
		t.Fatal(err)
	}
	c := b.unread(requestTo(referring{refers: []string{"resp_0", "resp_1"}}, results))
	if refusal := c.Begin(t.Context()); refusal != nil {
		t.Fatal(refusal)
	}
	if who := *first.Identity(); c.Identity().Run != who.Run || c.KnownSession() != who.Session || c.userMessage() != first.userMessage() {
		t.Errorf("it belongs to %+v, the answer to %+v", c.Identity(), who)
	}
	if !slices.Equal(c.continued.Denied, []string{"turn1"}) {
		t.Errorf("calls were denied in %v", c.continued.Denied)
	}
}

// Nothing is stored about an answer without calls in an unknown session.
func TestRememberNothing(t *testing.T) {
	b := newBench()
	c := b.prepared(t, requestTo(referring{}, beginning))
	if err := c.Hidden.Remember(t.Context(), intercept.Resolution{Refers: []string{"resp_1"}}, false); err != nil || len(b.store.kept) > 0 {
		t.Errorf("%v, stored %v", err, b.store.kept)
	}
}

// A conversation whose records cannot be read or written refuses the request.
func TestHiddenTurnsFailClosed(t *testing.T) {
	b := newBench()
	b.KeepRecords = true
	settled := intercept.Resolution{Hidden: [][]byte{[]byte("hidden")}}
	c := b.prepared(t, requestTo(referring{sure: true}, beginning))
	if err := c.Hidden.Remember(t.Context(), settled, true); err != nil {
		t.Fatal(err)
	}
	b.store.failed = errors.New("down")
	if refusal := c.Hidden.Splice(t.Context()); refusal == nil || refusal.Code != intercept.CodeStoreUnavailable {
		t.Errorf("spliced: %v", refusal)
	}
	if err := c.Hidden.Remember(t.Context(), settled, true); err == nil {
		t.Error("remembered without a store")
	}
}

// The state of a conversation restores it.
func TestStateOfAConversation(t *testing.T) {
	b := newBench()
	b.KeepRecords = true
	first := b.prepared(t, requestTo(referring{}, beginning))
	if err := first.Hidden.Remember(t.Context(), intercept.Resolution{Hidden: [][]byte{[]byte("hidden")}}, true); err != nil {
		t.Fatal(err)
	}
	c := b.prepared(t, requestTo(referring{}, continued))
	if refusal := c.Hidden.Splice(t.Context()); refusal != nil {
		t.Fatal(refusal)
	}
	c.Denials.Deny(Denied{Count: 1})
	restored := b.unread(requestTo(referring{}, continued))
	if refusal := restored.Restore(c.State()); refusal != nil {
		t.Fatal(refusal)
	}
	if got := strings.Join(restored.Parsed.(*referringRequest).spliced, ","); got != "hidden" || *restored.Identity() != *c.Identity() || !restored.State().Denied {
		t.Errorf("spliced %q, state %+v", got, restored.State())
	}
	restored = b.unread(requestTo(referring{}, "not JSON"))
	if refusal := restored.Restore(c.State()); refusal == nil {
		t.Error("a request that cannot be read is restored")
	}
}

func TestSuffix(t *testing.T) {
	seen := make(map[string]bool)
	for i := range 100 {
		s := suffix(i)
		if seen[s] {
			t.Fatalf("suffix %q repeats at %d", s, i)
		}
		seen[s] = true
	}
	if suffix(0) != "" {
		t.Errorf("the first suffix is %q", suffix(0))
	}
}
