package responses

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
)

// BenchmarkStream: one op is a stream of 200 deltas, in events of about 220 bytes,
// so an event costs a 200th. What they bring comes again at the end, three times.
func BenchmarkStream(b *testing.B) {
	streamed := func(item string) string {
		s := newScript("resp_1").begin()
		s.pieces = 200
		return s.item(item).end()
	}
	said := streamed(message("msg_1", strings.Repeat("word ", 800)))
	call := streamed(function("a", "bash", `{"m":"`+strings.Repeat(`w \"d `, 800)+`"}`))
	b.Run("text/block", func(b *testing.B) { benchmark(b, said, len(said)) })
	b.Run("text/event", func(b *testing.B) { benchmark(b, said, 220) })
	b.Run("call/block", func(b *testing.B) { benchmark(b, call, len(call)) })
	b.Run("call/event", func(b *testing.B) { benchmark(b, call, 220) })
}

// BenchmarkWhole: one op is a whole answer without a call.
func BenchmarkWhole(b *testing.B) {
	body := whole("resp_1", message("msg_1", strings.Repeat("word ", 400)))
	benchmark(b, body, len(body))
}

// benchmark plays an answer in blocks of n bytes and releases its calls.
func benchmark(b *testing.B, answer string, n int) {
	r, err := Dialect{}.Request(asked(request1))
	if err != nil {
		b.Fatal(err)
	}
	body := []byte(answer)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		a := r.Answer(intercept.Limits{MaxBytes: 1 << 20, TurnID: "t"})
		a.Begin("")
		for at := 0; at < len(body); at += n {
			if _, err := a.Write(body[at:min(at+n, len(body))]); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := a.End(true); err != nil {
			b.Fatal(err)
		}
		var rulings []intercept.Ruling
		for _, c := range a.Calls() {
			rulings = append(rulings, release(c))
		}
		if _, err := a.Settle(rulings); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/200, "ns/event")
}
