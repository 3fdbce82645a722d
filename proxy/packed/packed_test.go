package packed

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// events are n events of a stream of chat.
func events(n int) (list [][]byte) {
	for i := range n {
		list = append(list, fmt.Appendf(nil, `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1763712000,"model":"gpt-4o-mini","service_tier":"default","system_fingerprint":"fp_5c1ed0ca11","choices":[{"index":0,"delta":{"content":" word%d"},"logprobs":null,"finish_reason":null}],"obfuscation":"x%d"}`+"\n\n", i, i))
	}
	return list
}

// BenchmarkAdd is the cost of keeping a stream of 200 events until its end.
func BenchmarkAdd(b *testing.B) {
	list := events(200)
	b.ReportAllocs()
	for b.Loop() {
		var k Buffer
		for _, p := range list {
			k.Add(p)
		}
		k.Close()
	}
}

// A buffer is read as it was written, and a stream takes a fraction of its bytes.
func TestBuffer(t *testing.T) {
	random := make([]byte, 3*blockSize+100)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(random)
	for name, pieces := range map[string][][]byte{
		"nothing": nil, "one piece": {[]byte("x")}, "a full block": {random[:blockSize]}, "random bytes": {random[:7], random}, "a stream": events(1000),
	} {
		var b Buffer
		size := 0
		for _, p := range pieces {
			size += b.Add(bytes.Clone(p))
		}
		size += b.Pack()
		want := bytes.Join(pieces, nil)
		if got, err := b.Bytes(len(want)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes of %d, %v", name, len(got), len(want), err)
		}
		if _, err := b.Bytes(len(want) - 1); err == nil && len(want) > 0 {
			t.Errorf("%s: more bytes than the limit are read", name)
		}
		if name == "a stream" && size > len(want)/5 {
			t.Errorf("a stream of %d bytes takes %d", len(want), size)
		}
	}
}

// A block of the store that claims to be larger than an answer may be is not decoded.
func TestDecodeIsBounded(t *testing.T) {
	block := Encode(make([]byte, 1000))
	if _, err := Decode(block, 999); err == nil {
		t.Error("a block is larger than the limit")
	}
	if _, err := Decode([]byte{0xff, 0xff, 0xff, 0xff, 0x0f, 0}, 1<<20); err == nil {
		t.Error("a block of 4 GiB is read")
	}
}
