package messages

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// play drives an answer to request1.
func play(t testing.TB, bodies [][]byte, sizes []byte, limits intercept.Limits, rule intercepttest.Ruler) *intercepttest.Played {
	t.Helper()
	return intercepttest.Play(t, asking(t, request1), bodies, sizes, limits, rule)
}

func bodies(list ...string) (b [][]byte) {
	for _, s := range list {
		b = append(b, []byte(s))
	}
	return b
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
	t.Helper()
	p := play(t, [][]byte{first, second, first}, sizes, intercept.Limits{}, intercepttest.DenyAll)
	if found := leak(p.Out()); found != "" {
		t.Fatalf("a denied call reached the agent: %q\nin %q", found, p.Out())
	}
	for _, next := range p.Nexts {
		checkConversation(t, next)
	}
}

// FuzzAllowAll: an answer whose calls are all released has them in canonical form, or the agent gets
// an error. No client ends with another call than was judged. Without calls it is the upstream's bytes.
func FuzzAllowAll(f *testing.F) {
	for _, s := range hostile {
		f.Add([]byte(s), []byte{6, 200})
		f.Add([]byte(s), []byte{})
	}
	f.Fuzz(func(t *testing.T, body, sizes []byte) { checkReleased(t, body, sizes) })
}

func checkReleased(t *testing.T, body, sizes []byte) {
	t.Helper()
	p := play(t, [][]byte{body}, sizes, intercept.Limits{}, intercepttest.ReleaseAll)
	if found := leak(p.Before); found != "" {
		t.Fatalf("a call reached the agent before its ruling: %q", found)
	}
	if bytes.Contains(body, []byte(`rror`)) { // an error inside voids the held parts
		return
	}
	checkEarly(t, body, sizes)
	if p.Err != nil {
		return
	}
	got := p.Out()
	checkClients(t, body, got, judged(p, false))
	if edited := play(t, [][]byte{body}, sizes, intercept.Limits{}, intercepttest.EditAll); edited.Err == nil {
		checkClients(t, body, edited.Out(), judged(edited, true))
	}
	if bytes.Equal(got, body) || len(p.Calls[0]) > 0 || renumbered(body) {
		return
	}
	t.Fatalf("not what upstream sent (-want +got):\n%s", cmp.Diff(string(body), string(got)))
}

// checkEarly: of calls that leave before the end of the answer the agent gets the same bytes as at its end.
func checkEarly(t *testing.T, body, sizes []byte) {
	t.Helper()
	bodies := [][]byte{body, []byte(finalWord)}
	for _, rule := range []intercepttest.Ruler{intercepttest.ReleaseAll, intercepttest.ReleaseFirst} {
		late := play(t, bodies, sizes, intercept.Limits{}, rule)
		early := intercepttest.PlayEarly(t, asking(t, request1), bodies, sizes, intercept.Limits{}, rule)
		if !intercepttest.CheckEarly(t, late, early) {
			continue
		}
		if d := cmp.Diff(string(late.Out()), string(early.Out())); d != "" {
			t.Fatalf("an agent gets something else (-late +early):\n%s\nof %s", d, body)
		}
	}
}

// renumbered reports whether the blocks of a stream are numbered so that clients
// disagree, or its message starts twice: then the agent gets them with other numbers.
func renumbered(stream []byte) bool {
	starts, next, odd := 0, int64(0), false
	for _, part := range intercepttest.Parts(stream) {
		p, _ := intercepttest.Parse(part)
		for _, data := range p.Payloads {
			e := gjson.ParseBytes(data)
			name := e.Get("type").Str
			if names := p.Names; name == "" && len(names) > 0 {
				name = names[0]
			}
			switch name {
			case "message_start":
				starts++
				odd = odd || next > 0
				next = e.Get("message.content.#").Int()
			case "content_block_start":
				odd = odd || e.Get("index").Int() != next
				next++
			}
		}
	}
	return starts > 1 || odd
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
	one := play(t, [][]byte{body}, nil, limits, intercepttest.Mixed)
	cut := play(t, [][]byte{body}, sizes, limits, intercepttest.Mixed)
	intercepttest.CheckSame(t, one, cut)
}

