package responses

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// play drives an answer to request1, or to a request for a response.
func play(t testing.TB, e intercept.Envelope, bodies [][]byte, sizes []byte, limits intercept.Limits, rule intercepttest.Ruler) *intercepttest.Played {
	t.Helper()
	r, err := Dialect{}.Request(e)
	if err != nil {
		t.Fatal(err)
	}
	return intercepttest.Play(t, r, bodies, sizes, limits, rule)
}

func bodies(list ...string) (b [][]byte) {
	for _, s := range list {
		b = append(b, []byte(s))
	}
	return b
}

// asking are the requests that answers are played for.
var asking = []intercept.Envelope{asked(request1), got("resp_1", "stream=true"), asked(strings.Replace(request1, `"model"`, `"store":false,"model"`, 1))}

// FuzzDenyAll: whatever upstream sends and however it is cut, nothing that any
// client would take for a call reaches the agent when every call is denied.
func FuzzDenyAll(f *testing.F) {
	for i, s := range hostile {
		f.Add([]byte(s), []byte(listed), []byte{6, 200}, byte(i))
		f.Add([]byte(listed), []byte(s), []byte{}, byte(i))
	}
	f.Fuzz(func(t *testing.T, first, second, sizes []byte, as byte) { checkDenied(t, first, second, sizes, as) })
}

func checkDenied(t *testing.T, first, second, sizes []byte, as byte) {
	t.Helper()
	p := play(t, asking[int(as)%len(asking)], [][]byte{first, second, first}, sizes, intercept.Limits{}, intercepttest.DenyAll)
	if found := leak(p.Out()); found != "" {
		t.Fatalf("a denied call reached the agent: %q\nin %q", found, p.Out())
	}
	for _, next := range p.Nexts {
		if err := strictjson.Strict([]byte(next)); err != nil {
			t.Fatalf("the continuation is not JSON: %v: %s", err, next)
		}
		checkAnswered(t, next)
	}
}

// checkAnswered checks that each call of an input has an output after it, and that there
// is no other output but of calls that upstream keeps.
func checkAnswered(t *testing.T, body string) {
	t.Helper()
	var open []string
	for _, item := range gjson.Get(body, "input").Array() {
		typ, id := item.Get("type").Str, item.Get("call_id").Str
		switch {
		case typ == approvalRequest:
			open = append(open, item.Get("id").Str)
		case typ == "mcp_approval_response":
			id = item.Get("approval_request_id").Str
			fallthrough
		case isOutput(typ):
			at := slices.Index(open, id)
			if at < 0 && !gjson.Get(body, "previous_response_id").Exists() {
				t.Fatalf("an output without its call: %s", body)
			}
			if at >= 0 {
				open = slices.Delete(open, at, at+1)
			}
		case id != "" && (callForms[typ] != nil || strings.HasSuffix(typ, "_call")):
			open = append(open, id)
		}
	}
	if len(open) > 0 {
		t.Fatalf("call %s has no output after it: %s", open[0], body)
	}
}

// FuzzAllowAll: an answer whose calls are all released has them in canonical form, or the agent gets
// an error. Every client reads the calls that were shown in it. Without calls it is the upstream's bytes.
func FuzzAllowAll(f *testing.F) {
	for _, s := range hostile {
		f.Add([]byte(s), []byte{6, 200})
		f.Add([]byte(s), []byte{})
	}
	f.Fuzz(func(t *testing.T, body, sizes []byte) { checkReleased(t, body, sizes) })
}

func checkReleased(t *testing.T, body, sizes []byte) {
	t.Helper()
	p := play(t, asking[0], [][]byte{body}, sizes, intercept.Limits{}, intercepttest.ReleaseAll)
	if found := leak(p.Before); found != "" {
		t.Fatalf("a call reached the agent before its ruling: %q", found)
	}
	if !settled(body) {
		checkEarly(t, body, sizes)
	}
	if p.Err == nil && !settled(body) {
		shown := slices.Concat(p.Calls...)
		if got := p.Out(); len(shown) == 0 && !bytes.Equal(got, body) {
			t.Fatalf("not what upstream sent (-want +got):\n%s", cmp.Diff(string(body), string(got)))
		}
		checkRead(t, p.Out(), shown...)
	}
}

// checkEarly: of calls that leave before the end of the answer the agent gets the same bytes as at its end.
func checkEarly(t *testing.T, body, sizes []byte) {
	t.Helper()
	for _, rule := range []intercepttest.Ruler{intercepttest.ReleaseAll, intercepttest.ReleaseFirst} {
		late := play(t, asking[0], bodies(string(body), finalWord), sizes, intercept.Limits{}, rule)
		r, err := Dialect{}.Request(asking[0])
		if err != nil {
			t.Fatal(err)
		}
		early := intercepttest.PlayEarly(t, r, bodies(string(body), finalWord), sizes, intercept.Limits{}, rule)
		if !intercepttest.CheckEarly(t, late, early) {
			continue
		}
		if d := cmp.Diff(string(late.Out()), string(early.Out())); d != "" {
			t.Fatalf("an agent gets something else (-late +early):\n%s\nof %s", d, body)
		}
	}
}

