package messages

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// wild generates a stream, or a whole answer, with the known deviations of servers and
// worse ones. Names, ids and arguments are marks, so that they are found in the agent's
// bytes.
func wild(d *intercepttest.Dice) []byte {
	if d.N(6) == 0 {
		var content []string
		for range d.N(5) {
			content = append(content, wildBlock(d))
		}
		return []byte(d.Pick("", "", "\n\n ", "\ufeff") + whole(strings.Join(content, ","), d.Pick("tool_use", "end_turn", "max_tokens")) + d.Pick("", "\n"))
	}
	var out []byte
	for i := range 2 + d.N(14) {
		at := len(out)
		out = d.Frame(out, wildEvent(d, i == 0))
		if d.N(12) == 0 { // its name alone has its type
			event := strings.Replace(string(out[at:]), `"type":"content_block`, `"was":"content_block`, 1)
			out = append(out[:at], event...)
		}
	}
	return append(out, d.Pick("", stopped, done, "data: [DONE]")...)
}

// wildBlock writes a block, mostly a call.
func wildBlock(d *intercepttest.Dice) string {
	if d.N(3) == 0 {
		return d.Pick(`{"type":"text","text":""}`, `{"type":"text","text":"x","citations":null}`, `{"type":"thinking","thinking":"","signature":""}`, `{"type":"redacted_thinking","data":"d"}`, hosted, result,
			`{"type":"mcp_tool_use","id":"m","name":"echo","input":{},"server_name":"s"}`, `{"type":"compaction","content":null}`, `{"type":"container_upload","file_id":"f"}`)
	}
	fields := []string{`"type":"tool_use"`}
	if id := d.Pick(d.Mark("I"), d.Mark("I"), "same", ""); id != "" || d.N(2) == 0 {
		fields = append(fields, `"id":`+strictjson.Quote(id))
	}
	fields = append(fields, `"name":`+strictjson.Quote(d.Pick(d.Mark("N"), d.Mark("N"), d.Mark("N"), "")))
	if input := d.Pick("{}", "{}", "{}", "{ }", "", "null", `""`, `{"m":"`+d.Mark("A")+`"}`, `"`+d.Mark("A")+`"`); input != "" {
		fields = append(fields, `"input":`+input)
	}
	if d.N(4) == 0 {
		fields = append(fields, d.Pick(`"caller":{"type":"direct"}`, `"caller":{"type":"direct"}`, `"caller":{}`, `"__json_buf":"{\"m\":"`, `"__proto__":{"a":1}`, `"toolset_name":"delete"`, `"x":"y"`))
	}
	if d.N(3) == 0 {
		for i, j := 0, len(fields)-1; i < j; i, j = i+1, j-1 {
			fields[i], fields[j] = fields[j], fields[i]
		}
	}
	return "{" + strings.Join(fields, ",") + "}"
}

// wildEvent writes the data of an event, which begin with its type.
func wildEvent(d *intercepttest.Dice, first bool) string {
	index := d.Pick("0", "1", "0", "2", "1", "7")
	throw := d.N(16)
	if (first && d.N(8) > 0) || (throw == 14 && d.N(3) == 0) {
		throw = 15
	}
	switch throw {
	case 0:
		return d.Pick(`{"type": "ping"}`, "", "[DONE]", `{"type":"error","error":{"type":"overloaded_error","message":"boom"}}`, `{"type":"unknown"}`, `"x"`)
	case 1:
		return `{"type":"message_delta","delta":{"stop_reason":` + d.Pick(`"tool_use"`, `"end_turn"`, `"max_tokens"`, "null") + `},"usage":{"output_tokens":3}}`
	case 2, 3, 4:
		return `{"type":"content_block_delta","index":` + index + `,"delta":` + d.Pick(`{"type":"text_delta","text":"é"}`, `{"type":"thinking_delta","thinking":"hm"}`, `{"type":"signature_delta","signature":"s"}`, `{"type":"citations_delta","citation":{"type":"char_location","cited_text":"c"}}`, `{"type":"compaction_delta","content":"c"}`) + `}`
	case 5, 6, 7, 8:
		return `{"type":"content_block_delta","index":` + index + `,"delta":{"type":"input_json_delta","partial_json":` + d.Pick(`""`, strictjson.Quote(`{"m":"`+d.Mark("A")), strictjson.Quote(d.Mark("A")+`"}`), strictjson.Quote(`{"m":"`+d.Mark("A")+`"}`), strictjson.Quote(d.Mark("A"))) + `}}`
	case 9, 10:
		return `{"type":"content_block_stop","index":` + index + `}`
	case 15:
		return `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[` + d.Pick("", "", "", wildBlock(d)) + `],` + d.Pick("", "", `"stop_reason":"tool_use",`) + `"usage":{"input_tokens":1}}}`
	}
	return `{"type":"content_block_start","index":` + index + `,"content_block":` + wildBlock(d) + `}`
}

