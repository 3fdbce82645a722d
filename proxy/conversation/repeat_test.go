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

func TestLikeness(t *testing.T) {
	for _, w := range wires {
		t.Run(w.dialect.Name(), func(t *testing.T) {
			like := func(body string, change ...func(*Request)) Likeness {
				return w.conversation(t, body, change...).Likeness("model:1")
			}
			base := like(w.base)
			for _, same := range []string{
				strings.ReplaceAll(w.base, `,`, ` , `), strings.Replace(w.base, `do it`, `\u0064o it`, 1), strings.TrimSuffix(strings.Replace(w.base, `{"model":"m",`, `{`, 1), "}") + `,"model":"m"}`,
				strings.Replace(w.base, `"role":"user","content":"do it"`, `"content":"do it","role":"user"`, 1),
				w.with("temperature", "1"), w.with("top_p", "0.5"), w.with("seed", "7"), w.with("stream_options", `{"include_usage":true}`), w.with("service_tier", `"flex"`),
				w.with("cache_control", `{"type":"ephemeral"}`), w.with("cache_control", `null`), strings.Replace(w.base, `"role":"user"`, `"role":"user","cache_control":{"type":"ephemeral"}`, 1),
			} {
				if got := like(same); got != base || got.Content == "" {
					t.Errorf("%s is not alike", same)
				}
			}
			other := map[string]Likeness{
				"model":   like(strings.Replace(w.base, `"m"`, `"n"`, 1)),
				"stream":  like(strings.Replace(w.base, `"stream":true`, `"stream":false`, 1)),
				"message": like(strings.Replace(w.base, `do it`, `do that`, 1)),
				"more":    like(strings.Replace(w.base, `}]`, `},{"role":"user","content":"and that"}]`, 1)),
				"key":     like(w.base, func(r *Request) { r.APIKey = []byte("another") }),
				"user":    like(w.base, func(r *Request) { r.Principal.User = "bob" }),
				"tenant":  like(w.base, func(r *Request) { r.Principal.Tenant = "t" }),
				"agent":   like(w.base, func(r *Request) { r.Principal.Agent = "a" }),
				"session": like(w.base, func(r *Request) { r.Session = "s" }),
				"run":     like(w.base, func(r *Request) { r.Run = "r" }),
				"query":   like(w.base, func(r *Request) { r.Envelope.Query = "x=1" }),
				"host":    w.conversation(t, w.base).Likeness("model:2"),
				"header":  like(w.base, func(r *Request) { r.SessionHeaders = []SessionHeader{{"x-session-id", "1"}} }),
				"value":   like(w.base, func(r *Request) { r.SessionHeaders = []SessionHeader{{"x-session-id", "2"}} }),
			}
			for _, n := range []string{"9007199254740992", "9007199254740993", "1", "1.0"} { // some readers take two of them for one
				other["number "+n] = like(w.with("user_number", n))
			}
			for name, values := range w.fields {
				other[name], other[name+" 2"] = like(w.with(name, values[0])), like(w.with(name, values[1]))
			}
			for _, name := range everywhere {
				other[name], other[name+" 2"] = like(w.with(name, `"ann"`)), like(w.with(name, `"bob"`))
				other["metadata."+name], other["metadata."+name+" 2"] = like(w.with("metadata", `{"`+name+`":"ann"}`)), like(w.with("metadata", `{"`+name+`":"bob"}`))
			}
			seen := map[string]string{base.Content: "the base"}
			for name, got := range other {
				if known, twice := seen[got.Content]; twice {
					t.Errorf("a request with another %s is like %s", name, known)
				}
				seen[got.Content] = name
			}
		})
	}
}

// everywhere are fields by which users may be told apart, of some API or of none that is known.
var everywhere = []string{
	"user", "safety_identifier", "prompt_cache_key", "container", "user_profile_id", "thread", "previous_response_id", "conversation", "session_id", "user_id", "account", "from_tomorrow",
	"cache_control", // a mark is an object
}

// A request for a response by its id has no body.
func TestLikenessWithoutBody(t *testing.T) {
	get := func(id string) string {
		r := requestTo(responses.Dialect{}, "")
		r.Envelope.Method, r.Envelope.Path = "GET", "/responses/"+id
		return newBench().prepared(t, r).Likeness("model:1").Content
	}
	one, again, other := get("resp_1"), get("resp_1"), get("resp_2")
	if one == "" || one != again || one == other {
		t.Errorf("%q, %q, %q", one, again, other)
	}
}

