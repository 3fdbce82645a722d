package chat

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/intercept/sse"
	"github.com/tidwall/gjson"
)

// shown are the calls that policy and people saw, sorted.
func shown(calls []intercept.Call) []string {
	list := []string{}
	for _, c := range calls {
		list = append(list, c.Name+"("+cmp.Or(c.Arguments, "{}")+")")
	}
	slices.Sort(list)
	return list
}

// readUniform reads an answer as a client does that skips, without a word, each event
// with a part of a call that does not fit the schemas, or is not of the answer that
// the first event began, and returns its calls, sorted.
func readUniform(out []byte) []string {
	s := skipping{calls: make(map[string]*callSeen)}
	if text := bytes.TrimLeft(bytes.TrimPrefix(out, []byte("\xef\xbb\xbf")), " \t\r\n"); len(text) > 0 && text[0] == '{' {
		s.whole(gjson.ParseBytes(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))))
	} else {
		for _, part := range intercepttest.Parts(out) {
			s.event(sse.Parse(part))
		}
	}
	list := []string{}
	for _, c := range s.calls {
		list = append(list, c.name+"("+cmp.Or(c.args, "{}")+")")
	}
	slices.Sort(list)
	return list
}

type skipping struct {
	id, object string
	calls      map[string]*callSeen
}

func (s *skipping) event(e sse.Event) {
	for _, data := range e.Data {
		v := gjson.ParseBytes(data)
		if !v.IsObject() {
			continue
		}
		if s.id == "" {
			s.id, s.object = v.Get("id").String(), v.Get("object").String()
		}
		if !bytes.Contains(data, []byte("call")) {
			continue
		}
		known := v.Get("id").String() == s.id && (v.Get("object").String() == s.object || v.Get("object").String() == chunkObject)
		if !known || e.Name != nil || len(e.Stray) > 0 || len(e.Data) != 1 || e.Indented > 0 || !eventSchema.Fits(v) {
			continue
		}
		choice := v.Get("choices.0")
		for _, entry := range choice.Get("delta.tool_calls").Array() {
			s.entry(fmt.Sprint(choice.Get("index").Int(), " ", entry.Get("index").Int()), entry)
		}
		if legacy := choice.Get("delta.function_call"); legacy.IsObject() {
			s.add(fmt.Sprint(choice.Get("index").Int(), " legacy"), legacy, "arguments", kindLegacy)
		}
	}
}

func (s *skipping) entry(key string, entry gjson.Result) {
	if entry.Get("custom").Exists() {
		s.add(key, entry, "custom", kindCustom)
		return
	}
	s.add(key, entry, "function", kindFunction)
}

func (s *skipping) add(key string, v gjson.Result, body string, k callKind) {
	schemas := &callSchemas[k]
	if (s.calls[key] == nil && !schemas.opening.Fits(v)) || !schemas.more.Fits(v) {
		return
	}
	if s.calls[key] == nil {
		s.calls[key] = &callSeen{}
	}
	if k != kindLegacy {
		v = v.Get(body)
	}
	s.calls[key].name += v.Get("name").Str
	s.calls[key].args += v.Get("arguments").Str + v.Get("input").Str
}

func (s *skipping) whole(body gjson.Result) {
	for i, choice := range body.Get("choices").Array() {
		message := choice.Get("message")
		for j, entry := range message.Get("tool_calls").Array() {
			k, at := kindFunction, "function"
			if entry.Get("custom").Exists() {
				k, at = kindCustom, "custom"
			}
			if callSchemas[k].whole.Fits(entry) {
				s.calls[fmt.Sprint(i, " ", j)] = &callSeen{name: entry.Get(at + ".name").Str, args: entry.Get(at+".arguments").Str + entry.Get(at+".input").Str}
			}
		}
		if legacy := message.Get("function_call"); callSchemas[kindLegacy].whole.Fits(legacy) {
			s.calls[fmt.Sprint(i, " legacy")] = &callSeen{name: legacy.Get("name").Str, args: legacy.Get("arguments").Str}
		}
	}
}
