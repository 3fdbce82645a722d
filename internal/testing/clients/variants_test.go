//go:build clients

package clients_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/intercept/messages"
	"github.com/heldcall/heldcall/intercept/responses"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// variant is one mutated answer and what heldcall makes of it.
type variant struct {
	name     string // how the answer was mutated
	api      fakemodel.API
	streamed bool
	upstream []byte           // the mutated answer
	released []byte           // what the agent gets, nil where the whole answer is refused
	shown    []fakemodel.Call // what may run: judged and released, or edited
	doubted  []string         // tools of released calls that reviewers are warned of: clients read their arguments in different ways
	refused  bool             // heldcall ended the answer with an error
}

// newVariant makes the n-th variant: it is the same each time.
func newVariant(t *testing.T, n int) variant {
	dice := rand.New(rand.NewPCG(uint64(n), 12))
	api := []fakemodel.API{fakemodel.Chat, fakemodel.Messages, fakemodel.Responses}[n%3]
	v := variant{api: api, streamed: dice.IntN(5) > 0}
	events := baseAnswer(api, v.streamed, 1+dice.IntN(2))
	var did []string
	for range 1 + dice.IntN(2) {
		var what string
		events, what = mutate(dice, events, v.streamed)
		did = append(did, what)
	}
	v.upstream = bytes.Join(events, nil)
	outcome := []string{"release", "release", "edit", "deny first"}[dice.IntN(4)]
	v.name = fmt.Sprintf("%d %s %s: %s", n, api, outcome, strings.Join(did, "; "))
	v.play(t, outcome)
	return v
}

// baseAnswer is an answer with text and calls, event by event; a whole one is a
// single event. The arguments come in fragments of eight bytes, so that a client
// that drops one within the string still reads valid JSON.
func baseAnswer(api fakemodel.API, streamed bool, calls int) [][]byte {
	a := fakemodel.Answer{Text: "Let me see.", Usage: firstUsage, Fragment: 8}
	for i := range calls {
		a.Calls = append(a.Calls, fakemodel.Call{
			ID:        fmt.Sprintf("call_%dAb3dEf6hIj9lMn2pQr", i),
			Name:      []string{"transfer", "lookup"}[i],
			Arguments: fmt.Sprintf(`{"job":"rm -rf /tmp/junk/of/%d","amount":1}`, i),
		})
	}
	request := []byte(requestBody(api, streamed))
	switch {
	case api == fakemodel.Chat && streamed:
		return a.Stream(true).Events()
	case api == fakemodel.Chat:
		return [][]byte{a.Whole()}
	case api == fakemodel.Messages && streamed:
		return a.MessagesStream(request).Events()
	case api == fakemodel.Messages:
		return [][]byte{a.MessagesStream(request).Whole()}
	case streamed:
		return a.ResponsesStream(request).Events()
	}
	return [][]byte{a.ResponsesStream(request).Whole()}
}

func requestBody(api fakemodel.API, streamed bool) string {
	function := func(name string) string {
		return fmt.Sprintf(`"name":%q,"parameters":{"type":"object"}`, name)
	}
	switch api {
	case fakemodel.Chat:
		return fmt.Sprintf(`{"model":"m","stream":%v,"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{%s}},{"type":"function","function":{%s}}]}`,
			streamed, function("transfer"), function("lookup"))
	case fakemodel.Messages:
		return fmt.Sprintf(`{"model":"m","max_tokens":100,"stream":%v,"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"transfer","input_schema":{"type":"object"}},{"name":"lookup","input_schema":{"type":"object"}}]}`, streamed)
	}
	return fmt.Sprintf(`{"model":"m","stream":%v,"input":[{"role":"user","content":"hi"}],"tools":[{"type":"function",%s},{"type":"function",%s}]}`,
		streamed, function("transfer"), function("lookup"))
}

