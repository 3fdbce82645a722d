package responses

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/intercept/notice"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/tidwall/gjson"
)

// dialogue is an agent that works with a model which keeps what OpenAI keeps and
// refuses what OpenAI refuses, through the dialect.
type dialogue struct {
	t        *testing.T
	model    *fakemodel.Model
	kept     map[string]map[string][]byte // records by key and turn, as the proxy keeps them
	turn     int
	heard    fakemodel.Conversation // the model's last input
	asked    []intercept.Call
	rule     intercepttest.Ruler
	sent     []string // bodies that went upstream
	repeated int      // approvals that the model read to be used before
}

func newDialogue(t *testing.T, rule intercepttest.Ruler, rules ...fakemodel.Rule) *dialogue {
	d := &dialogue{t: t, kept: make(map[string]map[string][]byte), rule: rule}
	listen := fakemodel.Rule{When: func(c fakemodel.Conversation) bool { d.heard = c; return false }}
	d.model = &fakemodel.Model{Rules: append([]fakemodel.Rule{listen}, rules...), Otherwise: fakemodel.Answer{Text: "Nothing more."}}
	return d
}

const session = "session"

// send plays one request of the agent's and returns what it got.
func (d *dialogue) send(e intercept.Envelope) string {
	d.t.Helper()
	req, err := Dialect{}.Request(e)
	if err != nil {
		d.t.Fatal(err)
	}
	var records [][]byte
	for _, key := range append([]string{session}, req.Info().Refers...) {
		for _, raw := range d.kept[key] {
			if !slices.ContainsFunc(records, func(known []byte) bool { return string(known) == string(raw) }) {
				records = append(records, raw)
			}
		}
	}
	req.Splice(records)
	d.turn++
	for _, once := range req.OneTimeApprovals() {
		d.keep(intercept.Resolution{Hidden: [][]byte{once.Record}})
		d.turn++
	}
	a := intercept.NewAnswer(req, intercept.Limits{MaxContinuations: 3, TurnID: fmt.Sprint("t", d.turn)})
	var out strings.Builder
	for next := req.Envelope(); ; {
		reply := d.model.Reply(&fakemodel.Request{Method: next.Method, Path: next.Path, RawQuery: next.Query, Body: next.Body})
		d.sent = append(d.sent, string(next.Body))
		if reply.Status != 0 && reply.Status != http.StatusOK {
			d.t.Fatalf("upstream refuses %s %s %s\n%s", next.Method, next.Path, next.Body, reply.Body[0].Bytes)
		}
		settled := d.settle(a, reply, &out)
		d.keep(settled)
		if settled.Next == nil {
			return out.String()
		}
		next = *settled.Next
	}
}

func (d *dialogue) keep(settled intercept.Resolution) {
	put := func(key, name string, raw []byte) {
		if d.kept[key] == nil {
			d.kept[key] = make(map[string][]byte)
		}
		d.kept[key][name] = raw
	}
	for _, key := range append([]string{session}, settled.Refers...) {
		for i, raw := range settled.Hidden {
			put(key, fmt.Sprint(d.turn, "-", i), raw)
		}
	}
	for _, key := range settled.Refers {
		if settled.AnswerRecord != nil {
			put(key, "again", settled.AnswerRecord)
		}
	}
}

func (d *dialogue) settle(a *intercept.Answer, reply fakemodel.Reply, out *strings.Builder) intercept.Resolution {
	d.t.Helper()
	a.Begin()
	for _, w := range reply.Body {
		b, err := a.Write(w.Bytes)
		if out.Write(b); err != nil {
			d.t.Fatalf("%v in %s", err, w.Bytes)
		}
	}
	b, err := a.End(true)
	if out.Write(b); err != nil {
		d.t.Fatal(err)
	}
	var rulings []intercept.Ruling
	for _, c := range a.Calls() {
		if len(c.Ambiguous) > 0 {
			d.t.Errorf("%s is in doubt: %v", c.Name, c.Ambiguous)
		}
		d.asked = append(d.asked, c)
		rulings = append(rulings, d.rule(0, c))
	}
	settled, err := a.Resolve(rulings)
	if err != nil {
		d.t.Fatal(err)
	}
	out.Write(settled.Bytes)
	return settled
}

// final is the response that the agent made of what it got.
func final(t *testing.T, out string) gjson.Result {
	t.Helper()
	if strings.HasPrefix(strings.TrimSpace(out), "{") {
		return gjson.Parse(out)
	}
	m, err := fold(out)
	if err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	return gjson.Parse(m.final)
}

// habit is the way in which an agent continues an answer.
type habit struct {
	name   string
	fields string // of each request
	next   func(d *dialogue, said []string, last gjson.Result, more []string) (input []string, fields string)
}

