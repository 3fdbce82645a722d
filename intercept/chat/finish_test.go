package chat

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
)

// Finding W10: gateways give a finish reason early, or in every event. A choice ends with the last reason before the end of
// the stream.

// texted renders an event of text with a finish reason.
func texted(text, finish string) string { return event(`{"content":"`+text+`"}`, finish) }

// calling is an event of a whole call with a finish reason.
func calling(id, name, finish string) string {
	return event(`{"tool_calls":[`+fn(`"index":0,"id":"`+id+`"`, name, "{}")+`]}`, finish)
}

// earlyReasons are answers with one call of bash, and what the agent has of them before the ruling.
var earlyReasons = map[string]struct{ body, before string }{
	"stop before the call":                {role + texted("Look.", "null") + event("{}", "stop") + calling("a", "bash", "null") + finish + usage + done, role + texted("Look.", "null")},
	"stop before the call, none after it": {role + texted("Look.", "null") + event("{}", "stop") + calling("a", "bash", "null") + usage + done, role + texted("Look.", "null")},
	"stop and usage before the call":      {role + texted("Look.", "null") + event("{}", "stop") + usage + calling("a", "bash", "null") + done, role + texted("Look.", "null")},
	"stop in every event": {
		event(`{"role":"assistant","content":""}`, "stop") + texted("Look", "stop") + texted(".", "stop") + calling("a", "bash", "stop") + event("{}", "stop") + done,
		event(`{"role":"assistant","content":""}`, "stop") + texted("Look", "stop") + texted(".", "stop"),
	},
	"tool_calls in every event, reasoning": {
		event(`{"role":"assistant","content":""}`, "tool_calls") + event(`{"reasoning_content":"Hm"}`, "tool_calls") + event(`{"reasoning_content":"."}`, "tool_calls") + texted("Look.", "tool_calls") + calling("a", "bash", "tool_calls") + done,
		role + event(`{"reasoning_content":"Hm"}`, "null") + event(`{"reasoning_content":"."}`, "null") + texted("Look.", "null"),
	},
	"text after the call too": {
		texted("Lo", "stop") + calling("a", "bash", "stop") + texted("ok", "stop") + texted(".", "stop") + event("{}", "stop") + done,
		texted("Lo", "stop") + texted("ok", "null") + texted(".", "null"),
	},
	"tool_calls before the call":      {role + texted("Look.", "null") + finish + calling("a", "bash", "null") + done, role + texted("Look.", "null")},
	"tool_calls in every event":       {role + texted("Look", "tool_calls") + texted(".", "tool_calls") + calling("a", "bash", "tool_calls") + done, role + texted("Look", "null") + texted(".", "null")},
	"empty reasons":                   {role + strings.ReplaceAll(texted("Look.", "null")+calling("a", "bash", "null"), `"finish_reason":null`, `"finish_reason":""`) + event("{}", "stop") + done, role + strings.ReplaceAll(texted("Look.", "null"), `"finish_reason":null`, `"finish_reason":""`)},
	"the reason of another choice":    {role + texted("Look.", "null") + of(1, "{}", "stop") + calling("a", "bash", "null") + of(1, "{}", "tool_calls") + done, role + texted("Look.", "null")},
	"a reason in another choice only": {role + texted("Look.", "null") + calling("a", "bash", "null") + of(1, "{}", "tool_calls") + usage + done, role + texted("Look.", "null")},
}

// foldLast reads an answer as the clients of such gateways do: by the last reason of a choice.
func foldLast(out string) (*message, error) {
	for _, index := range []string{"0", "1"} {
		reason := regexp.MustCompile(`("index":` + index + `,"delta":\{[^\n]*\},"finish_reason":)"\w+"`)
		places := reason.FindAllStringSubmatchIndex(out, -1)
		for _, place := range slices.Backward(places[:max(len(places)-1, 0)]) {
			out = out[:place[3]] + "null" + out[place[1]:]
		}
		if n := len(places); n > 0 { // at the end of the stream
			last := reason.FindString(out)
			out = strings.Replace(out, last, last[:strings.LastIndexByte(last, ':')+1]+"null", 1)
			out = strings.TrimSuffix(out, done) + of(map[string]int{"1": 1}[index], "{}", last[strings.LastIndexByte(last, ':')+2:len(last)-1]) + done
		}
	}
	return foldStrict(out)
}

