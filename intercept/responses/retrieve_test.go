package responses

import (
	"net/http"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/tidwall/gjson"
)

// got is a GET of a response.
func got(id, query string) intercept.Envelope {
	return intercept.Envelope{Method: http.MethodGet, Path: rootPath + "/" + id, Query: query}
}

// asksOnce is a model that calls two tools for "begin", and none after that.
var asksOnce = []fakemodel.Rule{
	{When: fakemodel.UserSays("begin"), Say: fakemodel.Say(fakemodel.Answer{Parts: []fakemodel.Part{thought, said, calls("bash", ls), calls("read", "{}")}})},
	{When: func(c fakemodel.Conversation) bool { return c.Last().Role == "tool" }, Say: fakemodel.Say(fakemodel.Answer{Text: "Very well."})},
}

func TestAFetchedResponseIsTheOneThatWasGiven(t *testing.T) {
	for name, rule := range map[string]intercepttest.Ruler{"allowed": release, "denied": deny, "mixed": denying("read")} {
		for _, fields := range []string{`"stream":true`, `"stream":false`, `"background":true,"stream":true`} {
			d := newDialogue(t, rule, asksOnce...)
			first := final(t, d.send(asked(`{"model":"m","input":[{"role":"user","content":"begin"}],`+fields+`}`)))
			n := len(d.asked)
			for _, query := range []string{"", "stream=true", "", "stream=true&starting_after=0"} {
				out := d.send(got(first.Get("id").Str, query))
				if strings.HasPrefix(query, "stream=true&") {
					if strings.Contains(out, "response.created") || !strings.Contains(out[:strings.Index(out, "\n\n")], `"sequence_number":1`) {
						t.Errorf("%s %s: after event 0 comes %.200s", name, fields, out)
					}
					continue
				}
				again := final(t, out)
				for _, path := range []string{"id", "usage", "output.#", "output.#.type", "output.#.call_id", "output.#.arguments"} {
					if one, other := first.Get(path).Raw, again.Get(path).Raw; gjson.Get(one, "@ugly").Raw != gjson.Get(other, "@ugly").Raw {
						t.Errorf("%s %s %q: %s is %s, and was %s", name, fields, query, path, other, one)
					}
				}
			}
			if len(d.asked) != n {
				t.Errorf("%s %s: people were asked again, about %+v", name, fields, d.asked[n:])
			}
		}
	}
}

func TestAPolledResponseIsHeldWhenItIsDone(t *testing.T) {
	d := newDialogue(t, deny, asksOnce...)
	out := d.send(asked(`{"model":"m","input":[{"role":"user","content":"begin"}],"background":true}`))
	id := gjson.Get(out, "id").Str
	for _, status := range []string{"in_progress", "completed", "completed"} {
		out = d.send(got(id, ""))
		for status == "completed" && gjson.Get(out, "status").Str != "completed" { // the continuation is polled too
			out = d.send(got(id, ""))
		}
		if gjson.Get(out, "status").Str != status || gjson.Get(out, "id").Str != id || strings.Contains(out, "bash\",") {
			t.Fatalf("%s: %s", status, out)
		}
	}
	if gjson.Get(out, `output.#(type=="function_call")`).Exists() || !strings.Contains(out, "Very well.") || len(d.asked) != 2 {
		t.Fatalf("asked %d times; in the end %s", len(d.asked), out)
	}
}

func TestCancelled(t *testing.T) {
	d := newDialogue(t, deny, asksOnce...)
	id := gjson.Get(d.send(asked(`{"model":"m","input":[{"role":"user","content":"begin"}],"background":true}`)), "id").Str
	out := d.send(intercept.Envelope{Method: http.MethodPost, Path: rootPath + "/" + id + cancelPath})
	if gjson.Get(out, "status").Str != "cancelled" || gjson.Get(out, "id").Str != id || len(d.asked) != 0 {
		t.Fatalf("%s", out)
	}
	body := strings.Replace(whole("resp_1", function("a", "bash", ls)), `"completed","error"`, `"cancelled","error"`, 1)
	p := newPlayer(t, intercept.Envelope{Method: http.MethodPost, Path: rootPath + "/resp_1" + cancelPath}, 9, intercept.Limits{})
	if p.Turn(body, deny); (strings.Contains(p.Got.String(), "bash\",") && strings.Contains(p.Got.String(), ls)) || len(p.Answer.Calls()) != 0 {
		t.Fatalf("a call of a cancelled response: %s", p.Got.String())
	}
}

// TestCancelledInItsContinuation: upstream cancels the part at work, which is the
// answer that the agent knows and does not go on from itself.
func TestCancelledInItsContinuation(t *testing.T) {
	d := newDialogue(t, deny, asksOnce...)
	id := gjson.Get(d.send(asked(`{"model":"m","input":[{"role":"user","content":"begin"}],"background":true}`)), "id").Str
	for range 4 {
		d.send(got(id, ""))
	}
	out := d.send(intercept.Envelope{Method: http.MethodPost, Path: rootPath + "/" + id + cancelPath})
	if len(d.asked) != 2 || gjson.Get(out, "id").Str != id || gjson.Get(out, "previous_response_id").Raw != "null" {
		t.Fatalf("asked %d times; in the end %s", len(d.asked), out)
	}
}

