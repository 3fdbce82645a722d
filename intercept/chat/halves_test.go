package chat

import (
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// cut writes < for the first half of 😀 and > for the second.
var cut = strings.NewReplacer("<", `\ud83d`, ">", `\ude00`)

// cutCall is an answer with one call, of which opening is the first event.
func cutCall(opening, piece string, pieces ...string) string {
	out := role + opening
	for _, p := range pieces {
		out += event(strings.Replace(piece, "*", p, 1), "null")
	}
	return cut.Replace(out + finish + done)
}

const (
	functionPiece = `{"tool_calls":[{"index":0,"function":{"arguments":"*"}}]}`
	customPiece   = `{"tool_calls":[{"index":0,"custom":{"input":"*"}}]}`
	legacyPiece   = `{"function_call":{"arguments":"*"}}`
)

var (
	functionOpening = opening(0, "call_a", "bash", "")
	customOpening   = event(`{"tool_calls":[{"index":0,"id":"call_a","type":"custom","custom":{"name":"bash","input":""}}]}`, "null")
	legacyOpening   = event(`{"function_call":{"name":"bash","arguments":""}}`, "null")
)

// Finding 19: halves of a character in two fragments are one character in the arguments
// that are judged and released.
func TestHalvesInArguments(t *testing.T) {
	object := func(text string) string { return `{"x":"` + text + `"}` }
	for _, tt := range []struct {
		name, opening, piece string
		pieces               []string
		want                 string
		doubt                bool
	}{
		{"one pair", functionOpening, functionPiece, []string{`{\"x\":\"A<`, `>B\"}`}, object("A😀B"), false},
		{"pairs side by side", functionOpening, functionPiece, []string{`{\"x\":\"<`, `><`, `>`, `\"}`}, object("😀😀"), false},
		{"nothing between", functionOpening, functionPiece, []string{`{\"x\":\"<`, ``, `>\"}`}, object("😀"), false},
		{"first half alone", functionOpening, functionPiece, []string{`{\"x\":\"A<`, `B\"}`}, object("A\uFFFDB"), true},
		{"second half alone", functionOpening, functionPiece, []string{`{\"x\":\"A`, `>B\"}`}, object("A\uFFFDB"), true},
		{"wrong order", functionOpening, functionPiece, []string{`{\"x\":\">`, `<\"}`}, object("\uFFFD"), true},
		{"custom", customOpening, customPiece, []string{`A<`, `>B`}, "A😀B", false},
		{"custom, alone", customOpening, customPiece, []string{`A<`, `B`}, "A\uFFFDB", true},
		{"legacy", legacyOpening, legacyPiece, []string{`{\"x\":\"A<`, `>B\"}`}, object("A😀B"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := cutCall(tt.opening, tt.piece, tt.pieces...)
			want := role + strings.Replace(tt.opening, `"function":{"name":"bash","arguments":""`, `"function":{"name":"bash","arguments":`+strictjson.Quote(tt.want), 1) + finish + done
			want = strings.Replace(want, `"name":"bash","input":""`, `"name":"bash","input":`+strictjson.Quote(tt.want), 1)
			want = strings.Replace(want, `"function_call":{"name":"bash","arguments":""`, `"function_call":{"name":"bash","arguments":`+strictjson.Quote(tt.want), 1)
			for _, sizes := range [][]byte{nil, {6, 200}} {
				p := play(t, request1, bodies(body), sizes, intercept.Limits{}, intercepttest.ReleaseAll)
				if p.Err != nil || len(p.Calls[0]) != 1 {
					t.Fatalf("error %v, calls %+v", p.Err, p.Calls)
				}
				c := p.Calls[0][0]
				if c.Arguments != tt.want || slices.Contains(c.Ambiguous, intercept.AmbiguousHalf) != tt.doubt || len(c.Ambiguous) > 1 {
					t.Errorf("judged: %+v", c)
				}
				if got := string(p.Out()); got != want {
					t.Errorf("released\n%s\nwant\n%s", got, want)
				}
			}
		})
	}
}

// Finding 19: halves elsewhere, and what else is no strict JSON, are not understood.
func TestHalvesThatAreRefused(t *testing.T) {
	piece := event(strings.Replace(functionPiece, "*", "<", 1), "null")
	for _, change := range [][2]string{
		{`"arguments":"<"`, `"arguments":"<","name":"ba<sh"`},
		{`"arguments":"<"`, `"arguments":"<","x<":1`},
		{`"arguments":"<"`, `"arguments":"<","x":"<"`},
		{`"arguments":"<"`, `"arguments":{"x":"<"}`},
		{`"arguments":"<"`, `"arguments":["<"]`},
		{`"arguments":"<"`, `"arguments":"<","arguments":"x"`},
		{`"arguments":"<"`, "\"arguments\":\"<\xff\""},
		{`"index":0,"function"`, `"index":0,"id":"call_<","function"`},
		{`"index":0,"function"`, `"index":0,"type":"<","function"`},
		{`"index":0,"function":{`, `"index":0,"function":"<","custom":{`},
		{`"id":"c1"`, `"id":"<"`},
		{`"model":"m1"`, `"model":"<"`},
		{`"tool_calls":[`, `"tool_calls":["<",`},
		{`"tool_calls":[`, `"tool_calls":[["<"],`},
		{`"delta"`, `"message"`},
	} {
		body := role + functionOpening + cut.Replace(replaced(t, piece, change[0], change[1])) + more(0, "{}") + finish + done
		if p := play(t, request1, bodies(body), nil, intercept.Limits{}, intercepttest.ReleaseAll); p.Err == nil || strings.Contains(string(p.Out()), "bash") {
			t.Errorf("%s: %s", change[1], p.Out())
		}
	}
}

// Finding 19: halves in the text beside a call stay in the text.
func TestHalvesBesideACall(t *testing.T) {
	said := cut.Replace(event(`{"content":"<","tool_calls":[{"index":0,"function":{"arguments":"{\"x\":\"<"}}]}`, "null") +
		event(`{"content":">","tool_calls":[{"index":0,"function":{"arguments":">\"}"}}]}`, "null"))
	p := play(t, request1, bodies(role+functionOpening+said+finish+done), nil, intercept.Limits{}, intercepttest.ReleaseAll)
	if out := string(p.Out()); p.Err != nil || !strings.Contains(out, `"content":"\ud83d"`) || !strings.Contains(out, `"content":"\ude00"`) || !strings.Contains(out, "😀") {
		t.Errorf("error %v, the agent got %s", p.Err, out)
	}
}