func repeat(change func(gjson.Result) string) func(*dialogue, []string, gjson.Result, []string) ([]string, string) {
	return func(_ *dialogue, said []string, last gjson.Result, more []string) ([]string, string) {
		for _, item := range last.Get("output").Array() {
			if text := change(item); text != "" {
				said = append(said, text)
			}
		}
		return append(said, more...), ""
	}
}

// unsealed is a habit in which no provider can use an approval: the reasoning of the
// approval request is kept nowhere.
const unsealed = "neither keeps nor seals reasoning"

// dropping is a habit in which the agent leaves out that the provider has run an approved
// call.
const dropping = "makes one message of the text"

var habits = []habit{
	{"names the response", "", func(_ *dialogue, _ []string, last gjson.Result, more []string) ([]string, string) {
		return more, `,"previous_response_id":` + last.Get("id").Raw
	}},
	{"in a conversation", `,"conversation":{"id":"CONV"}`, func(_ *dialogue, _ []string, _ gjson.Result, more []string) ([]string, string) {
		return more, ""
	}},
	{"repeats everything", "", repeat(func(item gjson.Result) string { return item.Raw })},
	{"repeats everything, nothing is kept", `,"store":false,"include":["reasoning.encrypted_content"]`, repeat(func(item gjson.Result) string { return item.Raw })},
	{"leaves out ids and reasoning", `,"store":false,"include":["reasoning.encrypted_content"]`, repeat(func(item gjson.Result) string {
		if item.Get("type").Str == "reasoning" {
			return ""
		}
		return withoutID(item.Raw)
	})},
	{"refers to items", "", repeat(func(item gjson.Result) string {
		return `{"type":"item_reference","id":` + item.Get("id").Raw + "}"
	})},
	{unsealed, `,"store":false`, repeat(func(item gjson.Result) string {
		if item.Get("type").Str == "reasoning" {
			return ""
		}
		return withoutID(item.Raw)
	})},
	{dropping, `,"store":false,"include":["reasoning.encrypted_content"]`, func(_ *dialogue, said []string, last gjson.Result, more []string) ([]string, string) {
		text := ""
		var calls []string
		for _, item := range last.Get("output").Array() {
			text += strictjson.ContentText(item.Get("content"))
			if item.Get("call_id").Exists() {
				calls = append(calls, withoutID(item.Raw))
			}
		}
		return slices.Concat(said, []string{`{"role":"assistant","content":` + strictjson.Quote(text) + "}"}, calls, more), ""
	}},
}

// scenario is a conversation that has to come out right in every habit.
type scenario struct {
	name  string
	first fakemodel.Answer
	rule  intercepttest.Ruler
	sees  string // names of the calls that the agent sees
	told  string // texts of the results that the model has got at the end
}

func calls(name, args string) fakemodel.Part {
	return fakemodel.Part{Call: &fakemodel.Call{Name: name, Arguments: args}}
}

var thought, said = fakemodel.Part{Reasoning: "Hm."}, fakemodel.Part{Text: "I look."}

var scenarios = []scenario{
	{"all allowed", fakemodel.Answer{Parts: []fakemodel.Part{thought, said, calls("bash", ls)}}, release, "bash", "bash:/tmp"},
	{"all denied", fakemodel.Answer{Parts: []fakemodel.Part{thought, said, calls("bash", ls), calls("read", "{}")}}, deny, "", "bash:refused read:refused"},
	{"all denied after reasoning alone", fakemodel.Answer{Parts: []fakemodel.Part{thought, calls("bash", ls)}}, deny, "", "bash:refused"},
	{"the first denied", fakemodel.Answer{Parts: []fakemodel.Part{thought, calls("bash", ls), calls("read", "{}")}}, denying("bash"), "read", "bash:refused read:/tmp"},
	{"the last denied", fakemodel.Answer{Parts: []fakemodel.Part{thought, calls("bash", ls), calls("read", "{}")}}, denying("read"), "bash", "bash:/tmp read:refused"},
	{"edited", fakemodel.Answer{Parts: []fakemodel.Part{thought, calls("bash", ls)}}, func(_ int, c intercept.Call) intercept.Ruling {
		return intercept.Ruling{Action: intercept.Edit, Arguments: `{"command":"pwd"}`, ModelMessage: notice.ArgumentsChanged(c.Name, "")}
	}, "bash", "bash:changed+/tmp"},
	{"an approval given", fakemodel.Answer{Parts: []fakemodel.Part{thought, {Item: approval}}}, release, "", "mcp__zip__shorten:approved"},
	{"an approval given beside a call", fakemodel.Answer{Parts: []fakemodel.Part{thought, {Item: approval}, calls("bash", ls)}}, release, "bash", "mcp__zip__shorten:approved bash:/tmp"},
	{"an approval refused beside a call", fakemodel.Answer{Parts: []fakemodel.Part{thought, {Item: approval}, calls("bash", ls)}}, denying("mcp__zip__shorten"), "bash", "mcp__zip__shorten:refused bash:/tmp"},
	{"every kind denied", fakemodel.Answer{Parts: []fakemodel.Part{thought, {Item: custom}, {Item: local}, {Item: shell}, {Item: patch}, {Item: computer}, {Item: search}}}, deny, "", "sql:refused local_shell:refused shell:refused apply_patch:refused computer:{\"type\":\"computer_screenshot tool_search:[]"},
}

