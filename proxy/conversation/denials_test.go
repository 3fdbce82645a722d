package conversation

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/heldcall/heldcall/intercept"
)

// Which recorded denials count for a request.
func TestDenialsThatCount(t *testing.T) {
	own := denialOf{Turn: "turn1", Said: "x", Made: "ids", Once: "key"}
	for name, tt := range map[string]struct {
		of      denialOf
		own     denialOf
		run     string
		denied  []string // answers that the request continues, of which calls were denied
		retried bool
		body    string // "" for the usual one
		want    bool
	}{
		"of the same turn":                    {of: denialOf{Turn: "turn1", Said: "x"}, own: own, want: true},
		"with the same ids":                   {of: denialOf{Turn: "t0", Said: "x", Made: "ids"}, own: own, want: true},
		"with other ids":                      {of: denialOf{Turn: "t0", Said: "x", Made: "others"}, own: own},
		"with the same idempotency key":       {of: denialOf{Turn: "t0", Said: "x", Made: "others", Once: "key"}, own: own, want: true},
		"no ids on both":                      {of: denialOf{Turn: "t0", Said: "x"}, own: denialOf{Turn: "turn1", Said: "x"}},
		"no ids on both, sent again":          {of: denialOf{Turn: "t0", Said: "x"}, own: denialOf{Turn: "turn1", Said: "x"}, retried: true, want: true},
		"in a named run":                      {of: denialOf{Turn: "t0", Said: "x"}, own: denialOf{Turn: "turn1", Said: "x"}, run: "r1", want: true},
		"the user has written since":          {of: denialOf{Turn: "t0", Said: "y"}, own: own, run: "r1"},
		"continued, the user has written":     {of: denialOf{Turn: "t0", Said: "y"}, own: own, denied: []string{"t0"}},
		"continued":                           {of: denialOf{Turn: "t0", Said: "x"}, own: denialOf{Turn: "turn1", Said: "x"}, denied: []string{"t0"}, want: true},
		"continued, a program has corrected":  {of: denialOf{Turn: "t0", Said: "y"}, own: own, denied: []string{"t0"}, body: `{"model":"m","messages":[{"role":"user","content":"Validation feedback: no"}]}`, want: true},
		"not continued, a program, corrected": {of: denialOf{Turn: "t0", Said: "y"}, own: own, body: `{"model":"m","messages":[{"role":"user","content":"Validation feedback: no"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			r := chatRequest()
			r.Run, r.Retried = tt.run, tt.retried
			if tt.body != "" {
				r.Envelope.Body = []byte(tt.body)
			}
			c := newBench().prepared(t, r)
			c.continued.Denied = tt.denied
			h := c.Denials
			if got := h.counts(tt.of, tt.own); got != tt.want {
				t.Errorf("counts: %t", got)
			}
		})
	}
}

// The next turn of the run loads the records of one turn.
func TestDenialsAreLoadedAgain(t *testing.T) {
	b := newBench()
	history := func(turn string, client string, apiKey string) *Denials {
		r := chatRequest()
		r.Turn, r.Run, r.Client, r.APIKey = turn, "r1", client, []byte(apiKey)
		return &b.prepared(t, r).Denials
	}
	first := history("t1", "", "k")
	if all := first.Deny(Denied{Count: 2, Notes: map[string]string{"call": "no"}}); all != 2 || !first.any {
		t.Errorf("%d calls are denied", all)
	}
	if err := first.Record(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	second := history("t2", "", "k")
	if refusal := second.Load(t.Context()); refusal != nil {
		t.Fatal(refusal)
	}
	if second.before.Count != 2 || !cmp.Equal(second.Notes(), map[string]string{"call": "no"}) {
		t.Errorf("loaded %+v", second.before)
	}
	if all := second.Deny(Denied{}); all != 0 {
		t.Errorf("without a denial of its own, %d count", all)
	}
	for name, other := range map[string]*Denials{"another key": history("t3", "", "other"), "a client": history("t4", "digest", "k")} {
		if refusal := other.Load(t.Context()); refusal != nil || other.before.Count != 0 {
			t.Errorf("%s: %v, %+v", name, refusal, other.before)
		}
	}
	b.store.kept[second.key()] = append(b.store.kept[second.key()], []byte("not JSON"))
	if refusal := second.Load(t.Context()); refusal != nil || second.before.Count != 2 {
		t.Errorf("beside a record that cannot be read: %v, %+v", refusal, second.before)
	}
	b.store.failed = errors.New("down")
	if refusal := second.Load(t.Context()); refusal == nil || refusal.Code != intercept.CodeStoreUnavailable {
		t.Errorf("without a store: %v", refusal)
	}
}

// The records of other versions stay readable.
func TestRecordOfDenials(t *testing.T) {
	text, err := json.Marshal(Denied{denialOf: denialOf{Turn: "t", Said: "s", Made: "m", Once: "o"}, Count: 1, Notes: map[string]string{"k": "n"}})
	if want := `{"turn":"t","said":"s","made":"m","once":"o","count":1,"notes":{"k":"n"}}`; err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
}
