package responses

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
)

func TestSplitQuery(t *testing.T) {
	for query, want := range map[string]string{
		"":                                   "",
		"stream=true&include_obfuscation=no": "",
		"api-version=2026-01-01&stream=true": "api-version=2026-01-01",
		"include[]=a&include%5B%5D=b%2Ec&include=%zz&x=%20": `x=%20 "a" "b.c"`,
		"&&x": "x",
	} {
		rest, include := splitQuery(query)
		if got := strings.TrimSpace(rest + " " + strings.Join(include, " ")); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}

// A denied call of a response that was fetched is continued by a new request, with the
// fields that the response repeats.
func TestContinuationOfAFetchedResponse(t *testing.T) {
	body := strings.Replace(whole("resp_1", function("a", "bash", ls)), `"parallel_tool_calls":true`, `"parallel_tool_calls":true,"temperature":1,"top_p":0.5,"reasoning":{"effort":"low","summary":null}`, 1)
	p := newPlayer(t, got("resp_1", "include[]=reasoning.encrypted_content&api-version=1"), 1<<20, intercept.Limits{})
	p.Turn(body, deny)
	next := p.Last.Next
	if next == nil || next.Method != "POST" || next.Path != "/responses" || next.Query != "api-version=1" {
		t.Fatalf("continued by %+v", next)
	}
	for path, want := range map[string]string{
		"model": `"m1"`, "previous_response_id": `"resp_1"`, "temperature": "", "top_p": "0.5", "reasoning": `{"effort":"low"}`,
		"include": `["reasoning.encrypted_content"]`, "input.0.type": `"function_call_output"`, "stream": "",
	} {
		if raw := gjson.GetBytes(next.Body, path).Raw; raw != want {
			t.Errorf("%s is %s, want %s", path, raw, want)
		}
	}
}

func TestFailure(t *testing.T) {
	for _, created := range []string{"7", "0"} { // 0 where upstream has none
		body := stream("resp_1", speech, function("a", "bash", ls))
		if created == "0" {
			body = strings.ReplaceAll(body, `"created_at":7,`, "")
		}
		p := newPlayer(t, asked(request1), 1<<20, intercept.Limits{})
		if err := p.Feed(body); err != nil {
			t.Fatal(err)
		}
		out := string(p.Answer.Fail(&intercept.Error{Code: intercept.CodeBadRequest, Reason: "x"}))
		at := strings.LastIndex(out, "data: ")
		if at < 0 {
			t.Fatalf("got %s", out)
		}
		r := gjson.Get(out[at+len("data: "):], "response")
		if r.Get("id").Str != "resp_1" || r.Get("created_at").Raw != created || r.Get("output.#").Int() != 1 || r.Get("output.0.id").Str != "msg_1" || strings.Contains(out, "bash") {
			t.Errorf("the failed response is %s", r.Raw)
		}
	}
}

// Where the continuation of an answer fails before its first byte, the failed response lists each item once.
func TestFailureBetweenBodies(t *testing.T) {
	p := newPlayer(t, asked(request1), 1<<20, intercept.Limits{})
	p.Turn(stream("resp_1", speech, function("a", "bash", ls)), deny)
	if p.Last.Next == nil {
		t.Fatal("not continued")
	}
	out := string(p.Answer.Fail(intercept.Cut()))
	failed := gjson.Parse(out[strings.LastIndex(out, "data: ")+len("data: "):])
	if n := failed.Get("response.output.#").Int(); n != 1 {
		t.Errorf("%d items: %s", n, failed)
	}
}
