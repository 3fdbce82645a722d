package responses

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/intercept/notice"
	"github.com/tidwall/gjson"
)

// encoded are records as they are stored.
func encoded(t *testing.T, records ...answerRecord) (list [][]byte) {
	t.Helper()
	for _, rec := range records {
		raw, err := intercept.EncodeRecord(rec)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, raw)
	}
	return list
}

const (
	userItem   = `{"role":"user","content":"hi"}`
	deniedCall = `{"type":"function_call","id":"fc_1","call_id":"c1","name":"bash","arguments":"{}"}`
	deniedItem = `{"type":"function_call_output","call_id":"c1","output":"no"}`
)

// denied is an answer with two messages, between which a call was denied.
func denied() answerRecord {
	return answerRecord{
		TurnFingerprint: intercept.TurnFingerprint{Turn: "t1", Before: itemFingerprint(gjson.Parse(userItem)), Opening: intercept.Opening("\nhi"), Text: "One.Two.", Items: []string{"m1", "m2"}},
		KeptAnswer:      intercept.KeptAnswer{Response: "resp_1", Chain: []string{"resp_1", "resp_2"}, Missing: []string{deniedItem}},
		Rounds: []answerRound{
			{Items: []answerPart{{Seen: true, Type: "message", ID: "m1", Text: "One.", Raw: `{"type":"message","id":"m1","role":"assistant","content":"One."}`}, {Type: "function_call", Raw: deniedCall}}, Outputs: []string{deniedItem}},
			{Items: []answerPart{{Seen: true, Type: "message", ID: "m2", Text: "Two.", Raw: `{"type":"message","id":"m2","role":"assistant","content":"Two."}`}}},
		},
	}
}

// itemKinds are the roles and types of the items of an input.
func itemKinds(r *request) string {
	var list []string
	for _, item := range gjson.GetBytes(r.Envelope().Body, "input").Array() {
		list = append(list, item.Get("role").Str+"/"+strings.TrimPrefix(item.Get("type").Str, "function_"))
	}
	return strings.Join(list, " ")
}

func TestSpliceIntoAHistory(t *testing.T) {
	const one, two = `{"type":"message","id":"m1","role":"assistant","content":"One."}`, `{"role":"assistant","content":"Two."}`
	for _, tt := range []struct {
		name, items string
		want        string // the kinds of items
		found       int
	}{
		{"both messages", one + "," + two, "user/ assistant/message /call /call_output assistant/", 1},
		{"with spaces", one + " ,\n " + two, "user/ assistant/message /call /call_output assistant/", 1},
		{"by reference", `{"type":"item_reference","id":"m1"},` + two, "user/ /item_reference /call /call_output assistant/", 1},
		{"joined", `{"role":"assistant","content":"One.Two."}`, "user/ assistant/message /call /call_output assistant/message", 1},
		{"rewritten", `{"role":"assistant","content":"Three."}`, "user/ /call /call_output assistant/", 1},
		{"another answer", `{"role":"user","content":"other"},{"role":"assistant","content":"Three."}`, "user/ user/ assistant/", 0},
		{"no answer", userItem, "user/ user/", 0},
	} {
		body := `{"input":[` + userItem + "," + tt.items + `,{"role":"user","content":"next"}]}`
		r := accept(t, post(body))
		found := r.Splice(encoded(t, denied()))
		if got := strings.TrimSuffix(itemKinds(r), " user/"); found != tt.found || got != tt.want {
			t.Errorf("%s: found %d, %s", tt.name, found, got)
		}
		if tt.found == 0 && string(r.Envelope().Body) != body {
			t.Errorf("%s: it became %s", tt.name, r.Envelope().Body)
		}
		if !json.Valid(r.Envelope().Body) {
			t.Errorf("%s: no JSON: %s", tt.name, r.Envelope().Body)
		}
	}
}

