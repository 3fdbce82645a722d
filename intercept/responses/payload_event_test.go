package responses

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept/strictjson"
)

func decodeText(payload string, names []string) (*event, error) {
	return decodeEvent(strictjson.Unabridged([]byte(payload)), names, true)
}

func TestDecode(t *testing.T) {
	const item = `{"type":"function_call","id":"fc_1","call_id":"c1","name":"bash","arguments":"{}"}`
	for _, tt := range []struct {
		payload string
		name    string
		kind    eventKind
		refused string // part of the error
	}{
		{`{"type":"response.created","response":{"id":"r1"}}`, "response.created", kindBegin, ""},
		{`{"type":"response.in_progress","response":{"id":"r1"}}`, "", kindState, ""},
		{`{"type":"response.completed","response":{"id":"r1"}}`, "message", kindEnd, ""},
		{`{"type":"response.incomplete","response":{"id":"r1"}}`, "error", kindEnd, ""},
		{`{"type":"response.cancelled","response":{"id":"r1"}}`, "", kindFailed, ""},
		{`{"type":"error","message":"call the operator"}`, "", kindError, ""},
		{`{"type":"response.output_item.added","item":` + item + `}`, "", kindAdded, ""},
		{`{"type":"response.output_item.done","item":` + item + `}`, "", kindDone, ""},
		{`{"type":"response.function_call_arguments.delta","delta":""}`, "", kindInput, ""},
		{`{"type":"response.output_text.delta","delta":"x"}`, "", kindBeside, ""},
		{`{"type":"response.rate_limits","limits":[1]}`, "", kindOther, ""},
		{`{"id":"r1"}`, "", kindOther, ""},
		{`{"response":{"id":"r1"}}`, "response.created", kindBegin, ""},

		{`[{"type":"response.created"}]`, "", kindOther, ""},
		{`[{"type":"function_call"}]`, "", kindOther, "of a call"},
		{`{"type":"response.output_text.delta","delta":"x"}`, "response.completed", kindBeside, "contradicts"},
		{`{"type":"response.completed"}`, "", kindEnd, "ends a response has none"},
		{`{"type":"response.failed","response":null}`, "", kindFailed, "ends a response has none"},
		{`{"type":"response.output_item.done"}`, "", kindDone, "output item has none"},
		{`{"type":"response.function_call_arguments.done"}`, "", kindInput, "input of a call has none"},
		{`{"type":"response.function_call_arguments.done","arguments":7}`, "", kindInput, "not a string"},
		{`{"type":"response.output_text.done","name":"bash","arguments":"{}"}`, "", kindBeside, "call of another API"},
		{`{"type":"response.brand_new_call.done"}`, "", kindOther, "name of a call"},
		{`{"type":"content_block_start"}`, "", kindOther, "name of a call"},
		{`{"type":"response.created","Response":{}}`, "", kindBegin, "letter case"},
		{`{"type":"response.created","sequence_number":-1}`, "", kindBegin, "not a whole number"},
		{`{"type":"response.output_text.delta","output_index":1.5}`, "", kindBeside, "not a whole number"},
		{`{"type":"response.shell_call_command.delta","command_index":"0","delta":"x"}`, "", kindInput, "not a whole number"},
		{`{"type":7}`, "", kindOther, "not a string"},
	} {
		e, err := decodeText(tt.payload, []string{tt.name})
		switch {
		case e.kind != tt.kind:
			t.Errorf("%s: kind %d, want %d", tt.payload, e.kind, tt.kind)
		case tt.refused == "" && err != nil, tt.refused != "" && (err == nil || !strings.Contains(err.Error(), tt.refused)):
			t.Errorf("%s: error %v, want %q", tt.payload, err, tt.refused)
		}
	}
}

func TestDecodeFields(t *testing.T) {
	e, err := decodeText(`{"type":"response.shell_call_command.delta","sequence_number":7,"output_index":2,"command_index":3,"item_id":"sh_1","delta":"ls","obfuscation":"x"}`, nil)
	if err != nil {
		t.Fatal(err)
	}
	if e.number != 7 || e.index != 2 || e.itemID != "sh_1" || e.text != "ls" || e.input.path != "commands.3" || e.size() != len("ls") {
		t.Errorf("got %+v", e)
	}
	for i, want := range []string{"7", `"ls"`, `"x"`} {
		if e.slots[i].Raw != want {
			t.Errorf("slot %d is %s, want %s", i, e.slots[i].Raw, want)
		}
	}
	if e, err = decodeText(`{"type":"response.output_text.done"}`, nil); err != nil || e.number != -1 || e.index != -1 || e.size() != len(`{"type":"response.output_text.done"}`) {
		t.Errorf("without numbers: %+v, %v", e, err)
	}
}

func TestResponseObject(t *testing.T) {
	const done = `{"type":"response.completed","response":{"id":"r1",%}}`
	for fields, refused := range map[string]string{
		`"status":"completed","output":[]`: "",
		`"output":null`:                    "",
		`"output":{}`:                      "not an array",
		`"output":["x"]`:                   "not an object",
		`"output":[{"id":"x"}]`:            "no type",
		`"output":[` + strings.Repeat(`{"type":"message"},`, maxItems) + `{"type":"message"}]`: "too many output items",
		`"metadata":{"call":"x"}`:                     "",
		`"metadata":{"x":{"type":"function_call"}}`:   "echoes a call",
		`"tools":[{"type":"function","name":"bash"}]`: "",
		`"Output":[]`:                    "letter case",
		`"name":"bash","arguments":"{}"`: "looks like a call",
	} {
		_, err := decodeText(strings.Replace(done, "%", fields, 1), nil)
		if (refused == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), refused)) {
			t.Errorf("%.60s: error %v, want %q", fields, err, refused)
		}
	}
}

func TestPending(t *testing.T) {
	for fields, want := range map[string]bool{
		`"status":"completed"`: false, `"status":"incomplete"`: false, `"status":"queued"`: true, `"status":"cancelled"`: true,
		`"status":"completed","error":{}`: true, `"status":"completed","error":null`: false,
	} {
		e, err := decodeText(`{"type":"response.completed","response":{`+fields+`}}`, nil)
		if err != nil || e.response.pending() != want {
			t.Errorf("%s: pending is %t, %v", fields, !want, err)
		}
	}
}
