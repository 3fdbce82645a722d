package responses

import (
	"errors"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// mark is in the inputs that an agent would run.
const mark = "MARK"

func namedEvent(typ, fields string) string {
	return "event: " + typ + "\ndata: {\"type\":\"" + typ + "\"," + fields + "}\n\n"
}

// finale is an answer with first as its complete item and last in its list at the end, in
// a response with the fields.
func finale(first, fields, last string) string {
	body := namedEvent("response.created", `"sequence_number":0,"response":{"id":"resp_1","object":"response","created_at":1,"status":"in_progress","output":[]}`)
	if first != "" {
		body += namedEvent("response.output_item.done", `"sequence_number":1,"output_index":0,"item":`+first)
	}
	return body + namedEvent("response.completed", `"sequence_number":2,"response":{"id":"resp_1","object":"response","created_at":1,`+fields+`,"output":[`+last+`]}`)
}

func bash(arguments string) string {
	return `{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_1","name":"bash","arguments":` + strictjson.Quote(arguments) + `}`
}

// Before a ruling and after a denial, the agent has no part of a call, however the call
// is disguised.
func TestDisguisedCallsAreHeldOrRefused(t *testing.T) {
	call := bash(`{"cmd":"` + mark + `"}`)
	bodies := map[string]string{
		"listed, response in progress":          finale("", `"status":"in_progress"`, call),
		"listed, response queued":               finale("", `"status":"queued"`, call),
		"listed, response failed":               finale("", `"status":"failed"`, call),
		"listed, response cancelled":            finale("", `"status":"cancelled"`, call),
		"listed, with an error":                 finale("", `"status":"completed","error":{"code":"x"}`, call),
		"listed, with an empty error":           finale("", `"status":"completed","error":{}`, call),
		"another one listed than done":          finale(bash("{}"), `"status":"in_progress"`, call),
		"a search of the client's in the list":  finale(`{"type":"tool_search_call","id":"t1","call_id":"c1","execution":"server","arguments":{}}`, `"status":"completed"`, `{"type":"tool_search_call","id":"t1","call_id":"c1","execution":"client","arguments":{"q":"`+mark+`"}}`),
		"an unknown item is a call in the list": finale(`{"type":"foo","id":"t1"}`, `"status":"completed"`, `{"type":"foo","id":"t1","name":"bash","call_id":"c1","arguments":"`+mark+`"}`),
		"only the event line names the type": namedEvent("response.created", `"sequence_number":0,"response":{"id":"resp_1","status":"in_progress","output":[]}`) +
			"event: response.function_call_arguments.delta\ndata: {\"delta\":\"" + mark + "\"}\n\n",
		"the event line contradicts the data": namedEvent("response.created", `"sequence_number":0,"response":{"id":"resp_1","status":"in_progress","output":[]}`) +
			"event: response.function_call_arguments.done\ndata: {\"type\":\"response.output_text.done\",\"arguments\":\"" + mark + "\"}\n\n",
	}
	for _, item := range []string{
		`{"type":"python_call","id":"p1","code":"` + mark + `","status":"completed"}`,
		`{"type":"exec_call","id":"p1","commands":["` + mark + `"]}`,
		`{"type":"Local_Shell_Call","id":"p1","command":["` + mark + `"]}`,
		`{"type":"browser_tool_use","id":"p1","url":"` + mark + `"}`,
		`{"type":"mcp_call_request","tool":"x","params":{"a":"` + mark + `"}}`,
		`{"type":"function","function":{"name":"x"},"params":{"a":"` + mark + `"}}`,
		`{"type":"step","run":"` + mark + `"}`,
		`{"type":"step","id":"s1","text":{"run":"` + mark + `"}}`,
		`{"type":"step","id":"s1","content":[{"run":"` + mark + `"}]}`,
		`{"type":"step","id":"s1","summary":[{"type":"summary_text","text":"x","run":["` + mark + `"]}]}`,
		`{"type":"step","id":"s1","environment":{"run":"` + mark + `"}}`,
		`{"type":"step","id":"s1","caller":{"run":"` + mark + `"}}`,
		`{"type":"step","id":"s1","execution":"` + mark + `"}`,
		`{"type":"message","id":"m","role":"assistant","content":[],"tool_calls":[{"id":"c","type":"function","function":{"name":"bash","arguments":"` + mark + `"}}]}`,
		`{"type":"message","id":"m","role":"assistant","content":[{"type":"tool_use","id":"c","name":"bash","input":{"x":"` + mark + `"}}]}`,
	} {
		bodies[item] = finale(item, `"status":"completed"`, item)
		bodies["whole "+item] = whole("resp_1", item)
	}
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			p := newPlayer(t, asked(request1), 64, intercept.Limits{MaxContinuations: 1})
			err := p.Feed(body)
			if err == nil {
				var rulings []intercept.Ruling
				for _, c := range p.Answer.Calls() {
					rulings = append(rulings, deny(0, c))
				}
				if len(rulings) == 0 {
					t.Error("it is neither held nor refused")
				}
				if p.Last, err = p.Answer.Resolve(rulings); err != nil {
					t.Fatal(err)
				}
				p.Got.Write(p.Last.Bytes)
			}
			if strings.Contains(p.Got.String(), mark) {
				t.Errorf("the agent has\n%s", p.Got.String())
			}
		})
	}
}

