package responses

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/intercept/sse"
	"github.com/tidwall/gjson"
)

// reading is what a client makes of the calls in an answer: of their fragments, of the
// items when they are done, and of the list at the end. Each call is its name and its
// input.
type reading struct {
	fragments, done, list []string
	listed                bool
}

// read takes an answer as a client does. One that skips drops each event that is not
// written as the API has it; the other takes whatever it can.
func read(out []byte, skips bool) *reading {
	r := &reading{}
	if body := bytes.TrimLeft(bytes.TrimPrefix(out, []byte("\ufeff")), " \t\r\n"); len(body) > 0 && body[0] == '{' && gjson.ValidBytes(body) {
		r.end(gjson.ParseBytes(body))
		return r
	}
	type fragments struct{ typ, name, text string }
	open := make(map[string]*fragments)
	var order []*fragments
	for _, part := range intercepttest.Parts(out) {
		event := sse.Parse(part)
		list, _ := intercepttest.Payloads(part)
		for _, payload := range list {
			v := gjson.ParseBytes(payload)
			typ := v.Get("type").Str
			if skips && (!plainEvent(v) || len(event.Stray) > 0 || len(list) > 1 || (event.Name != nil && string(event.Name) != typ)) {
				continue
			}
			if typ == "" {
				typ = string(event.Name)
			}
			at := v.Get("output_index").Raw
			switch in := inputEvents[typ]; {
			case typ == "response.output_item.added":
				e := readEntry(&intercept.Reading{}, v.Get("item"))
				if e.typ == "function_call" || e.typ == "custom_tool_call" {
					text, _ := e.input(callForms[e.typ])
					open[at] = &fragments{e.typ, e.name, text}
					order = append(order, open[at])
				}
			case typ == "response.output_item.done":
				r.done = append(r.done, callIn(v.Get("item"))...)
			case in.fragment && open[at] != nil && open[at].typ == in.of:
				open[at].text += v.Get("delta").Str
			case typ == "response.completed" || typ == "response.incomplete":
				r.end(v.Get("response"))
			}
		}
	}
	for _, e := range order {
		r.fragments = append(r.fragments, e.name+" "+e.text)
	}
	return r
}

// plainEvent reports whether an event is none of a call, or one as the API has it.
func plainEvent(v gjson.Result) bool {
	if s := inputEventSchemas[v.Get("type").Str]; s != nil {
		return s.Fits(v)
	}
	if s := itemEventSchemas[v.Get("item.type").Str]; s != nil {
		return s.Fits(v)
	}
	return v.Get("type").Str != ""
}

func (r *reading) end(response gjson.Result) {
	for _, item := range response.Get("output").Array() {
		r.list, r.listed = append(r.list, callIn(item)...), true
	}
}

// callIn is the call that an item is, if it is one.
func callIn(v gjson.Result) []string {
	e := readEntry(&intercept.Reading{}, v)
	f := callForms[e.typ]
	if f == nil || e.typ == approvalRequest || e.execution == "server" {
		return nil
	}
	it := item{entry: e, done: true, call: &call{form: f}}
	input := it.input()
	if input == "{}" && !f.text {
		input = "" // as it is shown where there is none
	}
	return []string{it.name() + " " + input}
}

// checkRead: every reader of what the agent got has exactly the calls that were shown.
func checkRead(t testing.TB, out []byte, shown ...intercept.Call) {
	t.Helper()
	var want, streamed []string
	for _, c := range shown {
		odd := slices.Contains(c.Ambiguous, intercept.AmbiguousObject) || strings.HasPrefix(c.Arguments, "[")
		if slices.Contains(c.Ambiguous, ambiguousPrototype) || (odd && itemSchemas[c.Name+"_call"] != nil) {
			return // no form of it is one that all clients read: its reviewer sees that
		}
		if c.ReadOnly { // of an unknown type
			continue
		}
		text := c.Name + " " + c.Arguments
		if c.Arguments == "{}" && itemSchemas[c.Name+"_call"] != nil {
			text = c.Name + " "
		}
		if want = append(want, text); itemSchemas[c.Name+"_call"] == nil {
			streamed = append(streamed, text)
		}
	}
	for name, r := range map[string]*reading{"lenient": read(out, false), "skipping": read(out, true)} {
		for part, got := range map[string][]string{"fragments": r.fragments, "items": r.done, "list": r.list} {
			want := want
			switch {
			case part == "list" && !r.listed, part != "list" && !bytes.Contains(out, []byte("data:")):
				continue
			case part == "fragments":
				want = streamed
			}
			if d := cmp.Diff(sorted(want), sorted(got)); d != "" {
				t.Fatalf("a %s client reads other calls in the %s (-shown +read):\n%s\nagent: %s", name, part, d, out)
			}
		}
	}
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}

