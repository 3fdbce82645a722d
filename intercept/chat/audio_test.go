package chat

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/tidwall/gjson"
)

const audioAsked = `{"model":"m","stream":true,"modalities":["text","audio"],"audio":{"audio":"alloy","format":"pcm16"},"messages":[{"role":"user","content":"hi"}]}`

// speaks renders the sound of a model as OpenAI streams it.
func speaks(id, words string) string {
	first, rest, _ := strings.Cut(words, " ")
	return event(`{"audio":{"id":"`+id+`","transcript":"`+first+`"}}`, "null") + event(`{"audio":{"data":"AAAA"}}`, "null") +
		event(`{"audio":{"transcript":" `+rest+`"}}`, "null") + event(`{"audio":{"data":"BBBB"}}`, "null") + event(`{"audio":{"expires_at":9}}`, "null")
}

var spoken = role + speaks("audio_1", "Let me look.") + opening(0, "a", "x", "{}") + finish + usage + done

// Sound passes at once and unchanged, after a held call too.
func TestSoundIsNotHeld(t *testing.T) {
	for _, n := range blocks {
		p := newPlayer(t, audioAsked, n, intercept.Limits{})
		if err := p.Feed(role + opening(0, "a", "x", "{}") + speaks("audio_1", "Let me look.") + done); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(role+speaks("audio_1", "Let me look."), p.Got.String()); d != "" {
			t.Fatalf("(-want +got):\n%s", d)
		}
		if got := p.Answer.Text(); got != "Let me look." {
			t.Errorf("the words are %q", got)
		}
	}
}

// It is not remembered either: only its words are.
func TestSoundIsNotRemembered(t *testing.T) {
	p := newPlayer(t, audioAsked, 1<<20, intercept.Limits{MaxBytes: 4000})
	sound := event(`{"audio":{"data":"`+strings.Repeat("A", 1000)+`"}}`, "null")
	if err := p.Feed(role + event(`{"audio":{"id":"audio_1","transcript":"x"}}`, "null") + strings.Repeat(sound, 20)); err != nil {
		t.Error(err)
	}
}

// The history refers to sound by its id.
func TestSoundInTheContinuation(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"streamed", spoken, `"content":null,"audio":{"id":"audio_1"}`},
		{"whole", wholeOf(`{"role":"assistant","content":null,"audio":{"id":"audio_1","data":"AAAA","expires_at":9,"transcript":"Let me look."},"tool_calls":[` + fn(`"id":"a"`, "x", "{}") + `]}`), `"content":null,"audio":{"id":"audio_1"}`},
		{"with text", role + speech + speaks("audio_1", "Let me.") + opening(0, "a", "x", "{}") + finish + done, `"content":"Let me look.","audio":{"id":"audio_1"}`},
		{"without an id", role + event(`{"audio":{"id":"","transcript":"Let "}}`, "null") + event(`{"audio":{"data":"AAAA","transcript":"me."}}`, "null") + opening(0, "a", "x", "{}") + finish + done, `"content":"Let me."`},
	} {
		last := finalWord
		if tt.name == "whole" {
			last = wholeFinal
		}
		p := play(t, audioAsked, bodies(tt.body, last), []byte{6}, intercept.Limits{}, intercepttest.DenyAll)
		if p.Err != nil {
			t.Fatalf("%s: %v", tt.name, p.Err)
		}
		want := `{"role":"assistant",` + tt.want + `,"tool_calls":[` + fn(`"id":"a"`, "x", "{}") + `]}`
		next := gjson.Parse(p.Nexts[0])
		if d := cmp.Diff(want, next.Get("messages.1").Raw); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
		if next.Get("modalities").Raw != `["text","audio"]` || next.Get("audio.audio").Str != "alloy" {
			t.Errorf("%s: asks for %s", tt.name, p.Nexts[0])
		}
	}
}

