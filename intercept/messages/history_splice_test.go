package messages

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept/strictjson"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/tidwall/gjson"
)

const (
	turnAnswer = `{"type":"text","text":"Let me look."}`
	ownCall    = `{"type":"tool_use","id":"toolu_01ABCDEFGHIJ","name":"read","input":{"path":"x"}}`
	hiddenCall = `{"type":"tool_use","id":"toolu_02ABCDEFGHIJ","name":"bash","input":{"command":"ls"}}`
)

// newTestRecord describes an answer after hi, with the calls that the agent got.
func newTestRecord(text string, calls ...string) *answerRecord {
	rec := &answerRecord{}
	rec.Opening, rec.Before, rec.Text = intercept.Opening("\nhi"), fingerprint(gjson.Parse(user(`"hi"`))), intercept.StripSpace(text)
	for range calls {
		rec.Calls = append(rec.Calls, intercept.NewCallFingerprint("toolu_01ABCDEFGHIJ", "read", `{"path":"x"}`))
	}
	return rec
}

func TestSplice(t *testing.T) {
	beside := newTestRecord("Let me look.", ownCall) // a hidden call beside one that the agent got
	beside.Pieces = []piece{{Key: blockKey(turnAnswer), Raw: turnAnswer}, {Raw: hiddenCall}, {Key: "tool_use"}}
	beside.Results = []string{toolResult("toolu_02ABCDEFGHIJ", "Denied.")}

	hidden := newTestRecord("Let me look.Very well.") // a hidden turn before the message that the agent got
	hidden.Turns = []string{assistant("[" + turnAnswer + "," + hiddenCall + "]"), user("[" + toolResult("toolu_02ABCDEFGHIJ", "Denied.") + "]")}
	well := textBlock("Very well.")
	hidden.Pieces = []piece{{Key: blockKey(turnAnswer), Before: true}, {Key: blockKey(well), Raw: well}}

	edited := newTestRecord("Let me look.", ownCall)
	edited.Pieces = []piece{{Key: blockKey(turnAnswer), Raw: turnAnswer}, {Key: "tool_use"}}
	edited.Calls[0].Note = "[Edited.]"

	result := toolResult("toolu_01ABCDEFGHIJ", "ok")
	whole := assistant("[" + turnAnswer + "," + hiddenCall + "," + ownCall + "]")
	denied := toolResult("toolu_02ABCDEFGHIJ", "Denied.")
	for _, tt := range []struct {
		name    string
		rec     *answerRecord
		history []string // after hi
		want    []string
	}{
		{
			"a hidden call", beside,
			[]string{assistant("[" + turnAnswer + "," + ownCall + "]"), user("[" + result + "]")},
			[]string{whole, user("[" + denied + "," + result + "]")},
		},
		{
			"a hidden call at the end", beside,
			[]string{assistant("[" + turnAnswer + "," + ownCall + "]")},
			[]string{whole, user("[" + denied + "]")},
		},
		{
			"a hidden call before another answer", beside,
			[]string{assistant("[" + turnAnswer + "," + ownCall + "]"), assistant(`"And?"`)},
			[]string{whole, user("[" + denied + "]"), assistant(`"And?"`)},
		},
		{
			"a hidden call in a changed message", beside,
			[]string{assistant("[" + textBlock("I look.") + "," + ownCall + "]"), user("[" + result + "]")},
			[]string{assistant("[" + textBlock("I look.") + "," + ownCall + "," + hiddenCall + "]"), user("[" + denied + "," + result + "]")},
		},
		{
			"the text left out", beside,
			[]string{assistant("[" + ownCall + "]"), user("[" + result + "]")},
			[]string{assistant("[" + hiddenCall + "," + ownCall + "]"), user("[" + denied + "," + result + "]")},
		},
		{
			"a hidden turn", hidden,
			[]string{assistant("[" + turnAnswer + "," + well + "]"), user(`"next"`)},
			append(append([]string(nil), hidden.Turns...), assistant("["+well+"]"), user(`"next"`)),
		},
		{
			"a hidden turn in a history of strings", hidden,
			[]string{assistant(`"Let me look.\n\nVery well."`), user(`"next"`)},
			append(append([]string(nil), hidden.Turns...), assistant("["+well+"]"), user(`"next"`)),
		},
		{
			"an edited call", edited,
			[]string{assistant("[" + turnAnswer + "," + ownCall + "]"), user("[" + result + "]")},
			[]string{assistant("[" + turnAnswer + "," + ownCall + "]"), user(`[{"type":"tool_result","tool_use_id":"toolu_01ABCDEFGHIJ","content":"[Edited.]\nok"}]`)},
		},
		{"an answer that is not in the history", beside, []string{assistant(`"Hello."`)}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			raw, err := intercept.EncodeRecord(tt.rec)
			if err != nil {
				t.Fatal(err)
			}
			r := asking(t, conversation(append([]string{user(`"hi"`)}, tt.history...)...))
			ending := r.Ending()
			want, found := conversation(append([]string{user(`"hi"`)}, tt.want...)...), 1
			if tt.want == nil {
				want, found = string(r.Envelope().Body), 0
			}
			if n := r.Splice([][]byte{raw, []byte("not a record")}); n != found || len(r.Placements()) != found {
				t.Fatalf("%d answers found, %d placements", n, len(r.Placements()))
			}
			if got := string(r.Envelope().Body); got != want {
				t.Errorf("got  %s\nwant %s", strings.ReplaceAll(got, "},{", "},\n{"), strings.ReplaceAll(want, "},{", "},\n{"))
			}
			if r.Ending() != ending {
				t.Error("the end of the agent's request has changed")
			}
		})
	}
}

// toolResult is the block with the result of a call.
func toolResult(id, content string) string {
	return `{"type":"tool_result","tool_use_id":` + strictjson.Quote(id) + `,"content":` + strictjson.Quote(content) + `}`
}

func TestSpliceOfStoredTurns(t *testing.T) { intercepttest.StoredTurns(t, Dialect{}) }
