package wire

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept/strictjson"
)

func decodeText(payload string, names []string) (*Event, error) {
	return Decode(strictjson.Unabridged([]byte(payload)), names, true)
}

func TestDecode(t *testing.T) {
	const item = `{"type":"function_call","id":"fc_1","call_id":"c1","name":"bash","arguments":"{}"}`
	for _, tt := range []struct {
		payload string
		name    string
		kind    kind
		refused string // part of the error
	}{
		{`{"type":"response.created","response":{"id":"r1"}}`, "response.created", KindBegin, ""},
		{`{"type":"response.in_progress","response":{"id":"r1"}}`, "", KindState, ""},
		{`{"type":"response.completed","response":{"id":"r1"}}`, "message", KindEnd, ""},
		{`{"type":"response.incomplete","response":{"id":"r1"}}`, "error", KindEnd, ""},
		{`{"type":"response.cancelled","response":{"id":"r1"}}`, "", KindFailed, ""},
		{`{"type":"error","message":"call the operator"}`, "", KindError, ""},
		{`{"type":"response.output_item.added","item":` + item + `}`, "", KindAdded, ""},
		{`{"type":"response.output_item.done","item":` + item + `}`, "", KindDone, ""},
		{`{"type":"response.function_call_arguments.delta","delta":""}`, "", KindInput, ""},
		{`{"type":"response.output_text.delta","delta":"x"}`, "", KindBeside, ""},
		{`{"type":"response.rate_limits","limits":[1]}`, "", kindOther, ""},
		{`{"id":"r1"}`, "", kindOther, ""},
		{`{"response":{"id":"r1"}}`, "response.created", KindBegin, ""},

		{`[{"type":"response.created"}]`, "", kindOther, ""},
		{`[{"type":"function_call"}]`, "", kindOther, "of a call"},
		{`{"type":"response.output_text.delta","delta":"x"}`, "response.completed", KindBeside, "contradicts"},
		{`{"type":"response.completed"}`, "", KindEnd, "ends a response has none"},
		{`{"type":"response.failed","response":null}`, "", KindFailed, "ends a response has none"},
		{`{"type":"response.output_item.done"}`, "", KindDone, "output item has none"},
		{`{"type":"response.function_call_arguments.done"}`, "", KindInput, "input of a call has none"},
		{`{"type":"response.function_call_arguments.done","arguments":7}`, "", KindInput, "not a string"},
		{`{"type":"response.output_text.done","name":"bash","arguments":"{}"}`, "", KindBeside, "call of another API"},
		{`{"type":"response.brand_new_call.done"}`, "", kindOther, "name of a call"},
		{`{"type":"content_block_start"}`, "", kindOther, "name of a call"},
		{`{"type":"response.created","Response":{}}`, "", KindBegin, "letter case"},
		{`{"type":"response.created","sequence_number":-1}`, "", KindBegin, "not a whole number"},
		{`{"type":"response.output_text.delta","output_index":1.5}`, "", KindBeside, "not a whole number"},
		{`{"type":"response.shell_call_command.delta","command_index":"0","delta":"x"}`, "", KindInput, "not a whole number"},
		{`{"type":7}`, "", kindOther, "not a string"},
	} {
		e, err := decodeText(tt.payload, []string{tt.name})
		switch {
		case e.Kind != tt.kind:
			t.Errorf("%s: kind %d, want %d", tt.payload, e.Kind, tt.kind)
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
	if e.Number != 7 || e.Index != 2 || e.ItemID != "sh_1" || e.Text != "ls" || e.Input.Path != "commands.3" || e.Size() != len("ls") {
		t.Errorf("got %+v", e)
	}
	for i, want := range []string{"7", `"ls"`, `"x"`} {
		if e.Slots[i].Raw != want {
			t.Errorf("slot %d is %s, want %s", i, e.Slots[i].Raw, want)
		}
	}
	if e, err = decodeText(`{"type":"response.output_text.done"}`, nil); err != nil || e.Number != -1 || e.Index != -1 || e.Size() != len(`{"type":"response.output_text.done"}`) {
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
		`"output":[` + strings.Repeat(`{"type":"message"},`, MaxItems) + `{"type":"message"}]`: "too many output items",
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
		if err != nil || e.Response.Pending() != want {
			t.Errorf("%s: pending is %t, %v", fields, !want, err)
		}
	}
}
