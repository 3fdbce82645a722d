package messages

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
)

// BenchmarkStream: one op is a stream of 200 events of about 220 bytes, so an
// event costs a 200th. The provider pads its events with blanks.
func BenchmarkStream(b *testing.B) {
	var words, pieces strings.Builder
	for i := range 200 {
		pad := strings.Repeat(" ", i%16) + "}\n\n"
		words.WriteString(strings.TrimSuffix(word(0, strings.Repeat("word ", 20)), "}\n\n") + pad)
		pieces.WriteString(strings.TrimSuffix(more(0, strings.Repeat(`w "d `, 14)), "}\n\n") + pad)
	}
	said := started("msg_1") + opened(0, `{"type":"text","text":""}`) + words.String() + closed(0) + ended("end_turn")
	call := started("msg_1") + begun(0, "toolu_a", "bash") + more(0, `{"m":"`) + pieces.String() + more(0, `"}`) + closed(0) + ended("tool_use")
	n := words.Len() / 200
	b.Run("text/block", func(b *testing.B) { benchmark(b, said, len(said)) })
	b.Run("text/event", func(b *testing.B) { benchmark(b, said, n) })
	b.Run("call/block", func(b *testing.B) { benchmark(b, call, len(call)) })
	b.Run("call/event", func(b *testing.B) { benchmark(b, call, n) })
}

// benchmark plays a stream in blocks of n bytes and releases its calls.
func benchmark(b *testing.B, stream string, n int) {
	r := asking(b, request1)
	body := []byte(stream)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		a := r.Answer(intercept.Limits{MaxBytes: 1 << 20, TurnID: "t"})
		a.Begin("text/event-stream")
		for at := 0; at < len(body); at += n {
			if _, err := a.Write(body[at:min(at+n, len(body))]); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := a.End(true); err != nil {
			b.Fatal(err)
		}
		var rulings []intercept.Ruling
		for i, c := range a.Calls() {
			rulings = append(rulings, intercepttest.ReleaseAll(i, c))
		}
		if _, err := a.Settle(rulings); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/200, "ns/event")
}
