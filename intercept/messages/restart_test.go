package messages

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/tidwall/gjson"
)

// A second message_start in a stream, as gateways send that try again elsewhere.

const restarting = `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":%CONTENT%},{"role":"user","content":%NEXT%}]}`

// nextBody is the body of the agent's next request as it goes upstream.
func nextBody(t *testing.T, content, next string, records [][]byte) string {
	t.Helper()
	r := asking(t, strings.NewReplacer("%CONTENT%", content, "%NEXT%", next).Replace(restarting))
	if n := r.Splice(records); n != 1 {
		t.Fatalf("%d records spliced", n)
	}
	checkConversation(t, string(r.Envelope().Body))
	return string(r.Envelope().Body)
}

// The held part of the first attempt is void: its calls need no ruling, and the second
// attempt continues the agent's message.
func TestHeldCallBeforeASecondStartIsVoid(t *testing.T) {
	body := started("msg_1") + thought(0, "first", "s1") + begun(1, "toolu_a", "bash") + more(1, `{"command":"l`) +
		started("msg_2") + thought(0, "second", "s2") + use(1, "toolu_b", "bash", `{"command":"ls"}`) + ended("tool_use")
	shown := started("msg_1") + thought(0, "first", "s1") + thought(1, "second", "s2")
	const model = `[{"type":"thinking","thinking":"second","signature":"s2"},{"type":"tool_use","id":"toolu_b","name":"bash","input":{"command":"ls"}}]`
	for _, n := range blockSizes {
		p := newPlayer(t, request1, n, intercept.Limits{})
		if err := p.Feed(body); err != nil {
			t.Fatal(err)
		}
		if calls := p.Answer.Calls(); len(calls) != 1 || calls[0].ID != "toolu_b" || len(calls[0].Ambiguous) > 0 {
			t.Fatalf("calls: %+v", calls)
		}
		equal(t, "before the ruling", p.Got.String(), shown)

		p = newPlayer(t, request1, n, intercept.Limits{})
		p.Turn(body, intercepttest.ReleaseAll)
		equal(t, "released", p.Got.String(), shown+use(2, "toolu_b", "bash", `{"command":"ls"}`)+ended("tool_use"))
		next := nextBody(t, `[{"type":"thinking","thinking":"first","signature":"s1"},`+model[1:], `[{"type":"tool_result","tool_use_id":"toolu_b"}]`, p.Last.Hidden)
		equal(t, "the model's content", gjson.Get(next, "messages.1.content").Raw, model)

		p = newPlayer(t, request1, n, intercept.Limits{})
		p.Turn(body, intercepttest.DenyAll)
		equal(t, "continuation", gjson.GetBytes(p.Last.Next.Body, "messages.1.content").Raw, model)
		p.Turn(finalWord, intercepttest.ReleaseAll)
		if got, err := foldStrict(p.Got.String()); err != nil || got.text() != "Very well." || len(got.blocks) != 3 || strings.Contains(p.Got.String(), "toolu") {
			t.Fatalf("%v: denied: %s", err, p.Got.String())
		}
	}
}

// Where nothing is held the agent gets the second start as it came. A call after it
// is refused: some clients count the blocks of both attempts.
func TestSecondStartPassesWhereNothingIsHeld(t *testing.T) {
	plain := started("msg_1") + opened(0, `{"type":"text","text":""}`) + word(0, "Let") + started("msg_2") + text(0, "Let me.")
	p := newPlayer(t, request1, 9, intercept.Limits{})
	if err := p.Feed(plain + ended("end_turn")); err != nil {
		t.Fatal(err)
	}
	equal(t, "words", p.Got.String(), plain+ended("end_turn"))
	if err := newPlayer(t, request1, 9, intercept.Limits{}).Feed(plain + one + ended("tool_use")); err == nil {
		t.Error("a call was understood after blocks that some clients count twice")
	}
	twice := started("msg_1") + started("msg_2") + speech
	p = newPlayer(t, request1, 9, intercept.Limits{})
	p.Turn(twice+one+ended("tool_use"), intercepttest.ReleaseAll)
	equal(t, "two starts and no block between them", p.Got.String(), twice+use(1, "toolu_a", "bash", `{"command":"ls"}`)+ended("tool_use"))
}

func TestSecondStartAfterTheEnd(t *testing.T) {
	p := newPlayer(t, request1, 9, intercept.Limits{})
	if err := p.Feed(listed + started("msg_2")); err == nil || strings.Contains(p.Got.String(), "msg_2") {
		t.Errorf("a second start was released after the end of a message: %v", err)
	}
}