// A request for the length of a history with hidden calls has their outputs: upstream
// refuses to count a history with open calls.
func TestACountedHistoryIsComplete(t *testing.T) {
	d := newDialogue(t, denying("read"), asksOnce...)
	first := final(t, d.send(asked(`{"model":"m","input":[{"role":"user","content":"begin"}]}`)))
	output := `{"type":"function_call_output","call_id":` + first.Get(`output.#(type=="function_call").call_id`).Raw + `,"output":"x"}`
	out := d.send(intercept.Envelope{Method: http.MethodPost, Path: rootPath + countPath, Body: []byte(`{"model":"m","previous_response_id":` + first.Get("id").Raw + `,"input":[` + output + `]}`)})
	if gjson.Get(out, "input_tokens").Int() == 0 {
		t.Fatalf("%s", out)
	}
}

func TestACompactedHistoryHasNothingHidden(t *testing.T) {
	d := newDialogue(t, denying("read"), asksOnce...)
	first := final(t, d.send(asked(`{"model":"m","store":false,"include":["reasoning.encrypted_content"],"input":[{"role":"user","content":"begin"}]}`)))
	said := []string{`{"type":"message","role":"user","content":"begin"}`}
	for _, item := range first.Get("output").Array() {
		said = append(said, item.Raw)
	}
	said = append(said, `{"type":"function_call_output","call_id":`+first.Get(`output.#(type=="function_call").call_id`).Raw+`,"output":"x"}`)
	e := intercept.Envelope{Method: http.MethodPost, Path: rootPath + compactPath, Body: []byte(`{"model":"m","input":[` + strings.Join(said, ",") + `]}`)}
	var records [][]byte
	for _, raw := range d.kept[session] {
		records = append(records, raw)
	}
	p := newPlayer(t, e, 9, intercept.Limits{}, records...)
	shown := p.Request.Envelope().Body
	if !strings.Contains(string(shown), `"read"`) {
		t.Fatalf("the model is not shown what was denied: %s", shown)
	}
	body := `{"id":"resp_c","object":"response.compaction","output":` + gjson.GetBytes(shown, "input").Raw + `}`
	if p.Turn(body, deny); strings.Contains(p.Got.String(), `"read"`) || !strings.Contains(p.Got.String(), `"bash"`) || len(p.Answer.Calls()) != 0 {
		t.Fatalf("asked of %+v; compacted: %s", p.Answer.Calls(), p.Got.String())
	}
}

func TestStoreOfTheRequestTakesPrecedence(t *testing.T) {
	e := asked(strings.Replace(request1, `"model"`, `"store":false,"model"`, 1))
	p := newPlayer(t, e, 99, intercept.Limits{})
	p.Turn(listed, deny) // it has "store":true
	if next := string(p.Last.Next.Body); strings.Contains(next, "previous_response_id") || !strings.Contains(next, "rs_1") {
		t.Errorf("continued by %s", next)
	}
}

func TestARequestAfterAnUnchangedAnswerIsUnchanged(t *testing.T) {
	p := newPlayer(t, asked(request1), 99, intercept.Limits{})
	p.Turn(listed, release)
	r, err := parseRequest(asked(`{"input":"And now?", "previous_response_id":"resp_1"}`))
	if err != nil {
		t.Fatal(err)
	}
	before := string(r.Envelope().Body)
	if n := r.Splice([][]byte{p.Last.AnswerRecord}); n != 0 || string(r.Envelope().Body) != before {
		t.Errorf("%d spliced: %s", n, r.Envelope().Body)
	}
}

// A second request for an answer whose continuation did not reach the agent brings no
// approval again.
func TestAFetchedApprovalIsGivenOnce(t *testing.T) {
	body := whole("resp_1", approval)
	p := newPlayer(t, got("resp_1", ""), 1<<20, intercept.Limits{})
	p.Turn(body, release)
	if sent := string(p.Last.Next.Body); !strings.Contains(sent, `"approve":true`) {
		t.Fatalf("it is not approved: %s", sent)
	}
	again := newPlayer(t, got("resp_1", ""), 1<<20, intercept.Limits{}, p.Last.Hidden...)
	again.Turn(body, func(_ int, c intercept.Call) intercept.Ruling {
		t.Errorf("people are asked about %s again", c.Name)
		return intercept.Ruling{}
	})
	if sent := string(again.Last.Next.Body); !strings.Contains(sent, `"approve":false`) || !strings.Contains(sent, "once already") {
		t.Errorf("it is approved again: %s", sent)
	}
}