// FuzzWild drives everything that holds for any answer.
func FuzzWild(f *testing.F) {
	for i := range 60 {
		f.Add(intercepttest.Throws(i, 400), []byte{6, 200})
	}
	f.Fuzz(func(t *testing.T, b, sizes []byte) {
		d := &intercepttest.Dice{Throws: b}
		first, second := wild(d), wild(d)
		checkDenied(t, first, second, sizes)
		checkReleased(t, first, sizes)
		checkChunking(t, first, sizes, 1<<20)
		intercepttest.CheckMarks(t, "NIA", first, func(rule intercepttest.Ruler) *intercepttest.Played {
			return play(t, [][]byte{first, second}, sizes, intercept.Limits{}, rule)
		})
	})
}

// sane generates an answer as the API sends it, and its contents.
func sane(d *intercepttest.Dice, id string, streamed bool) (body string, said folded) {
	body = started(id)
	if !streamed {
		body = ""
	}
	said.stop = "end_turn"
	for i := range d.N(7) {
		b, stream := saneBlock(d, i)
		b.closed = streamed
		said.blocks = append(said.blocks, b)
		if streamed {
			body += stream + d.Pick("", "", ping, ": x\n\n")
			continue
		}
		if i > 0 {
			body += ","
		}
		body += b.json()
	}
	if len(said.calls()) > 0 {
		said.stop = "tool_use"
	}
	if streamed {
		return body + ended(said.stop), said
	}
	return strings.Replace(whole(body, said.stop), "msg_1", id, 1), said
}

// saneBlock is a block, and the events that make it.
func saneBlock(d *intercepttest.Dice, i int) (b foldedBlock, stream string) {
	switch d.N(6) {
	case 0:
		b = foldedBlock{kind: "text", text: "word \"word\" "}
		return b, text(i, `word "wo`, `rd" `)
	case 1:
		b = foldedBlock{kind: "thinking", thinking: "hm ü", signature: "sig"}
		return b, thought(i, "hm ü", "sig")
	case 2:
		b = foldedBlock{kind: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: `{"query":"x"}`}
		return b, opened(i, hosted) + more(i, `{"query":`) + more(i, `"x"}`) + closed(i)
	case 3:
		b = foldedBlock{kind: "tool_use", id: d.Mark("I"), name: d.Mark("N"), input: "{}"}
		return b, use(i, b.id, b.name, d.Pick("", "{}"))
	}
	b = foldedBlock{kind: "tool_use", id: d.Mark("I"), name: d.Mark("N"), input: `{"m":"` + d.Mark("A") + `"}`}
	if d.N(5) == 0 {
		return b, opened(i, b.json()) + closed(i)
	}
	cut := d.N(len(b.input))
	return b, use(i, b.id, b.name, "", b.input[:cut], b.input[cut:])
}

// json is the block in a whole answer.
func (b *foldedBlock) json() string {
	switch b.kind {
	case "text":
		return textBlock(b.text)
	case "thinking":
		return `{"type":"thinking","thinking":` + strictjson.Quote(b.thinking) + `,"signature":"` + b.signature + `"}`
	}
	return fmt.Sprintf(`{"type":%q,"id":%q,"name":%q,"input":%s}`, b.kind, b.id, b.name, b.input)
}