func TestConversations(t *testing.T) {
	for _, h := range habits {
		for _, s := range scenarios {
			if h.name == unsealed && strings.Contains(s.told, "mcp__") {
				continue
			}
			for _, streamed := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/%s/streamed=%t", h.name, s.name, streamed), func(t *testing.T) { converse(t, h, s, streamed) })
			}
		}
	}
}

// converse lets the agent work on two tasks, and checks what the model reads of the first
// in the second.
func converse(t *testing.T, h habit, s scenario, streamed bool) {
	var ran bool // it runs an approved call once
	d := newDialogue(t, s.rule,
		fakemodel.Rule{When: fakemodel.UserSays("begin"), Say: fakemodel.Say(s.first)},
		fakemodel.Rule{When: func(c fakemodel.Conversation) bool {
			approved := !ran && slices.ContainsFunc(c.Messages, func(m fakemodel.Message) bool { return m.Role == "tool" && m.Content == "approved" })
			ran = ran || approved
			return approved
		}, Say: fakemodel.Say(fakemodel.Answer{Parts: []fakemodel.Part{thought, {Item: hostedCall}, {Text: "Very well."}}})},
		fakemodel.Rule{When: func(c fakemodel.Conversation) bool { return c.Last().Role != "user" }, Say: fakemodel.Say(fakemodel.Answer{Parts: []fakemodel.Part{thought, {Text: "Very well."}}})},
	)
	made := d.model.Reply(&fakemodel.Request{Method: http.MethodPost, Path: "/conversations", Body: []byte("{}")})
	fields := strings.ReplaceAll(h.fields, "CONV", gjson.GetBytes(made.Body[0].Bytes, "id").Str) + fmt.Sprintf(`,"stream":%t,"tools":[{"type":"function","name":"bash","parameters":{"type":"object"}}]`, streamed)
	said := []string{`{"role":"user","content":"begin"}`}
	more := ""
	for step := range 8 {
		body := fmt.Sprintf(`{"model":"m","input":[%s]%s%s}`, strings.Join(said, ","), fields, more)
		out := d.send(asked(body))
		last := final(t, out)
		var outputs []string
		for _, item := range last.Get("output").Array() {
			if item.Get("call_id").Exists() {
				outputs = append(outputs, fmt.Sprintf(`{"type":%q,"call_id":%s,"output":"/tmp"}`, strings.Replace(item.Get("type").Str, "_call", "_call_output", 1), item.Get("call_id").Raw))
			}
		}
		var names []string
		for _, item := range last.Get("output").Array() {
			if item.Get("call_id").Exists() {
				names = append(names, item.Get("name").Str)
			}
		}
		if got := strings.Join(names, " "); step == 0 && got != s.sees {
			t.Fatalf("the agent sees %q, want %q in\n%s", got, s.sees, out)
		}
		if len(outputs) == 0 && step > 2 {
			break
		}
		if len(outputs) == 0 {
			outputs = []string{fmt.Sprintf(`{"role":"user","content":"task %d"}`, step)}
		}
		said, more = h.next(d, said, last, outputs)
	}
	d.judge(s)
	if drops := h.name == dropping; drops != (d.repeated > 0) && strings.Contains(s.told, ":approved") {
		t.Errorf("an approval was refused as used before %d times", d.repeated)
	}
}

// judge looks at the results that the model knows of.
func (d *dialogue) judge(s scenario) {
	d.t.Helper()
	names := make(map[string]string)
	var results []string
	for _, m := range d.heard.Messages {
		for _, c := range m.Calls {
			names[c.ID] = c.Name
		}
		if m.Role == "tool" {
			text := m.Content
			switch {
			case strings.Contains(text, "changed the arguments"):
				text = "changed+" + text[strings.LastIndexAny(text, "\n")+1:]
			case strings.Contains(text, "refused"):
				text = "refused"
			case strings.Contains(text, "approved once already"):
				text = "approved"
				d.repeated++
			}
			if len(text) > 30 {
				text = text[:28]
			}
			results = append(results, names[m.ToolCallID]+":"+text)
		}
	}
	slices.Sort(results)
	want := strings.Fields(s.told)
	slices.Sort(want)
	if strings.Join(results, " ") != strings.Join(want, " ") {
		d.t.Fatalf("the model knows %q, want %q: %+v", results, want, d.heard)
	}
}
