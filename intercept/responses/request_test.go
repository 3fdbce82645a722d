package responses

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
)

func TestFind(t *testing.T) {
	for _, tt := range []struct {
		method, path string
		operation    operation
		id           string
		canonical    string // "" for no route
	}{
		{"POST", "/responses", opCreate, "", "/responses"},
		{"POST", "/v1/RESPONSES", opCreate, "", "/v1/responses"},
		{"POST", "/responses/compact", opCompact, "", "/responses/compact"},
		{"POST", "/Responses/Input_Tokens", opCount, "", "/responses/input_tokens"},
		{"POST", "/v1/Conversations", opConverse, "", "/v1/conversations"},
		{"POST", "/responses/Resp_1/Cancel", opCancel, "Resp_1", "/responses/Resp_1/cancel"},
		{"POST", "/responses/resp_1", 0, "", ""},
		{"GET", "/V1/Responses/Resp_1", opRetrieve, "Resp_1", "/V1/responses/Resp_1"},
		{"GET", "/responses", 0, "", ""},
		{"GET", "/responses/", 0, "", ""},
		{"GET", "/responses/resp_1/input_items", 0, "", ""},
		{"DELETE", "/responses/resp_1", opDelete, "resp_1", "/responses/resp_1"},
		{"PUT", "/responses", 0, "", ""},
	} {
		v, id, canonical, ok := findRoute(tt.method, tt.path)
		if ok != (tt.canonical != "") || (ok && (v != tt.operation || id != tt.id || canonical != tt.canonical)) {
			t.Errorf("%s %s: %d %q %q %t", tt.method, tt.path, v, id, canonical, ok)
		}
	}
}

func TestStartingAfter(t *testing.T) {
	for _, tt := range []struct {
		query, rest string
		after       int64
		refused     bool
	}{
		{"", "", -1, false},
		{"stream=true", "stream=true", -1, false},
		{"stream=true&starting_after=7&include[]=x", "stream=true&include[]=x", 7, false},
		{"starting%5Fafter=0", "", 0, false},
		{"starting_after=1&starting_after=2", "", 2, false},
		{"a=%zz&starting_after=1", "a=%zz", 1, false},
		{"starting_after=", "", 0, true},
		{"starting_after=-1", "", 0, true},
		{"starting_after=99999999999", "", 0, true},
	} {
		r, err := parseRequest(intercept.Envelope{Method: http.MethodGet, Path: rootPath + "/resp_1", Query: tt.query})
		switch {
		case (err != nil) != tt.refused:
			t.Errorf("%q: error %v", tt.query, err)
		case err == nil && (r.after != tt.after || r.Envelope().Query != tt.rest):
			t.Errorf("%q: after %d, query %q", tt.query, r.after, r.Envelope().Query)
		}
	}
}

func TestInfo(t *testing.T) {
	for _, tt := range []struct{ fields, session, refers, opening string }{
		{`"input":"hi","user":"ann"`, "", "[]", "ann\nhi"},
		{`"input":[{"role":"developer","content":"d"},{"role":"user","content":[{"type":"input_text","text":"hi"}]},{"role":"user","content":"more"}]`, "", "[]", "\nhi"},
		{`"input":[{"role":"assistant","content":"x"}]`, "", "[]", ""},
		{`"input":"hi","prompt_cache_key":"k"`, "k", "[]", "\nhi"},
		{`"input":"hi","prompt_cache_key":"k","conversation":{"id":"conv_1"}`, "conv_1", "[conv_1]", "\nhi"},
		{`"input":"hi","conversation":"conv_1","metadata":{"thread_id":"t","session_id":7}`, "t", "[conv_1]", "\nhi"},
		{`"input":"hi","previous_response_id":"resp_1"`, "", "[resp_1]", "\nhi"},
	} {
		r := accept(t, post(`{"model":"m","stream":true,`+tt.fields+`}`))
		info := r.Info()
		if !info.Streamed || info.Model != "m" || info.Session != tt.session || r.Opening().String() != tt.opening || fmt.Sprint(info.Refers) != tt.refers {
			t.Errorf("%s: %+v, opening %q", tt.fields, info, r.Opening().String())
		}
	}
	r := accept(t, intercept.Envelope{Method: http.MethodGet, Path: rootPath + "/resp_1", Query: "stream=true"})
	if info := r.Info(); !info.Streamed || fmt.Sprint(info.Refers) != "[resp_1]" || r.Begins() {
		t.Errorf("a request for a response: %+v", info)
	}
}

