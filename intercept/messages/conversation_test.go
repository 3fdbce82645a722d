package messages

import (
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// checkConversation reads a request as the provider does, and refuses the same:
// every call of an assistant message is answered in the next message, which is
// the user's, before any text; no result is without its call; no message is empty
// and none of the assistant's ends in thinking; ids are spelt as they must be.
func checkConversation(t testing.TB, body string) {
	t.Helper()
	if err := strictjson.Strict([]byte(body)); err != nil {
		t.Fatalf("broken JSON: %v: %s", err, body)
	}
	var pending []string
	for _, m := range gjson.Get(body, "messages").Array() {
		content := m.Get("content")
		var parts []gjson.Result
		if content.IsArray() {
			if parts = content.Array(); len(parts) == 0 {
				t.Fatalf("an empty message in %s", body)
			}
		}
		switch m.Get("role").Str {
		case "assistant":
			if len(pending) > 0 {
				t.Fatalf("no results for %q in %s", pending, body)
			}
			for i, part := range parts {
				blank := part.Get("type").Str == "text" && strings.TrimSpace(part.Get("text").String()) == ""
				if blank || (i == len(parts)-1 && isThinking(part.Raw)) {
					t.Fatalf("a block that no provider takes in %s", body)
				}
				if part.Get("type").Str == "tool_use" {
					if !part.Get("input").IsObject() {
						t.Fatalf("an input that is no object in %s", body)
					}
					pending = append(pending, part.Get("id").Str)
				}
			}
			if slices.Contains(pending, "") {
				t.Fatalf("a call without an id in %s", body)
			}
		case "user":
			checkResults(t, body, parts, pending)
			pending = nil
		}
	}
	if len(pending) > 0 {
		t.Fatalf("no results for %q in %s", pending, body)
	}
}

// checkResults checks that a message of the user begins with the results of all pending calls.
func checkResults(t testing.TB, body string, parts []gjson.Result, pending []string) {
	t.Helper()
	other := false
	for _, part := range parts {
		if part.Get("type").Str != "tool_result" {
			other = true
			continue
		}
		place := slices.Index(pending, part.Get("tool_use_id").Str)
		if place < 0 || other {
			t.Fatalf("a result without its call, or after other blocks, in %s", body)
		}
		pending = slices.Delete(pending, place, place+1)
	}
	if len(pending) > 0 {
		t.Fatalf("no results for %s in %s", strings.Join(pending, ", "), body)
	}
}
