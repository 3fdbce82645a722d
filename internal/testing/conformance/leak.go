package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

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
// upstream are the answers that contained them: a text that is also in their other parts,
// such as a tool's name in the model's text, may appear as often as it does there.
func Leaks(d Dialect, secrets []string, received []byte, upstream ...[]byte) []string {
	var found []string
	var others []byte
	for _, answer := range upstream {
		others = append(others, d.Others(answer)...)
	}
	for _, secret := range secrets {
		allowed, got := bytes.Count(others, []byte(secret)), bytes.Count(received, []byte(secret))
		if got > allowed {
			found = append(found, fmt.Sprintf("%q of a denied call is there %d times, %d of them are not the call's", secret, got, allowed))
		}
	}
	return found
}

// traces are the texts that identify a call: its ids, name and arguments and every text in
// these. Texts of less than four characters identify nothing; a name as short as that is
// recognised by its quotes.
func traces(call *Call) []string {
	var texts []string
	add := func(text string) {
		if len(text) >= 4 && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	add(call.ID)
	add(call.Item)
	add(call.Name)
	if len(call.Name) < 4 {
		add(string(quoted(call.Name)))
	}
	add(call.Arguments)
	add(inner(call.Arguments))
	var walk func(gjson.Result)
	walk = func(value gjson.Result) {
		switch {
		case value.IsObject(), value.IsArray():
			value.ForEach(func(_, child gjson.Result) bool { walk(child); return true })
		case value.Type == gjson.String:
			add(value.Str)
			add(inner(value.Str))
		}
	}
	if gjson.Valid(call.Arguments) {
		walk(gjson.Parse(call.Arguments))
	}
	return texts
}

// inner is a text as it is written in a JSON string.
func inner(text string) string {
	escaped := string(quoted(text))
	return escaped[1 : len(escaped)-1]
}

// rest is the JSON of an answer, an event a line, as keep leaves it. keep may
// change what it is given.
func rest(body []byte, keep func(value any) any) []byte {
	var b bytes.Buffer
	each(body, func(data gjson.Result) {
		var value any
		if json.Unmarshal([]byte(data.Raw), &value) != nil {
			return // not after it was found valid
		}
		if value = keep(value); value != nil {
			b.Write(quoted(value))
			b.WriteByte('\n')
		}
	})
	return b.Bytes()
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