// attacks are rows of finding 1: the call of an answer is written so that some client
// skips a part of it, or reads another one.
func attacks() map[string]string {
	good := stream("resp_1", speech, function("a", "bash", `{"command":"rm -rf /tmp/junk"}`))
	at := strings.Index(good, "event: response.function_call_arguments.delta")
	second := at + strings.Index(good[at+1:], "event: response.function_call_arguments.delta") + 1
	end := second + strings.Index(good[second:], "\n\n") + 2
	change := func(old, new string) string {
		changed := strings.Replace(good[second:end], old, new, 1)
		if changed == good[second:end] {
			panic("nothing to replace: " + old)
		}
		return good[:second] + changed + good[end:]
	}
	over := strings.LastIndex(good, "event: response.output_item.done")
	again := namedEvent("response.function_call_arguments.done", `"sequence_number":13,"item_id":"fc_a","output_index":1,"arguments":"{\"command\":\"rm -rf /tmp/junk\"}"`)
	closing := strings.Index(good, "event: response.completed")
	listed := `,{"id":"fc_a","type":"function_call","status":"completed","arguments":"{\"command\":\"rm -rf /tmp/junk\"}","call_id":"call_a","name":"bash"}]`
	all := map[string]string{
		"no end":                                 good[:over] + good[closing:],
		"a list without it":                      good[:closing] + strings.Replace(good[closing:], listed, "]", 1),
		"only the list":                          good[:strings.LastIndex(good[:at], "event: ")] + good[closing:],
		"only its end":                           good[:strings.LastIndex(good[:at], "event: ")] + good[over:],
		"a fragment without type":                change(`"type":"response.function_call_arguments.delta",`, ""),
		"a fragment with an empty type":          change(`"type":"response.function_call_arguments.delta"`, `"type":""`),
		"a fragment with type null":              change(`"type":"response.function_call_arguments.delta"`, `"type":null`),
		"a fragment without output_index":        change(`"output_index":1,`, ""),
		"a fragment with output_index null":      change(`"output_index":1`, `"output_index":null`),
		"a fragment without item_id":             change(`"item_id":"fc_a",`, ""),
		"a fragment with item_id null":           change(`"item_id":"fc_a"`, `"item_id":null`),
		"a fragment of another item_id":          change(`"item_id":"fc_a"`, `"item_id":"fc_x"`),
		"a fragment without a sequence_number":   change(`"sequence_number":`, `"sequence":`),
		"a fragment with an old sequence_number": change(`"sequence_number":`, `"sequence_number":0,"x":`),
		"a fragment with an unknown field":       change(`"delta":`, `"__proto__":{"x":1},"delta":`),
		"a fragment named thread.x":              change("event: response.function_call_arguments.delta", "event: thread.x"),
		"a fragment named twice":                 change("event: ", "event: thread.x\nevent: "),
		"a fragment named after its data":        change("\n\n", "\nevent: thread.x\n\n"),
		"a fragment without a name":              change("event: response.function_call_arguments.delta\n", ""),
		"a fragment in two lines":                change(`"delta":`, "\ndata: \"delta\":"),
		"a state between the fragments":          good[:second] + namedEvent("response.in_progress", `"sequence_number":14,"response":{"id":"resp_1","object":"response","created_at":7,"status":"in_progress","output":[]}`) + good[second:],
		"no fragments":                           good[:at] + good[strings.Index(good, "event: response.function_call_arguments.done"):],
		"the end of the fragments twice":         good[:over] + again + good[over:],
	}
	item := `"type":"function_call"`
	for name, with := range map[string]string{
		"an unknown field": item + `,"x":1`, "__proto__": item + `,"__proto__":{"arguments":"{\"command\":\"rm\"}"}`,
		"an odd caller": item + `,"caller":7`, "an odd maker": item + `,"created_by":{}`,
	} {
		all["an item with "+name] = strings.ReplaceAll(good, item, with)
		first := strings.Index(good, item) + len(item)
		all["an opening with "+name] = strings.Replace(good[:first], item, with, 1) + good[first:]
		last := strings.LastIndex(good, item)
		all["a list with "+name] = good[:last] + strings.Replace(good[last:], item, with, 1)
	}
	return all
}