// Names that an agent changes at each start are separate from the rest, in the requests of that
// agent only.
func TestLikenessOfAnAgentStartedAgain(t *testing.T) {
	codexBody := func(id, turn, time string) string {
		metadata := `{\"installation_id\":\"i\",\"session_id\":\"` + id + `\",\"turn_id\":\"` + turn + `\",\"turn_started_at_unix_ms\":` + time + `}`
		return `{"model":"m","prompt_cache_key":"` + id + `","client_metadata":{"session_id":"` + id + `","x-codex-turn-metadata":"` + metadata + `","x-codex-installation-id":"i"},"input":[` +
			`{"type":"message","id":"msg_` + id + `","role":"user","content":"do it","internal_chat_message_metadata_passthrough":{"turn_id":"` + turn + `","create_time":` + time + `,"kind":"user.text"}}]}`
	}
	claudeBody := func(id string) string {
		return `{"model":"m","max_tokens":9,"metadata":{"user_id":"{\"device_id\":\"d\",\"session_id\":\"` + id + `\"}"},"messages":[{"role":"user","content":"do it"}]}`
	}
	claudeOldBody := func(id string) string {
		return `{"model":"m","max_tokens":9,"metadata":{"user_id":"user_d_account__session_` + id + `"},"messages":[{"role":"user","content":"do it"}]}`
	}
	keyedBody := func(id string) string {
		return `{"model":"m","prompt_cache_key":"` + id + `","input":[{"role":"user","content":"do it"}]}`
	}
	for name, tt := range map[string]struct {
		wire   *wire
		agent  string
		header string
		a, b   string
		other  string // differs from a also in what is no name
	}{
		"Codex":                 {&wires[2], "codex_exec/0.169.0 (Debian 12.0.0)", "session-id", codexBody("a", "t1", "17"), codexBody("b", "t2", "18"), strings.ReplaceAll(codexBody("b", "t2", "18"), `"i"`, `"j"`)},
		"Codex, a text":         {&wires[2], "codex_cli_rs/0.169.0", "thread-id", codexBody("a", "t1", "17"), codexBody("b", "t2", "18"), strings.ReplaceAll(codexBody("b", "t2", "18"), `\"i\"`, `\"j\"`)},
		"Codex, an item":        {&wires[2], "codex-tui/1", "session_id", codexBody("a", "t1", "17"), codexBody("b", "t2", "18"), strings.Replace(codexBody("b", "t2", "18"), `user.text`, `user.file`, 1)},
		"Claude Code":           {&wires[1], "claude-cli/2.1.330 (external, sdk-cli)", "x-claude-code-session-id", claudeBody("a"), claudeBody("b"), strings.Replace(claudeBody("b"), `\"d\"`, `\"e\"`, 1)},
		"Claude Code, earlier":  {&wires[1], "claude-cli/1.0", "x-claude-code-session-id", claudeOldBody("a"), claudeOldBody("b"), strings.Replace(claudeOldBody("b"), `user_d`, `user_e`, 1)},
		"Claude Code, a member": {&wires[1], "claude-cli/2", "x-claude-code-session-id", claudeBody("a"), claudeBody("b"), strings.Replace(claudeBody("b"), `"user_id"`, `"more":1,"user_id"`, 1)},
		"opencode":              {&wires[2], "opencode/1.18.33 ai-sdk/provider-utils/4.0.40", "x-session-affinity", keyedBody("a"), keyedBody("b"), strings.Replace(keyedBody("b"), `"model"`, `"user":"u","model"`, 1)},
		"pi":                    {&wires[2], "pi/0.80", "session_id", keyedBody("a"), keyedBody("b"), strings.Replace(keyedBody("b"), `"model"`, `"safety_identifier":"u","model"`, 1)},
		"pi by OpenAI's SDK":    {&wires[2], "OpenAI/JS 6.26.0", "session_id", keyedBody("a"), keyedBody("b"), strings.Replace(keyedBody("b"), `"model"`, `"user":"u","model"`, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			like := func(body, session, agent string) Likeness {
				return tt.wire.conversation(t, body, func(r *Request) {
					r.UserAgent, r.SessionHeaders, r.ClientRequest = agent, []SessionHeader{{tt.header, DigestHeader([]byte(session))}}, session
				}).Likeness("model:1")
			}
			a, b := like(tt.a, "a", tt.agent), like(tt.b, "b", tt.agent)
			if a.Content == "" || a.Content != b.Content || a.Names == b.Names {
				t.Errorf("started again: %+v and %+v", a, b)
			}
			if again := like(tt.a, "a", tt.agent); again != a {
				t.Errorf("the same process: %+v and %+v", a, again)
			}
			if other := like(tt.other, "b", tt.agent); other.Content == a.Content {
				t.Error("another request is like it")
			}
			for _, agent := range []string{"", "my-app/1.0", "OpenAI/JS 6.26.0 codex_exec/1", "OpenAI/Python 2.0", "codexa/1", "opencoder/1"} {
				if x, y := like(tt.a, "a", agent), like(tt.b, "b", agent); x.Content == y.Content {
					t.Errorf("with the User-Agent %q names do not count", agent)
				}
			}
		})
	}
	// An app on OpenAI's SDK tells its users apart by the key of the cache.
	x := wires[2].conversation(t, keyedBody("ann"), func(r *Request) { r.UserAgent = "OpenAI/JS 6.26.0" }).Likeness("model:1")
	y := wires[2].conversation(t, keyedBody("bob"), func(r *Request) { r.UserAgent = "OpenAI/JS 6.26.0" }).Likeness("model:1")
	if x.Content == y.Content {
		t.Error("users of an app are alike")
	}
}