func TestSpliceAfterAResponse(t *testing.T) {
	for _, tt := range []struct {
		fields string
		want   string // the id for upstream
		items  string
		found  int
	}{
		{`"previous_response_id":"resp_1"`, "resp_2", "/call_output user/", 1},
		{`"previous_response_id":"resp_9"`, "resp_9", "", 0},
		{`"conversation":"conv_1"`, "", "/call_output user/", 1},
		{`"conversation":"conv_9"`, "", "", 0},
	} {
		rec := denied()
		rec.Conversation = "conv_1"
		r := accept(t, post(`{"input":[`+userItem+`],`+tt.fields+`}`))
		found := r.Splice(encoded(t, rec))
		if got := gjson.GetBytes(r.Envelope().Body, "previous_response_id").Str; found != tt.found || got != tt.want {
			t.Errorf("%s: found %d, upstream gets %q", tt.fields, found, got)
		}
		if tt.items != "" && itemKinds(r) != tt.items {
			t.Errorf("%s: items %s", tt.fields, itemKinds(r))
		}
		if tt.found == 0 {
			continue
		}
		next := accept(t, post(`{"input":[`+userItem+`],"conversation":"conv_1"}`))
		told := answerRecord{KeptAnswer: intercept.KeptAnswer{Response: "resp_3"}, Delivered: r.memory.delivered}
		if again := next.Splice(encoded(t, rec, told)); again == len(r.memory.delivered) && tt.want == "" {
			t.Errorf("%s: upstream gets the missing items a second time", tt.fields)
		}
	}
}

// The arguments that ran are in a note before the output of an edited call.
func TestSpliceOfAnEditedCall(t *testing.T) {
	rec := answerRecord{KeptAnswer: intercept.KeptAnswer{Response: "resp_1", Chain: []string{"resp_1"}, Ran: map[string]string{"c1": `{"safe":true}`}}}
	rec.Calls = []intercept.CallFingerprint{{ID: "c1", Name: "bash", Note: "A person changed it."}}
	for _, tt := range []struct{ output, field string }{
		{`{"type":"function_call_output","call_id":"c1","output":"done"}`, "0.output"},
		{`{"type":"custom_tool_call_output","call_id":"c1","output":[{"type":"input_text","text":"done"}]}`, "0.output.0.text"},
		{`{"type":"local_shell_call_output","id":"c1","output":"done"}`, "0.output"},
		{`{"type":"shell_call_output","call_id":"c1","output":[{"stdout":"done"}]}`, "0.output.0.stdout"},
		{`{"type":"shell_call_output","call_id":"c1","output":[]}`, "1.content"},
		{`{"type":"computer_call_output","call_id":"c1","output":{}}`, "1.content"},
	} {
		r := accept(t, post(`{"previous_response_id":"resp_1","input":[`+tt.output+`]}`))
		found := r.Splice(encoded(t, rec))
		body := r.Envelope().Body
		if text := gjson.GetBytes(body, "input."+tt.field).String(); found != 1 || !strings.HasPrefix(text, "A person changed it.") || !strings.Contains(text, `"safe"`) {
			t.Errorf("%s: found %d, %s", tt.output, found, body)
		}
		if strings.Contains(tt.output, "done") && !strings.Contains(string(body), "done") {
			t.Errorf("%s: the output is lost in %s", tt.output, body)
		}
	}
}

// Servers that number the calls of each answer repeat ids: the note is before the output of the call that was edited.
func TestSpliceOfAnEditedCallWhoseIDRepeats(t *testing.T) {
	const again = `{"role":"user","content":"again"}`
	rec := answerRecord{Rounds: []answerRound{{Items: []answerPart{{Seen: true, Type: "function_call", Call: "call_0", Name: "bash"}}}}}
	rec.Before, rec.Calls = itemFingerprint(gjson.Parse(again)), []intercept.CallFingerprint{{ID: "call_0", Name: "bash", Note: "A person changed it."}}
	const call, output = `{"type":"function_call","call_id":"call_0","name":"bash","arguments":"{}"}`, `{"type":"function_call_output","call_id":"call_0","output":"done"}`
	r := accept(t, post(`{"input":[`+userItem+","+call+","+output+","+again+","+call+","+output+`]}`))
	if found := r.Splice(encoded(t, rec)); found != 1 {
		t.Fatalf("found %d", found)
	}
	outputs := gjson.GetBytes(r.Envelope().Body, `input.#(type=="function_call_output")#.output`).Array()
	if len(outputs) != 2 || outputs[0].Str != "done" || !strings.HasPrefix(outputs[1].Str, "A person changed it.") {
		t.Errorf("the outputs are %s", outputs)
	}
}

