package chat

import (
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

const (
	user    = `{"role":"user","content":"hi"}`
	next    = `{"role":"user","content":"next"}`
	asking  = `{"role":"assistant","content":"Let me look.","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	denial  = `{"role":"tool","tool_call_id":"a","content":"No."}`
	entryB  = `{"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}`
	entryC  = `{"id":"c","type":"function","function":{"name":"h","arguments":"{}"}}`
	resultB = `{"role":"tool","tool_call_id":"b","content":"No."}`
)

// seen is the fingerprint of an answer to user with a text and calls.
func seen(text string, calls ...intercept.CallFingerprint) intercept.TurnFingerprint {
	return intercept.TurnFingerprint{Turn: "t1", Before: fingerprint(gjson.Parse(user)), Opening: intercept.Opening("\nhi"), Text: text, Calls: calls}
}

func called(id, name, note string) intercept.CallFingerprint {
	c := intercept.NewCallFingerprint(id, name, "{}")
	c.Note = note
	return c
}

func TestSplice(t *testing.T) {
	turns := []string{asking, denial}
	both := seen("Let me look.\n\nVery well.")
	released := `{"role":"assistant","content":null,"tool_calls":[` + entryC + `]}`
	withHidden := func(last string) string { return asking + "," + denial + "," + last }
	for _, tt := range []struct {
		name        string
		record      answerRecord
		shown, want string // the messages after user
	}{
		{
			"a hidden turn before the text",
			answerRecord{TurnFingerprint: both, Turns: turns, LastText: "Very well."},
			`{"role":"assistant","content":"Let me look.\n\nVery well."}`, withHidden(`{"role":"assistant","content":"Very well."}`),
		},
		{
			"a last turn without text",
			answerRecord{TurnFingerprint: seen("Let me look.", called("c", "h", "")), Turns: turns, LastText: ""},
			`{"role":"assistant","content":"Let me look.","tool_calls":[` + entryC + `]}`, withHidden(released),
		},
		{
			"text that the agent has changed stays",
			answerRecord{TurnFingerprint: seen("Let me look.", called("c", "h", "")), Turns: turns, LastText: ""},
			`{"role":"assistant","content":"Mine.","tool_calls":[` + entryC + `]}`, withHidden(`{"role":"assistant","content":"Mine.","tool_calls":[` + entryC + `]}`),
		},
		{
			"content that is an array",
			answerRecord{TurnFingerprint: both, Turns: turns, LastText: "Very well.", Last: lastTurn{Content: `[{"type":"text","text":"Very well."}]`}},
			`{"role":"assistant","content":[{"type":"text","text":"Let me look."},{"type":"text","text":"Very well."}]}`, withHidden(`{"role":"assistant","content":[{"type":"text","text":"Very well."}]}`),
		},
		{
			"extras of the last turn and of earlier ones",
			answerRecord{TurnFingerprint: both, Turns: turns, LastText: "Very well.", Last: lastTurn{Extras: []rawField{{"reasoning", `"last"`}, {"refusal", `"r"`}}, Gone: []string{"thought"}}},
			`{"role":"assistant","content":"Let me look.\n\nVery well.","reasoning":"first last","thought":"x"}`, withHidden(`{"role":"assistant","content":"Very well.","reasoning":"last"}`),
		},
		{
			"sound by its id",
			answerRecord{TurnFingerprint: seen(""), Turns: []string{`{"role":"assistant","content":null,"audio":{"id":"s1"}}`}, Spoken: "One. Two.", Last: lastTurn{Audio: `"s2"`, Spoken: "Two."}},
			`{"role":"assistant","content":null,"audio":{"id":"s1"}}`, `{"role":"assistant","content":null,"audio":{"id":"s1"}},{"role":"assistant","content":null,"audio":{"id":"s2"}}`,
		},
		{
			"no sound in the last turn",
			answerRecord{TurnFingerprint: seen(""), Turns: []string{`{"role":"assistant","content":null,"audio":{"id":"s1"}}`}, Spoken: "One."},
			`{"role":"assistant","content":null,"audio":{"id":"s1"}}`, `{"role":"assistant","content":null,"audio":{"id":"s1"}},{"role":"assistant","content":null}`,
		},
		{
			"sound that the agent shows in words",
			answerRecord{TurnFingerprint: seen(""), Turns: []string{`{"role":"assistant","content":null,"audio":{"id":"s1"}}`}, Speech: []spokenTurn{{`"s1"`, "One."}}, Spoken: "One. Two.", Last: lastTurn{Audio: `"s2"`, Spoken: "Two."}},
			`{"role":"assistant","content":"One. Two."}`, `{"role":"assistant","content":"One."},{"role":"assistant","content":"Two."}`,
		},
		{
			"a denied call before a released one",
			answerRecord{TurnFingerprint: seen("", called("c", "h", "")), LastCalls: []lastCall{{Seen: -1, Entry: entryB, Denial: resultB}, {Seen: 0}}},
			released, `{"role":"assistant","content":null,"tool_calls":[` + entryB + "," + entryC + `]},` + resultB,
		},
		{
			"an edited call",
			answerRecord{TurnFingerprint: seen("", called("c", "h", "Edited."))},
			released + `,{"role":"tool","tool_call_id":"c","content":"done"}`, released + `,{"role":"tool","tool_call_id":"c","content":"Edited.\ndone"}`,
		},
		{
			"an edited call without an id",
			answerRecord{TurnFingerprint: seen("", called("", "h", "Edited."))},
			released + `,{"role":"tool","tool_call_id":"c","content":[]}`, released + `,{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"Edited."}]}`,
		},
		{
			"an edited call of the old form",
			answerRecord{TurnFingerprint: seen("", called("", "h", "Edited."))},
			`{"role":"assistant","content":null,"function_call":{"name":"h","arguments":"{}"}},{"role":"function","name":"h","content":"done"}`,
			`{"role":"assistant","content":null,"function_call":{"name":"h","arguments":"{}"}},{"role":"function","name":"h","content":"Edited.\ndone"}`,
		},
		{
			"a custom call",
			answerRecord{TurnFingerprint: seen("", intercept.NewCallFingerprint("", "h", "x")), LastCalls: []lastCall{{Seen: 0}, {Seen: -1, Entry: entryB, Denial: resultB}}},
			`{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"custom","custom":{"name":"h","input":"x"}}]}`,
			`{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"custom","custom":{"name":"h","input":"x"}},` + entryB + `]},` + resultB,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			raw, err := intercept.EncodeRecord(tt.record)
			if err != nil {
				t.Fatal(err)
			}
			r := parse(t, `{"model":"m", "messages":[ `+user+`,`+tt.shown+`,`+next+` ]}`)
			ending := r.Ending()
			if n := r.Splice([][]byte{[]byte("no record"), raw}); n != 1 {
				t.Fatalf("%d spliced", n)
			}
			body := string(r.Envelope().Body)
			if want := `{"model":"m", "messages":[ ` + user + `,` + tt.want + `,` + next + ` ]}`; body != want {
				t.Errorf("got  %s\nwant %s", body, want)
			}
			if strictjson.Strict([]byte(body)) != nil {
				t.Error("the body is not strict JSON")
			}
			if r.Ending() != ending || len(r.Placements()) != 1 || r.Placements()[0].Turn != "t1" {
				t.Errorf("ending %s, placements %v", r.Ending(), r.Placements())
			}
		})
	}
}

// A history without the answer, and records that are none, change nothing.
func TestSpliceOfNothing(t *testing.T) {
	raw, err := intercept.EncodeRecord(&answerRecord{TurnFingerprint: seen("Other.", called("call_Vr3xkQ0pLm7bTz91", "f", ""))})
	if err != nil {
		t.Fatal(err)
	}
	for _, records := range [][][]byte{nil, {[]byte("{")}, {raw}} {
		const body = `{"messages":[` + user + `,{"role":"assistant","content":"x"},` + next + `]}`
		r := parse(t, body)
		if n := r.Splice(records); n != 0 || string(r.Envelope().Body) != body {
			t.Errorf("%s: %d spliced: %s", records, n, r.Envelope().Body)
		}
	}
}

func TestSpliceOfStoredTurns(t *testing.T) { intercepttest.StoredTurns(t, Dialect{}) }
