package responses

import (
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/tidwall/gjson"
)

// Responses with several agents at the provider (beta): it runs the calls by which they work together, and the agent those
// of its own tools, which name the one that makes them.
const (
	spawned  = `{"type":"multi_agent_call","id":"mac_1","call_id":"call_s","action":"spawn_agent","arguments":"{\"task\":\"look\"}","agent":{"agent_name":"/root"}}`
	spawnOut = `{"type":"multi_agent_call_output","id":"mao_1","call_id":"call_s","action":"spawn_agent","output":[{"type":"output_text","text":"{\"agent\":\"/root/look\"}","annotations":[]}],"agent":{"agent_name":"/root"}}`
	sent     = `{"type":"agent_message","id":"agm_1","author":"/root","recipient":"/root/look","content":[{"type":"encrypted_content","encrypted_content":"e"}],"agent":{"agent_name":"/root"}}`
	bySub    = `"agent":{"agent_name":"/root/look"},`
)

const multiAgent = `{"model":"m","multi_agent":{"enabled":true},"input":"hi","tools":[{"type":"function","name":"bash","parameters":{"type":"object"}},{"type":"custom","name":"patch"},{"type":"apply_patch"}]}`

func TestMultiAgentItemsPass(t *testing.T) {
	for form, answer := range map[string]string{"streamed": stream("resp_1", spawned, spawnOut, sent, speech), "whole": whole("resp_1", spawned, spawnOut, sent, speech)} {
		p := play(t, asked(multiAgent), bodies(answer), nil, intercept.Limits{}, intercepttest.DenyAll)
		if p.Err != nil || len(p.Calls[0]) > 0 || string(p.Out()) != answer {
			t.Errorf("%s: %v, %d calls, %s", form, p.Err, len(p.Calls[0]), p.Out())
		}
	}
}

// A call that looks like one of the agent's tools is held, also beside those.
func TestCallOfASubagent(t *testing.T) {
	for name, tt := range map[string]struct{ call, want string }{
		"function":    {programmed(function("a", "bash", ls), bySub), "/root/look"},
		"custom":      {programmed(`{"type":"custom_tool_call","id":"ctc_1","call_id":"call_c","name":"patch","input":"x","status":"completed"}`, bySub), "/root/look"},
		"apply patch": {programmed(`{"type":"apply_patch_call","id":"apc_1","call_id":"call_c","status":"completed","operation":{"type":"create_file","path":"x","diff":"+y"}}`, bySub), "/root/look"},
		"of nobody":   {function("a", "bash", ls), ""},
		"null":        {programmed(function("a", "bash", ls), `"agent":null,`), ""},
		"no name":     {programmed(function("a", "bash", ls), `"agent":{},`), ""},
	} {
		for form, answer := range map[string]string{"streamed": stream("resp_1", spawned, tt.call), "whole": whole("resp_1", spawned, tt.call)} {
			for _, rule := range []intercepttest.Ruler{intercepttest.ReleaseAll, intercepttest.EditAll} {
				p := play(t, asked(multiAgent), bodies(answer), nil, intercept.Limits{}, rule)
				if p.Err != nil || len(p.Calls[0]) != 1 || p.Calls[0][0].Subagent != tt.want || len(p.Calls[0][0].Ambiguous) > 0 {
					t.Errorf("%s, %s: %v, %+v", name, form, p.Err, p.Calls)
				}
				if tt.want != "" && strings.Count(string(p.Out()), strings.TrimSuffix(bySub, ",")) < strings.Count(answer, strings.TrimSuffix(bySub, ",")) {
					t.Errorf("%s, %s: the agent is lost in %s", name, form, p.Out())
				}
			}
		}
	}
}

func TestNamesOfSubagents(t *testing.T) {
	for name, agent := range map[string]string{
		"too long": `"agent":{"agent_name":"` + strings.Repeat("a", maxAgentName+1) + `"},`, "no text": `"agent":{"agent_name":7},`, "half a character": `"agent":{"agent_name":"\ud83d"},`,
		"another case": `"Agent":{"agent_name":"/root"},`, "a call": `"agent":{"agent_name":"/root","name":"bash","arguments":"{}"},`,
	} {
		p := play(t, asked(multiAgent), bodies(stream("resp_1", programmed(function("a", "bash", ls), agent))), nil, intercept.Limits{}, intercepttest.ReleaseAll)
		if p.Err == nil {
			t.Errorf("%s: released: %s", name, p.Out())
		}
	}
}

