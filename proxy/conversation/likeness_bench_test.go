package conversation

import (
	"fmt"
	"strings"
	"testing"
)

// What a request costs that may continue a held turn.
func BenchmarkLikeness(b *testing.B) {
	for _, size := range []int{10 << 10, 200 << 10} {
		b.Run(fmt.Sprintf("%d KB", size>>10), func(b *testing.B) {
			text := strings.Repeat("All work and no play. ", 100)
			var items []string
			for n := 0; n < size; n += len(text) {
				items = append(items, `{"role":"user","content":"`+text+`"},{"role":"assistant","content":"well"}`)
			}
			body := `{"model":"m","messages":[` + strings.Join(items, ",") + `]}`
			bench := newBench()
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				r := chatRequest()
				r.Envelope.Body = []byte(body)
				c := bench.unread(r)
				if refusal := c.read(); refusal != nil {
					b.Fatal(refusal)
				}
				_, _ = c.Likeness("model:1"), c.TaskDigest("model:1", true)
			}
		})
	}
}