// FuzzSane: of a well-formed answer, with any rulings, the agent gets a well-formed answer
// that has exactly the released calls, with their edits. The model gets a valid
// conversation. The agent's next request, in any form, becomes one with all turns.
func FuzzSane(f *testing.F) {
	for i := range 60 {
		f.Add(intercepttest.Throws(i+100, 200), []byte{6, 200})
	}
	f.Fuzz(func(t *testing.T, b, sizes []byte) {
		d := &intercepttest.Dice{Throws: b}
		streamed := d.N(3) > 0
		first, said := sane(d, "msg_1", streamed)
		second, saidThen := sane(d, "msg_2", streamed)
		third := whole(textBlock("Very well."), "end_turn")
		if streamed {
			third = finalWord
		}
		fates := make(map[string]intercept.Action)
		turn := d.N(3)
		p := play(t, bodies(first, second, third), sizes, intercept.Limits{}, func(n int, c intercept.Call) intercept.Ruling {
			r := intercepttest.Mixed(turn+n*(1+turn/2), c)
			if fates[c.ID] = r.Action; len(c.Ambiguous) > 0 {
				t.Fatalf("%+v is in no doubt", c)
			}
			return r
		})
		if p.Err != nil {
			t.Fatalf("%v\nupstream: %s", p.Err, first)
		}
		fold := foldWhole
		if streamed {
			fold = foldStrict
		}
		got, err := fold(string(p.Out()))
		if err != nil {
			t.Fatalf("%v\nagent: %s\nupstream: %s", err, p.Out(), first)
		}
		turns := []folded{said, saidThen, {blocks: []foldedBlock{{kind: "text", text: "Very well.", closed: streamed}}, stop: "end_turn"}}
		checkSane(t, got, turns[:len(p.Nexts)+1], fates, p.Out())
		for _, next := range p.Nexts {
			checkConversation(t, next)
		}
		checkEchoes(t, d, got, turns[:len(p.Nexts)+1], p.Hidden)
	})
}

// checkSane: the agent's message has the contents of the turns without denied calls.
func checkSane(t *testing.T, got *folded, turns []folded, fates map[string]intercept.Action, out []byte) {
	t.Helper()
	var want []foldedBlock
	calls := false
	for _, turn := range turns {
		for _, b := range turn.blocks {
			if b.kind == "tool_use" {
				if fates[b.id] == intercept.Deny {
					continue
				}
				calls = true
				if fates[b.id] == intercept.Edit {
					b.input = intercepttest.Edited
				}
			}
			want = append(want, b)
		}
	}
	stop := "end_turn"
	if calls {
		stop = "tool_use"
	}
	if len(got.blocks) == len(want)+1 && got.blocks[len(want)].text != "" { // a note where nothing else would be said
		got.blocks = got.blocks[:len(want)]
		if n := len(want); len(turns) < 2 || (n > 0 && want[n-1].kind != "thinking" && len(turns) < 3) {
			t.Fatalf("a note that was not needed\nagent: %s", out)
		}
	}
	for i := range want {
		if i >= len(got.blocks) || got.blocks[i] != want[i] {
			t.Fatalf("got  %+v\nwant %+v\nagent: %s", got.blocks, want, out)
		}
	}
	if len(got.blocks) != len(want) || got.stop != stop || got.id != "msg_1" {
		t.Fatalf("got  %+v\nwant %+v, stop %q\nagent: %s", got, want, stop, out)
	}
}

// checkEchoes sends the answer back as agents do, and reads the request that goes
// upstream.
func checkEchoes(t *testing.T, d *intercepttest.Dice, got *folded, turns []folded, hidden [][]byte) {
	t.Helper()
	var echoed, results []string
	for _, b := range got.blocks {
		if b.kind == "text" && d.N(4) > 0 {
			echoed = append(echoed, strings.TrimSuffix(b.json(), "}")+`,"cache_control":{"type":"ephemeral"}}`)
		} else {
			echoed = append(echoed, b.json())
		}
		if b.kind == "tool_use" {
			results = append(results, `{"type":"tool_result","tool_use_id":"`+b.id+`","content":"ok"}`)
		}
	}
	if n := len(got.blocks); n == 0 || got.blocks[n-1].kind == "thinking" {
		return // no agent could go on, with heldcall or without
	}
	content := "[" + strings.Join(echoed, ",") + "]"
	if len(results) == 0 && got.text() != "" && d.N(3) == 0 {
		content = strictjson.Quote(got.text())
	}
	next := `"go on"`
	if len(results) > 0 {
		next = "[" + strings.Join(results, ",") + "]"
	}
	r := asking(t, `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":`+content+`},{"role":"user","content":`+next+`}]}`)
	if n := r.Splice(hidden); n != len(hidden) {
		t.Fatalf("%d of %d records spliced into %s", n, len(hidden), content)
	}
	body := string(r.Envelope().Body)
	checkConversation(t, body)
	for _, turn := range turns {
		for _, b := range turn.blocks {
			if b.kind == "tool_use" && strings.Count(body, `"id":"`+b.id+`"`) != 1 {
				t.Fatalf("call %s is not once in %s", b.id, body)
			}
		}
	}
}