// Where the places of an answer name different agents, no rule is asked about the one and the other released.
func TestSubagentChanges(t *testing.T) {
	call := programmed(function("a", "bash", ls), bySub)
	other := strings.ReplaceAll(call, "/root/look", "/root")
	answer := stream("resp_1", call)
	for _, place := range []string{"response.output_item.added", "response.output_item.done", "response.completed"} {
		start := strings.Index(answer, "event: "+place)
		end := start + strings.Index(answer[start:], "\n\n")
		changed := answer[:start] + strings.ReplaceAll(answer[start:end], "/root/look", "/root") + answer[end:]
		p := play(t, asked(multiAgent), bodies(changed), nil, intercept.Limits{}, intercepttest.ReleaseAll)
		if c := p.Calls[0]; len(c) != 1 || len(c[0].Ambiguous) == 0 {
			t.Errorf("%s names %s: %+v", place, other, c)
		}
	}
}

func TestMultiAgentIsAnOffer(t *testing.T) {
	for field, want := range map[string]bool{
		`"multi_agent":{"enabled":true}`: true, `"multi_agent":{"enabled":true,"max_concurrent_subagents":2}`: true, `"multi_agent":{}`: true, `"multi_agent":true`: true,
		`"multi_agent":{"enabled":false}`: false, `"multi_agent":null`: false, `"multi_agent":false`: false, `"model":"m"`: false,
	} {
		r := parsed(t, `{"input":"hi",`+field+`}`)
		if got := slices.Contains(r.Hosted(), intercept.HostedTool{Name: "multi_agent"}); got != want || r.OffersTools() != want {
			t.Errorf("%s: offered %t, tools %t", field, got, r.OffersTools())
		}
	}
}

// Items that the agent or the provider adds beside results do not make the results old; results of the provider's own
// calls are none of the agent's.
func TestItemsBesideResults(t *testing.T) {
	const result = `{"type":"function_call_output","call_id":"call_a","output":"x"}`
	for beside, want := range map[string]int{
		`{"type":"configuration_update","reasoning":{"effort":"high"}}`: 1, `{"type":"compaction_trigger"}`: 1, `{"type":"additional_tools","tools":[]}`: 1,
		`{"type":"multi_agent_call_output","call_id":"call_s","output":[]}`: 0, `{"type":"program_output","call_id":"call_p","result":"x"}`: 0, sent: 0,
	} {
		r := parsed(t, `{"input":[`+function("a", "bash", ls)+`,`+result+`,`+beside+`]}`)
		if got := len(r.Results()); got != want {
			t.Errorf("%s: %d results", beside, got)
		}
		if got := len(r.ResultIDs()); got != want {
			t.Errorf("%s: %d ids of results", beside, got)
		}
		if got := len(r.ResultContents()); got != 1 {
			t.Errorf("%s: %d contents of results", beside, got)
		}
		if agents := r.AgentItem([]byte(beside)); agents != (want == 1) {
			t.Errorf("%s is the agent's: %t", beside, agents)
		}
	}
}

// Finding W9: OpenAI's last event of a call that a program makes has the status in_progress.
func TestCallEndsInProgress(t *testing.T) {
	for name, call := range map[string]string{"of a program": programmed(function("a", "bash", ls), byProgram), "of the model": function("a", "bash", ls)} {
		call = strings.Replace(call, `"status":"completed"`, `"status":"in_progress"`, 1)
		answer := stream("resp_1", itsCode, call)
		for _, size := range []byte{40, 99} {
			p := play(t, asked(multiAgent), bodies(answer), []byte{size}, intercept.Limits{}, intercepttest.ReleaseAll)
			if p.Err != nil || !strings.Contains(string(p.Out()), `"call_id":"call_a"`) {
				t.Errorf("%s: %v: %s", name, p.Err, p.Out())
			}
			for _, c := range p.Calls[0] {
				if len(c.Ambiguous) > 0 {
					t.Errorf("%s: %q", name, c.Ambiguous)
				}
			}
			if got := gjson.Get(lastOf(string(p.Out())), `response.output.#(call_id=="call_a").arguments`).Str; got != ls {
				t.Errorf("%s: the agent runs %q", name, got)
			}
		}
	}
}

func parsed(t *testing.T, body string) intercept.Request {
	t.Helper()
	r, err := Dialect{}.Request(asked(body))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// lastOf is the data of the last event of a stream.
func lastOf(stream string) string { return stream[strings.LastIndex(stream, "data: ")+len("data: "):] }
