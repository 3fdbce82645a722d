package responses

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// sane generates an answer as the API has it, and the items that it consists of.
func sane(d *intercepttest.Dice, id string, streamed, stored bool) (body string, items []string) {
	for i := range d.N(7) {
		items = append(items, saneItem(d, fmt.Sprint(id, "_", i)))
	}
	body = whole(id, items...)
	if streamed {
		s := newScript(id).begin()
		for _, item := range items {
			s.item(item)
			if d.N(5) == 0 {
				s.event("keepalive", `"x":0`)
			}
		}
		body = s.end()
	}
	if !stored {
		body = unstored(body)
	}
	return body, items
}

func saneItem(d *intercepttest.Dice, id string) string {
	call := d.Mark("I")
	fill := func(item string, fields ...string) string {
		fields = append(fields, "id", strictjson.Quote(id))
		if gjson.Get(item, "call_id").Exists() {
			fields = append(fields, "call_id", strictjson.Quote(call))
		}
		for i := 0; i < len(fields); i += 2 {
			item, _ = sjson.SetRaw(item, fields[i], fields[i+1])
		}
		return item
	}
	switch d.N(10) {
	case 0:
		return fill(reasoning("rs"), "encrypted_content", strictjson.Quote("sealed "+id))
	case 1:
		return message(id, "word "+id)
	case 2:
		return fill(custom, "name", strictjson.Quote(d.Mark("N")), "input", strictjson.Quote("text "+d.Mark("A")))
	case 3:
		return fill(shell, "action.commands", fmt.Sprintf(`[%q,"pwd"]`, d.Mark("A")))
	case 4:
		return fill(patch, "operation.diff", strictjson.Quote("+"+d.Mark("A")))
	case 5:
		return fill(d.Pick(local, web, search))
	}
	return fill(function("a", d.Mark("N"), ""), "arguments", strictjson.Quote(d.Pick("{}", `{"m":"`+d.Mark("A")+`"}`)))
}

// FuzzSane checks well-formed answers with any rulings: the agent gets a well-formed
// answer with exactly the released calls, as they were edited. The continuation is a
// well-formed conversation. The agent's next request, however it repeats the answer, has
// all turns after splicing.
func FuzzSane(f *testing.F) {
	for i := range 60 {
		f.Add(intercepttest.Throws(i+100, 200), []byte{6, 200})
	}
	f.Fuzz(func(t *testing.T, b, sizes []byte) {
		d := &intercepttest.Dice{Throws: b}
		streamed, stored := d.N(3) > 0, d.N(2) > 0
		first, said := sane(d, "resp_1", streamed, stored)
		second, then := sane(d, "resp_2", streamed, stored)
		last := message("msg_2", "Very well.")
		third := whole("resp_3", last)
		if streamed {
			third = stream("resp_3", last)
		}
		if !stored {
			third = unstored(third)
		}
		fates := make(map[string]intercept.Action)
		turn := d.N(3)
		p := play(t, asking[0], bodies(first, second, third), sizes, intercept.Limits{}, func(n int, c intercept.Call) intercept.Ruling {
			r := intercepttest.Mixed(turn+n*(1+turn/2), c)
			if fates[c.ID] = r.Action; len(c.Ambiguous) > 0 {
				t.Fatalf("%+v is in no doubt", c)
			}
			return r
		})
		if p.Err != nil {
			t.Fatalf("%v\nupstream: %s", p.Err, first)
		}
		turns := [][]string{said, then, {last}}[:len(p.Nexts)+1]
		got := outputIn(t, string(p.Out()))
		checkSane(t, got, slices.Concat(turns...), fates, p.Out())
		for _, next := range p.Nexts {
			checkAnswered(t, next)
		}
		if !stored {
			checkEchoes(t, d, got, slices.Concat(turns...), p.Hidden)
		}
	})
}

// outputIn are the items that the agent made of an answer.
func outputIn(t *testing.T, out string) []gjson.Result {
	t.Helper()
	if strings.HasPrefix(out, "{") {
		return gjson.Get(out, "output").Array()
	}
	m, err := fold(out)
	if err != nil {
		t.Fatalf("%v\nagent: %s", err, out)
	}
	if n := len(gjson.Get(m.final, "output").Array()); n != len(m.items) {
		t.Fatalf("%d items at the end, %d were streamed\nagent: %s", n, len(m.items), out)
	}
	return gjson.Parse("[" + strings.Join(m.items, ",") + "]").Array()
}

// checkSane: the items that the agent got are those that were made, but for denied
// calls.
func checkSane(t *testing.T, got []gjson.Result, made []string, fates map[string]intercept.Action, out []byte) {
	t.Helper()
	at := 0
	for _, raw := range made {
		item := gjson.Parse(raw)
		fate, ruled := fates[item.Get("call_id").Str]
		if f := callForms[item.Get("type").Str]; ruled && fate == intercept.Edit {
			value := intercepttest.Edited
			if f.text {
				value = strictjson.Quote(value)
			}
			raw, _ = sjson.SetRaw(raw, f.field, value)
		} else if ruled && fate == intercept.Deny {
			continue
		}
		if at >= len(got) || got[at].Raw != raw {
			t.Fatalf("item %d is not %s\nagent: %s", at, raw, out)
		}
		at++
	}
	if at < len(got) {
		t.Fatalf("items were made up: %s\nagent: %s", got[at:], out)
	}
}

// checkEchoes sends the answer back as agents do, and reads the request that goes
// upstream.
func checkEchoes(t *testing.T, d *intercepttest.Dice, got []gjson.Result, made []string, hidden [][]byte) {
	t.Helper()
	input, results := []string{`{"role":"user","content":"hi"}`}, []string(nil)
	bare := d.N(2) == 0
	for _, item := range got {
		raw := item.Raw
		typ := item.Get("type").Str
		if bare && typ == "reasoning" {
			continue
		}
		if bare {
			raw = withoutID(raw)
		}
		input = append(input, raw)
		if id := item.Get("call_id"); id.Exists() {
			output := typ + "_output"
			if typ == "tool_search_call" {
				output = "tool_search_output"
			}
			results = append(results, `{"type":"`+output+`","call_id":`+id.Raw+`,"output":"ok"}`)
		}
	}
	if len(input) == 1 {
		return // nothing that the agent could show
	}
	if len(results) == 0 {
		results = []string{`{"role":"user","content":"go on"}`}
	}
	r, err := parseRequest(asked(`{"store":false,"input":[` + strings.Join(append(input, results...), ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Splice(hidden)
	body := string(r.Envelope().Body)
	checkAnswered(t, body)
	for _, raw := range made {
		if id := gjson.Get(raw, "call_id"); id.Exists() && strings.Count(body, `"call_id":`+id.Raw) < 2 {
			t.Fatalf("call %s is lost: %s\nspliced from %s", id.Raw, body, input)
		}
	}
}