// A request that continues a response may begin with an item of another answer: both have edited calls.
func TestSpliceOfEditedCallsOfTwoAnswers(t *testing.T) {
	kept := answerRecord{KeptAnswer: intercept.KeptAnswer{Response: "resp_1", Chain: []string{"resp_1"}, Ran: map[string]string{"c1": `{}`}}}
	kept.Calls = []intercept.CallFingerprint{{ID: "c1", Name: "bash", Note: "First."}}
	shown := answerRecord{Rounds: []answerRound{{Items: []answerPart{{Seen: true, Type: "function_call", Call: "call_Vr3xkQ0pLm7bTz91", Name: "read"}}}}}
	shown.Calls = []intercept.CallFingerprint{{ID: "call_Vr3xkQ0pLm7bTz91", Name: "read", Note: "Second."}}
	const items = `{"type":"function_call","call_id":"call_Vr3xkQ0pLm7bTz91","name":"read","arguments":"{}"},` +
		`{"type":"function_call_output","call_id":"call_Vr3xkQ0pLm7bTz91","output":"done"},{"type":"function_call_output","call_id":"c1","output":"done"}`
	r := accept(t, post(`{"previous_response_id":"resp_1","input":[`+items+`]}`))
	if found := r.Splice(encoded(t, kept, shown)); found != 2 {
		t.Fatalf("found %d", found)
	}
	outputs := gjson.GetBytes(r.Envelope().Body, `input.#(type=="function_call_output")#.output`).Array()
	if len(outputs) != 2 || !strings.HasPrefix(outputs[0].Str, "Second.") || !strings.HasPrefix(outputs[1].Str, "First.") {
		t.Errorf("the outputs are %s", outputs)
	}
}

// An approval is used once, and only for the server that people were asked about.
func TestSpliceOfAnApproval(t *testing.T) {
	const (
		response = `{"type":"mcp_approval_response","approval_request_id":"q1","approve":true}`
		server   = `{"type":"mcp","server_label":"gh","server_url":"https://gh.example"}`
		other    = `{"type":"mcp","server_label":"gh","server_url":"https://other.example"}`
	)
	address := accept(t, post(`{"tools":[`+server+`]}`)).offered().address("gh", nil)
	rec := answerRecord{KeptAnswer: intercept.KeptAnswer{Response: "resp_1", Chain: []string{"resp_1"}, Missing: []string{response}}, Grants: []mcpApproval{{ID: "q1", Key: "resp_1 q1", Label: "gh", Address: address}}}
	spent := answerRecord{Spent: "resp_1 q1"}
	for _, tt := range []struct {
		name, path, tools string
		records           []answerRecord
		approve           string // the value for upstream, and a part of the reason
		spends            int
	}{
		{"first", rootPath, server, []answerRecord{rec}, "true ", 1},
		{"spent", rootPath, server, []answerRecord{rec, spent}, "false once already", 0},
		{"another server", rootPath, other, []answerRecord{rec}, "false another server", 0},
		{"two servers", rootPath, server + "," + other, []answerRecord{rec}, "false another server", 0},
		{"no server", rootPath, "", []answerRecord{rec}, "false another server", 0},
		{"a count", rootPath + countPath, server, []answerRecord{rec}, "true ", 0},
	} {
		e := post(`{"previous_response_id":"resp_1","input":"hi","tools":[` + tt.tools + `]}`)
		e.Path = tt.path
		r := accept(t, e)
		r.Splice(encoded(t, tt.records...))
		item := gjson.GetBytes(r.Envelope().Body, "input.0")
		want, reason, _ := strings.Cut(tt.approve, " ")
		if item.Get("approve").Raw != want || !strings.Contains(item.Get("reason").Str, reason) || len(r.OneTimeApprovals()) != tt.spends {
			t.Errorf("%s: %s, %d approvals used", tt.name, item.Raw, len(r.OneTimeApprovals()))
		}
	}
}

