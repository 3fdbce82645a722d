package embedded

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

// compressed returns a block as nats-server compresses it.
func compressed(t testing.TB, records []byte) []byte {
	t.Helper()
	content, err := server.S2Compression.Compress(records)
	if err != nil {
		t.Fatal(err)
	}
	info := server.CompressionInfo{Algorithm: server.S2Compression, OriginalSize: uint64(len(records))}
	return append(info.MarshalMetadata(), content...)
}

// A compressed block has the same records after [expand] as before nats-server compressed it, and with a changed byte
// the same as nats-server reads, if it can read it.
func FuzzExpand(f *testing.F) {
	f.Add([]byte("12345678"), 2, byte(1))
	f.Add(bytes.Repeat([]byte("a record, and the next one; "), 100), 40, byte(0x80))
	f.Add(bytes.Repeat([]byte("0123456789"), 3000), 30, byte(4))
	f.Fuzz(func(t *testing.T, records []byte, at int, change byte) {
		if len(records) < recordHash {
			return
		}
		content := compressed(t, records)
		got, readable := expand(nil, content)
		if !readable || !bytes.Equal(got, records) {
			t.Fatalf("%d bytes of records are %d after compression, readable: %v", len(records), len(got), readable)
		}
		content[uint(at)%uint(len(content))] ^= change
		if !isCompressed(content) {
			return // nor for nats-server
		}
		got, readable = expand(got, content)
		var info server.CompressionInfo
		n, err := info.UnmarshalMetadata(content)
		var want []byte
		if err == nil {
			want, err = info.Algorithm.Decompress(content[n:])
		}
		if readable != (err == nil) || (readable && !bytes.Equal(got, want)) {
			t.Fatalf("nats-server reads %d bytes, %v; got %d, readable: %v", len(want), err, len(got), readable)
		}
	})
}

// The records of the chunks beside a damaged one are found.
func TestExpandDamaged(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	records := make([]byte, 5<<20) // some chunks
	for i := range records {
		records[i] = byte(random.IntN(4))
	}
	content := compressed(t, records)
	content[len(content)/2] ^= 0xff
	got, readable := expand(nil, content)
	if readable {
		t.Error("a damaged block is called readable")
	}
	const most = 1 << 20 // of a chunk
	if !bytes.HasPrefix(got, records[:most]) || !bytes.HasSuffix(got, records[len(records)-most:]) {
		t.Errorf("%d of %d bytes are left, and not those at the start and the end", len(got), len(records))
	}
}
