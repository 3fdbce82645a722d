package chat

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/internal/testing/cost"
	"github.com/tidwall/gjson"
)

// A breached bound refuses the answer, and an answer at the bound is read.
func TestBounds(t *testing.T) {
	stream := func(n int, event func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(event(i))
		}
		return b.String()
	}
	call := func(i int) string { return opening(i, fmt.Sprint("id", i), "x", "{}") }
	choice := func(i int) string { return of(i, `{"content":"a"}`, "null") }
	entry := func(i int) string {
		return fmt.Sprintf(`{"id":"id%d","type":"function","function":{"name":"x","arguments":"{}"}},`, i)
	}
	long := event(`{"content":"`+strings.Repeat("a", 100)+`"}`, "null")
	for _, tt := range []struct {
		name    string
		body    string
		refused string // in the reason, "" for an answer that is read
	}{
		{"the most choices", stream(maxChoices, choice) + done, ""},
		{"more choices", stream(maxChoices+1, choice) + done, "more than 128 choices"},
		{"one call less than the bound", role + stream(maxCalls-1, call) + end, ""},
		{"more calls", role + stream(maxCalls+1, call) + end, "more than 512 calls"},
		{"more parts of calls in an event", role + event(`{"tool_calls":[`+strings.TrimSuffix(strings.Repeat(`{"index":0},`, 1025), ",")+`]}`, "null"), "too many calls"},
		{"more calls of all choices", stream(maxAllCalls+1, func(i int) string {
			return of(i%8, fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":"id%d","type":"function","function":{"name":"x","arguments":"{}"}}]}`, i/8, i), "null")
		}), "more than 2048 calls"},
		{"more calls of all choices of a whole answer", `{"choices":[` + strings.TrimSuffix(strings.Repeat(`{"message":{"tool_calls":[`+strings.TrimSuffix(stream(maxCalls, entry), ",")+`]}},`, 5), ",") + `]}`, "more than 2048 calls"},
		{"the most calls of a whole answer", whole(`{"role":"assistant","tool_calls":[`+strings.TrimSuffix(stream(maxCalls, entry), ",")+`]}`, "tool_calls"), ""},
		{"more calls of a whole answer", whole(`{"role":"assistant","tool_calls":[`+strings.TrimSuffix(stream(maxCalls+1, entry), ",")+`]}`, "tool_calls"), "more than 512 calls"},
	} {
		p := play(t, request1, bodies(tt.body), nil, intercept.Limits{}, intercepttest.ReleaseAll)
		checkRefused(t, tt.name, p.Err, tt.refused)
	}
	for name, body := range map[string]string{
		"text":      role + stream(20, func(int) string { return long }) + done,
		"arguments": role + opening(0, "a", "x", `{"a":"`) + stream(20, func(int) string { return more(0, strings.Repeat("a", 100)) }) + more(0, `"}`) + end,
	} {
		for limit, refused := range map[int]string{1 << 20: "", 1000: "larger than"} {
			p := play(t, request1, bodies(body), nil, intercept.Limits{MaxBytes: limit}, intercepttest.ReleaseAll)
			checkRefused(t, fmt.Sprint(name, " with a limit of ", limit), p.Err, refused)
		}
	}
}

// All that is kept of calls counts.
func TestCallsAreBounded(t *testing.T) {
	long := strings.Repeat("a", 1000)
	for name, entry := range map[string]string{
		"id":              `"id":"%d` + long + `","function":{"name":"x","arguments":"{}"}`,
		"name":            `"id":"%d","function":{"name":"x` + long + `","arguments":"{}"}`,
		"signature":       `"id":"%d","signature":"` + long + `","function":{"name":"x","arguments":"{}"}`,
		"inner signature": `"id":"%d","function":{"name":"x","signature":"` + long + `","arguments":"{}"}`,
	} {
		for n, refused := range map[int]string{5: "", 20: "larger than"} {
			p := newPlayer(t, request1, 1<<20, intercept.Limits{MaxBytes: 10_000})
			p.Answer.Begin()
			_, err := p.Answer.Write([]byte(role))
			for i := 0; i < n && err == nil; i++ {
				_, err = p.Answer.Write([]byte(event(fmt.Sprintf(`{"tool_calls":[{"index":%d,"type":"function",`+entry+`}]}`, i, i), "null")))
			}
			checkRefused(t, fmt.Sprintf("%d calls with a long %s", n, name), err, refused)
		}
	}
}