// TestEarlyReason: text passes at once, nothing of the call does; released, the agent has all; denied, an answer with one choice continues,
// and the text of the continuation passes at once in the same form.
func TestEarlyReason(t *testing.T) {
	for name, tt := range earlyReasons {
		t.Run(name, func(t *testing.T) {
			for _, n := range blocks {
				p := newPlayer(t, request1, n, intercept.Limits{})
				if err := p.Feed(tt.body); err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(tt.before, p.Got.String()); d != "" {
					t.Errorf("before the ruling (-want +got):\n%s", d)
				}
				p = newPlayer(t, request1, n, intercept.Limits{})
				p.Turn(tt.body, release)
				m, err := foldLast(p.Got.String())
				if err != nil || m.choices[0].content != "Look." || len(m.choices[0].calls) != 1 || p.Last.Next != nil {
					t.Errorf("released: %v in %s", err, p.Got.String())
				}
				p = newPlayer(t, request1, n, intercept.Limits{})
				p.Turn(tt.body, deny)
				if p.Last.Next == nil && strings.Contains(name, "another choice") {
					if m, err := foldLast(p.Got.String()); err != nil || m.choices[0].content != "Look.\n\n"+closed || m.choices[0].finish != "stop" || len(m.choices[0].calls) > 0 {
						t.Errorf("denied: %v in %s", err, p.Got.String())
					}
					continue
				}
				if p.Last.Next == nil || strings.Contains(p.Got.String(), "bash") {
					t.Fatalf("denied, the answer does not continue: %s", p.Got.String())
				}
				before := p.Got.Len()
				words := strings.ReplaceAll(texted("Well", "stop")+texted(" done.", "stop"), `"c1"`, `"c2"`)
				if err := p.Feed(words); err != nil {
					t.Fatal(err)
				}
				if got := p.Got.String()[before:]; !strings.Contains(got, "Well") || !strings.Contains(got, " done.") {
					t.Errorf("text of the continuation is delayed: %s", got)
				}
			}
			if strings.Contains(name, "another choice") {
				return
			}
			end := strings.ReplaceAll(texted("Well", "stop")+texted(" done.", "stop")+event("{}", "stop")+usage+done, `"c1"`, `"c2"`)
			p := play(t, request1, bodies(tt.body, end), nil, intercept.Limits{}, intercepttest.DenyAll)
			out := string(p.Out())
			m, err := foldLast(out)
			if err != nil || m.choices[0].content != "Look.\n\nWell done." || m.choices[0].finish != "stop" || len(m.choices[0].calls) > 0 || len(p.Nexts) != 1 {
				t.Errorf("denied: %v in %s", err, out)
			}
			if continued := out[strings.Index(out, "Well"):]; strings.Count(continued, `"finish_reason":"stop"`) != 1 || strings.Count(out, done) != 1 {
				t.Errorf("the answer ends more than once: %s", out)
			}
		})
	}
}

// TestEarlyReasonEnds: a notice ends a choice that has an early reason, once.
func TestEarlyReasonEnds(t *testing.T) {
	for name, tt := range earlyReasons {
		for ruling, r := range map[string]intercept.Ruling{
			"aborted":   {Action: intercept.Abort, ModelMessage: "The end."},
			"too often": {ModelMessage: "No.", UserMessage: "The end."},
		} {
			p := play(t, request1, bodies(tt.body), nil, intercept.Limits{}, func(int, intercept.Call) intercept.Ruling { return r })
			m, err := foldLast(string(p.Out()))
			if err != nil || m.choices[0].content != "Look.\n\nThe end." || m.choices[0].finish != "stop" || len(m.choices[0].calls) > 0 {
				t.Errorf("%s, %s: %v in %s", name, ruling, err, p.Out())
			}
		}
	}
}

// TestEarlyReasonsOfTwoChoices: each choice that was denied continues.
func TestEarlyReasonsOfTwoChoices(t *testing.T) {
	body := text0 + of(0, "{}", "stop") + text1 + of(1, "{}", "stop") + calling("a", "x", "null") + call1 + usage + done
	p := play(t, twoAsked, bodies(body), nil, intercept.Limits{}, byName("x", "y"))
	m, err := foldLast(string(p.Out()))
	if err != nil || m.choices[0].content != "One.\n\n"+closed || m.choices[1].content != "Two.\n\n"+closed {
		t.Errorf("%v in %s", err, p.Out())
	}
	p = play(t, twoAsked, bodies(body), nil, intercept.Limits{}, byName("x"))
	m, err = foldLast(string(p.Out()))
	if err != nil || m.choices[0].content != "One.\n\n"+closed || len(m.choices[1].calls) != 1 {
		t.Errorf("one denied: %v in %s", err, p.Out())
	}
}

// TestCutAfterAnEarlyReason: a reason before a call does not prove that the call is whole where the connection breaks.
func TestCutAfterAnEarlyReason(t *testing.T) {
	for body, cut := range map[string]bool{
		role + event("{}", "stop") + calling("a", "bash", "null"):                        true,
		role + event("{}", "stop") + calling("a", "bash", "null") + finish:               false,
		event(`{"role":"assistant"}`, "stop") + calling("a", "bash", "stop"):             false,
		role + event("{}", "stop") + calling("a", "bash", "null") + done:                 false,
		role + event("{}", "stop") + calling("a", "bash", "stop") + more(0, `"x"`):       true,
		event("{}", "stop") + calling("a", "bash", "null") + of(1, "{}", "stop") + usage: true,
	} {
		for _, framed := range []bool{true, false} {
			a := newPlayer(t, request1, 1, intercept.Limits{}).Answer
			a.Begin()
			_, err := a.Write([]byte(body))
			if err == nil {
				_, err = a.End(framed)
			}
			if failed := err != nil; failed != (cut && !framed) {
				t.Errorf("framed %v: %v for %s", framed, err, body)
			}
		}
	}
}