func TestRecall(t *testing.T) {
	rec := denied()
	rec.Chain = []string{"resp_1", "resp 2", "resp_3"}
	rec.Ruled = []ruledCall{{Call: "f", Action: intercept.Edit, Arguments: "{}", ModelMessage: "changed"}}
	for _, tt := range []struct{ method, path, want, before string }{
		{http.MethodGet, "/v1/responses/resp_1", "/v1/responses/resp_1", ""},
		{http.MethodPost, "/v1/responses/resp_1/cancel", "/v1/responses/resp_3/cancel", ""},
		{http.MethodDelete, "/v1/responses/resp_1", "/v1/responses/resp_1", "/v1/responses/resp%202 /v1/responses/resp_3"},
	} {
		r := accept(t, intercept.Envelope{Method: tt.method, Path: tt.path})
		if n := r.Splice(encoded(t, rec, answerRecord{KeptAnswer: intercept.KeptAnswer{Response: "resp_9", Chain: []string{"a", "b", "c", "d"}}})); n != 1 || r.Envelope().Path != tt.want {
			t.Errorf("%s %s: %d records, %s", tt.method, tt.path, n, r.Envelope().Path)
		}
		var before []string
		for _, e := range r.Before() {
			before = append(before, e.Path)
		}
		if got := strings.Join(before, " "); got != tt.before {
			t.Errorf("%s %s: before it %s", tt.method, tt.path, got)
		}
		if got := r.memory.rulings["f"]; got != (intercept.Ruling{Action: intercept.Edit, Arguments: "{}", ModelMessage: "changed"}) {
			t.Errorf("%s %s: ruling %+v", tt.method, tt.path, got)
		}
		if next := r.memory.following("resp 2"); next != "resp_3" || r.memory.following("resp_3") != "" || r.memory.following("x") != "" {
			t.Errorf("%s %s: after resp 2 is %q", tt.method, tt.path, next)
		}
	}
}

// The closing notice goes upstream without its id, which only heldcall knows.
func TestSpliceOfANotice(t *testing.T) {
	rec := denied()
	notice := answerPart{Seen: true, Type: "message", ID: "msg_heldcall_t1", Text: "All denied.", Unknown: true, Raw: `{"type":"message","id":"msg_heldcall_t1","role":"assistant","content":"All denied."}`}
	rec.Rounds = []answerRound{{Items: rec.Rounds[0].Items[1:], Outputs: rec.Rounds[0].Outputs}, {Items: []answerPart{notice}}}
	rec.Text, rec.Items = "All denied.", []string{notice.ID}
	for _, item := range []string{notice.Raw, `{"type":"item_reference","id":"msg_heldcall_t1"}`} {
		r := accept(t, post(`{"input":[`+userItem+","+item+`]}`))
		found := r.Splice(encoded(t, rec))
		if body := string(r.Envelope().Body); found != 1 || itemKinds(r) != "user/ /call /call_output assistant/message" || strings.Contains(body, "msg_heldcall") {
			t.Errorf("%s: found %d, %s", item, found, body)
		}
	}
}

func TestPartIs(t *testing.T) {
	sealed := gjson.Parse(`{"type":"reasoning","encrypted_content":"e"}`)
	message := answerPart{Type: "message", ID: "m1", Text: "One."}
	call := answerPart{Type: "function_call", ID: "fc_1", Call: "c1"}
	reasoning := answerPart{Type: "reasoning", ID: "rs_1", Sealed: sealedFingerprint(sealed)}
	for _, tt := range []struct {
		part answerPart
		item string
		want bool
	}{
		{message, `{"type":"item_reference","id":"m1"}`, true},
		{message, `{"id":"m1"}`, true},
		{message, `{"type":"item_reference","id":"m2"}`, false},
		{message, `{"role":"assistant","content":"One."}`, true},
		{message, `{"role":"assistant","content":[{"type":"output_text","text":" One.\n"}]}`, true},
		{message, `{"type":"message","id":"m1","role":"assistant","content":"Two."}`, true},
		{message, `{"role":"assistant","content":"Two."}`, false},
		{message, `{"type":"reasoning","id":"m1"}`, false},
		{call, `{"type":"function_call","call_id":"c1"}`, true},
		{call, `{"type":"function_call","id":"fc_1","call_id":"c2"}`, false},
		{reasoning, sealed.Raw, true},
		{reasoning, `{"type":"reasoning","encrypted_content":"f"}`, false},
		{reasoning, `{"type":"reasoning","id":"rs_2"}`, false},
		{reasoning, `{"type":"reasoning"}`, true},
	} {
		if got := tt.part.is(gjson.Parse(tt.item)); got != tt.want {
			t.Errorf("%+v is %s: %t", tt.part, tt.item, got)
		}
	}
}

