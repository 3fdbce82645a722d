package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// callKeys are the keys of an answer under which calls stand.
var callKeys = []string{"tool_calls", "function_call"}

// Secrets are the texts that give denied calls away and that no allowed call
// has in common with them, as two calls of one tool have its name.
func Secrets(denied, allowed []*Call) []string {
	var shared, secrets []string
	for _, call := range allowed {
		shared = append(shared, traces(call)...)
	}
	for _, call := range denied {
		for _, text := range traces(call) {
			known := slices.ContainsFunc(shared, func(s string) bool { return strings.Contains(s, text) })
			if !known && !slices.Contains(secrets, text) {
				secrets = append(secrets, text)
			}
		}
	}
	return secrets
}

// Leaks looks for secrets in what an agent received and returns what it found.
// upstream is the answer they came in: a text that stands in its other parts
// too, such as a tool's name in what the model said, may appear as often as it
// does there.
func Leaks(secrets []string, upstream, received []byte) []string {
	var found []string
	others := withoutCalls(upstream)
	for _, secret := range secrets {
		allowed, got := bytes.Count(others, []byte(secret)), bytes.Count(received, []byte(secret))
		if got > allowed {
			found = append(found, fmt.Sprintf("%q of a denied call is there %d times, %d of them are not the call's", secret, got, allowed))
		}
	}
	return found
}

// traces are the texts that give a call away: its id, name and arguments and
// every text in these. Less than four characters say nothing of where they came
// from; a name as short as that is told by its quotes.
func traces(call *Call) []string {
	var texts []string
	add := func(text string) {
		if len(text) >= 4 && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	add(call.ID)
	add(call.Name)
	if len(call.Name) < 4 {
		add(string(quoted(call.Name)))
	}
	escaped := string(quoted(call.Arguments))
	add(escaped[1 : len(escaped)-1])
	var walk func(gjson.Result)
	walk = func(value gjson.Result) {
		switch {
		case value.IsObject(), value.IsArray():
			value.ForEach(func(_, child gjson.Result) bool { walk(child); return true })
		case value.Type == gjson.String:
			add(value.Str)
		}
	}
	if gjson.Valid(call.Arguments) {
		walk(gjson.Parse(call.Arguments))
	}
	return texts
}

// StructuredCalls counts the entries that stand where calls stand, in any
// choice, delta or message of the answer.
func StructuredCalls(body []byte) int {
	n := 0
	each(body, func(value gjson.Result) {
		for _, key := range callKeys {
			entries := value.Get(key)
			if entries.IsArray() {
				n += len(entries.Array())
			} else if entries.IsObject() {
				n++
			}
		}
	})
	return n
}

// each visits every delta and message of an answer.
func each(body []byte, visit func(gjson.Result)) {
	begin := bytes.TrimLeft(body, " \t\r\n")
	all := []string{string(begin)}
	if !bytes.HasPrefix(begin, []byte("{")) {
		all = payloads(body)
	}
	for _, payload := range all {
		for _, choice := range gjson.Get(payload, "choices").Array() {
			visit(choice.Get("delta"))
			visit(choice.Get("message"))
		}
	}
}

// withoutCalls is the JSON of an answer with its calls taken out.
func withoutCalls(body []byte) []byte {
	begin := bytes.TrimLeft(body, " \t\r\n")
	all := []string{string(begin)}
	if !bytes.HasPrefix(begin, []byte("{")) {
		all = payloads(body)
	}
	var rest bytes.Buffer
	for _, payload := range all {
		var value any
		if json.Unmarshal([]byte(payload), &value) == nil {
			rest.Write(quoted(drop(value)))
			rest.WriteByte('\n')
		}
	}
	return rest.Bytes()
}

func drop(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range callKeys {
			delete(v, key)
		}
		for key := range v {
			v[key] = drop(v[key])
		}
	case []any:
		for i := range v {
			v[i] = drop(v[i])
		}
	}
	return value
}

// quoted is a value as JSON, without HTML escapes.
func quoted(value any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		panic(fmt.Sprintf("internal error: %v", err))
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
