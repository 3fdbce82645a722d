package chat

import (
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

func parse(t *testing.T, body string) *request {
	t.Helper()
	r, err := parseRequest(intercept.Envelope{Body: []byte(body)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestParseRequestRefuses(t *testing.T) {
	for _, body := range []string{``, `[]`, `{}`, `{"messages":{}}`, `{"messages":[],"messages":[]}`, `{"messages":[]`} {
		if _, err := parseRequest(intercept.Envelope{Body: []byte(body)}); err == nil {
			t.Errorf("%s is accepted", body)
		}
	}
}

func TestInfo(t *testing.T) {
	const messages = `"messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"hi"}]},{"role":"user","content":"next"}]`
	for _, tt := range []struct {
		name, fields string
		want         intercept.Info
		opening      string
	}{
		{"model and stream", `"model":"m","stream":true`, intercept.Info{Model: "m", Streamed: true}, "\nhi"},
		{"the user is part of the opening", `"user":"u"`, intercept.Info{}, "u\nhi"},
		{"a session", `"metadata":{"session_id":"s"}`, intercept.Info{Session: "s"}, "\nhi"},
		{"a thread", `"metadata":{"session_id":"","thread_id":"t"}`, intercept.Info{Session: "t"}, "\nhi"},
		{"a number is no session", `"metadata":{"session_id":1}`, intercept.Info{}, "\nhi"},
		{"a cache key", `"prompt_cache_key":"k"`, intercept.Info{Session: "k"}, "\nhi"},
		{"a session before a cache key", `"prompt_cache_key":"k","metadata":{"conversation_id":"c"}`, intercept.Info{Session: "c"}, "\nhi"},
	} {
		r := parse(t, `{`+messages+`,`+tt.fields+`}`)
		got := r.Info()
		if got.Model != tt.want.Model || got.Streamed != tt.want.Streamed || got.Session != tt.want.Session || r.Opening().String() != tt.opening {
			t.Errorf("%s: %+v, opening %q", tt.name, got, r.Opening().String())
		}
	}
}

func TestConversation(t *testing.T) {
	for _, tt := range []struct {
		messages, opening, lastUser, task string
		begins                            bool
	}{
		{``, "", "", "0\n", true},
		{`{"role":"system","content":"s"}`, "", "", "0\n", true},
		{`{"role":"user","content":"a"}`, "\na", "a", "1\na", true},
		{`{"role":"user"}`, "\n", "", "1\n", true},
		{`{"role":"developer","content":"d"},{"role":"user","content":"a"},{"role":"user","content":[{"text":"b"},{"text":"c"}]}`, "\na", "bc", "2\nbc", true},
		{`{"role":"user","content":"a"},{"role":"assistant","content":"x"}`, "\na", "a", "1\na", false},
		{`{"role":"user","content":"a"},{"role":"tool","content":"x"},{"role":"user","content":"b"}`, "\na", "b", "2\nb", false},
	} {
		r := parse(t, `{"messages":[`+tt.messages+`]}`)
		if r.Opening().String() != tt.opening || r.LastUser() != tt.lastUser || r.Task(0).String() != tt.task || r.Begins() != tt.begins {
			t.Errorf("[%s]: opening %q, last user %q, task %q, begins %t", tt.messages, r.Opening().String(), r.LastUser(), r.Task(0).String(), r.Begins())
		}
	}
}

// Only ids that no other conversation has identify the maker of a history.
func TestMade(t *testing.T) {
	made := func(messages string) string { return parse(t, `{"messages":[`+messages+`]}`).Made() }
	call := func(id string) string {
		return `{"role":"assistant","tool_calls":[{"id":"` + id + `","function":{"name":"f"}}]}`
	}
	unique := call("call_Vr3xkQ0pLm7bTz91")
	switch {
	case made(call("call_0")) != "":
		t.Error("a counted id identifies a conversation")
	case made(unique) == "" || made(unique) != made(call("call_0")+","+unique):
		t.Error("a unique id does not identify the conversation")
	case made(unique) == made(call("call_Vr3xkQ0pLm7bTz92")):
		t.Error("two ids have one fingerprint")
	}
}

func TestContinuationRequest(t *testing.T) {
	for _, tt := range []struct {
		body, path, want string
		answered         bool
	}{
		{`{"messages":[],"tool_choice":"required"}`, "tool_choice", `"required"`, true},
		{`{"messages":[],"tool_choice":{"type":"function","function":{"name":"x"}}}`, "tool_choice", `"auto"`, true},
		{`{"messages":[],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[1]}}}`, "tool_choice.allowed_tools.mode", `"required"`, true},
		{`{"messages":[ ]}`, "messages.#", "2", false},
		{`{"messages":[],"tool_choice":{"type":"function","function":{"name":"x"}}}`, "tool_choice", `"auto"`, false},
		{`{"messages":[],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[1]}}}`, "tool_choice", `{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[1]}}`, false},
		{`{"messages":[],"tool_choice":"none"}`, "tool_choice", `"none"`, false},
		{`{"messages":[],"tool\u005fchoice":"any"}`, "tool_choice", `"auto"`, false},
	} {
		next, err := parse(t, tt.body).extend([]string{"{}", "{}"}, !tt.answered)
		if err != nil || strictjson.Strict(next.Body) != nil {
			t.Errorf("%s: %v: %s", tt.body, err, next.Body)
			continue
		}
		if got := gjson.GetBytes(next.Body, tt.path); got.Raw != tt.want && got.String() != tt.want {
			t.Errorf("%s: %s is %s, want %s", tt.body, tt.path, got, tt.want)
		}
	}
}