// FuzzQuiet: a whole answer without a word that only calls have is read as if each part of it
// was searched for a call.
func FuzzQuiet(f *testing.F) {
	for _, block := range []string{
		`{"type":"text","text":"call","citations":[{"type":"x","input_tokens":1}]}`, `{"type":"thinking","thinking":"hm","signature":"s"}`, aCall,
		`{"type":"search_result","source":"s","content":[{"name":"a"}]}`, `{"type":"later","data":{"name":"a"}}`, `{"type":"text","name":"a","parameters":0}`,
	} {
		f.Add(whole(block, "end_turn"))
		f.Add(`{"type":"error","error":{"type":"overloaded_error"},"content":[` + block + `]}`)
		f.Add(`{"Content":[` + block + `],"name":"a"}`)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if strictjson.Strict([]byte(body)) != nil || strictjson.NamesCall(body) {
			return
		}
		got, gotErr := decodeMessage(body, true)
		want, wantErr := decodeMessage(body, false)
		if fmt.Sprint(gotErr) != fmt.Sprint(wantErr) || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: got %+v, %v; want %+v, %v", body, got, gotErr, want, wantErr)
		}
	})
}

// FuzzSplice: hidden turns go into any history the same way each time, and
// nothing but the messages changes.
func FuzzSplice(f *testing.F) {
	echo := `{"role":"user","content":"hi"},{"role":"assistant","content":"Let me look.\n\nVery well."},{"role":"user","content":"next"}`
	calls := `{"role":"user","content":"hi"}, {"role":"assistant","content":[{"type":"text","text":"Let me look."},{"type":"tool_use","id":"toolu_a","name":"bash","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_a"}]}`
	for _, s := range []string{listed, two, whole(aCall, "tool_use")} {
		for kind := range byte(4) {
			f.Add([]byte(s), []byte(`{"model":"m","messages":[`+echo+`],"x":1}`), []byte(`{"before":"","text":"hi"}`), kind)
			f.Add([]byte(s), []byte(` {"messages" : [ `+calls+` ] } `), []byte(`{"calls":[{"id":"toolu_a","name":"bash","note":"n"}],"pieces":[{"raw":"x"},{"key":"tool_use","before":true}]}`), kind)
		}
	}
	f.Fuzz(func(t *testing.T, answer, body, hostileRecord []byte, kind byte) {
		rule := []intercepttest.Ruler{intercepttest.Mixed, intercepttest.DenyAll, intercepttest.From(1, intercepttest.Mixed), intercepttest.From(2, intercepttest.Mixed)}[kind%4]
		p := play(t, [][]byte{answer, []byte(finalWord)}, nil, intercept.Limits{}, rule)
		checkSpliced(t, body, append([][]byte{hostileRecord}, p.Hidden...))
	})
}

func checkSpliced(t *testing.T, body []byte, records [][]byte) {
	t.Helper()
	var results []string
	for range 2 {
		r, err := parseRequest(intercept.Envelope{Body: body})
		if err != nil {
			return
		}
		at, _ := r.At("messages")
		n := r.Splice(records)
		spliced := r.Envelope().Body
		if err := strictjson.Strict(spliced); err != nil {
			t.Fatalf("spliced into broken JSON: %v: %s", err, spliced)
		}
		if n == 0 && !bytes.Equal(spliced, body) {
			t.Fatalf("changed without splicing: %s", spliced)
		}
		if before, after := body[:at.Start], body[at.End:]; !bytes.HasPrefix(spliced, before) || !bytes.HasSuffix(spliced, after) {
			t.Fatalf("bytes outside messages changed: %s", spliced)
		}
		results = append(results, string(spliced))
	}
	if results[0] != results[1] {
		t.Fatalf("two splices of the same differ:\n%s\n%s", results[0], results[1])
	}
}