// All that is kept of a message counts: names of its fields, and the memory of short items.
func TestMessageIsBounded(t *testing.T) {
	long := strings.Repeat("a", 1000)
	for name, delta := range map[string]string{
		"fields with long names": `{"reasoning_%d` + long + `":"a"}`,
		"values with long names": `{"reasoning_%d` + long + `":1}`,
		"short items":            `{"reasoning_details":[%d` + strings.Repeat(",1", 15) + `]}`,
		"short parts":            `{"content":[%d` + strings.Repeat(",1", 15) + `]}`,
		"items with many fields": `{"reasoning_details":[{"f%d":1` + strings.Repeat(`},{"f":1`, 15) + `}]}`,
	} {
		for n, refused := range map[int]string{5: "", 20: "larger than"} {
			p := newPlayer(t, request1, 1<<20, intercept.Limits{MaxBytes: 20_000})
			p.Answer.Begin()
			_, err := p.Answer.Write([]byte(role))
			for i := 0; i < n && err == nil; i++ {
				_, err = p.Answer.Write([]byte(event(fmt.Sprintf(delta, i), "null")))
			}
			checkRefused(t, fmt.Sprintf("%d events with %s", n, name), err, refused)
		}
	}
}

// An item of a list may have any number of fields, and the pieces that extend it find them: beyond a few by a map.
func TestManyFieldsOfAnItem(t *testing.T) {
	for _, n := range []int{manyFields - 2, manyFields - 1, manyFields, 1000} { // type, text and new are besides
		var fields strings.Builder
		for i := range n {
			fmt.Fprintf(&fields, `,"f%d":"a"`, i)
		}
		last := fmt.Sprintf(`"f%d":`, n-1)
		var items []item
		for _, piece := range []string{fields.String(), `,"f7":"b"`, "," + last + `"c"`, "," + last + `"d","new":1`, `,"new":2`} {
			items, _ = mergeItems(items, gjson.Parse(`[{"type":"text","text":"a"`+piece+`}]`))
		}
		changed := strings.NewReplacer(`"f7":"a"`, `"f7":"b"`, last+`"a"`, last+`"d"`).Replace(fields.String())
		if got, want := joinItems(items), `[{"type":"text","text":"aaaaa"`+changed+`,"new":2}]`; got != want {
			t.Errorf("%d fields: got %d bytes, want %d", n, len(got), len(want))
		}
		want := 0
		if n+3 > manyFields {
			want = n + 3
		}
		if got := len(items[0].places); got != want {
			t.Errorf("%d fields: a map has %d of them, want %d", n, got, want)
		}
	}
}

// To look for a quotation in an event after an error costs a reading of the request, where
// something is hidden: only so many events may follow.
func TestErrorsAreBounded(t *testing.T) {
	fault := "data: {\"error\":{\"message\":\"x\"}}\n\n"
	for name, body := range map[string]string{
		"events": role + strings.Repeat(fault, 1000),
		"lines":  role + strings.Repeat(fault[:len(fault)-1], 1000) + "\n",
	} {
		for hidden, refused := range map[bool]string{true: "more than 100 events after an error", false: ""} {
			compared := 0
			p := newPlayer(t, request1, 1<<20, intercept.Limits{Quotes: func() func([]byte) bool {
				if !hidden {
					return nil
				}
				return func([]byte) bool { compared++; return false }
			}})
			p.Answer.Begin()
			_, err := p.Answer.Write([]byte(body))
			if checkRefused(t, name, err, refused); compared > 100 {
				t.Errorf("%s: the request was read %d times", name, compared)
			}
		}
	}
}

// A short field of a long event does not keep the event in memory.
func TestFieldsDoNotKeepTheirEvents(t *testing.T) {
	p := newPlayer(t, request1, 1<<20, intercept.Limits{MaxBytes: 2 << 20})
	p.Answer.Begin()
	long := strings.Repeat("a", 1<<20)
	before := cost.InUse()
	for i := range 40 {
		delta := fmt.Sprintf(`{"content":"a","unknown":"%s","reasoning_%d":"a","audio":{"id":"a"}}`, long, i)
		if _, err := p.Answer.Write([]byte(of(i, delta, "null"))); err != nil {
			t.Fatal(err)
		}
	}
	if grown := cost.InUse() - before; grown > 16<<20 {
		t.Errorf("40 events of 1 MiB with short fields keep %d bytes", grown)
	}
	runtime.KeepAlive(p)
}

// What a fragment repeats is not kept again, and does not count.
func TestKeptOfAFragment(t *testing.T) {
	var r assembler
	f := &fragment{hasIndex: true, id: "id", name: "name", args: "{}", own: []string{`"a":1`}, inner: []string{`"b":22`}}
	for i, want := range []int{2 + 4 + 2 + 5 + 6, 2} {
		if _, _, kept := r.take(f); kept != want {
			t.Errorf("fragment %d: %d bytes, want %d", i, kept, want)
		}
	}
}

