package responses

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
)

func TestIndexesOfTheAgent(t *testing.T) {
	for _, tt := range []struct {
		name     string
		out      agentStream
		upstream []int
		want     []int
	}{
		{"upstream's", agentStream{}, []int{0, 1, 3}, []int{0, 1, 3}},
		{"without upstream's", agentStream{}, []int{-1, -1}, []int{0, 1}},
		{"after an item was left out", agentStream{reindexed: true}, []int{1, 2}, []int{0, 1}},
		{"after another body", agentStream{continued: true, items: 2}, []int{0, 1}, []int{2, 3}},
	} {
		for i, index := range tt.upstream {
			it := &item{index: index, agentIndex: -1}
			tt.out.index(it)
			tt.out.index(it) // has no effect
			if it.agentIndex != tt.want[i] {
				t.Errorf("%s: item %d has index %d, want %d", tt.name, i, it.agentIndex, tt.want[i])
			}
		}
	}
}

func TestNumbersOfTheAgent(t *testing.T) {
	seven := &event{number: 7}
	for _, tt := range []struct {
		name   string
		out    agentStream
		number string
		known  bool
	}{
		{"upstream's", agentStream{after: -1}, "7", false},
		{"that the agent has", agentStream{after: 7}, "7", true},
		{"after an event of heldcall's", agentStream{after: -1, renumbered: true, next: 9}, "9", false},
		{"after another body", agentStream{after: -1, continued: true, next: 9}, "9", false},
	} {
		tt.out.align(seven)
		if number, known := tt.out.count(); number != tt.number || known != tt.known {
			t.Errorf("%s: number %s, known %t", tt.name, number, known)
		}
	}
	out := agentStream{}
	out.sent([]*event{{number: -1}, seven}, nil)
	if out.next != 8 {
		t.Errorf("after event 7 the next number is %d", out.next)
	}
}

func TestVerbatim(t *testing.T) {
	for name, change := range map[string]func(*agentStream){
		"renumbered": func(o *agentStream) { o.leaveOut(false, true) },
		"reindexed":  func(o *agentStream) { o.leaveOut(true, false) },
		"continued":  (*agentStream).proceed,
		"renamed":    func(o *agentStream) { o.rename("resp_1") },
		"an event of heldcall's": func(o *agentStream) {
			o.learn(&event{number: 1})
			o.appendEvent(nil, "error", `"x":1`)
		},
	} {
		out := agentStream{after: -1}
		if out.leaveOut(false, false); !out.verbatim() {
			t.Fatal("an unchanged stream is not verbatim")
		}
		if change(&out); out.verbatim() {
			t.Errorf("%s: it is verbatim", name)
		}
	}
	for _, out := range []agentStream{{after: 3}, {after: -1, alias: "resp_1"}} {
		if out.verbatim() {
			t.Errorf("%+v is verbatim", out)
		}
	}
}

func TestHead(t *testing.T) {
	out := agentStream{}
	first, second := responseHead{id: `"resp_1"`, previous: `"resp_0"`}, responseHead{id: `"resp_2"`}
	out.begin(responseHead{})
	out.begin(first)
	out.begin(responseHead{}) // some servers leave the id out later
	out.proceed()
	if out.begin(second); out.head != first || out.previous() != `"resp_0"` {
		t.Errorf("the agent reads %+v", out.head)
	}
	if out.rename("resp_9"); out.head.id != `"resp_9"` || out.previous() != "null" {
		t.Errorf("the agent reads %+v", out.head)
	}
	out.alias = "resp_a"
	if out.previous() != `"resp_a"` {
		t.Errorf("the agent continues %s", out.previous())
	}
}

func TestClosingNotice(t *testing.T) {
	out, n := agentStream{numbered: true, next: 4, items: 2, after: -1}, closingText{turn: "t1", text: "No \"call\"."}
	events := out.closingNotice(n)
	for i, want := range []string{"output_item.added", "content_part.added", "output_text.delta", "output_text.done", "content_part.done", "output_item.done"} {
		line := events[i].Data
		v := gjson.Parse(line)
		if v.Get("type").Str != "response."+want || v.Get("sequence_number").Int() != int64(4+i) || v.Get("output_index").Raw != "2" {
			t.Errorf("event %d is %s", i, line)
		}
		if want == "output_item.done" && v.Get("item").Raw != n.message() {
			t.Errorf("the item is %s, want %s", v.Get("item").Raw, n.message())
		}
	}
	if out.items != 3 || len(out.closingNotice(n)) != 0 || len((&agentStream{}).closingNotice(closingText{turn: "t1"})) != 0 {
		t.Error("the notice is sent again, or an empty one is sent")
	}
}

func TestKeepalive(t *testing.T) {
	for _, tt := range []struct {
		out  agentStream
		want string // its number
	}{
		{agentStream{numbered: true, next: 3}, "3"},
		{agentStream{numbered: true}, ""},
		{agentStream{next: 3}, ""},
	} {
		number := ""
		for _, e := range tt.out.keepalive() {
			number = gjson.Get(e.Data, "sequence_number").Raw
		}
		if number != tt.want {
			t.Errorf("keepalive of %+v has number %q", tt.out, number)
		}
	}
}

// Every kind of call has an output that names it, with the message to the model.
func TestOutputs(t *testing.T) {
	const reason = `Not "now".`
	for raw, want := range map[string]string{
		function("a", "bash", ls): "function_call_output call_a",
		custom:                    "custom_tool_call_output call_c",
		local:                     "local_shell_call_output call_l",
		shell:                     "shell_call_output call_s",
		patch:                     "apply_patch_call_output call_p",
		computer:                  "computer_call_output call_u",
		search:                    "tool_search_output call_t",
		approval:                  "mcp_approval_response ",
		strings.Replace(custom, "custom_tool_call", "brand_new_call", 1): "brand_new_call_output call_c",
	} {
		e := readEntry(&intercept.Reading{}, gjson.Parse(raw))
		it := item{entry: e, done: true, call: &call{form: e.form()}}
		outputs := it.outputs(intercept.Ruling{ModelMessage: reason})
		first := gjson.Parse(outputs[0])
		if got := first.Get("type").Str + " " + first.Get("call_id").Str; got != want || !it.answerable() {
			t.Errorf("%s is answered by %s", want, got)
		}
		if all := "[" + strings.Join(outputs, ",") + "]"; !gjson.Valid(all) || !strings.Contains(all, `Not \"now\".`) {
			t.Errorf("%s is answered by %s", want, all)
		}
	}
}
