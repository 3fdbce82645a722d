package intercepttest

import (
	"fmt"
	"regexp"
)

// Dice decide what a generator of answers writes. Bytes that a fuzzer changes at
// random seldom stay JSON; taken for throws of dice they make every deviation of
// every provider, in any combination.
type Dice struct {
	Throws []byte
	marks  int
}

// N is the next throw, below n; 0 when there are none left.
func (d *Dice) N(n int) int {
	if len(d.Throws) == 0 {
		return 0
	}
	v := int(d.Throws[0]) % n
	d.Throws = d.Throws[1:]
	return v
}

// Pick picks one.
func (d *Dice) Pick(from ...string) string { return from[d.N(len(from))] }

// Mark is a new text of a kind, a capital letter, that [Marked] finds in what the
// agent got.
func (d *Dice) Mark(kind string) string {
	d.marks++
	return fmt.Sprintf("%s%d%s", kind, d.marks, kind)
}

// Marked finds the marks of names, ids and arguments.
var Marked = regexp.MustCompile(`[NIA]\d+[NIA]`)

// Throws are n throws for seeds: the same each time, with some order in them.
func Throws(seed, n int) []byte {
	b := make([]byte, n)
	x := uint32(seed)*2654435761 + 1
	for i := range b {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		b[i] = byte(x >> 8)
	}
	return b
}