func checkRefused(t *testing.T, name string, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || (err != nil && !strings.Contains(err.Error(), want)) {
		t.Errorf("%s: error %v, want %q", name, err, want)
	}
}

// After a denial the agent gets nothing of a body that has no answer, or an error.
func TestContinuationWithoutAnAnswer(t *testing.T) {
	wholeCall := whole(callList(fn(`"id":"a"`, "x", "{}")), "tool_calls")
	for _, tt := range []struct{ name, first, second, refused string }{
		{"an empty stream", listed, done, "after a denial it is empty"},
		{"an error in a whole answer", wholeCall, `{"error":{"message":"m"}}`, "after a denial it reports an error"},
		{"an error beside a call", strings.Replace(wholeCall, "{", `{"error":{"message":"m"},`, 1), "", "an error and a call at once"},
	} {
		p := play(t, request1, bodies(tt.first, tt.second), nil, intercept.Limits{}, intercepttest.DenyAll)
		checkRefused(t, tt.name, p.Err, tt.refused)
	}
}

// A whole answer whose content is an array gets the notice as a part of its own.
func TestNoticeAfterContentParts(t *testing.T) {
	body := whole(`{"role":"assistant","content":[{"type":"text","text":"Look."}],"tool_calls":[`+fn(`"id":"a"`, "x", "{}")+`]}`, "tool_calls")
	p := play(t, request1, bodies(body), nil, intercept.Limits{MaxContinuations: 1}, func(int, intercept.Call) intercept.Ruling {
		return intercept.Ruling{ModelMessage: "No.", UserMessage: "Ask later."}
	})
	want := whole(`{"role":"assistant","content":[{"type":"text","text":"Look."},{"type":"text","text":"\n\nAsk later."}]}`, "stop")
	if got := string(p.Out()); p.Err != nil || got != want {
		t.Errorf("error %v\ngot  %s\nwant %s", p.Err, got, want)
	}
}

// The error body of an upstream is safe unless it could be an answer with calls.
func TestSafeError(t *testing.T) {
	const call = `{"message":{"tool_calls":[{"id":"a","type":"function","function":{"name":"x","arguments":"{}"}}]}}`
	for body, want := range map[string]bool{
		``:                        true,
		`upstream is down`:        true,
		`<html>tool_calls</html>`: true,
		`{"error":{"message":"tool_calls is not an array"}}`:              true,
		`{"error":{"message":"choices are missing"},"tool_calls":"none"}`: false,
		`{"choices":[` + call + `]}`:                                      false,
		`{"choices":[` + call + `]} x`:                                    false,
		`{"choices":[` + call + `,"x"]}`:                                  false,
		`{"ch\u006fices":[` + call + `]} x`:                               false,
	} {
		if got := (Dialect{}).SafeError([]byte(body)); got != want {
			t.Errorf("%s: %t", body, got)
		}
	}
}

// An answer whose calls are longer than the limit is refused at the event that passes it, not at its end. Text does
// not count.
func TestLongCallsAreRefusedAtOnce(t *testing.T) {
	const limit, piece = 10_000, 100
	for name, tt := range map[string]struct {
		event   string
		refused bool
	}{
		"arguments":                      {event: more(0, strings.Repeat("a", piece)), refused: true},
		"arguments in forms that differ": {event: more(0, strings.Repeat("a", piece/2)) + event(`{"tool_calls":[{"function":{"arguments":"`+strings.Repeat("b", piece/2)+`"},"index":0}]}`, "null"), refused: true},
		"text":                           {event: event(`{"content":"`+strings.Repeat("a", piece)+`"}`, "null")},
	} {
		r, err := Dialect{}.Request(intercept.Envelope{Method: "POST", Path: "/v1/chat/completions", Body: []byte(request1)})
		if err != nil {
			t.Fatal(err)
		}
		a := intercept.NewAnswer(r, intercept.Limits{MaxCalls: limit})
		a.Begin()
		read := func(text string) error {
			_, err := a.Write([]byte(text))
			return err
		}
		if err := read(role + opening(0, "a", "x", `{"a":"`)); err != nil {
			t.Fatal(err)
		}
		events := 0
		var refused error
		for ; refused == nil && events < 3*limit/piece; events++ {
			refused = read(tt.event)
		}
		if (refused != nil) != tt.refused || (tt.refused && events > limit/piece+1) {
			t.Errorf("%s: %d events are read, %v", name, events, refused)
		}
	}
}