// The turns of a history are the runs of the model's items that have the calls of an
// answer.
func TestTurns(t *testing.T) {
	answer := answerRecord{Rounds: []answerRound{{Items: []answerPart{{Seen: true, ID: "m1", Type: "message"}, {Seen: true, ID: "a", Type: "function_call"}, {Seen: true, ID: "b", Type: "function_call"}}}}}
	answer.Text, answer.Calls = "So.", []intercept.CallFingerprint{{ID: "a", Name: "f"}, {ID: "b", Name: "f"}}
	items := map[byte]string{
		'u': userItem, 'm': `{"role":"assistant","content":"So."}`, 'l': `{"role":"assistant","content":"Much more."}`,
		'a': `{"type":"function_call","call_id":"a","name":"f"}`, 'b': `{"type":"function_call","call_id":"b","name":"f"}`, 'c': `{"type":"function_call","call_id":"c","name":"f"}`,
		'o': `{"type":"function_call_output","call_id":"a"}`,
	}
	for history, want := range map[string]string{
		"umab":  "1-3 So. 2",
		"umaob": "1-4 So. 2, 4-4  1",
		"umaub": "1-2 So. 1, 4-4  1",
		"umboa": "1-2 So. 1, 4-4  1",
		"ulab":  "1-3 long 2",
		"umc":   "",
		"um":    "",
		"umabc": "", // it has more calls than the answer
		"uo":    "",
	} {
		var raw []string
		for i := range len(history) {
			raw = append(raw, items[history[i]])
		}
		var got []string
		for _, turn := range newFinder([]*answerRecord{&answer}).turns(gjson.Parse("[" + strings.Join(raw, ",") + "]").Array()) {
			text := turn.Text
			if turn.Long {
				text = "long"
			}
			got = append(got, fmt.Sprintf("%d-%d %s %d", turn.First, turn.Last, text, len(turn.Calls)))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %q, want %q", history, strings.Join(got, ", "), want)
		}
	}
}

// What became of parked calls is after the results of the calls that the request answers,
// and after what upstream lacks of the answer before.
func TestSpliceOfDecisions(t *testing.T) {
	const output = `{"type":"function_call_output","call_id":"c9","output":"ran"}`
	records := append(encoded(t, denied()), notice.DecidedLater([]string{`It was "approved".`, "Another."}))
	for _, tt := range []struct{ name, input, want string }{
		{"a text", `"hi"`, "/call_output developer/message developer/message user/message"},
		{"a message", `[` + userItem + `]`, "/call_output developer/message developer/message user/"},
		{"results", `[` + output + `]`, "/call_output /call_output developer/message developer/message"},
		{"results and a message", `[` + output + `,` + userItem + `,` + output + `]`, "/call_output /call_output developer/message developer/message user/ /call_output"},
		{"nothing", `[]`, "/call_output developer/message developer/message"},
	} {
		r := accept(t, intercept.Envelope{Method: http.MethodPost, Path: rootPath, Body: []byte(`{"model":"m","previous_response_id":"resp_1","input":` + tt.input + `}`)})
		if r.Splice(records); itemKinds(r) != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, itemKinds(r), tt.want)
		}
		if text := gjson.GetBytes(r.Envelope().Body, `input.#(role=="developer").content`).Str; text != `It was "approved".` {
			t.Errorf("%s: the model reads %q", tt.name, text)
		}
	}
}

func TestSpliceOfStoredTurns(t *testing.T) { intercepttest.StoredTurns(t, Dialect{}) }
