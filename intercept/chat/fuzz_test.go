package chat

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/intercept/sse"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// play drives an answer to a request.
func play(t testing.TB, request string, bodies [][]byte, sizes []byte, limits intercept.Limits, rule intercepttest.Ruler) *intercepttest.Played {
	t.Helper()
	r, err := Dialect{}.Request(asked(request))
	if err != nil {
		t.Fatal(err)
	}
	return intercepttest.Play(t, r, bodies, sizes, limits, rule)
}

// FuzzDenyAll: whatever upstream sends and however it is cut, nothing that any
// client would take for a call reaches the agent when every call is denied.
func FuzzDenyAll(f *testing.F) {
	for _, s := range hostile {
		f.Add([]byte(s), []byte(listed), []byte{6, 200})
		f.Add([]byte(listed), []byte(s), []byte{})
	}
	f.Fuzz(func(t *testing.T, first, second, sizes []byte) { checkDenied(t, first, second, sizes) })
}

func checkDenied(t *testing.T, first, second, sizes []byte) {
	p := play(t, request1, [][]byte{first, second, first}, sizes, intercept.Limits{}, intercepttest.DenyAll)
	if found := leak(p.Out()); found != "" {
		t.Fatalf("a denied call reached the agent: %q\nin %q", found, p.Out())
	}
	for _, next := range p.Nexts {
		if err := strictjson.Strict([]byte(next)); err != nil {
			t.Fatalf("the request to the model is broken JSON: %v: %s", err, next)
		}
		checkAnswered(t, next)
	}
}

// checkAnswered: each call of an assistant message has its result in the tool
// messages right after it, and there is no other.
func checkAnswered(t *testing.T, body string) {
	t.Helper()
	messages := gjson.Get(body, "messages").Array()
	var want []string
	for _, m := range messages {
		if m.Get("role").Str == "tool" {
			at := slices.Index(want, m.Get("tool_call_id").Str)
			if at < 0 {
				t.Fatalf("a result without its call: %s", body)
			}
			want = slices.Delete(want, at, at+1)
			continue
		}
		if len(want) > 0 {
			t.Fatalf("call %s has no result after it: %s", want[0], body)
		}
		for _, c := range m.Get("tool_calls").Array() {
			want = append(want, c.Get("id").Str)
		}
	}
	if len(want) > 0 {
		t.Fatalf("call %s has no result after it: %s", want[0], body)
	}
}

// FuzzAllowAll: an answer whose calls are all released has them in canonical form, or the agent gets
// an error. Readers that skip what they do not know find the same calls in it. Without calls it is
// the upstream's bytes.
func FuzzAllowAll(f *testing.F) {
	for _, s := range hostile {
		f.Add([]byte(s), []byte{6, 200})
		f.Add([]byte(s), []byte{})
	}
	f.Fuzz(func(t *testing.T, body, sizes []byte) { checkReleased(t, body, sizes) })
}

func checkReleased(t *testing.T, body, sizes []byte) {
	p := play(t, request1, [][]byte{body}, sizes, intercept.Limits{}, intercepttest.ReleaseAll)
	if found := leak(p.Before); found != "" {
		t.Fatalf("a call reached the agent before its ruling: %q", found)
	}
	if bytes.Contains(body, []byte(`error`)) { // an error inside voids the held parts
		return
	}
	checkEarly(t, body, sizes)
	if p.Err != nil {
		return
	}
	got := p.Out()
	if d := cmp.Diff(shown(p.Calls[0]), readUniform(got)); d != "" {
		t.Fatalf("a reader that skips what it does not know finds other calls than were shown (-want +got):\n%s\nin %s\nof %s", d, got, body)
	}
	if bytes.Equal(got, body) || len(p.Calls[0]) > 0 {
		return
	}
	// Text for the user overtakes the held parts. Everything else keeps its order,
	// and nothing is lost or added.
	gotText, gotRest := overtaking(got)
	wantText, wantRest := overtaking(body)
	if d := cmp.Diff(wantRest, gotRest); d != "" {
		t.Fatalf("not what upstream sent (-want +got):\n%s", d)
	}
	if d := cmp.Diff(wantText, gotText); d != "" {
		t.Fatalf("text is not what upstream sent (-want +got):\n%s", d)
	}
}

// checkEarly: calls that leave before the end of the answer are read as those that leave at its end, and no other call is read.
func checkEarly(t *testing.T, body, sizes []byte) {
	t.Helper()
	r, err := Dialect{}.Request(asked(request1))
	if err != nil {
		t.Fatal(err)
	}
	bodies := [][]byte{body, []byte(finalWord)}
	for _, rule := range []intercepttest.Ruler{intercepttest.ReleaseAll, intercepttest.ReleaseFirst} {
		late, early := play(t, request1, bodies, sizes, intercept.Limits{}, rule), intercepttest.PlayEarly(t, r, bodies, sizes, intercept.Limits{}, rule)
		if !intercepttest.CheckEarly(t, late, early) {
			continue
		}
		if d := cmp.Diff(readUniform(late.Out()), readUniform(early.Out())); d != "" {
			t.Fatalf("an agent reads other calls (-late +early):\n%s\nin %s\nof %s", d, early.Out(), body)
		}
	}
}