// Ids that the model's API has made tell conversations apart, those that the agent made do not.
func TestLikenessOfItems(t *testing.T) {
	like := func(items string) Likeness {
		return wires[2].conversation(t, `{"model":"m","input":[`+items+`]}`).Likeness("model:1")
	}
	for items, same := range map[string]bool{
		`{"type":"message","id":"msg_%","role":"user","content":"do it"}`:                               true,
		`{"type":"message","id":"msg_%","role":"developer","content":"do it"}`:                          true,
		`{"type":"function_call_output","id":"fco_%","call_id":"call_1","output":"x"}`:                  true,
		`{"type":"function_call_output","call_id":"call_%","output":"x"}`:                               false,
		`{"type":"message","id":"msg_%","role":"assistant","content":"well"}`:                           false,
		`{"type":"function_call","id":"fc_%","call_id":"call_1","name":"f","arguments":"{}"}`:           false,
		`{"type":"reasoning","id":"rs_%","summary":[]}`:                                                 false,
		`{"type":"item_reference","id":"rs_%"}`:                                                         false,
		`{"id":"rs_%"}`:                                                                                 false,
		`{"type":"compaction","id":"cmp_%","encrypted_content":"x"}`:                                    false,
		`{"type":"message","role":"user","content":[{"type":"input_file","id":"f_%","file_id":"f_%"}]}`: false,
	} {
		a, b := like(strings.ReplaceAll(items, "%", "a1")), like(strings.ReplaceAll(items, "%", "b2"))
		if (a.Content == b.Content) != same || a == b {
			t.Errorf("%s: alike %t", items, a.Content == b.Content)
		}
	}
}

func TestUndated(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"<current_datetime>2026-11-28T07:35:03.128+00:00</current_datetime>\n\nDo it.", "<current_datetime>2026-11-29T08:00:08Z</current_datetime>\n\nDo it.", true},
		{"Current time: Saturday, November 28, 2026 at 7:35 AM UTC. Go on.", "Current time: Sunday, November 29, 2026 at 11:02 PM UTC. Go on.", true},
		{"Sat Nov 28 07:35:03 UTC 2026 do it", "Sun Nov 29 17:35:03 CET 2026 do it", true},
		{"pay 5 to ann", "pay 7 to ann", true},
		{"pay 5 to ann", "pay 5 to bob", false},
		{"do it", "do it again", false},
		{"may I", "jan I", false},
		{"it is 3 PM", "it is 4 AM", true},
		{"on monday", "on friday", false},
		{"", "1", false},
		{"größe 1", "größe 2", true},
		{"größe", "grösse", false},
	} {
		if same := undated(tt.a) == undated(tt.b); same != tt.same {
			t.Errorf("%q and %q: %q, %q", tt.a, tt.b, undated(tt.a), undated(tt.b))
		}
	}
	if got := undated(strings.Repeat("may ", 1<<18)); len(got) != 4<<18 {
		t.Errorf("%d bytes", len(got))
	}
}

