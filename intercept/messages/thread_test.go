package messages

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/notice"
	"github.com/tidwall/gjson"
)

// What a request that continues a thread brings of an answer that upstream does not have as the agent got it.
func TestFollow(t *testing.T) {
	const (
		denied = `{"type":"tool_result","tool_use_id":"toolu_1","content":"No."}`
		ran    = `{"type":"tool_result","tool_use_id":"toolu_2","content":"done"}`
		system = `{"role":"system","content":"Be brief."}`
	)
	record := func(end string, missing ...string) answerRecord {
		return answerRecord{TurnFingerprint: intercept.TurnFingerprint{Turn: "t1"}, KeptAnswer: intercept.KeptAnswer{Response: "msg_1", Chain: []string{"msg_1", end}, Missing: missing}}
	}
	edited := record("msg_1")
	edited.Calls, edited.Ran = []intercept.CallFingerprint{{ID: "toolu_2", Name: "read", Note: "Changed."}}, map[string]string{"toolu_2": `{"path":"y"}`}
	closing := []string{userMessage([]string{denied}), `{"role":"assistant","content":"It waits."}`}
	for name, tt := range map[string]struct {
		record   answerRecord
		decided  []string
		messages string // of the agent
		want     string // upstream's, in short: see shortly
		previous string
		found    int
	}{
		"nothing":                         {record: record("msg_1"), messages: ` {"role":"user","content":"go on"} `, want: "user: go on", previous: "msg_1"},
		"continued by heldcall":           {record: record("msg_9"), messages: `{"role":"user","content":"go on"}`, want: "user: go on", previous: "msg_9", found: 1},
		"a denial beside a result":        {record: record("msg_1", userMessage([]string{denied})), messages: userMessage([]string{ran}), want: "user: toolu_1 No. toolu_2 done", previous: "msg_1", found: 1},
		"a denial, and a text":            {record: record("msg_1", userMessage([]string{denied})), messages: `{"role":"user","content":"go on"}`, want: "user: toolu_1 No. go on", previous: "msg_1", found: 1},
		"a denial, behind the system":     {record: record("msg_1", userMessage([]string{denied})), messages: system + "," + userMessage([]string{ran}), want: "system: Be brief. | user: toolu_1 No. toolu_2 done", previous: "msg_1", found: 1},
		"a denial, and nothing":           {record: record("msg_1", userMessage([]string{denied})), messages: "", want: "user: toolu_1 No.", previous: "msg_1", found: 1},
		"a closing notice":                {record: record("msg_9", closing...), messages: `{"role":"user","content":"go on"}`, want: "user: toolu_1 No. | assistant: It waits. | user: go on", previous: "msg_9", found: 1},
		"an edit":                         {record: edited, messages: userMessage([]string{ran}), want: "user: toolu_2 " + notice.ArgumentsRan("Changed.", `{"path":"y"}`) + "\ndone", previous: "msg_1", found: 1},
		"decided later":                   {record: record("msg_1"), decided: []string{"Approved."}, messages: userMessage([]string{ran, textBlock("go on")}), want: "user: toolu_2 done Approved. go on", previous: "msg_1"},
		"decided later, and a text":       {record: record("msg_1"), decided: []string{"Approved.", "Denied."}, messages: `{"role":"user","content":"go on"}`, want: "user: Approved. Denied. go on", previous: "msg_1"},
		"decided later, and nothing":      {record: record("msg_1"), decided: []string{"Approved."}, messages: "", want: "user: Approved.", previous: "msg_1"},
		"decided later, behind a closing": {record: record("msg_9", closing...), decided: []string{"Approved."}, messages: `{"role":"user","content":"go on"}`, want: "user: toolu_1 No. | assistant: It waits. | user: Approved. go on", previous: "msg_9", found: 1},
	} {
		t.Run(name, func(t *testing.T) {
			body := fmt.Sprintf(`{"model":"m", "thread":{"type":"continue","previous_message_id":"msg_1"},"messages":[%s],"unknown":1}`, tt.messages)
			r, err := parseRequest(intercept.Envelope{Body: []byte(body)})
			if err != nil {
				t.Fatal(err)
			}
			other := record("msg_8", userMessage([]string{denied}))
			other.Response = "msg_2"
			records := [][]byte{[]byte("no record")}
			for _, rec := range []answerRecord{other, tt.record} {
				raw, err := intercept.EncodeRecord(rec)
				if err != nil {
					t.Fatal(err)
				}
				records = append(records, raw)
			}
			if tt.decided != nil {
				records = append(records, notice.DecidedLater(tt.decided))
			}
			ending, made := r.Ending(), r.Made()
			if n := r.Splice(records); n != tt.found || len(r.Placements()) != tt.found {
				t.Errorf("%d answers are found, %v", n, r.Placements())
			}
			got := r.Envelope().Body
			if text := shortly(got); text != tt.want || gjson.GetBytes(got, previousPath).Str != tt.previous || gjson.GetBytes(got, "unknown").Int() != 1 {
				t.Errorf("the request is %s: %q, want %q", got, text, tt.want)
			}
			if tt.found == 0 && tt.decided == nil && string(got) != body {
				t.Errorf("the bytes have changed: %s", got)
			}
			if info := r.Info(); !slices.Equal(info.Refers, []string{"msg_1"}) || !info.ToolsKept || r.Ending() != ending || r.Made() != made || r.Begins() || !r.OffersTools() {
				t.Errorf("the request is of another conversation: %+v", info)
			}
		})
	}
}

// shortly is what the messages of a body say.
func shortly(body []byte) string {
	var messages []string
	gjson.GetBytes(body, "messages").ForEach(func(_, m gjson.Result) bool {
		said := []string{m.Get("role").Str + ":"}
		for _, raw := range blocksOf(m) {
			b := gjson.Parse(raw)
			if id := b.Get("tool_use_id").Str; id != "" {
				said = append(said, id+" "+textsOf(b.Get("content")))
				continue
			}
			said = append(said, b.Get("text").Str)
		}
		messages = append(messages, strings.Join(said, " "))
		return true
	})
	return strings.Join(messages, " | ")
}

func textsOf(content gjson.Result) (text string) {
	if content.Type == gjson.String {
		return content.Str
	}
	for _, part := range content.Array() {
		text += part.Get("text").Str
	}
	return text
}