// overtaking splits a stream into the parts that may overtake held ones - each
// of their payloads has text in every choice, or is the first that there is of
// it, and neither call nor end - and the others. The first keep their order in
// each choice; those that speak for several choices, or for one twice, are
// counted together.
func overtaking(stream []byte) (text map[string][]string, rest []string) {
	text = make(map[string][]string)
	bound := make(map[int64]bool)
	var s sse.Splitter
	s.Write(stream)
	for {
		part, ok, _ := s.Next()
		if !ok {
			part = s.Rest()
		}
		if len(part) == 0 {
			return text, rest
		}
		key, choices := wordsOnly(part, bound)
		if key != "" {
			text[key] = append(text[key], string(part))
			continue
		}
		for _, index := range choices {
			bound[index] = true
		}
		rest = append(rest, string(part))
	}
}

func wordsOnly(part []byte, bound map[int64]bool) (key string, indexes []int64) {
	list, _ := intercepttest.Payloads(part)
	words := len(list) > 0
	for _, data := range list {
		choices := gjson.GetBytes(data, "choices").Array()
		words = words && len(choices) > 0
		for i, c := range choices {
			index := int64(i)
			if n := c.Get("index"); n.Type == gjson.Number {
				index = n.Int()
			}
			indexes = append(indexes, index)
			said := c.Get("delta.content").String()+c.Get("delta.refusal").String()+c.Get("message.content").String()+c.Get("message.refusal").String() != ""
			for _, sound := range []gjson.Result{c.Get("delta.audio"), c.Get("message.audio")} {
				said = said || (sound.Type != gjson.Null && sound.String() != "")
			}
			words = words && (said || !bound[index]) && c.Get("finish_reason").String() == "" && !strings.Contains(c.Raw, "call")
		}
	}
	switch {
	case !words:
		return "", indexes
	case len(indexes) > 1:
		return "several", nil
	}
	return fmt.Sprint("choice ", indexes[0]), nil
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
	limits := intercept.Limits{MaxBytes: max(limit, 64)}
	one := play(t, request1, [][]byte{body}, nil, limits, intercepttest.Mixed)
	cut := play(t, request1, [][]byte{body}, sizes, limits, intercepttest.Mixed)
	intercepttest.CheckSame(t, one, cut)
}

// FuzzSplice: hidden turns go into any history the same way each time, and
// nothing but the messages changes.
func FuzzSplice(f *testing.F) {
	echo := `{"role":"user","content":"hi"},{"role":"assistant","content":"Let me look.\n\nVery well."},{"role":"user","content":"next"}`
	calls := `{"role":"user","content":"hi"}, {"role":"assistant","content":null,"tool_calls":[{"id":"call_a","type":"function","function":{"name":"bash","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_a","content":[]}`
	for _, s := range []string{listed, two, legacyStream} {
		for kind := range byte(4) {
			f.Add([]byte(s), []byte(`{"model":"m","messages":[`+echo+`],"x":1}`), []byte(`{"before":"","text":"hi"}`), kind)
			f.Add([]byte(s), []byte(` {"messages" : [ `+calls+` ] } `), []byte(`{"calls":[{"id":"call_a","name":"bash","note":"n"}],"last_calls":[{"seen":-1},{"seen":7}]}`), kind)
		}
	}
	f.Fuzz(func(t *testing.T, answer, body, hostileRecord []byte, kind byte) {
		rule := []intercepttest.Ruler{intercepttest.Mixed, intercepttest.DenyAll, intercepttest.From(1, intercepttest.Mixed), intercepttest.From(2, intercepttest.Mixed)}[kind%4]
		p := play(t, request1, [][]byte{answer, []byte(finalWord)}, nil, intercept.Limits{}, rule)
		checkSpliced(t, body, append([][]byte{hostileRecord}, p.Hidden...))
	})
}

func checkSpliced(t *testing.T, body []byte, records [][]byte) {
	var results []string
	for range 2 {
		r, err := parseRequest(asked(string(body)))
		if err != nil {
			return
		}
		n := r.Splice(records)
		if err := strictjson.Strict(r.Envelope().Body); err != nil {
			t.Fatalf("spliced into broken JSON: %v: %s", err, r.Envelope().Body)
		}
		if n == 0 && !bytes.Equal(r.Envelope().Body, body) {
			t.Fatalf("changed without splicing: %s", r.Envelope().Body)
		}
		old, _ := parseRequest(asked(string(body)))
		at, _ := old.At("messages")
		if before, after := body[:at.Start], body[at.End:]; !bytes.HasPrefix(r.Envelope().Body, before) || !bytes.HasSuffix(r.Envelope().Body, after) {
			t.Fatalf("bytes outside messages changed: %s", r.Envelope().Body)
		}
		results = append(results, string(r.Envelope().Body))
	}
	if results[0] != results[1] {
		t.Fatalf("two splices of the same differ:\n%s\n%s", results[0], results[1])
	}
}