// One message has one sound: that of the continuation belongs to the one that
// the agent has begun to hear. Upstream gets each turn's own.
func TestSoundContinues(t *testing.T) {
	second := strings.ReplaceAll(role+speaks("audio_2", "Very well.")+event("{}", "stop")+usage+done, `"c1"`, `"c2"`)
	p := play(t, audioAsked, bodies(spoken, second), nil, intercept.Limits{}, intercepttest.DenyAll)
	want := role + speaks("audio_1", "Let me look.") + event(`{"audio":{"transcript":"Very"}}`, "null") + event(`{"audio":{"data":"AAAA"}}`, "null") +
		event(`{"audio":{"transcript":" well."}}`, "null") + event(`{"audio":{"data":"BBBB"}}`, "null") + event("{}", "stop") + usageOf(2) + done
	if d := cmp.Diff(want, string(p.Out())); d != "" {
		t.Fatalf("(-want +got):\n%s", d)
	}
	turn := `"tool_calls":[` + fn(`"id":"a"`, "x", "{}") + `]},` + toolResult("a", "No.") + `,`
	for _, tt := range []struct{ name, echo, turn, last string }{
		{"by its id", `"content":null,"audio":{"id":"audio_1"}`, `"content":null,"audio":{"id":"audio_1"}`, `"content":null,"audio":{"id":"audio_2"}`},
		{"by its id alone", `"audio":{"id":"audio_1"}`, `"content":null,"audio":{"id":"audio_1"}`, `"audio":{"id":"audio_2"}`},
		// The id of a sound expires: an agent that continues in words is not made to use it.
		{"by its words", `"content":"Let me look.Very well."`, `"content":"Let me look."`, `"content":"Very well."`},
	} {
		r, err := parseRequest(asked(`{"messages":[{"role":"user","content":"hi"},{"role":"assistant",` + tt.echo + `}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if n := r.Splice(p.Hidden); n != 1 {
			t.Errorf("%s: %d spliced", tt.name, n)
			continue
		}
		want := `[{"role":"user","content":"hi"},{"role":"assistant",` + tt.turn + "," + turn + `{"role":"assistant",` + tt.last + `}]`
		if d := cmp.Diff(want, string(r.Field("messages"))); d != "" {
			t.Errorf("%s: spliced (-want +got):\n%s", tt.name, d)
		}
	}
}

// A last turn without sound refers to none.
func TestSoundThenText(t *testing.T) {
	p := play(t, audioAsked, bodies(spoken, finalWord), nil, intercept.Limits{}, intercepttest.DenyAll)
	if got := spliceLast(t, p, `{"role":"assistant","content":"Very well.","audio":{"id":"audio_1"}}`); got != `{"role":"assistant","content":"Very well."}` {
		t.Errorf("spliced %s", got)
	}
}

// A whole answer has one sound, that of its last turn; the words of the one
// before are not lost.
func TestSoundOfAWholeAnswerContinues(t *testing.T) {
	sound := func(id, words string) string {
		return `{"id":"` + id + `","data":"AAAA","expires_at":9,"transcript":"` + words + `"}`
	}
	first := wholeOf(`{"role":"assistant","content":null,"audio":` + sound("audio_1", "Let me look.") + `,"tool_calls":[` + fn(`"id":"a"`, "x", "{}") + `]}`)
	second := whole(`{"role":"assistant","content":null,"audio":`+sound("audio_2", "Very well.")+`}`, "stop")
	p := play(t, audioAsked, bodies(first, second), nil, intercept.Limits{}, intercepttest.DenyAll)
	if got, want := gjson.GetBytes(p.Out(), "choices.0.message").Raw, `{"role":"assistant","content":"Let me look.","audio":`+sound("audio_2", "Very well.")+`}`; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := spliceLast(t, p, `{"role":"assistant","content":"Let me look.","audio":{"id":"audio_2"}}`); got != `{"role":"assistant","content":null,"audio":{"id":"audio_2"}}` {
		t.Errorf("spliced %s", got)
	}
}
