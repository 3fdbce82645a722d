package conversation

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat"
	"github.com/heldcall/heldcall/intercept/messages"
	"github.com/heldcall/heldcall/intercept/responses"
)

// wire is one API in these tests. Base is a request with the user's message "do it" in its
// history.
type wire struct {
	dialect intercept.Dialect
	path    string
	base    string
	fields  map[string][2]string // further fields by which requests differ: two values
}

var wires = []wire{
	{
		chat.Dialect{},
		"/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"do it"}]}`,
		map[string][2]string{
			"tools": {`[{"type":"function","function":{"name":"a"}}]`, `[{"type":"function","function":{"name":"b"}}]`}, "functions": {`[]`, `[{"name":"a"}]`},
			"n": {`1`, `2`}, "tool_choice": {`"auto"`, `"none"`}, "function_call": {`"auto"`, `"none"`}, "response_format": {`{"type":"text"}`, `{"type":"json_object"}`},
		},
	},
	{
		messages.Dialect{},
		"/messages", `{"model":"m","stream":true,"max_tokens":9,"messages":[{"role":"user","content":"do it"}]}`,
		map[string][2]string{
			"tools": {`[{"name":"a"}]`, `[{"name":"b"}]`}, "system": {`"x"`, `[{"type":"text","text":"y"}]`}, "tool_choice": {`{"type":"auto"}`, `{"type":"any"}`},
			"mcp_servers": {`[]`, `[{"name":"a"}]`}, "output_config": {`{}`, `{"format":1}`}, "output_format": {`{}`, `{"type":"json_schema"}`},
		},
	},
	{
		responses.Dialect{},
		"/responses", `{"model":"m","stream":true,"input":[{"role":"user","content":"do it"}]}`,
		map[string][2]string{
			"tools": {`[{"type":"function","name":"a"}]`, `[{"type":"function","name":"b"}]`}, "instructions": {`"x"`, `"y"`}, "tool_choice": {`"auto"`, `"none"`},
			"previous_response_id": {`"resp_1"`, `"resp_2"`}, "conversation": {`"conv_1"`, `"conv_2"`}, "prompt": {`{"id":"a"}`, `{"id":"b"}`},
			"text": {`{"format":{"type":"text"}}`, `{"format":{"type":"json_object"}}`}, "background": {`false`, `true`},
		},
	},
}

func (w *wire) conversation(t *testing.T, body string, change ...func(*Request)) *Conversation {
	t.Helper()
	r := requestTo(w.dialect, body)
	r.Envelope.Path, r.APIKey = w.path, []byte("key")
	for _, f := range change {
		f(r)
	}
	return newBench().prepared(t, r)
}

// with returns the base with another field.
func (w *wire) with(name, value string) string {
	return strings.TrimSuffix(w.base, "}") + `,"` + name + `":` + value + `}`
}

func TestFingerprint(t *testing.T) {
	for _, w := range wires {
		t.Run(w.dialect.Name(), func(t *testing.T) {
			fingerprint := func(body string, change ...func(*Request)) string {
				return w.conversation(t, body, change...).Fingerprint("model:1")
			}
			base := fingerprint(w.base)
			for _, same := range []string{
				strings.ReplaceAll(w.base, `,`, ` , `), strings.Replace(w.base, `do it`, `\u0064o it`, 1),
				w.with("temperature", "1"), w.with("top_p", "0.5"), w.with("seed", "7"), w.with("metadata", `{}`),
				strings.Replace(w.base, `"role":"user"`, `"role":"user","cache_control":{"type":"ephemeral"}`, 1),
			} {
				if got := fingerprint(same); got != base || got == "" {
					t.Errorf("%s has another fingerprint", same)
				}
			}
			other := map[string]string{
				"model":   fingerprint(strings.Replace(w.base, `"m"`, `"n"`, 1)),
				"stream":  fingerprint(strings.Replace(w.base, `"stream":true`, `"stream":false`, 1)),
				"message": fingerprint(strings.Replace(w.base, `do it`, `do that`, 1)),
				"more":    fingerprint(strings.Replace(w.base, `}]`, `},{"role":"user","content":"and that"}]`, 1)),
				"key":     fingerprint(w.base, func(r *Request) { r.APIKey = []byte("another") }),
				"user":    fingerprint(w.base, func(r *Request) { r.Principal.User = "bob" }),
				"tenant":  fingerprint(w.base, func(r *Request) { r.Principal.Tenant = "t" }),
				"agent":   fingerprint(w.base, func(r *Request) { r.Principal.Agent = "a" }),
				"session": fingerprint(w.base, func(r *Request) { r.Session = "s" }),
				"run":     fingerprint(w.base, func(r *Request) { r.Run = "r" }),
				"query":   fingerprint(w.base, func(r *Request) { r.Envelope.Query = "x=1" }),
				"host":    w.conversation(t, w.base).Fingerprint("model:2"),
			}
			for name, values := range w.fields {
				other[name], other[name+" 2"] = fingerprint(w.with(name, values[0])), fingerprint(w.with(name, values[1]))
			}
			seen := map[string]string{base: "the base"}
			for name, got := range other {
				if known, twice := seen[got]; twice {
					t.Errorf("a request with another %s has the fingerprint of %s", name, known)
				}
				seen[got] = name
			}
		})
	}
}

