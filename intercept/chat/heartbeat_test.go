package chat

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
)

func TestHeartbeat(t *testing.T) {
	const comment = ": keepalive\n"
	empty := `data: {"id":"c1","object":"chat.completion.chunk","created":7,"model":"m1","choices":[]}` + "\n\n"
	delta := func(index string) string {
		return strings.Replace(empty, "[]", `[{"index":`+index+`,"delta":{},"finish_reason":null}]`, 1)
	}
	second := func(event string) string { return strings.Replace(event, `"index":0`, `"index":1`, 1) }
	call := opening(0, "call_a", "bash", `{}`)
	for name, c := range map[string]struct {
		body string
		want map[intercept.Heartbeat]string
	}{
		"text before": {role + speech + call, map[intercept.Heartbeat]string{
			intercept.HeartbeatComment: comment, intercept.HeartbeatEvent: empty, intercept.HeartbeatDelta: delta("0"),
		}},
		"nothing before": {event(`{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"bash","arguments":""}}]}`, "null"), map[intercept.Heartbeat]string{
			intercept.HeartbeatComment: comment, intercept.HeartbeatEvent: empty, intercept.HeartbeatDelta: delta("0"),
		}},
		"the first choice has ended": {role + event(`{"content":"Hm."}`, "stop") + second(role) + second(call), map[intercept.Heartbeat]string{
			intercept.HeartbeatDelta: delta("1"),
		}},
		"a stream without an id": {strings.ReplaceAll(role+call, `"id":"c1",`, ""), map[intercept.Heartbeat]string{
			intercept.HeartbeatEvent: comment, intercept.HeartbeatDelta: comment,
		}},
		"whole": {`{"id":"c1","choices":[{"index":0,"message":{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"bash","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`, map[intercept.Heartbeat]string{
			intercept.HeartbeatComment: "\n", intercept.HeartbeatEvent: "\n", intercept.HeartbeatDelta: "\n",
		}},
	} {
		p := newPlayer(t, request1, 1<<20, intercept.Limits{})
		if got := p.Answer.Heartbeat(intercept.HeartbeatEvent); got != nil {
			t.Errorf("%s: before the form is known: %q", name, got)
		}
		p.Answer.Begin()
		if _, err := p.Answer.Write([]byte(c.body)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for heartbeat, want := range c.want {
			if got := string(p.Answer.Heartbeat(heartbeat)); got != want {
				t.Errorf("%s: in the form %d %q, want %q", name, heartbeat, got, want)
			}
		}
	}
}