// play lets heldcall read the answer and rules on its calls.
func (v *variant) play(t *testing.T, outcome string) {
	dialect, path := map[fakemodel.API]intercept.Dialect{
		fakemodel.Chat: chat.Dialect{}, fakemodel.Messages: messages.Dialect{}, fakemodel.Responses: responses.Dialect{},
	}[v.api], map[fakemodel.API]string{fakemodel.Chat: "/chat/completions", fakemodel.Messages: "/messages", fakemodel.Responses: "/responses"}[v.api]
	request, err := dialect.Request(intercept.Envelope{Method: "POST", Path: path, Body: []byte(requestBody(v.api, v.streamed))})
	if err != nil {
		t.Fatal(err)
	}
	rule := intercepttest.ReleaseAll
	switch outcome {
	case "edit":
		rule = intercepttest.EditAll
	case "deny first":
		rule = denyFirstOfTwo
	}
	last := baseAnswer(v.api, v.streamed, 0)
	p := intercepttest.Play(t, request, [][]byte{v.upstream, bytes.Join(last, nil)}, nil, intercept.Limits{}, rule)
	v.refused = p.Err != nil
	if v.streamed || !v.refused {
		v.released = p.Out()
	}
	if v.refused || len(p.Calls) == 0 {
		return
	}
	for i, c := range p.Calls[0] {
		switch r := rule(i, c); r.Action {
		case intercept.Release:
			if len(c.Ambiguous) > 0 {
				v.doubted = append(v.doubted, c.Name)
				continue
			}
			v.shown = append(v.shown, fakemodel.Call{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
		case intercept.Edit:
			v.shown = append(v.shown, fakemodel.Call{ID: c.ID, Name: c.Name, Arguments: r.Arguments})
		}
	}
}

func denyFirstOfTwo(n int, c intercept.Call) intercept.Ruling {
	if n == 0 {
		return intercepttest.DenyAll(n, c)
	}
	return intercepttest.ReleaseAll(n, c)
}

// mutate changes one event, or the order of two, and returns how.
func mutate(dice *rand.Rand, events [][]byte, streamed bool) ([][]byte, string) {
	at := dice.IntN(len(events))
	for range 3 { // mostly an event of a call
		if bytes.Contains(events[at], []byte("call_")) || bytes.Contains(events[at], []byte("rguments")) || bytes.Contains(events[at], []byte("input_json")) {
			break
		}
		at = dice.IntN(len(events))
	}
	if streamed && dice.IntN(3) == 0 {
		return mutateFraming(dice, events, at)
	}
	out := bytes.Clone(events[at])
	start := bytes.IndexByte(out, '{')
	if start < 0 {
		return events, "nothing"
	}
	end := bytes.LastIndexByte(out, '}') + 1
	changed, what := mutateJSON(dice, string(out[start:end]))
	list := append([][]byte(nil), events...)
	list[at] = append(append(bytes.Clone(out[:start]), changed...), out[end:]...)
	return list, fmt.Sprintf("event %d: %s", at, what)
}

// oddValues replace a value or are added under one of oddNames.
var (
	oddValues = []string{
		`null`, `""`, `"x"`, `5`, `-1`, `0`, `1.5`, `1e3`, `true`, `[]`, `{}`, `"assistant"`, `"user"`, `"call"`,
		`"{\"job\":\"rm -rf /\",\"amount\":1}"`, `"{\"job\":\"rm -rf /\",\"x\":"`, `{"job":"rm -rf /","amount":1}`,
		`{"function":{"name":"transfer","arguments":"{\"job\":\"rm -rf /\"}"}}`, `[{"index":0,"function":{"arguments":"x"}}]`,
	}
	oddNames = []string{
		"__json_buf", "__proto__", "constructor", "prototype", "arguments", "args", "input", "parameters", "function", "name", "id", "index",
		"type", "custom", "partial_json", "delta", "item", "item_id", "output_index", "role", "content", "usage", "error", "tool_calls", "call_id",
		"extra_content", "caller", "logprobs", "object", "model", "created", "message", "finish_reason", "status", "sequence_number", "obfuscation", "citations",
	}
)

// mutateJSON changes a field at any depth: it takes it out, sets it to an odd
// value, or adds one beside it.
func mutateJSON(dice *rand.Rand, payload string) (changed, what string) {
	paths := fieldPaths(gjson.Parse(payload), "")
	if len(paths) == 0 {
		return payload, "nothing"
	}
	path := paths[dice.IntN(len(paths))]
	value := oddValues[dice.IntN(len(oddValues))]
	var err error
	switch dice.IntN(4) {
	case 0:
		what = "without " + path
		changed, err = sjson.Delete(payload, path)
	case 1, 2:
		what = path + "=" + value
		changed, err = sjson.SetRaw(payload, path, value)
	default:
		path = path[:strings.LastIndexByte(path, '.')+1] + oddNames[dice.IntN(len(oddNames))]
		what = path + "=" + value + " added"
		changed, err = sjson.SetRaw(payload, path, value)
	}
	if err != nil {
		return payload, "nothing"
	}
	return changed, what
}

// fieldPaths are the paths of all values within v.
func fieldPaths(v gjson.Result, prefix string) (paths []string) {
	i := 0
	v.ForEach(func(k, item gjson.Result) bool {
		name := k.Str
		if v.IsArray() {
			name = fmt.Sprint(i)
			i++
		}
		paths = append(paths, prefix+name)
		if item.IsObject() || item.IsArray() {
			paths = append(paths, fieldPaths(item, prefix+name+".")...)
		}
		return true
	})
	return paths
}

// mutateFraming changes the lines of an event, or the order of events.
func mutateFraming(dice *rand.Rand, events [][]byte, at int) ([][]byte, string) {
	event := string(events[at])
	line := []string{"event: thread.x", "event: error", "event: ping", "event: message_stop", "event:", "id: 5", "retry: 1", ": comment", "data:", "event: response.completed"}[dice.IntN(10)]
	before := []string{"data: [DONE]\n\n", "event: ping\ndata: {\"type\":\"ping\"}\n\n", "data: \n\n", ": x\n\n", "event: error\ndata: {}\n\n", "data: null\n\n", "data: {}\n\n", "data: \"x\"\n\n"}[dice.IntN(8)]
	name, rest, named := strings.Cut(event, "\n")
	named = named && strings.HasPrefix(name, "event:")
	replace := func(with ...string) [][]byte {
		list := append([][]byte(nil), events[:at]...)
		for _, e := range with {
			list = append(list, []byte(e))
		}
		return append(list, events[at+1:]...)
	}
	switch dice.IntN(9) {
	case 0:
		return replace(line + "\n" + event), fmt.Sprintf("%q first in event %d", line, at)
	case 1:
		return replace(strings.TrimSuffix(event, "\n") + line + "\n\n"), fmt.Sprintf("%q last in event %d", line, at)
	case 2:
		if named {
			return replace(rest), fmt.Sprintf("event %d without its name", at)
		}
		return replace("event: message\n" + event), fmt.Sprintf("event %d named message", at)
	case 3:
		if named {
			return replace(line + "\n" + rest), fmt.Sprintf("%q in place of the name of event %d", line, at)
		}
		return replace(strings.Replace(event, "data: ", "data:", 1)), fmt.Sprintf("event %d without a space", at)
	case 4:
		return replace(before, event), fmt.Sprintf("%q before event %d", before, at)
	case 5:
		return replace(event, event), fmt.Sprintf("event %d twice", at)
	case 6:
		return replace(), fmt.Sprintf("without event %d", at)
	case 7:
		return replace(strings.Replace(event, "{", "{\ndata: ", 1)), fmt.Sprintf("event %d on two lines", at)
	}
	if at+1 < len(events) {
		list := append([][]byte(nil), events...)
		list[at], list[at+1] = list[at+1], list[at]
		return list, fmt.Sprintf("event %d after the next", at)
	}
	return replace(strings.ReplaceAll(event, "\n", "\r\n")), fmt.Sprintf("event %d with CRLF", at)
}
