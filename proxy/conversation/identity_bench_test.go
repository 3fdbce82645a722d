package conversation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat"
	"github.com/heldcall/heldcall/intercept/messages"
	"github.com/heldcall/heldcall/intercept/responses"
)

// prompt is a text of a user of n bytes. With escapes every eighth character is escaped in JSON.
func prompt(n int, escaped bool) string {
	text := "Please read this file, and tell me which functions are too long. "
	if escaped {
		text = "\tif x {\n\t\ts = \"é\"\n\t}\nline of plain text, and more of it\n"
	}
	return strings.Repeat(text, n/len(text)+1)[:n]
}

// history is a request whose texts have about n bytes: of one message of the user, or of others
// after it, with that of the user at the end.
func history(tb testing.TB, d intercept.Dialect, text string, count int) []byte {
	tb.Helper()
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	items := []message{{"user", text}}
	for i := 1; i < count; i++ {
		items = append(items, message{[]string{"user", "assistant"}[i%2], fmt.Sprintf("message %d of the history", i)})
	}
	if count > 1 {
		items[len(items)-1] = message{"user", text}
	}
	field := "messages"
	if d.Name() == "responses" {
		field = "input"
	}
	body, err := json.Marshal(map[string]any{"model": "m", field: items})
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

// What it costs to find session and run of a request: once any run had a call, that is needed for
// each request. A new prompt is one that no earlier request had.
func BenchmarkIdentity(b *testing.B) {
	for _, d := range []intercept.Dialect{chat.Dialect{}, messages.Dialect{}, responses.Dialect{}} {
		for _, size := range []int{20_000, 200_000} {
			for _, escaped := range []bool{false, true} {
				for _, count := range []int{1, 200} {
					for _, fresh := range []bool{false, true} {
						if fresh && d.Name() != "chat" {
							continue
						}
						b.Run(fmt.Sprintf("%s/%dKB/escaped=%t/messages=%d/new=%t", d.Name(), size/1000, escaped, count, fresh), func(b *testing.B) {
							benchmarkIdentity(b, d, history(b, d, prompt(size, escaped), count), fresh)
						})
					}
				}
			}
		}
	}
}

func benchmarkIdentity(b *testing.B, d intercept.Dialect, body []byte, fresh bool) {
	b.ReportAllocs()
	bench, request := newBench(), requestTo(d, string(body))
	var c Conversation
	c.Init(&bench.Shared, request)
	if refusal := c.read(); refusal != nil {
		b.Fatal(refusal)
	}
	sent := c.Parsed.Envelope().Body
	first := bytes.Index(sent, []byte("line of")) // in both prompts, or the letters below
	if first < 0 {
		first = bytes.Index(sent, []byte("Please"))
	}
	last := bytes.LastIndex(sent, sent[first:first+6])
	for n := 0; b.Loop(); n++ {
		if fresh {
			for i := range 6 {
				digit := 'a' + byte(n>>(4*i)&15)
				sent[first+i], sent[last+i] = digit, digit
			}
		}
		parsed := c.Parsed
		again := Conversation{Request: request, shared: &bench.Shared, Parsed: parsed}
		if again.Identity().Run == "" {
			b.Fatal("no run")
		}
	}
}
