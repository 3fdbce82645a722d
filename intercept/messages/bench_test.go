package messages

import (
	"strings"
	"testing"

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
	b.Run("text/block", func(b *testing.B) { intercepttest.Bench(b, asking(b, request1), said, len(said)) })
	b.Run("text/event", func(b *testing.B) { intercepttest.Bench(b, asking(b, request1), said, n) })
	b.Run("call/block", func(b *testing.B) { intercepttest.Bench(b, asking(b, request1), call, len(call)) })
	b.Run("call/event", func(b *testing.B) { intercepttest.Bench(b, asking(b, request1), call, n) })
}
