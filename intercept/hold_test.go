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
