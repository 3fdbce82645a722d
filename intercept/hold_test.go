package intercept

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func keepEvents(t *testing.T, n int) (k *HoldBuffer[int], events []string) {
	t.Helper()
	k = &HoldBuffer[int]{}
	for i := range n {
		event := fmt.Sprintf("data: {\"id\":\"chatcmpl-1\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"%d\"}}]}}]}\n\n", i*i)
		events = append(events, event)
		if err := k.Hold([]byte(event), i, 0); err != nil {
			t.Fatal(err)
		}
	}
	return k, events
}

func TestKept_PackChangesNothing(t *testing.T) {
	for _, n := range []int{0, 1, 40, 4000} {
		k, events := keepEvents(t, n)
		k.Pack()
		k.Pack()
		if k.Len() != n {
			t.Errorf("%d parts packed are %d", n, k.Len())
		}
		for i, want := range events {
			if part, of := k.At(i); string(part) != want || of != i {
				t.Fatalf("part %d of %d is %q (%d), want %q", i, n, part, of, want)
			}
		}
		k.Pack()
		if got, want := string(k.Bytes()), strings.Join(events, ""); got != want {
			t.Errorf("%d parts packed are %d bytes, want %d", n, len(got), len(want))
		}
	}
}

func TestKept_PackIsSmall(t *testing.T) {
	k, _ := keepEvents(t, 40)
	plain := bytes.Clone(k.Bytes())
	k.Pack()
	if k.bytes != nil || len(k.packed) > len(plain)/4 {
		t.Errorf("%d bytes of events alike are %d packed", len(plain), len(k.packed))
	}
}

func TestKept_HoldAfterPack(t *testing.T) {
	k, events := keepEvents(t, 3)
	k.Pack()
	if err := k.Hold([]byte(": later\n"), 3, 0); err != nil {
		t.Fatal(err)
	}
	if got, want := string(k.Bytes()), strings.Join(events, "")+": later\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A block of many parts that are not adjacent is not copied for each of them.
func TestPassBuffer_CopiesSeldom(t *testing.T) {
	const parts = 4096
	block := bytes.Repeat([]byte("pass;held;"), parts)
	before := bytes.Clone(block)
	var g PassBuffer
	copies := 0
	for i := range parts {
		had := g.b
		g.Add(block[10*i : 10*i+5])
		if len(had) > 0 && &had[0] != &g.b[0] {
			copies++
		}
	}
	if copies > 100 {
		t.Errorf("%d parts are copied %d times", parts, copies)
	}
	if !bytes.Equal(g.Take(), bytes.Repeat([]byte("pass;"), parts)) || !bytes.Equal(block, before) {
		t.Error("the parts, or the block, have changed")
	}
}

// Adjacent parts stay where they are, after parts that were copied too.
func TestPassBuffer_Borrows(t *testing.T) {
	block := []byte("onetwothree")
	var g PassBuffer
	for range 2 {
		g.Add(block[:3])
		g.Add(nil)
		g.Add(block[3:6])
		if got := g.Take(); string(got) != "onetwo" || &got[0] != &block[0] {
			t.Errorf("got %q, or a copy", got)
		}
		g.Add(block[:3])
		g.Add(block[6:])
		if got := g.Take(); string(got) != "onethree" || string(block) != "onetwothree" {
			t.Errorf("got %q of %q", got, block)
		}
	}
}