// A request for a response by its id has no body.
func TestFingerprintWithoutBody(t *testing.T) {
	get := func(id string) string {
		r := requestTo(responses.Dialect{}, "")
		r.Envelope.Method, r.Envelope.Path = "GET", "/responses/"+id
		return newBench().prepared(t, r).Fingerprint("model:1")
	}
	one, again, other := get("resp_1"), get("resp_1"), get("resp_2")
	if one == "" || one != again || one == other {
		t.Errorf("%q, %q, %q", one, again, other)
	}
}

func TestJoins(t *testing.T) {
	const made = `{"model":"m","messages":[{"role":"user","content":"do it"},{"role":"assistant","tool_calls":[{"id":"call_Vr3xkQ0pLm7bTz91","function":{"name":"f"}}]},{"role":"tool","tool_call_id":"call_Vr3xkQ0pLm7bTz91","content":"x"}]}`
	retried := func(r *Request) { r.Retried = true }
	keyed := func(r *Request) { r.IdempotencyKey = "k" }
	both := func(r *Request) { r.Retried, r.IdempotencyKey = true, "k" }
	plain := func(*Request) {}
	attached, detached, ended := HeldTurn{Peer: "p"}, HeldTurn{Peer: "p", Detached: true}, HeldTurn{Ended: true}
	far, farAttached := HeldTurn{Peer: "q", Detached: true}, HeldTurn{Peer: "q"}
	key := func(h HeldTurn, key string) HeldTurn { h.IdempotencyKey = key; return h }
	for _, tt := range []struct {
		name   string
		body   string // "" for one without ids of upstream
		change func(*Request)
		turns  []HeldTurn
		want   int
	}{
		{"no turn", "", retried, nil, -1},
		{"the only one of the same address", "", plain, []HeldTurn{detached}, 0},
		{"another address", "", plain, []HeldTurn{far}, -1},
		{"an attached one", "", plain, []HeldTurn{attached}, -1},
		{"two detached", "", plain, []HeldTurn{detached, detached}, -1},
		{"one that has ended", "", plain, []HeldTurn{ended, detached}, -1},
		{"one that is attached", "", plain, []HeldTurn{attached, detached}, -1},
		{"only one that has ended", "", retried, []HeldTurn{ended}, -1},

		{"ids of upstream", made, plain, []HeldTurn{far}, 0},
		{"ids of upstream, two turns", made, plain, []HeldTurn{attached, far, detached}, 1},
		{"ids of upstream, attached", made, plain, []HeldTurn{attached}, -1},
		{"ids of upstream, ended", made, plain, []HeldTurn{ended}, -1},

		{"retried", "", retried, []HeldTurn{far}, 0},
		{"retried, the near one first", "", retried, []HeldTurn{far, detached}, 1},
		{"retried, detached before attached", "", retried, []HeldTurn{attached, far}, 1},
		{"retried takes over", "", retried, []HeldTurn{attached}, 0},
		{"retried takes nothing over from another address", "", retried, []HeldTurn{farAttached}, -1},
		{"retried takes over the only possible one", "", retried, []HeldTurn{ended, farAttached, attached}, 2},
		{"retried, two attached", "", retried, []HeldTurn{attached, attached}, -1},

		{"equal key", "", keyed, []HeldTurn{detached, key(attached, "k")}, 1},
		{"equal key from another address", "", keyed, []HeldTurn{key(farAttached, "k")}, 0},
		{"equal key, ended", "", keyed, []HeldTurn{key(ended, "k")}, -1},
		{"another key takes nothing over", "", both, []HeldTurn{key(attached, "j")}, -1},
		{"another key is no repetition", "", both, []HeldTurn{key(far, "j")}, -1},
		{"no key here", "", keyed, []HeldTurn{attached}, -1},
	} {
		body := tt.body
		if body == "" {
			body = wires[0].base
		}
		c := wires[0].conversation(t, body, tt.change, func(r *Request) { r.Peer = "p" })
		if got := c.Joins(tt.turns); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestContinuesPast(t *testing.T) {
	for _, w := range wires {
		more := strings.Replace(w.base, `}]`, `},{"role":"assistant","content":"well"},{"role":"user","content":"and?"}]`, 1)
		other := strings.Replace(more, "do it", "do that", 1)
		for _, tt := range []struct {
			name, body string
			change     func(*Request)
			want       bool
		}{
			{"further messages", more, nil, true},
			{"another model", strings.Replace(more, `"m"`, `"n"`, 1), nil, true},
			{"cache marks", strings.Replace(more, `"role"`, `"cache_control":{},"role"`, 1), nil, true},
			{"the same", w.base, nil, false},
			{"another beginning", other, nil, false},
			{"another key", more, func(r *Request) { r.APIKey = []byte("another") }, false},
		} {
			c := w.conversation(t, tt.body)
			if tt.change != nil {
				c = w.conversation(t, tt.body, tt.change)
			}
			if got := c.ContinuesPast(w.conversation(t, w.base)); got != tt.want {
				t.Errorf("%s, %s: %t", w.dialect.Name(), tt.name, got)
			}
			if w.conversation(t, w.base).ContinuesPast(c) {
				t.Errorf("%s, %s: the earlier request continues the later one", w.dialect.Name(), tt.name)
			}
		}
	}
	text := wires[2].conversation(t, `{"model":"m","input":"do it"}`)
	if c := wires[2].conversation(t, strings.Replace(wires[2].base, `}]`, `},{"role":"user","content":"and?"}]`, 1)); !c.ContinuesPast(text) {
		t.Error("an input that is a text is no prefix")
	}
}