// settled reports whether something in an answer is not the agent's in any case: a
// question that heldcall answers, calls of a response that failed or is not done.
func settled(body []byte) bool {
	if o, err := decodeWhole(string(bytes.TrimLeft(body, "\ufeff \t\r\n"))); err == nil && gjson.ValidBytes(bytes.TrimPrefix(body, []byte("\ufeff"))) {
		return o.pending() || slices.ContainsFunc(o.output, func(e *entry) bool { return e.typ == approvalRequest })
	}
	for _, part := range intercepttest.Parts(body) {
		p, _ := intercepttest.Parse(part)
		for _, data := range p.Payloads {
			e, err := decodeEvent(strictjson.Unabridged(data), p.Names, true)
			if err != nil {
				continue
			}
			if e.kind == kindError || e.kind == kindFailed || (e.entry != nil && e.entry.typ == approvalRequest) {
				return true
			}
			if e.response != nil && slices.ContainsFunc(e.response.output, func(e *entry) bool { return e.typ == approvalRequest }) {
				return true
			}
		}
	}
	return false
}

// FuzzChunking: blocks make no difference.
func FuzzChunking(f *testing.F) {
	for _, s := range hostile {
		f.Add([]byte(s), []byte{0}, 300)
		f.Add([]byte(s), []byte{6, 200}, 4000)
	}
	f.Fuzz(func(t *testing.T, body, sizes []byte, limit int) { checkChunking(t, body, sizes, limit) })
}

func checkChunking(t *testing.T, body, sizes []byte, limit int) {
	t.Helper()
	limits := intercept.Limits{MaxBytes: max(limit, 64)}
	one := play(t, asking[0], [][]byte{body}, nil, limits, intercepttest.Mixed)
	cut := play(t, asking[0], [][]byte{body}, sizes, limits, intercepttest.Mixed)
	intercepttest.CheckSame(t, one, cut)
}

// FuzzSplice puts hidden turns into any history twice: the result is the same, and only
// the input and the previous response change.
func FuzzSplice(f *testing.F) {
	echo := `{"role":"user","content":"hi"},` + reasoning("rs_1") + `,{"role":"assistant","content":"Let me look.Very well."},{"role":"user","content":"next"}`
	calls := `{"role":"user","content":"hi"}, ` + function("b", "read", `{"path":"x"}`) + `,{"type":"item_reference","id":"fc_a"},{"type":"function_call_output","call_id":"call_b","output":[]}`
	for _, s := range []string{listed, two, whole("resp_1", speech, approval, function("a", "bash", ls))} {
		for kind := range byte(4) {
			f.Add([]byte(s), []byte(`{"model":"m","input":[`+echo+`],"x":1}`), []byte(`{"before":"","text":"hi"}`), kind)
			f.Add([]byte(s), []byte(` {"input" : [ `+calls+` ] } `), []byte(`{"calls":[{"id":"call_b","name":"read","note":"n"}],"rounds":[{"items":[{"raw":"x"},{"seen":true,"type":"function_call","call":"call_b"}],"outputs":["]"]}],"ran":{"call_b":"{}"}}`), kind)
			f.Add([]byte(s), []byte(`{"previous_response_id":"resp_1","input":"go on"}`), []byte(`{"response":"resp_1","chain":["resp_1","resp_9"],"missing":["{}"]}`), kind)
			f.Add([]byte(s), []byte(`{"conversation":{"id":"conv"},"input":[]}`), []byte(`{"response":"resp_1","conversation":"conv","missing":["{}"],"told":["resp_2"]}`), kind)
		}
	}
	f.Fuzz(func(t *testing.T, answer, body, hostileRecord []byte, kind byte) {
		rule := []intercepttest.Ruler{intercepttest.Mixed, intercepttest.DenyAll, intercepttest.From(1, intercepttest.Mixed), intercepttest.From(2, intercepttest.Mixed)}[kind%4]
		p := play(t, asking[0], bodies(string(answer), finalWord), nil, intercept.Limits{}, rule)
		checkSpliced(t, body, append([][]byte{hostileRecord}, p.Hidden...))
	})
}

func checkSpliced(t *testing.T, body []byte, records [][]byte) {
	t.Helper()
	var results []string
	for range 2 {
		var r intercept.ParsedRequest
		if r.Accept(requestSchema, asked(string(body))) != nil {
			return
		}
		again, _ := parseRequest(asked(string(body)))
		n := again.Splice(records)
		spliced := again.Envelope().Body
		if err := strictjson.Strict(spliced); err != nil {
			t.Fatalf("spliced into broken JSON: %v: %s", err, spliced)
		}
		if n == 0 && !bytes.Equal(spliced, body) {
			t.Fatalf("changed without splicing: %s", spliced)
		}
		for _, field := range requestSchema.Fields {
			if field != "input" && field != "previous_response_id" && !bytes.Equal(r.Field(field), again.Field(field)) {
				t.Fatalf("%s changed: %s", field, spliced)
			}
		}
		results = append(results, string(spliced))
	}
	if results[0] != results[1] {
		t.Fatalf("two splices of the same differ:\n%s\n%s", results[0], results[1])
	}
}
