package intercepttest

import (
	"fmt"
	"regexp"
)

// Dice makes the choices of a generator of answers. Bytes that a fuzzer changes at random
// seldom remain JSON; as throws of dice they choose every deviation of every provider, in
// any combination.
type Dice struct {
	Throws []byte
	marks  int
}

// N is the next throw, below n; 0 if none is left.
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

// Mark is a new text of a kind, a capital letter, that [Marked] finds in an answer.
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
