package messages

import (
	"testing"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

func TestExtend(t *testing.T) {
	for _, tt := range []struct{ body, container, path, want string }{
		{`{"messages":[ ]}`, "", "messages.#", "2"},
		{`{"messages":[],"tool_choice":{"type":"tool","name":"x","disable_parallel_tool_use":true}}`, "", "tool_choice", `{"type":"auto","disable_parallel_tool_use":true}`},
		{`{"messages":[],"tool_choice":{"type":"any"}}`, "", "tool_choice", `{"type":"auto"}`},
		{`{"messages":[],"tool_choice":{"type":"none"}}`, "", "tool_choice", `{"type":"none"}`},
		{`{"messages":[],"tool\u005fchoice":{"type":"any"}}`, "", "tool_choice", `{"type":"auto"}`},
		{`{"messages":[]}`, `"c1"`, "container", "c1"},
		{`{"messages":[],"container":{"skills":[1]}}`, `"c1"`, "container", `{"skills":[1],"id":"c1"}`},
		{`{"messages":[],"container":"mine"}`, `"c1"`, "container", "mine"},
	} {
		next, err := extendRequest([]byte(tt.body), []string{"{}", "{}"}, tt.container, true)
		if err != nil || strictjson.Strict(next) != nil {
			t.Errorf("%s: %v: %s", tt.body, err, next)
			continue
		}
		if got := gjson.GetBytes(next, tt.path); got.Raw != tt.want && got.String() != tt.want {
			t.Errorf("%s: %s is %s, want %s", tt.body, tt.path, got, tt.want)
		}
	}
}

func TestExtendKeepsOtherBytes(t *testing.T) {
	const body = `{ "messages" : [ {"role":"user","content":"hi"} ],"temperature":0.10,"tool_choice":{"type":"auto"} }`
	const want = `{ "messages" : [ {"role":"user","content":"hi"} ,{"role":"x"}],"temperature":0.10,"tool_choice":{"type":"auto"} }`
	got, err := extendRequest([]byte(body), []string{`{"role":"x"}`}, "", true)
	if err != nil || string(got) != want {
		t.Errorf("%v: %s", err, got)
	}
	if _, err := extendRequest([]byte(`{"messages":[],"messages":[]}`), nil, "", true); err == nil {
		t.Error("a request with two arrays of messages is extended")
	}
}

// After an answer the model has still not made the call that the agent forces.
func TestExtendAfterAnAnswer(t *testing.T) {
	for choice, want := range map[string]string{`{"type":"any"}`: `{"type":"any"}`, `{"type":"tool","name":"x"}`: `{"type":"auto"}`} {
		next, err := extendRequest([]byte(`{"messages":[],"tool_choice":`+choice+`}`), nil, "", false)
		if got := gjson.GetBytes(next, "tool_choice").Raw; err != nil || got != want {
			t.Errorf("%s: %s (%v)", choice, got, err)
		}
	}
}