// An item of an unknown type may be a call of which each event brings a piece: by
// the time that it is done nothing may have gone out.
func TestItemOfAnUnknownTypeThatGrows(t *testing.T) {
	begun := newScript("resp_1").begin().event("response.output_item.added", `"output_index":0,"item":{"type":"step","id":"s1"}`).out.String()
	for _, event := range []string{
		namedEvent("response.step.delta", `"output_index":0,"item_id":"s1","delta":"`+mark+`"`),
		namedEvent("response.step.done", `"output_index":0,"item_id":"s1","script":"`+mark+`"`),
		namedEvent("response.step.done", `"output_index":0,"step":{"run":["`+mark+`"]}`),
		namedEvent("response.step.done", `"output_index":7,"item_id":"s1","script":"`+mark+`"`),
		namedEvent("response.step.done", `"script":"`+mark+`"`),
		namedEvent("response.step.done", `"item":{"type":"step","id":"s1","run":"`+mark+`"}`),
		"event: response.step.delta\ndata: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"" + mark + "\"}\n\n",
	} {
		p := newPlayer(t, asked(request1), 1<<20, intercept.Limits{})
		if err := p.Feed(begun + event); err == nil || strings.Contains(p.Got.String(), mark) {
			t.Errorf("%s: error %v; the agent has\n%s", event, err, p.Got.String())
		}
	}
}

// The text and the progress of an item of an unknown type pass.
func TestTextOfAnItemOfAnUnknownType(t *testing.T) {
	const item = `{"type":"aside","id":"s1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Hm.","annotations":[],"logprobs":[]}],"summary":["x"],"text":"y"}`
	body := newScript("resp_1").begin().
		event("response.output_item.added", `"output_index":0,"item":{"type":"aside","id":"s1","status":"in_progress","content":[]}`).
		event("response.aside.in_progress", `"output_index":0,"item_id":"s1"`).
		event("response.output_text.delta", `"output_index":0,"item_id":"s1","content_index":0,"delta":"Hm."`).
		event("response.output_item.done", `"output_index":0,"item":`+item).out.String()
	p := newPlayer(t, asked(request1), 64, intercept.Limits{})
	if err := p.Feed(body); err != nil || len(p.Answer.Calls()) > 0 {
		t.Fatalf("error %v, calls %+v", err, p.Answer.Calls())
	}
	if p.Got.String() != body {
		t.Errorf("the agent has\n%s", p.Got.String())
	}
}