func TestTask(t *testing.T) {
	const first = `{"role":"user","content":"one"}`
	for input, want := range map[string]string{
		`"one"`:           "1\n\none",
		"[" + first + "]": "1\n\none",
		`[` + first + `,{"type":"function_call","call_id":"c"},{"role":"user","content":"two"},{"type":"function_call_output","call_id":"c","output":"x"}]`: "2\n\ntwo",
		`[]`: "0\n\n",
	} {
		r := accept(t, post(`{"input":`+input+`}`))
		if got := r.Task(0).String(); got != want || !strings.HasSuffix(want, r.LastUser()) {
			t.Errorf("%s: task %q, last user %q", input, got, r.LastUser())
		}
	}
}

func TestBegins(t *testing.T) {
	for body, want := range map[string]bool{
		`{"input":"hi"}`: true,
		`{"input":[{"role":"system","content":"s"},{"role":"user","content":"hi"}]}`:    true,
		`{"input":[{"role":"user","content":"hi"},{"role":"assistant","content":"x"}]}`: false,
		`{"input":[{"type":"function_call","call_id":"c"}]}`:                            false,
		`{"input":"hi","previous_response_id":"r"}`:                                     false,
		`{"input":"hi","conversation":"c"}`:                                             false,
	} {
		if got := accept(t, post(body)).Begins(); got != want {
			t.Errorf("%s: begins is %t", body, got)
		}
	}
}

func TestRelax(t *testing.T) {
	for choice, want := range map[string]string{
		`"auto"`: `"auto"`, `"none"`: `"none"`, `"required"`: `"auto"`, `"any"`: `"auto"`, `{"type":"function","name":"x"}`: `"auto"`,
		`{"type":"allowed_tools","mode":"required","tools":[1]}`: `{"type":"allowed_tools","mode":"auto","tools":[1]}`,
	} {
		got, err := relaxRequest([]byte(`{"tool_choice":`+choice+`}`), true)
		if err != nil || string(got) != `{"tool_choice":`+want+`}` {
			t.Errorf("%s: %s, %v", choice, got, err)
		}
	}
	for choice, want := range map[string]string{ // after an answer the model has not made the forced call
		`"required"`: `"required"`, `{"type":"function","name":"x"}`: `"auto"`, `{"type":"allowed_tools","mode":"required","tools":[1]}`: `{"type":"allowed_tools","mode":"required","tools":[1]}`,
	} {
		got, err := relaxRequest([]byte(`{"tool_choice":`+choice+`}`), false)
		if err != nil || string(got) != `{"tool_choice":`+want+`}` {
			t.Errorf("after an answer, %s: %s, %v", choice, got, err)
		}
	}
}

func TestExtend(t *testing.T) {
	const item = `{"type":"x"}`
	for body, want := range map[string]string{
		`{"input":[1]}`:  `{"input":[1,` + item + `]}`,
		`{"input":[]}`:   `{"input":[` + item + `]}`,
		`{"input":"hi"}`: `{"input":[{"type":"message","role":"user","content":"hi"},` + item + `]}`,
	} {
		if got, err := extendRequest([]byte(body), []string{item}); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", body, got, err)
		}
	}
	if got, err := extendRequest([]byte(`{"input":`), nil); err == nil {
		t.Errorf("half a body becomes %s", got)
	}
}

// The ids of an agent's history identify its conversation, those of the user's items do not.
func TestMade(t *testing.T) {
	const call = `{"type":"function_call","call_id":"Vr3xkQ0pLm7bTz91","name":"f"}`
	made := func(items string) string { return accept(t, post(`{"input":[`+items+`]}`)).Made() }
	one := made(userItem + "," + call)
	if one == "" || one != made(call+`,{"type":"function_call_output","call_id":"Vr3xkQ0pLm7bTz91","output":"x"},{"type":"additional_tools","id":"x"}`) {
		t.Errorf("made %q", one)
	}
	for _, items := range []string{userItem, strings.Replace(call, "Tz91", "Tz92", 1), strings.Replace(call, "Vr3xkQ0pLm7bTz91", "call_0", 1)} {
		if got := made(items); got == one {
			t.Errorf("%s: made %q too", items, got)
		}
	}
}

func TestForced(t *testing.T) {
	for fields, want := range map[string]bool{
		`"tool_choice":"auto","tools":[{"type":"function","name":"f"}]`:                            false,
		`"tool_choice":"required","tools":[{"type":"function","name":"f"}]`:                        true,
		`"tool_choice":{"type":"function","name":"f"},"tools":[{"type":"function","name":"f"},{}]`: true,
	} {
		if got := len(accept(t, post(`{"input":"hi",`+fields+`}`)).ForcedTools()) == 1; got != want {
			t.Errorf("%s: forced is %t", fields, got)
		}
	}
}
