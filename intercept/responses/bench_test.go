package responses

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept/intercepttest"
)

// BenchmarkStream: one op is a stream of 200 deltas, in events of about 220 bytes,
// so an event costs a 200th. What they bring comes again at the end, three times. In an
// echo, upstream repeats tools of 20 KB, three times too.
func BenchmarkStream(b *testing.B) {
	streamed := func(item string) string {
		s := newScript("resp_1").begin()
		s.pieces = 200
		return s.item(item).end()
	}
	said := streamed(message("msg_1", strings.Repeat("we read \"wörd\"\n", 250)))
	property := `{"type":"object","properties":{"path":{"type":"string","description":"` + strings.Repeat("What to read. ", 12) + `"}},"required":["path"]}`
	echo := strings.ReplaceAll(said, `{"type":"object"}`, `{"anyOf":[`+strings.Repeat(property+",", 80)+property+`]}`)
	call := streamed(function("a", "bash", `{"m":"`+strings.Repeat(`w \"d `, 800)+`"}`))
	b.Run("text/block", func(b *testing.B) { benchmark(b, said, len(said)) })
	b.Run("text/event", func(b *testing.B) { benchmark(b, said, 220) })
	b.Run("echo/block", func(b *testing.B) { benchmark(b, echo, len(echo)) })
	b.Run("call/block", func(b *testing.B) { benchmark(b, call, len(call)) })
	b.Run("call/event", func(b *testing.B) { benchmark(b, call, 220) })
}

// BenchmarkWhole: one op is a whole answer without a call.
func BenchmarkWhole(b *testing.B) {
	body := whole("resp_1", message("msg_1", strings.Repeat("we read \"wörd\"\n", 120)))
	benchmark(b, body, len(body))
}

func benchmark(b *testing.B, answer string, n int) {
	b.Helper()
	r, err := Dialect{}.Request(asked(request1))
	if err != nil {
		b.Fatal(err)
	}
	intercepttest.Bench(b, r, answer, n)
}