// What an item is changes by the tools that are offered: one that the provider
// runs when it is done is none of the agent's in the list at the end.
func TestItemOfTheProviderIsNotTheAgentsInTheList(t *testing.T) {
	for tools, items := range map[string][2]string{
		`{"type":"x_search"},{"type":"custom","name":"bash"}`: {
			`{"type":"custom_tool_call","id":"t1","call_id":"c1","name":"x_semantic","input":""}`,
			`{"type":"custom_tool_call","id":"t1","call_id":"c1","name":"bash","input":"` + mark + `"}`,
		},
		`{"type":"shell","environment":{"type":"container_auto"}}`: {
			`{"type":"shell_call","id":"t1","call_id":"c1","environment":{"type":"container_auto"},"action":{"commands":["ls"]}}`,
			`{"type":"shell_call","id":"t1","call_id":"c1","environment":{"type":"local"},"action":{"commands":["` + mark + `"]}}`,
		},
	} {
		p := newPlayer(t, asked(`{"model":"m","stream":true,"input":"x","tools":[`+tools+`]}`), 64, intercept.Limits{})
		if err := p.Feed(finale(items[0], `"status":"completed"`, items[1])); err == nil || strings.Contains(p.Got.String(), mark) {
			t.Errorf("%s: error %v; the agent has\n%s", tools, err, p.Got.String())
		}
		p = newPlayer(t, asked(`{"model":"m","stream":true,"input":"x","tools":[`+tools+`]}`), 64, intercept.Limits{})
		failed := strings.ReplaceAll(finale(items[0], `"status":"failed"`, items[1]), "response.completed", "response.failed")
		if err := p.Feed(failed); err != nil || strings.Contains(p.Got.String(), mark) || !strings.Contains(p.Got.String(), "response.failed") {
			t.Errorf("%s, failed: error %v; the agent has\n%s", tools, err, p.Got.String())
		}
	}
}

// A call is shown to its reviewer with all that it could do, or as doubtful.
func TestInputAtAnotherPlaceIsDoubted(t *testing.T) {
	for _, item := range []string{
		`{"type":"computer_call","id":"t1","call_id":"c1","action":[{"type":"type","text":"MARK"}],"status":"completed"}`,
		`{"type":"computer_call","id":"t1","call_id":"c1","actions":{"type":"type","text":"MARK"},"status":"completed"}`,
		`{"type":"computer_call","id":"t1","call_id":"c1","action":"MARK","status":"completed"}`,
		`{"type":"function_call","id":"t1","call_id":"c1","name":"bash","arguments":"{}","input":{"cmd":"MARK"},"status":"completed"}`,
		`{"type":"function_call","id":"t1","call_id":"c1","name":"bash","arguments":"{}","parsed_arguments":{"cmd":"MARK"},"status":"completed"}`,
		`{"type":"function_call","id":"t1","call_id":"c1","name":"bash","arguments":"{}","content":"MARK","status":"completed"}`,
		`{"type":"shell_call","id":"t1","call_id":"c1","action":{},"operation":{"cmd":"MARK"},"status":"completed"}`,
		`{"type":"shell_call","id":"t1","call_id":"c1","action":{},"commands":["MARK"],"status":"completed"}`,
	} {
		p := newPlayer(t, asked(request1), 1<<20, intercept.Limits{})
		if err := p.Feed(whole("resp_1", item)); err != nil {
			continue // refused
		}
		calls := p.Answer.Calls()
		if len(calls) != 1 || len(calls[0].Ambiguous) == 0 {
			t.Errorf("%s is judged as %+v", item, calls)
			continue
		}
		settled, err := p.Answer.Resolve([]intercept.Ruling{{Action: intercept.Edit, Arguments: `{"type":"wait"}`}})
		if err == nil && strings.Contains(string(settled.Bytes), mark) {
			t.Errorf("%s: after an edit the agent has %s", item, settled.Bytes)
		}
	}
}

func TestErrorBodyWithCallsOfAnyKind(t *testing.T) {
	for _, item := range []string{
		`{"type":"shell_call","call_id":"c","environment":{"type":"container_auto"},"action":{}}`,
		`{"type":"custom_tool_call","call_id":"c","name":"x_semantic","input":"x"}`,
		`{"type":"python_call","code":"x"}`,
	} {
		if (Dialect{}).SafeError([]byte(`{"output":[` + item + `]}`)) {
			t.Errorf("an error with %s passes", item)
		}
	}
}

// A fragment that only some readers of the stream see would make up other
// arguments for them than were judged.
func TestFragmentsThatSomeReadersSkip(t *testing.T) {
	at := strings.Index(listed, "event: response.function_call_arguments.delta")
	hidden, rest, _ := strings.Cut(listed[at:], "\n\n")
	hidden += "\n\n"
	for _, part := range []string{strings.Replace(hidden, "\ndata", "\n data", 1), "\ufeff" + hidden, strings.ReplaceAll(hidden, "\n", "\r"), ": x\r" + hidden} {
		p := newPlayer(t, asked(request1), 1<<20, intercept.Limits{})
		if err := p.Feed(listed[:at] + part + rest); err == nil {
			t.Errorf("%q was understood", part)
		}
	}
}

