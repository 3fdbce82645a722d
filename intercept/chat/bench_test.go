package chat

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
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

// benchmark plays a stream in blocks of n bytes and releases its calls.
func benchmark(b *testing.B, stream string, n int) {
	r, err := Dialect{}.Request(asked(request1))
	if err != nil {
		b.Fatal(err)
	}
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
		for _, c := range a.Calls() {
			rulings = append(rulings, release(c))
		}
		if _, err := a.Settle(rulings); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/200, "ns/event")
}
