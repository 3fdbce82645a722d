package chat

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept/intercepttest"
)

// BenchmarkStream: one op is a stream of 200 events of about 220 bytes, so an
// event costs a 200th.
func BenchmarkStream(b *testing.B) {
	word := event(`{"content":"`+strings.Repeat("word ", 18)+`"}`, "null")
	fragments := role + opening(0, "call_a", "bash", `{"m":"`)
	for range 200 {
		fragments += more(0, strings.Repeat(`w "d `, 12))
	}
	fragments += more(0, `"}`) + finish + done
	text := role + strings.Repeat(word, 200) + done
	b.Run("text/block", func(b *testing.B) { benchmark(b, text, len(text)) })
	b.Run("text/event", func(b *testing.B) { benchmark(b, text, len(word)) })
	sound := event(`{"audio":{"data":"`+strings.Repeat("AAAA", 18)+`"}}`, "null")
	b.Run("sound/event", func(b *testing.B) { benchmark(b, role+strings.Repeat(sound, 200)+done, len(sound)) })
	b.Run("call/block", func(b *testing.B) { benchmark(b, fragments, len(fragments)) })
	b.Run("call/event", func(b *testing.B) { benchmark(b, fragments, len(word)) })
}

func benchmark(b *testing.B, answer string, n int) {
	b.Helper()
	r, err := Dialect{}.Request(asked(request1))
	if err != nil {
		b.Fatal(err)
	}
	intercepttest.Bench(b, r, answer, n)
}
