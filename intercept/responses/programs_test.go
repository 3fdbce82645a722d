package responses

import (
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/tidwall/gjson"
)

const (
	itsCode   = `{"type":"program","id":"prg_1","call_id":"call_p","code":"const rows = await tools.bash({cmd: \"ls\"});","fingerprint":"f","status":"completed"}`
	byProgram = `"caller":{"type":"program","caller_id":"call_p"},`
)

// programmed is a call that a program makes.
func programmed(call, caller string) string {
	return strings.Replace(call, `"type":`, caller+`"type":`, 1)
}

// TestDenialOfAProgram: W10. The program reads a denial as JSON, not as the value of its function, and reviewers see its code;
// a call of the model itself, and an answer to a question, stay as they are.
func TestDenialOfAProgram(t *testing.T) {
	const code = `const rows = await tools.bash({cmd: "ls"});`
	call := function("a", "bash", ls)
	withProgram := `{"model":"m","input":[{"role":"user","content":"hi"},` + itsCode + `],"tools":[{"type":"function","name":"bash","parameters":{"type":"object"},"output_schema":{"type":"object"}}]}`
	plain := strings.Replace(withProgram, itsCode, `{"role":"user","content":"x"}`, 1)
	for name, tt := range map[string]struct{ request, answer, code string }{
		"in the answer":  {plain, stream("resp_1", itsCode, programmed(call, byProgram)), code},
		"whole":          {plain, whole("resp_1", itsCode, programmed(call, byProgram)), code},
		"in the history": {withProgram, stream("resp_1", programmed(call, byProgram)), code},
		"not known":      {plain, stream("resp_1", programmed(call, byProgram)), ""},
	} {
		p := newPlayer(t, asked(tt.request), 99, intercept.Limits{})
		p.Turn(tt.answer, func(_ int, c intercept.Call) intercept.Ruling {
			if !slices.Contains(c.Flags, intercept.FlagProgram(tt.code)) {
				t.Errorf("%s: the flags are %q", name, c.Flags)
			}
			return intercept.Ruling{ModelMessage: "No."}
		})
		output := gjson.GetBytes(p.Last.Next.Body, `input.#(type=="function_call_output")`)
		if output.Get("output").Str != `{"error":"No."}` || output.Get("caller.caller_id").Str != "call_p" {
			t.Errorf("%s: the program reads %s", name, output.Raw)
		}
	}
	for name, tt := range map[string]struct {
		call  string
		rule  intercept.Ruling
		wants string
	}{
		"of the model":  {programmed(call, `"caller":{"type":"direct"},`), intercept.Ruling{ModelMessage: "No."}, "No."},
		"of nobody":     {call, intercept.Ruling{ModelMessage: "No."}, "No."},
		"of a question": {programmed(call, byProgram), intercept.Ruling{Action: intercept.Answered, ModelMessage: `{"answer":"yes"}`}, `{"answer":"yes"}`},
	} {
		p := newPlayer(t, asked(plain), 99, intercept.Limits{})
		p.Turn(stream("resp_1", tt.call), func(_ int, c intercept.Call) intercept.Ruling {
			if name != "of a question" && len(c.Flags) > 0 {
				t.Errorf("%s: the flags are %q", name, c.Flags)
			}
			return tt.rule
		})
		if got := gjson.GetBytes(p.Last.Next.Body, `input.#(type=="function_call_output").output`).Str; got != tt.wants {
			t.Errorf("%s: the model reads %s", name, got)
		}
	}
}

// TestEndsThatAreNotTheModels: W14. A call at the end of a response has the reason for which that is incomplete.
func TestEndsThatAreNotTheModels(t *testing.T) {
	cut := strings.Replace(function("a", "bash", ls), `"status":"completed"`, `"status":"incomplete"`, 1)
	incomplete := func(answer, reason string) string {
		answer = strings.ReplaceAll(answer, "response.completed", "response.incomplete")
		return strings.ReplaceAll(answer, `"error":null`, `"error":null,"incomplete_details":`+reason)
	}
	refusal := `{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"refusal","refusal":"I cannot."}]}`
	for name, tt := range map[string]struct{ call, reason, want string }{
		"its length":             {cut, `{"reason":"max_output_tokens"}`, intercept.AmbiguousCut},
		"a content filter":       {cut, `{"reason":"content_filter"}`, intercept.AmbiguousFiltered},
		"no reason":              {cut, `null`, intercept.AmbiguousCut},
		"a reason of tomorrow":   {cut, `{"reason":"other"}`, intercept.AmbiguousCut},
		"a filter, after a call": {function("a", "bash", ls), `{"reason":"content_filter"}`, intercept.AmbiguousFiltered},
		"the model's own":        {function("a", "bash", ls), `null`, ""},
	} {
		for form, answer := range map[string]string{"streamed": stream("resp_1", tt.call), "whole": whole("resp_1", tt.call)} {
			p := newPlayer(t, asked(request1), 99, intercept.Limits{})
			if err := p.Feed(incomplete(answer, tt.reason)); err != nil {
				t.Fatal(err)
			}
			c := p.Answer.Calls()[0]
			if tt.want != "" && !slices.Contains(c.Ambiguous, tt.want) || (tt.want == "" && len(c.Ambiguous) > 0) {
				t.Errorf("%s, %s: %q", name, form, c.Ambiguous)
			}
		}
	}
	p := play(t, asked(request1), [][]byte{[]byte(whole("resp_1", refusal, cut))}, nil, intercept.Limits{}, intercepttest.ReleaseAll)
	if got := p.Calls[0][0].Ambiguous; !slices.Contains(got, intercept.AmbiguousRefused) {
		t.Errorf("after a refusal: %q", got)
	}
}
