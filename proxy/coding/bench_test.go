package coding

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// BenchmarkDecode decodes requests of the shape of Codex'.
func BenchmarkDecode(b *testing.B) {
	text, err := os.ReadFile("testdata/codex.json")
	if err != nil {
		b.Fatal(err)
	}
	for _, size := range []int{3 << 10, 200 << 10, 4 << 20} {
		var body strings.Builder
		for i := 0; body.Len() < size; i++ {
			fmt.Fprintf(&body, "%s%d%d", text, i*i*i, i*7919)
		}
		for name := range encoders {
			packed := encoded(b, name, []byte(body.String()))
			b.Run(fmt.Sprintf("%s/%dKB", name, size>>10), func(b *testing.B) {
				c := parse(b, name)
				b.SetBytes(int64(body.Len()))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := c.Decode(packed, Limits{Bytes: 64 * mib}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