// With the id of a held call an event goes the way of the call. With a number beside
// it that no item has it is refused.
func TestEventWithTheIDOfAHeldCall(t *testing.T) {
	for _, index := range []string{"", `"output_index":null,`, `"output_index":0,`} {
		begun := newScript("resp_1").begin().out.String() +
			namedEvent("response.output_item.added", index+`"item":{"type":"function_call","id":"`+mark+`","call_id":"c1","name":"bash","arguments":"","status":"in_progress"}`)
		ended := namedEvent("response.output_item.done", index+`"item":{"type":"function_call","id":"`+mark+`","call_id":"c1","name":"bash","arguments":"{}","status":"completed"}`) +
			namedEvent("response.completed", `"response":{"id":"resp_1","object":"response","created_at":1,"status":"completed","output":[]}`)
		for _, event := range []string{
			namedEvent("response.output_text.delta", `"output_index":2,"item_id":"`+mark+`","delta":"x"`),
			namedEvent("response.output_text.delta", `"output_index":0,"item_id":"`+mark+`","delta":"x"`),
			namedEvent("response.output_text.delta", `"item_id":"`+mark+`","delta":"x"`),
		} {
			p := newPlayer(t, asked(request1), 1<<20, intercept.Limits{MaxContinuations: 1})
			if err := p.Feed(begun + event + ended); err == nil {
				settled, err := p.Answer.Resolve([]intercept.Ruling{deny(0, p.Answer.Calls()[0])})
				if err != nil {
					t.Fatal(err)
				}
				p.Got.Write(settled.Bytes)
			}
			if strings.Contains(p.Got.String(), mark) {
				t.Errorf("call with %q, then\n%s\nThe agent has\n%s", index, event, p.Got.String())
			}
		}
	}
}

// An event whose number and whose id are those of two items is refused, and so is one
// with the id of a call and a number of none: neither is of the other item.
func TestEventOfTwoItems(t *testing.T) {
	begun := newScript("resp_1").begin().out.String() +
		namedEvent("response.output_item.added", `"output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","content":[],"status":"in_progress"}`) +
		namedEvent("response.output_item.added", `"output_index":1,"item":{"type":"function_call","id":"`+mark+`","call_id":"c1","name":"bash","arguments":"","status":"in_progress"}`)
	for name, tt := range map[string]struct {
		at    string
		taken bool
	}{
		"the text's":                       {`"output_index":0,"item_id":"msg_1",`, true},
		"the text's number":                {`"output_index":0,`, true},
		"the text's, by an id of none":     {`"output_index":0,"item_id":"msg_9",`, true},
		"the text's number, the call's id": {`"output_index":0,"item_id":"` + mark + `",`, false},
		"the call's number, the text's id": {`"output_index":1,"item_id":"msg_1",`, false},
		"a number of none, the call's id":  {`"output_index":7,"item_id":"` + mark + `",`, false},
	} {
		p := newPlayer(t, asked(request1), 1<<20, intercept.Limits{})
		err := p.Feed(begun + namedEvent("response.content_part.added", tt.at+`"content_index":0,"part":{"type":"output_text","text":""}`))
		var broken *intercept.Error // cut off, where the event itself is taken
		if !errors.As(err, &broken) || (broken.Code == intercept.CodeUpstreamCut) != tt.taken || strings.Contains(p.Got.String(), mark) {
			t.Errorf("%s: error %v; the agent has\n%s", name, err, p.Got.String())
		}
	}
	// The number 0 is one too, where no item has it.
	p := newPlayer(t, asked(request1), 1<<20, intercept.Limits{})
	alone := newScript("resp_1").begin().out.String() +
		namedEvent("response.output_item.added", `"output_index":1,"item":{"type":"function_call","id":"`+mark+`","call_id":"c1","name":"bash","arguments":"","status":"in_progress"}`)
	err := p.Feed(alone + namedEvent("response.content_part.added", `"output_index":0,"item_id":"`+mark+`","content_index":0,"part":{"type":"output_text","text":""}`))
	if broken := (*intercept.Error)(nil); !errors.As(err, &broken) || broken.Code == intercept.CodeUpstreamCut {
		t.Errorf("the number 0 of none, the call's id: error %v", err)
	}
}
