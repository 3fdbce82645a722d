package responses

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept/intercepttest"
)

// BenchmarkStream: one op is a stream of 200 deltas, in events of about 220 bytes,
// so an event costs a 200th. What they bring comes again at the end, three times.
func BenchmarkStream(b *testing.B) {
	streamed := func(item string) string {
		s := newScript("resp_1").begin()
		s.pieces = 200
		return s.item(item).end()
	}
	said := streamed(message("msg_1", strings.Repeat("we read \"wörd\"\n", 250)))
	call := streamed(function("a", "bash", `{"m":"`+strings.Repeat(`w \"d `, 800)+`"}`))
	b.Run("text/block", func(b *testing.B) { benchmark(b, said, len(said)) })
	b.Run("text/event", func(b *testing.B) { benchmark(b, said, 220) })
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