func TestJoins(t *testing.T) {
	const made = `{"model":"m","messages":[{"role":"user","content":"do it"},{"role":"assistant","tool_calls":[{"id":"call_Vr3xkQ0pLm7bTz91","function":{"name":"f"}}]},{"role":"tool","tool_call_id":"call_Vr3xkQ0pLm7bTz91","content":"x"}]}`
	retried := func(r *Request) { r.Retried = true }
	keyed := func(r *Request) { r.IdempotencyKey = "k" }
	both := func(r *Request) { r.Retried, r.IdempotencyKey = true, "k" }
	plain := func(*Request) {}
	attached, detached, ended := HeldTurn{Peer: "p"}, HeldTurn{Peer: "p", Detached: true}, HeldTurn{Ended: true}
	renamed, renamedAttached, delivered := HeldTurn{Peer: "p", Detached: true, Renamed: true}, HeldTurn{Peer: "p", Renamed: true}, HeldTurn{Peer: "p", Delivered: true}
	renamedDelivered, farDelivered := HeldTurn{Peer: "p", Delivered: true, Renamed: true}, HeldTurn{Peer: "q", Delivered: true}
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
		{"another key is given nothing again", "", both, []HeldTurn{key(delivered, "j")}, -1},

		{"started again", "", plain, []HeldTurn{renamed}, 0},
		{"started again, attached", "", retried, []HeldTurn{renamedAttached}, -1},
		{"started again, two turns", "", plain, []HeldTurn{renamedAttached, renamed}, -1},
		{"started again, another has ended", "", plain, []HeldTurn{ended, renamed}, -1},
		{"started again, ids of upstream", made, plain, []HeldTurn{renamedAttached, renamed}, 1},
		{"started again, ids of upstream, another has ended", made, plain, []HeldTurn{ended, renamed}, 1},
		{"started again, ids of upstream, two wait", made, plain, []HeldTurn{renamed, renamed}, -1},
		{"started again, retried, two wait", "", retried, []HeldTurn{renamed, renamed}, -1},
		{"its own beside one with other names", "", plain, []HeldTurn{renamed, detached}, 1},
		{"its own beside one with other names, retried", "", retried, []HeldTurn{renamed, detached}, 1},
		{"its own beside one with other names, ids of upstream", made, plain, []HeldTurn{renamed, detached}, 1},
		{"its own is delivered, one with other names waits", "", retried, []HeldTurn{renamed, delivered}, 1},
		{"its own is attached, one with other names waits", "", plain, []HeldTurn{renamed, attached}, -1},
		{"started again, equal key", "", keyed, []HeldTurn{key(renamedAttached, "k")}, -1},

		{"delivered", "", plain, []HeldTurn{delivered}, -1},
		{"delivered, ids of upstream", made, plain, []HeldTurn{delivered}, -1},
		{"delivered, retried", "", retried, []HeldTurn{delivered}, 0},
		{"delivered, equal key", "", keyed, []HeldTurn{key(delivered, "k")}, 0},
		{"delivered, another address", "", retried, []HeldTurn{farDelivered}, -1},
		{"delivered, equal key, another address", "", keyed, []HeldTurn{key(farDelivered, "k")}, -1},
		{"delivered, other names", "", retried, []HeldTurn{renamedDelivered}, -1},
		{"delivered twice", "", retried, []HeldTurn{delivered, delivered}, -1},
		{"delivered, another waits", "", retried, []HeldTurn{delivered, detached}, 1},
		{"delivered, another is attached", "", retried, []HeldTurn{delivered, attached}, 1},
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
			{"a text as a list", strings.Replace(more, `"content":"do it"`, `"content":[{"type":"text","text":"do it"}]`, 1), nil, true},
			{"a list of two texts", strings.Replace(more, `"content":"do it"`, `"content":[{"type":"text","text":"do it"},{"type":"text","text":"now"}]`, 1), nil, false},
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
